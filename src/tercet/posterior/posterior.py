"""Posterior: draw embeddings given the answers and a prior (paper, section 3.1)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tercet.accelerator.device import check_device, find_device
from tercet.answers.diagnosis import warn_about
from tercet.answers.either import Answers, about_choices
from tercet.answers.positions import side_bias
from tercet.answers.streams import StreamedTriplets
from tercet.embedder import Embedder, given_answers, is_count, need_room, require
from tercet.ensemble import Ensemble
from tercet.errors import ConvergenceWarning, InputError
from tercet.estimators import Shepard
from tercet.makers import LEARNED, Maker, Sizes, chain_sizes
from tercet.models import ANY_PROBABILITY
from tercet.posterior.diagnostics import Diagnostics
from tercet.posterior.draw import (
    HAMILTONIAN,
    Begun,
    Drawn,
    Plan,
    begin,
    begin_where_ended,
    draw,
    go_on,
    go_on_until_converged,
)
from tercet.posterior.priors import (
    SIDES,
    DistancePrior,
    NormalPrior,
    check_learn,
    default_prior,
    learn_from,
)
from tercet.running.checkpoint import PathLike
from tercet.running.memory import need_memory
from tercet.running.provenance import Seed, entropy_of, record
from tercet.running.threads import count_threads

__all__ = [
    "Posterior",
    "model_of_a_map",
]

SAMPLERS = ("hmc", "tempered", "elliptical_slice", "laplace")
STARTS = ("mode", "likelihood", "likelihood_as_found")
WARMUPS = {"hmc": 500, "tempered": 300, "elliptical_slice": 1000, "laplace": 0}
WARMUP_IN_LOCKSTEP = 200  # on a GPU, where all chains adapt together
GOES_ON = 4  # times the default number of draws, at most, until the chains have converged
MANY_CHAINS = 64  # from here on device="auto" uses a GPU


class Posterior(Maker):
    """Embeddings drawn from the posterior of a probability model: STE, TSTE, CKL or Shepard.

    ``Posterior(2)`` is the recommended one in two dimensions.

    Parameters
    ----------
    estimator : int, STE, TSTE, CKL or Shepard
        An integer stands for the recommended model in that dimension: Shepard with gamma, tail
        and a lapse rate learned. An estimator stands for its model and dimension, and its penalty
        for a prior of variance 1 / (2 penalty); its other parameters are not used.
    prior : NormalPrior or DistancePrior, optional
        By default points are normal around zero and their variance is learned (for a model that
        does not depend on the size of a map, it is 1).
    sampler : {"hmc", "tempered", "elliptical_slice", "laplace"}, optional
        Hamiltonian Monte Carlo, the default; the same with replica exchange, for answers that allow
        several maps, at ten to forty times the cost; elliptical slice sampling, the paper's (the
        default with a DistancePrior); or the Laplace approximation, only a quick preview.
    n_samples : int, optional
        Draws of each chain; by default 1000, and 500 for the recommended model of more than
        30 000 answers. By default Hamiltonian chains on a CPU that have not converged, or whose
        effective sample size is below 400, go on: up to four times as many.
    n_chains : int, optional
        Chains, each from its own start; several are needed to test convergence. By default 4, and
        2 for the recommended model of more than 30 000 answers.
    warmup : int, optional
        Initial draws of each chain that are discarded; by default 500, 300 with replica exchange,
        1000 for elliptical slice sampling, and 200 on a GPU, where all chains adapt together.
    learn : sequence of str, or dict, optional
        Parameters to estimate with the points: "lapse", the share of answers given at random;
        "bias", the log-odds by which the alternative at each position is preferred, where positions
        are known; for CKL "exponent" and "mu", for Shepard "gamma" and "tail". A dict gives their
        priors: ``{"lapse": (a, b)}`` for Beta(a, b), ``{"gamma": (median, spread)}`` for a
        log-normal one (of "bias", of the odds). By default those of the recommended model if the
        estimator is an integer, and "bias" with them if a test finds one, else none. "tie", the
        odds of "cannot tell", is always learned if that is among the answers.
    start : {"mode", "likelihood", "likelihood_as_found"}
        Whether chains start near modes of the posterior or, with elliptical slices only, at maxima
        of the likelihood as in the paper (and always with a DistancePrior). If there is no maximum,
        because a larger map is no less likely, "likelihood" starts at the shape that the search
        found, scaled to the size most probable under the NormalPrior; "likelihood_as_found" starts
        where the search ended, at any size.
    device : {"auto", "cpu", "gpu"}, optional
        Where to compute; by default the estimator's. A GPU runs all chains in lockstep, which pays
        off for many chains (n_chains=1000, n_samples=50); "auto" uses it from 64 chains on, if
        there is one. For sampler "hmc".
    n_jobs : int, optional
        Threads, at most one per chain; all cores by default and with -1. Inside
        ``joblib.parallel_config(backend=...)`` chains run on that backend, with its own n_jobs. The
        result does not depend on either.
    random_state : None, int or numpy.random.Generator
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal only.
    checkpoint : path, optional
        File in which progress is saved; if it exists, the run is resumed. The result is identical
        to the last bit.

    Attributes
    ----------
    ensemble_ : Ensemble
        The draws, chain after chain, with the parameters drawn with them; its statistics include
        the log-posterior of each.
    diagnostics_ : Diagnostics or None
        R-hat and effective sample sizes; None for the Laplace approximation.
    classes_ : array([-1, 1])
        The answers "far" and "near", in the order of `predict_proba`.

    Examples
    --------
    >>> import tercet as tc
    >>> points, _ = tc.simulate.gaussian_mixture(50, random_state=0)
    >>> answers = tc.simulate.noisy_triplets(points, 2000, noise=0.3, random_state=0)
    >>> tc.Posterior(tc.STE(2), n_chains=2, random_state=0).fit(answers).ensemble_
    Ensemble(2000 draws of 50 objects in 2 dimensions, 2 chains, STEModel(), from posterior)
    """

    def __init__(
        self,
        estimator: Embedder | int,
        *,
        prior: NormalPrior | DistancePrior | None = None,
        sampler: str | None = None,
        n_samples: int | None = None,
        n_chains: int | None = None,
        warmup: int | None = None,
        learn: Sequence[str] | Mapping[str, tuple[float, float]] | None = None,
        start: str = "mode",
        device: str | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        progress: bool | None = None,
        checkpoint: PathLike | None = None,
    ) -> None:
        self.estimator = estimator
        self.prior = prior
        self.sampler = sampler
        self.n_samples = n_samples
        self.n_chains = n_chains
        self.warmup = warmup
        self.learn = learn
        self.start = start
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.checkpoint = checkpoint
        self._check_estimator()

    @classmethod
    def paper(cls, estimator: Embedder | int, random_state: Seed = None, **changes: Any) -> Self:
        """The paper's settings (section 5): 500 elliptical-slice draws from the maximum likelihood.

        One chain, no warm-up, a known prior variance of 15. The paper's π is
        ``ensemble_.triplet_probability(Q, method="paper")``. The paper does not say where to start
        if the likelihood has no maximum: the map that the search found is scaled to the size most
        probable under the prior; ``start="likelihood_as_found"`` leaves it unscaled.
        """
        settings: dict[str, Any] = {"prior": NormalPrior(15.0), "sampler": "elliptical_slice"}
        settings |= {"n_samples": 500, "n_chains": 1, "warmup": 0, "start": "likelihood"}
        settings |= {"learn": (), "device": "cpu"}
        return cls(estimator, **(settings | {"random_state": random_state} | changes))

    def fit(self, X: Any, y: ArrayLike | None = None, *, n_objects: int | None = None) -> Self:
        """Draw from the posterior given the answers.

        Parameters
        ----------
        X : Choices, Triplets, (m, 3) or (m, 4) array, or data frame
            The answers; their weights count. Triplets that share a screen are one choice.
        y : (m,) array of +1 and -1, optional
            -1 reverses a row, as in ``STE.fit``.
        n_objects : int, optional
            Overrides the estimator's.
        """
        plan = self._plan()
        if isinstance(X, StreamedTriplets):
            raise InputError(
                "a posterior needs all answers in memory, and these are streamed from disk. Use "
                "Bootstrap, which accepts streams, or Posterior(...).fit(stream[:]) if they fit "
                "into memory."
            )
        n_objects = self.embedder.n_objects if n_objects is None else n_objects
        answers = given_answers(X, y, n_objects)
        warn_about(answers, min_answers=plan.n_components + 1, stacklevel=3)
        self._fit_quietly(answers)
        self._warn_about_chains(plan)
        return self

    # --- inside -------------------------------------------------------------------------------

    def _fit_quietly(self, answers: Answers, begun: Begun | None = None) -> Self:
        """Fit to answers already checked; chains of the same posterior that have begun go on."""
        settled, plan = self._open_plan(answers)
        _need_room_for(plan, answers.n_objects)
        if begun is not None:
            drawn = go_on_until_converged(begun, self.n_jobs, self.progress)
            return self._keep(settled, begun.plan, drawn, answers, begun.entropy)
        prior = vars(plan.prior) if isinstance(plan.prior, DistancePrior) else {}
        matrices = {f"{name} of the prior": np.asarray(part) for name, part in prior.items()}
        with settled._open_checkpoint(answers, matrices) as checkpoint:
            entropy = checkpoint.entropy
            drawn = draw(plan, answers, entropy, self.n_jobs, self.progress, checkpoint)
        return self._keep(settled, plan, drawn, answers, entropy)

    def _begin_quietly(self, answers: Answers, sizes: Sizes | None = None) -> Begun:
        """Fit with the first draws of some of the chains, which `_fit_quietly` can continue.

        All draws of all chains by default.
        """
        settled, plan = self._open_plan(answers)
        sizes = Sizes(plan.n_samples, plan.n_chains) if sizes is None else sizes
        _need_room_for(plan.beginning(sizes), answers.n_objects)
        entropy = entropy_of(self.random_state)
        begun = begin(plan, answers, entropy, self.n_jobs, progress=self.progress)
        drawn = go_on(begun, self.n_jobs, self.progress, sizes)
        self._keep(settled, plan.beginning(sizes), drawn, answers, begun.entropy)
        return begun

    def _update_quietly(
        self, answers: Answers, ended: Begun, n_draws: int, warmup: int
    ) -> Begun | None:
        """Fit by chains that go on from others, those of nearly the same answers.

        Parameters
        ----------
        answers : Triplets or Choices
            About the same objects.
        ended : Begun
        n_draws : int
            Of all chains together, at most.
        warmup : int
            Draws of each chain that are discarded.

        Returns
        -------
        Begun or None
            None if other parameters are learned now, so that nothing was fitted.
        """
        settled = self.settle(answers)
        plan = settled._plan_for(answers)
        n_chains = min(plan.n_chains, ended.plan.n_chains)
        plan = plan.beginning(Sizes(-(-n_draws // n_chains), n_chains))._replace(warmup=warmup)
        begun = begin_where_ended(plan, answers, entropy_of(self.random_state), ended)
        if begun is not None:
            drawn = go_on(begun, self.n_jobs, self.progress)
            self._keep(settled, plan, drawn, answers, begun.entropy)
        return begun

    def _keep(
        self, settled: Self, plan: Plan, drawn: Drawn, answers: Answers, entropy: int
    ) -> Self:
        """Set the attributes of a fit."""
        self.diagnostics_: Diagnostics | None = drawn.diagnostics
        self.ensemble_ = self._ensemble(settled, plan, drawn, answers, entropy)
        self.classes_ = np.array([-1, 1])
        return self

    def settle(self, answers: Answers | None = None) -> Self:
        """A copy with the estimator and all defaults that depend on the answers filled in."""
        is_named = isinstance(self.estimator, Embedder)
        sizes = chain_sizes(0 if is_named or answers is None else len(answers))._asdict()
        learn = () if is_named else LEARNED
        if not is_named and answers is not None and side_bias(answers).found:
            learn = (*learn, SIDES)
        given = self.get_params(deep=False)
        left_open = {"learn": learn, **sizes}
        changes = {name: value for name, value in left_open.items() if given[name] is None}
        return type(self)(**(given | {"estimator": self.embedder} | changes))

    def _check_estimator(self) -> None:
        given = self.estimator
        valid = isinstance(given, Embedder) or is_count(given)
        wanted = f"a number of dimensions, or {ANY_PROBABILITY}, as STE(2)"
        require(self, "estimator", valid, wanted)
        estimator = self.embedder
        if not estimator.model().is_probability:
            raise InputError(
                f"{type(estimator).__name__} is a loss, not a probability of answers, so it has no "
                f"posterior. Use {ANY_PROBABILITY}, or a bootstrap, which works with any model."
            )

    def _plan(self) -> Plan:
        """Check the parameters and fill in defaults."""
        self._check_estimator()
        settled = self.settle()
        estimator, learned = self.embedder, settled.learn
        estimator._check_parameters()
        for name in ("n_samples", "n_chains"):
            require(settled, name, is_count(getattr(settled, name)), "a positive whole number")
        count_threads(self.n_jobs)
        valid = self.warmup is None or self.warmup == 0 or is_count(self.warmup)
        require(self, "warmup", valid, "a whole number from 0")
        require(self, "start", self.start in STARTS, f"one of {', '.join(map(repr, STARTS))}")
        assert settled.n_samples is not None
        assert settled.n_chains is not None
        assert learned is not None
        model = estimator.model()
        learn = check_learn(learned, model)
        prior = default_prior(self.prior, estimator.penalty, model, learn)
        by_distances = isinstance(prior, DistancePrior)
        sampler = self.sampler or ("elliptical_slice" if by_distances else "hmc")
        require(self, "sampler", sampler in SAMPLERS, f"one of {', '.join(map(repr, SAMPLERS))}")
        if by_distances and sampler != "elliptical_slice":
            raise InputError(
                f"a DistancePrior is sampled by elliptical slices; sampler={sampler!r} needs a "
                "NormalPrior."
            )
        if self.start != "mode" and sampler != "elliptical_slice":
            raise InputError(
                f"start={self.start!r} is for sampler='elliptical_slice'; {sampler!r} starts near "
                "a mode of the posterior."
            )
        if learn and sampler not in HAMILTONIAN:
            raise InputError(
                f"learn={list(learn)} needs sampler='hmc', not {sampler!r}; or give the estimator "
                "known values and omit learn."
            )
        device = self._device(sampler, settled.n_chains)
        usual = WARMUP_IN_LOCKSTEP if device == "gpu" else WARMUPS[sampler]
        warmup = usual if self.warmup is None else int(self.warmup)
        chains = 1 if sampler == "laplace" else int(settled.n_chains)
        count = int(settled.n_samples) * (int(settled.n_chains) if sampler == "laplace" else 1)
        d, start = estimator.n_components, self.start
        return Plan(model, d, prior, learn, sampler, count, chains, warmup, start, device)

    def _plan_for(self, answers: Answers) -> Plan:
        """The plan for these answers, with the parameters that can be learned from them."""
        plan = self._plan()
        learn = learn_from(plan.learn, answers)
        if learn and plan.sampler not in HAMILTONIAN:
            raise InputError(
                "the odds of “cannot tell” are learned, which needs sampler='hmc', not "
                f"{plan.sampler!r}; or leave these answers out (in Python: "
                "answers.without_ties())."
            )
        return plan._replace(learn=learn)

    def _open_plan(self, answers: Answers) -> tuple[Self, Plan]:
        """The settled posterior and its plan, in which chains of default length may go on."""
        settled = self.settle(answers)
        plan = settled._plan_for(answers)
        if self.n_samples is None and plan.sampler in HAMILTONIAN and plan.device == "cpu":
            plan = plan._replace(most_samples=GOES_ON * plan.n_samples)
        return settled, plan

    def _device(self, sampler: str, n_chains: int) -> str:
        """The device to use, "cpu" or "gpu"."""
        device = self.embedder.device if self.device is None else self.device
        check_device(device)
        if device == "gpu" and sampler != "hmc":
            raise InputError(
                f"sampler={sampler!r} runs on the CPU: use device='cpu', or sampler='hmc'."
            )
        if device == "gpu" and self.checkpoint is not None:
            raise InputError(
                "chains on a GPU take seconds and have no checkpoints: omit checkpoint, or use "
                "device='cpu'."
            )
        if device == "auto":
            suits = sampler == "hmc" and self.checkpoint is None
            pays = suits and n_chains >= MANY_CHAINS
            return "gpu" if pays and find_device("auto") is not None else "cpu"
        return str(device)

    def _ensemble(
        self, settled: Self, plan: Plan, drawn: Drawn, answers: Answers, entropy: int
    ) -> Ensemble:
        notes = []
        if plan.sampler == "laplace":
            notes.append("an approximation: normal around the mode, not drawn from the posterior")
        provenance = record(
            "laplace" if plan.sampler == "laplace" else "posterior",
            settled,
            entropy,
            prior=plan.prior.describe(),
            sampler=plan.sampler,
            diagnostics=self.diagnostics_ and self.diagnostics_.describe(),
            n_answers=answers.n_answers,
            **about_choices(answers),
            device=plan.device,
            notes=notes,
        )
        return Ensemble(
            drawn.draws,
            kind="distances" if isinstance(plan.prior, DistancePrior) else "points",
            chains=np.repeat(np.arange(plan.n_chains), len(drawn.draws) // plan.n_chains),
            parameters=drawn.parameters,
            statistics=drawn.statistics,
            model=plan.model.settled(plan.n_components),
            names=answers.names,
            alignment="rotate",
            provenance=provenance,
        )

    def _warn_about_chains(self, plan: Plan) -> None:
        """Warn about chains that have not converged."""
        if self.diagnostics_ is None or not self.diagnostics_.problems:
            return
        found = self.diagnostics_
        cure = "raise n_samples"
        if plan.sampler == "elliptical_slice" and isinstance(plan.prior, NormalPrior):
            cure = f"use the default sampler (HMC), which needs far fewer draws, or {cure}"
        if found.divergences > 0:
            cure += " and warmup"
        if not found.agree and found.n_chains > 1:
            cure += (
                "; if they keep disagreeing with four times as many draws, the answers allow "
                "several different maps, which these draws mix in arbitrary shares"
            )
            if plan.sampler == "hmc":
                cure += (
                    ": sampler='tempered' visits them in the right shares, at many times the cost"
                )
            cure += (
                "; answers about the objects concerned, or another number of dimensions, would "
                "decide (in Python: tercet.stack_chains weights the chains by how well each "
                "predicts)"
            )
        warnings.warn(
            f"not converged: {'; '.join(found.problems)}. Do not trust these "
            f"uncertainties yet: {cure}.",
            ConvergenceWarning,
            stacklevel=3,
        )


def _need_room_for(plan: Plan, n_objects: int) -> None:
    """Raise if the draws would not fit into memory."""
    count = plan.n_chains * plan.n_samples
    if not isinstance(plan.prior, DistancePrior):
        need_room(n_objects, plan.n_components, count)
        return
    need_memory(
        (3 * count + 6) * n_objects**2,
        f"{count} matrices of all distances of {n_objects} objects",
        "use fewer of them (n_samples, n_chains), or a NormalPrior, which needs no matrices",
    )


# --- the model of a single map, from which a bootstrap takes its parameters ---------------------


_SHORT: dict[str, Any] = {"n_samples": 200, "n_chains": 2, "warmup": 200, "random_state": 0}
_ENOUGH = 10_000  # answers to estimate parameters from; if there are more, a random part
_DIGITS = 4  # significant digits of the parameters


def model_of_a_map(answers: Answers, n_components: int) -> Shepard:
    """The recommended model for a single map, its parameters at their posterior means.

    A maximum over the map and gamma together fits the noise too (gamma is above 2 where answers
    come from gamma = 1), so gamma, the tail and the prior's variance, which becomes a penalty, are
    geometric means over the draws of short chains, with a seed of their own: the result depends on
    the answers alone. A single map has no lapse rate; answers given at random make it smaller.

    Parameters
    ----------
    answers : Triplets or Choices
    n_components : int
    """
    part = answers
    if len(answers) > _ENOUGH:
        rows = np.random.default_rng(0).choice(len(answers), _ENOUGH, replace=False)
        part = answers[np.sort(rows)]
    learned = tuple(name for name in LEARNED if name != "lapse")
    maker = Posterior(Shepard(n_components), learn=learned, progress=False, **_SHORT)
    plan = maker._plan_for(part)
    _need_room_for(plan, part.n_objects)
    drawn = draw(plan, part, entropy_of(maker.random_state), maker.n_jobs, False).parameters
    gamma, tail, variance = (
        float(np.exp(np.mean(np.log(drawn[name])))) for name in ("gamma", "tail", "variance")
    )
    gamma, tail, penalty = (float(f"{x:.{_DIGITS}g}") for x in (gamma, tail, 0.5 / variance))
    return Shepard(n_components, gamma=gamma, tail=tail, penalty=penalty)

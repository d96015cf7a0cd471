"""How sure the map is: a model chosen by answers it has not seen, and draws from its posterior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet import metrics
from tercet.align import procrustes
from tercet.demo.world import World
from tercet.embedder import Embedder, Floats
from tercet.ensemble import Ensemble
from tercet.estimators import CKL, STE, TSTE
from tercet.posterior import Posterior
from tercet.posterior.diagnostics import Diagnostics

SURE = 0.95  # a comparison likelier than that, either way, is one the map is sure of
LEVEL = 0.95  # of the ellipses
N_NEW = 500  # answers kept back to choose the model

Bools = NDArray[np.bool_]


class Candidate(NamedTuple):
    """A model that answers may come from."""

    name: str
    estimator: Embedder
    learn: tuple[str, ...] = ()


CANDIDATES = (
    Candidate("STE", STE(2)),
    Candidate("t-STE", TSTE(2)),
    Candidate("CKL with a learned exponent", CKL(2), ("exponent",)),
)


class Trial(NamedTuple):
    """How well a model, given most answers, foretells the others; and what its ellipses hold."""

    candidate: Candidate
    n_new: int
    log_loss: float
    foretold: float
    inside: int


class Sureness(NamedTuple):
    """How sure the map is, and how right."""

    model: str
    ensemble: Ensemble  # laid on the simulated world
    diagnostics: Diagnostics
    probability: Floats  # of every true comparison
    inside: int  # animals whose true places lie in their ellipses

    @property
    def sure(self) -> Bools:
        """Which comparisons it is sure of, rightly or wrongly."""
        return np.asarray(np.maximum(self.probability, 1.0 - self.probability) > SURE)

    @property
    def share_sure(self) -> float:
        """Share of all comparisons that it is sure of."""
        return float(self.sure.mean())

    @property
    def share_right(self) -> float:
        """Share of those that are right."""
        return _share_right(self.probability[self.sure])

    @property
    def share_right_of_others(self) -> float:
        """Share of the others that it guesses right."""
        return _share_right(self.probability[~self.sure])

    @property
    def expected_error(self) -> float:
        """Share of all comparisons that it expects to have wrong: its average uncertainty."""
        return float(np.minimum(self.probability, 1.0 - self.probability).mean())

    @property
    def error(self) -> float:
        """Share of all comparisons that it has wrong."""
        return 1.0 - _share_right(self.probability)


def try_models(world: World, seed: int) -> list[Trial]:
    """Draw from the posterior of each model given most answers, and ask it for the others."""
    given, new = world.answers[:-N_NEW], world.answers[-N_NEW:]
    trials = []
    for candidate in CANDIDATES:
        estimator, learn = candidate.estimator, candidate.learn
        posterior = Posterior(estimator, learn=learn, n_samples=500, random_state=seed).fit(given)
        answer = posterior.ensemble_.answer_probability(new)
        laid = lay_on(posterior.ensemble_, world.positions)
        trials.append(
            Trial(
                candidate,
                len(new),
                metrics.log_loss(answer),
                _share_right(answer),
                int(holds(laid, world.positions).sum()),
            )
        )
    return trials


def best_of(trials: Sequence[Trial]) -> Trial:
    """The model that new answers surprise least; the truth has no say."""
    return min(trials, key=lambda trial: trial.log_loss)


def draw_maps(world: World, candidate: Candidate, seed: int) -> Sureness:
    """Draw from the posterior of a model given all answers, and look at the truth."""
    posterior = Posterior(candidate.estimator, learn=candidate.learn, random_state=seed)
    posterior.fit(world.answers)
    assert posterior.diagnostics_ is not None
    laid = lay_on(posterior.ensemble_, world.positions)
    return Sureness(
        candidate.name,
        laid,
        posterior.diagnostics_,
        posterior.ensemble_.triplet_probability(world.truth),
        int(holds(laid, world.positions).sum()),
    )


def lay_on(ensemble: Ensemble, positions: Floats) -> Ensemble:
    """Lay the draws on each other, and as a whole on positions (n, 2).

    The size of a map has no meaning in this world, and models of ratios hardly know it: the draws
    are scaled, too, so that ellipses show where an animal is relative to the others.
    """
    samples = Ensemble(ensemble.draws, alignment="scale").samples
    fit = procrustes(samples.mean(axis=0), positions, scale=True)
    laid = fit.scale * samples @ fit.rotation + fit.shift
    return Ensemble(laid, names=ensemble.names, alignment="none")


def holds(ensemble: Ensemble, positions: Floats) -> Bools:
    """Whether each point's ellipse holds its position (n, 2)."""
    away = positions - ensemble.point_mean()
    solved = np.linalg.solve(ensemble.point_covariance(), away[:, :, None])[:, :, 0]
    return np.asarray(np.sum(away * solved, axis=1) <= -2.0 * math.log1p(-LEVEL))


def doubtful(world: World, probability: Floats, count: int = 5) -> list[int]:
    """Comparisons it is least sure of, one for each anchor, as rows of the truth."""
    rows: dict[int, int] = {}
    for row in np.argsort(np.abs(probability - 0.5), kind="stable").tolist():
        rows.setdefault(int(world.truth.array[row, 0]), row)
        if len(rows) == count:
            break
    return list(rows.values())


def _share_right(probability: Floats) -> float:
    """Share of true rows whose probability is above one half; NaN of none."""
    return float(np.mean(probability > 0.5)) if probability.size else math.nan

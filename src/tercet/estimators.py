"""Models as scikit-learn estimators: the paper's, Shepard's, and any that is added to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np

from tercet.arrays import Floats
from tercet.embedder import Embedder
from tercet.engine.blocks import Blocks
from tercet.engine.problem import Problem, take_rows
from tercet.engine.sdp import points_from_kernel, solve_kernel
from tercet.engine.search import Fit, Objective, Rows, Seeds, Solver, share
from tercet.errors import InputError
from tercet.models import (
    CKLModel,
    GNMDSModel,
    Model,
    ShepardModel,
    SOEModel,
    STEModel,
    TSTEModel,
    known_models,
)
from tercet.models.base import POSITIVE
from tercet.running.memory import need_memory
from tercet.running.provenance import Seed
from tercet.running.threads import one_blas_thread

__all__ = ["CKL", "GNMDS", "SOE", "STE", "TSTE", "Shepard"]


class STE(Embedder):
    """Stochastic triplet embedding (van der Maaten & Weinberger 2012; equation 2 of the paper).

    Parameters
    ----------
    n_components : int
        Dimension d of the embedding.
    n_objects : int, optional
        Number of objects; default: as many as the comparisons mention.
    penalty : float
        Weight of the sum of squares of the embedding in the loss; 1/(2v) gives the MAP under a
        Gaussian prior of variance v.
    start : "spectral" or "random"
        Start of the first run: eigenvectors of the signed counts, or random points.
    n_init : int or "auto"
        Number of runs, all but the first from random starts; the best is kept. "auto" is 1, and
        for up to 500 objects in one dimension 1000 / n_objects, at most 50.
    max_iter : int
        Maximal number of iterations of the optimiser in a run.
    tol : float
        A run stops when the predicted and actual relative decrease of the loss are below this.
    device : {"cpu", "gpu", "auto"}
        Where to compute. A GPU needs ``tercet[gpu]``, and agrees with the CPU to within rounding;
        "auto" is a GPU if there is one and the problem is large enough to benefit.
    random_state : None, int or numpy.random.Generator

    Examples
    --------
    >>> import tercet as tc
    >>> points, _ = tc.simulate.gaussian_mixture(50, random_state=0)
    >>> answers = tc.simulate.noisy_triplets(points, 4000, noise=0.3, random_state=0)
    >>> tc.STE(2, random_state=0).fit(answers).embedding_.shape
    (50, 2)
    """

    model_class = STEModel


class TSTE(Embedder):
    """t-distributed stochastic triplet embedding (van der Maaten & Weinberger 2012; supplement).

    Parameters
    ----------
    alpha : float, optional
        Degrees of freedom; default max(n_components - 1, 1), the paper's where that is positive.
    n_components, n_objects, penalty, start, n_init, max_iter, tol, device,
    random_state
        As in `STE`.
    """

    model_class = TSTEModel

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float | None = None,
        n_objects: int | None = None,
        penalty: float = 0.0,
        start: str = "spectral",
        n_init: int | str = "auto",
        max_iter: int = 2000,
        tol: float = 1e-9,
        device: str = "cpu",
        random_state: Seed = None,
    ) -> None:
        super().__init__(
            n_components,
            n_objects=n_objects,
            penalty=penalty,
            start=start,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            device=device,
            random_state=random_state,
        )
        self.alpha = alpha


class CKL(Embedder):
    """Crowd kernel learning (Tamuz et al. 2011; equation 1 of the paper).

    Parameters
    ----------
    mu : float
        Regularises small distances; with 0 the likelihood does not depend on the scale.
    exponent : float
        Exponent of the distances; 2 is the paper's.
    n_components, n_objects, penalty, start, n_init, max_iter, tol, device,
    random_state
        As in `STE`.
    """

    model_class = CKLModel

    def __init__(
        self,
        n_components: int = 2,
        *,
        mu: float = 0.05,
        exponent: float = 2.0,
        n_objects: int | None = None,
        penalty: float = 0.0,
        start: str = "spectral",
        n_init: int | str = "auto",
        max_iter: int = 2000,
        tol: float = 1e-9,
        device: str = "cpu",
        random_state: Seed = None,
    ) -> None:
        super().__init__(
            n_components,
            n_objects=n_objects,
            penalty=penalty,
            start=start,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            device=device,
            random_state=random_state,
        )
        self.mu = mu
        self.exponent = exponent


class Shepard(Embedder):
    """Embedding by Shepard's law: similarity is exp(-distance**gamma) (Shepard 1987).

    With gamma = 1 the log-odds of an answer are the difference of the two distances, as in
    difference scaling (Maloney & Yang 2003).

    Parameters
    ----------
    gamma : float
        Exponent of the distances; 2 is STE. Smaller ones give more weight to small distances.
    tail : float
        With a tail, similarity is (1 + tail distance**gamma)**(-1/tail), which falls more slowly
        far away; 0 is Shepard's law, 1 the crowd kernel up to the size of the map.
    n_components, n_objects, penalty, start, n_init, max_iter, tol, device,
    random_state
        As in `STE`.
    """

    model_class = ShepardModel

    def __init__(
        self,
        n_components: int = 2,
        *,
        gamma: float = 1.0,
        tail: float = 0.0,
        n_objects: int | None = None,
        penalty: float = 0.0,
        start: str = "spectral",
        n_init: int | str = "auto",
        max_iter: int = 2000,
        tol: float = 1e-9,
        device: str = "cpu",
        random_state: Seed = None,
    ) -> None:
        super().__init__(
            n_components,
            n_objects=n_objects,
            penalty=penalty,
            start=start,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            device=device,
            random_state=random_state,
        )
        self.gamma = gamma
        self.tail = tail


class SOE(Embedder):
    """Soft ordinal embedding (Terada & von Luxburg 2014).

    Parameters
    ----------
    margin : float
        Margin by which near must be nearer; it only sets the scale of the embedding.
    n_init : int or "auto"
        Number of runs. Ten, because this loss has many local minima: on 9 090 answers about 400
        musicians the training error fell from 15.6 % with one run to 15.0 % with ten.
    n_components, n_objects, penalty, start, max_iter, tol, device,
    random_state
        As in `STE`.
    """

    model_class = SOEModel

    def __init__(
        self,
        n_components: int = 2,
        *,
        margin: float = 0.1,
        n_objects: int | None = None,
        penalty: float = 0.0,
        start: str = "spectral",
        n_init: int | str = 10,
        max_iter: int = 2000,
        tol: float = 1e-9,
        device: str = "cpu",
        random_state: Seed = None,
    ) -> None:
        super().__init__(
            n_components,
            n_objects=n_objects,
            penalty=penalty,
            start=start,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            device=device,
            random_state=random_state,
        )
        self.margin = margin


class GNMDS(Embedder):
    """Generalised non-metric multidimensional scaling (Agarwal et al. 2007; supplement).

    The default solves the paper's semidefinite program over the kernel K = X Xᵀ,
    min tr(K) + C Σ max(0, 1 + near - far), and takes the embedding from its largest eigenvalues.
    It has no local minima and needs no start, but costs O(n³) per iteration. ``direct=True``
    minimises the same loss over the points, fast and for any number of objects. ``loss_`` is
    tr(K) / C + the slack.

    Parameters
    ----------
    C : float, optional
        Weight of the slack. Default: eight times the largest C at which all points coincide, the
        best value on most of the human data sets we tried; with ``direct``, no trace term.
    direct : bool
        Whether to optimise the points instead of the kernel.
    n_components, n_objects, start, n_init, max_iter, device, random_state
        As in `STE`; the kernel needs no start, and is computed on the CPU.
    tol : float, optional
        Default: a relative duality gap of 1e-4 for the kernel, 1e-9 as in `STE` for the points.
    """

    model_class = GNMDSModel

    def __init__(
        self,
        n_components: int = 2,
        *,
        C: float | None = None,
        direct: bool = False,
        n_objects: int | None = None,
        start: str = "spectral",
        n_init: int | str = "auto",
        max_iter: int = 5000,
        tol: float | None = None,
        device: str = "cpu",
        random_state: Seed = None,
    ) -> None:
        super().__init__(
            n_components,
            n_objects=n_objects,
            start=start,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            device=device,
            random_state=random_state,
        )
        self.C = C
        self.direct = direct

    def model(self) -> Model:
        """The hinge loss."""
        return GNMDSModel()

    def objective(self) -> Objective:
        """Slack plus tr(K) / C; without C there is no trace term."""
        if self.C is not None:
            POSITIVE.check("C", self.C)
        return Objective(self.model(), self.n_components, 0.0 if self.C is None else 1.0 / self.C)

    def solver(
        self, init: Floats | None = None, device: str | None = None, work: int | None = None
    ) -> Solver:
        """The solver: the kernel program, or with ``direct`` a descent over the points."""
        self.objective()  # checks C
        if self.direct:
            return super().solver(init, device, work)
        self.settle_device(device)
        if init is not None:
            raise InputError("the kernel of GNMDS takes no init; use direct=True for a warm start.")
        return KernelProgram(self.n_components, self.C, self.tol or 1e-4, self.max_iter)

    def settle_device(self, device: str | None = None, work: int | None = None) -> str:
        """The device to use, "cpu" or "gpu"."""
        if self.direct:
            return super().settle_device(device, work)
        if (device or self.device) == "gpu":
            raise InputError(
                "the kernel of GNMDS is computed on the CPU; use direct=True to fit points on a "
                "GPU, or device='auto'."
            )
        return "cpu"


class KernelProgram(NamedTuple):
    """Solver of GNMDS: finds the kernel, then the points."""

    n_components: int
    slack_weight: float | None
    tol: float
    max_iter: int

    def solve(self, problem: Problem | Blocks, rng: np.random.Generator) -> Fit:
        """Fit all comparisons; the generator is not used."""
        if not isinstance(problem, Problem):
            raise InputError(
                "the kernel of GNMDS needs all answers in memory; use GNMDS(..., direct=True) on "
                "a stream."
            )
        need_memory(
            8 * problem.n_objects**2,
            f"The kernel of GNMDS for {problem.n_objects} objects",
            "use fewer objects, or GNMDS(..., direct=True), which needs no kernel",
        )
        comparisons = problem.comparisons.astype(np.int64)
        columns = [0, 1, 0, 2] if comparisons.shape[1] == 3 else [0, 1, 2, 3]
        with one_blas_thread():
            solution = solve_kernel(
                comparisons[:, columns],
                problem.n_objects,
                slack_weight=self.slack_weight,
                weights=problem.weights if problem.weights.size else None,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            points = points_from_kernel(solution.kernel, self.n_components)
        return Fit(
            embedding=points,
            loss=solution.objective / solution.slack_weight,
            n_iter=solution.n_iter,
            converged=solution.converged,
            separable=False,
            reason=solution.reason,
        )

    def solve_subsets(self, problem: Problem, subsets: Sequence[Rows], seeds: Seeds) -> list[Fit]:
        """Fit subsets of the rows in turn."""
        rng = np.random.default_rng(0)
        return [self.solve(take_rows(problem, np.asarray(rows, np.int64)), rng) for rows in subsets]

    def batch_size(self, problem: Problem, count: int, n_workers: int) -> int:
        """Number of subsets per batch, for ``count`` subsets and ``n_workers`` workers."""
        return share(problem, count, n_workers)


def make_estimator_class(name: str, kind: type[Model]) -> type[Embedder]:
    """The estimator of a model: an `Embedder` whose further parameters are the model's fields."""
    own = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]

    def initialise(self: Embedder, n_components: int = 2, **parameters: Any) -> None:
        for key, field in own.items():
            setattr(self, key, parameters.pop(key, field.default))
        Embedder.__init__(self, n_components, **parameters)

    shared = signature(Embedder.__init__)
    itself, dimension, *others = shared.parameters.values()
    added = [
        Parameter(key, Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for key, field in own.items()
    ]
    every = shared.replace(parameters=[itself, dimension, *added, *others])
    initialise.__signature__ = every  # type: ignore[attr-defined]
    text = f"{kind.__doc__}\n\n    Parameters as in `STE`, and those of {kind.__name__}."
    body = {"__init__": initialise, "__doc__": text, "__module__": __name__, "model_class": kind}
    estimator: type[Embedder] = type(name, (Embedder,), body)
    return estimator


def __getattr__(name: str) -> type[Embedder]:
    """The estimator of a model without a class above; cached, so that it can be pickled."""
    if name not in known_models():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    estimator = globals()[name] = make_estimator_class(name, known_models()[name])
    return estimator

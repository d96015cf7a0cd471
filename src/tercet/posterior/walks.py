"""The samplers as walks: where a chain starts, a block of its draws, and what comes between phases.

A walk knows all that its chains share. What a chain has of its own is a state, from which its next
draws follow exactly: a chain can stop between any two blocks, and go on elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from tercet.align import generalised_procrustes
from tercet.models.base import Array
from tercet.posterior import elliptical, hamiltonian
from tercet.posterior.chains import Chain, Hill, jittered
from tercet.posterior.laplace import sample_laplace
from tercet.posterior.mode import Mode
from tercet.posterior.target import Target, prior_energies

_BLOCK = 50  # draws between two looks at the progress bar
_BLOCK_OF_COMPARISONS = 5_000_000  # that long trajectories see, more or less, in as much time
_LENGTH = 3.0  # mean length of a trajectory, in standard deviations of the approximation
_MOST_STEPS = 128
_MOST_ON_A_LINE = 32  # where hops do the rest
_FIRST_STEPS = 32  # while the step is unknown
_TRUST = 0.8  # in the variances seen during the warm-up, against those of the approximation

Arrays = dict[str, Array]


class Phase(NamedTuple):
    """Draws of one kind; those of the last phase are the chain."""

    length: int  # in draws
    keeps: bool  # whether they are needed


class State(NamedTuple):
    """All that a chain is between two blocks of draws."""

    phase: int
    done: int  # draws of this phase
    place: Arrays  # what changes with every draw
    tools: Arrays  # what changes between phases
    rng: Mapping[str, Any]  # of its random generator


class Part(NamedTuple):
    """Some draws of a chain, in order."""

    points: Array  # (S, n, d), or matrices (S, n, n)
    others: Array  # (S, k): what is drawn with them
    notes: Array  # (S, K), the sampler's


class Widths(NamedTuple):
    """How much there is of every draw."""

    points: tuple[int, int]
    others: int
    notes: int

    def empty(self, count: int) -> Part:
        """Room for so many draws."""
        return Part(*(np.empty(shape) for shape in self.shapes(count)))

    def shapes(self, count: int) -> tuple[tuple[int, ...], ...]:
        """The shapes of the arrays of so many draws."""
        return (count, *self.points), (count, self.others), (count, self.notes)


class Walk(Protocol):
    """A sampler, and all that its chains share."""

    @property
    def phases(self) -> tuple[Phase, ...]:
        """What a chain goes through."""

    @property
    def block(self) -> int:
        """Draws at a time; a state in the middle of so many would not be exact."""

    @property
    def widths(self) -> Widths:
        """How much there is of every draw."""

    def check(self, state: State) -> None:
        """Raise ValueError unless numbers of the right shapes are a state to go on from."""

    def start(self, k: int, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        """Place and tools of chain k."""

    def advance(self, state: State, count: int, rng: np.random.Generator) -> tuple[Arrays, Part]:
        """Draw a block, or less at the end of a phase: the new place, and the draws."""

    def settle(self, state: State, part: Part) -> tuple[Arrays, Arrays]:
        """Place and tools after a phase, given its draws where it keeps them."""

    def chain(self, part: Part, rng: np.random.Generator) -> Chain:
        """The chain, of the draws of the last phase."""


class Hamiltonian(NamedTuple):
    """Hamiltonian Monte Carlo over shapes and eta = (log size, theta)."""

    target: Target
    hill: Hill
    warmup: int
    n_samples: int

    @property
    def phases(self) -> tuple[Phase, ...]:
        """A third of the warm-up finds the step, a third the widths, a third the step once more."""
        third = self.warmup // 3
        return (
            Phase(self.warmup - 2 * third, False),
            Phase(third, True),
            Phase(third, False),
            Phase(self.n_samples, True),
        )

    @property
    def block(self) -> int:
        """Fewer draws of a larger problem; here they could be any number."""
        return max(1, min(_BLOCK, _BLOCK_OF_COMPARISONS // len(self.target.problem.comparisons)))

    @property
    def widths(self) -> Widths:
        """Points, eta, and notes."""
        k = 1 + len(self.target.learned)
        return Widths(self.hill.mode.X.shape, k, hamiltonian.N_NOTES)

    def check(self, state: State) -> None:
        """There must be a metric, a size that is a number, and a step."""
        hamiltonian.check_metric(state.tools["A"], state.tools["widths"])
        if not np.isfinite(np.exp(state.place["eta"])).all():
            raise ValueError("a size that is no number")
        if not state.place["step"] > 0.0:
            raise ValueError("a step that is not positive")

    def start(self, k: int, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        """Near the mode of chain k, with the metric of the hill."""
        X, theta = jittered(self.hill, k, rng)
        freedom = (len(X) - 1.0) * X.shape[1]
        size = float(np.sqrt(np.sum(X**2) / freedom))
        A = self.hill.A / size**2
        log_width = np.sqrt(np.trace(A) / len(A) if len(A) > 1 else A.mean()) / np.sqrt(freedom)
        widths = np.concatenate([[2.0 * log_width + 0.01], self.hill.widths])
        place = {
            "Y": np.ascontiguousarray(X / size),
            "eta": np.concatenate([[np.log(size)], theta]),
        }
        metric = hamiltonian.make_metric(A, widths)
        return place | _untuned(0.5 * X.size**-0.25), metric._asdict()

    def advance(self, state: State, count: int, rng: np.random.Generator) -> tuple[Arrays, Part]:
        """Draw a block."""
        Y, eta, tuner = (state.place[name].copy() for name in ("Y", "eta", "tuner"))
        part = self.widths.empty(count)
        most = _MOST_STEPS if Y.shape[1] > 1 else _MOST_ON_A_LINE
        step = hamiltonian.sample(
            self.target,
            hamiltonian.Metric(**state.tools),
            Y,
            eta,
            float(state.place["step"]),
            _LENGTH,
            _FIRST_STEPS if state.phase == 0 else most,
            state.phase < 3,
            tuner,
            rng,
            *part,
        )
        return {"Y": Y, "eta": eta, "step": np.array(step), "tuner": tuner}, part

    def settle(self, state: State, part: Part) -> tuple[Arrays, Arrays]:
        """Take the tuned step and, once, what was seen of the widths."""
        metric = hamiltonian.Metric(**state.tools)
        if state.phase == 1:
            metric = refine(metric, part.points, part.others)
        tuned = _untuned(hamiltonian.tuned_step(state.place["tuner"]))
        return state.place | tuned, metric._asdict()

    def chain(self, part: Part, rng: np.random.Generator) -> Chain:
        """Variances are still to be drawn."""
        points, etas, notes = part
        astray = int(notes[:, hamiltonian.DIVERGENT].sum())
        unknown = np.full(len(points), np.nan)
        return Chain(points, etas[:, 1:], unknown, -notes[:, hamiltonian.ENERGY], astray, rng)


def _untuned(step: float) -> Arrays:
    return {"step": np.array(step), "tuner": hamiltonian.start_tuning(step)}


def refine(metric: hamiltonian.Metric, points: Array, etas: Array) -> hamiltonian.Metric:
    """Scale the metric by the variances seen of each object's place in the shape, and of eta."""
    if len(points) < 20:
        return metric
    shapes = points / np.exp(etas[:, :1, None])
    aligned, mean = generalised_procrustes(shapes, translate=False, tol=1e-6)
    seen = np.mean((aligned - mean) ** 2, axis=(0, 2))
    A = metric.A
    expected = np.diag(A) if len(A) > 1 else A[0]
    factor = np.sqrt(np.maximum(seen / expected, 1e-4)) ** _TRUST
    scaled = A * factor[:, None] * factor if len(A) > 1 else A * factor**2
    widths = etas.std(axis=0)
    return hamiltonian.make_metric(scaled, np.where(widths > 0, widths, metric.widths))


class Elliptical(NamedTuple):
    """Elliptical slice sampling of points, whose centre moves too.

    Chain k starts at its points, or, without them, near its mode.
    """

    target: Target
    covariance: Array  # (d, d) of one point, up to the variance
    starts: list[Array] | None
    hill: Hill | None
    warmup: int
    n_samples: int

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The warm-up, and what is kept."""
        return Phase(self.warmup, False), Phase(self.n_samples, True)

    @property
    def block(self) -> int:
        """Sums that a block goes on with are taken anew in the next."""
        return _BLOCK

    @property
    def widths(self) -> Widths:
        """Points, their variance, and notes."""
        shape = self.target.problem.n_objects, len(self.covariance)
        return Widths(shape, 1, elliptical.N_NOTES)

    def check(self, state: State) -> None:
        """There must be a variance."""
        if not state.place["variance"] > 0.0:
            raise ValueError("a variance that is not positive")

    def start(self, k: int, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        """From the maximum of the likelihood, or near the mode."""
        if self.hill is not None:
            X, log_scale = jittered(self.hill, k, rng)[0], self.hill.mode.log_scale
        elif self.starts is not None:
            X, log_scale = self.starts[k], self.target.scale_mean
        return {"X": np.ascontiguousarray(X), "variance": np.array(np.exp(log_scale))}, {}

    def advance(self, state: State, count: int, rng: np.random.Generator) -> tuple[Arrays, Part]:
        """Draw a block."""
        X, target = state.place["X"].copy(), self.target
        part = self.widths.empty(count)
        variance = elliptical.sample_points(
            _likelihood(target),
            np.asarray(np.linalg.cholesky(self.covariance), dtype=np.float64),
            target.scale_mean,
            target.scale_sd,
            X,
            float(state.place["variance"]),
            rng,
            part.points,
            part.others[:, 0],
            part.notes,
        )
        return {"X": X, "variance": np.array(variance)}, part

    def settle(self, state: State, part: Part) -> tuple[Arrays, Arrays]:
        """Nothing is learned."""
        return state.place, state.tools

    def chain(self, part: Part, rng: np.random.Generator) -> Chain:
        """The log-posterior is known but for the prior's share."""
        points, others, notes = part
        astray = int(notes[:, elliptical.STUCK].sum())
        log_posterior = -notes[:, elliptical.ENERGY] - prior_energies(self.target, points)
        return Chain(points, np.empty((len(points), 0)), others[:, 0], log_posterior, astray, rng)


class Matrices(NamedTuple):
    """Elliptical slice sampling of distance matrices, from those of points."""

    target: Target
    centre: Array  # (n, n)
    root: Array  # (n, n)
    starts: list[Array]  # (n, d) each
    warmup: int
    n_samples: int

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The warm-up, and what is kept."""
        return Phase(self.warmup, False), Phase(self.n_samples, True)

    @property
    def block(self) -> int:
        """Sums that a block goes on with are taken anew in the next."""
        return _BLOCK

    @property
    def widths(self) -> Widths:
        """Matrices and notes."""
        return Widths(self.centre.shape, 0, elliptical.N_NOTES)

    def check(self, state: State) -> None:
        """A matrix of distances must be symmetric."""
        if not np.allclose(state.place["D"], state.place["D"].T):
            raise ValueError("a matrix that is not symmetric")

    def start(self, k: int, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        """From the distances of a maximum of the likelihood."""
        X = self.starts[k]
        return {"D": np.linalg.norm(X[:, None] - X, axis=2)}, {}

    def advance(self, state: State, count: int, rng: np.random.Generator) -> tuple[Arrays, Part]:
        """Draw a block."""
        D = state.place["D"].copy()
        part = self.widths.empty(count)
        elliptical.sample_matrices(
            _likelihood(self.target), self.centre, self.root, D, rng, part.points, part.notes
        )
        return {"D": D}, part

    def settle(self, state: State, part: Part) -> tuple[Arrays, Arrays]:
        """Nothing is learned."""
        return state.place, state.tools

    def chain(self, part: Part, rng: np.random.Generator) -> Chain:
        """There are no variances, and the log-posterior is not asked for."""
        points, others, notes = part
        astray = int(notes[:, elliptical.STUCK].sum())
        unknown = np.full(len(points), np.nan)
        return Chain(points, others, unknown, unknown, astray, rng)


class Laplace(NamedTuple):
    """The Laplace approximation, drawn at once."""

    target: Target
    mode: Mode
    n_samples: int

    @property
    def phases(self) -> tuple[Phase, ...]:
        """There is nothing to warm up."""
        return (Phase(self.n_samples, True),)

    @property
    def block(self) -> int:
        """All."""
        return self.n_samples

    @property
    def widths(self) -> Widths:
        """Points and their variance."""
        return Widths(self.mode.X.shape, 1, 0)

    def check(self, state: State) -> None:
        """There is nothing to go on from."""

    def start(self, k: int, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        """No draw depends on the one before."""
        return {}, {}

    def advance(self, state: State, count: int, rng: np.random.Generator) -> tuple[Arrays, Part]:
        """Draw all."""
        points, variances = sample_laplace(self.target, self.mode, count, rng)
        return {}, Part(points, variances[:, None], np.empty((count, 0)))

    def settle(self, state: State, part: Part) -> tuple[Arrays, Arrays]:
        """Nothing is learned."""
        return {}, {}

    def chain(self, part: Part, rng: np.random.Generator) -> Chain:
        """The log-posterior is still to be computed."""
        points, others, _ = part
        unknown = np.full(len(points), np.nan)
        return Chain(points, np.empty((len(points), 0)), others[:, 0], unknown, 0, rng)


def _likelihood(target: Target) -> elliptical.Likelihood:
    return elliptical.Likelihood(target.problem, target.code, target.p, target.q)

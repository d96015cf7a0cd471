"""Elliptical slice sampling (Murray, Adams & MacKay 2010), compiled.

Along the ellipse X cos(a) + N sin(a) through the state X and a draw N of the prior, the squared
length of every edge is a combination of three numbers, in any dimension. The same holds for the
squared entries of a distance matrix.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tercet.compiled import jit, jit_sums
from tercet.engine.kernels import edge_lengths, edge_loss, edge_similarities
from tercet.engine.lists import list_loss
from tercet.engine.problem import Index, Problem
from tercet.models.base import Array
from tercet.posterior.chains import BLOCK, Arrays, Chain, ChainDraws, ChainState, DrawShapes, Phase
from tercet.posterior.mode import Modes, jittered
from tercet.posterior.target import Target, prior_energies
from tercet.posterior.variance import draw_variance

_NONE = np.empty(0)
MAX_SHRINKS = 200  # halvings of the bracket: the angle is then zero to rounding

ENERGY, EVALUATIONS, STUCK = range(3)  # columns of the notes
N_NOTES = 3


class Likelihood(NamedTuple):
    """The comparisons, in edge form, and the model."""

    problem: Problem
    code: int
    p: float
    q: float


@jit
def _energy(likelihood: Likelihood, lengths: Array, limit: float) -> float:
    code, p, q, problem = likelihood.code, likelihood.p, likelihood.q, likelihood.problem
    near, far, weights = problem.near, problem.far, problem.weights
    energy = edge_loss(code, p, q, near, far, weights, lengths, limit)
    if len(problem.lists.kinds) > 0 and energy <= limit:
        log_s, unused = np.empty_like(lengths), np.empty_like(lengths)
        edge_similarities(code, p, q, lengths, log_s, unused)
        energy += list_loss(problem.lists, log_s, limit - energy)
    return energy


@jit_sums
def _products(X: Array, N: Array, edges: Index, out: Array) -> None:
    """Inner products of the two differences along every edge."""
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        total = 0.0
        for k in range(X.shape[1]):
            total += (X[i, k] - X[j, k]) * (N[i, k] - N[j, k])
        out[e] = total


@jit
def _turn(
    likelihood: Likelihood,
    energy: float,
    offset: Array,
    here: Array,
    across: Array,
    there: Array,
    rng: np.random.Generator,
    lengths: Array,
) -> tuple[float, float, int]:
    """Choose an angle on the ellipse: returns it, its energy and the number of evaluations.

    For points, ``here`` and ``there`` are the squared lengths of the edges at 0 and 90 degrees and
    ``across`` their inner products. With an ``offset``, the prior mean of the edges' entries in a
    matrix, they are the deviations of the entries from it. ``lengths`` is overwritten. The bracket
    shrinks towards the state at most ``MAX_SHRINKS`` times; a NaN energy is rejected.
    """
    level = energy - math.log(1.0 - rng.random())
    angle = 2.0 * math.pi * rng.random()
    low, high = angle - 2.0 * math.pi, angle
    for evaluation in range(MAX_SHRINKS):
        cosine, sine = math.cos(angle), math.sin(angle)
        if len(offset) > 0:
            for e in range(len(lengths)):
                lengths[e] = (offset[e] + cosine * here[e] + sine * there[e]) ** 2
        else:
            aa, bb, ab = cosine * cosine, sine * sine, 2.0 * cosine * sine
            for e in range(len(lengths)):
                lengths[e] = max(aa * here[e] + ab * across[e] + bb * there[e], 0.0)
        proposed = _energy(likelihood, lengths, level)
        if proposed < level:  # false for NaN
            return angle, proposed, evaluation + 1
        if angle < 0.0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * rng.random()
    return 0.0, energy, MAX_SHRINKS


@jit
def _resize(
    likelihood: Likelihood,
    energy: float,
    here: Array,
    log_variance: float,
    mean: float,
    sd: float,
    rng: np.random.Generator,
    lengths: Array,
) -> tuple[float, float]:
    """Slice sampling of log c in the move (X, v) to (c X, c^2 v): returns it and the energy.

    The prior density of X given v falls by c^(n d), which cancels the growth of the volume; the
    likelihood and the prior of log v remain.
    """
    width = 0.5
    level = energy + 0.5 * ((log_variance - mean) / sd) ** 2 - math.log(1.0 - rng.random())
    low = -width * rng.random()
    high = low + width
    grow_low, grow_high = True, True
    growth = 0
    for _ in range(MAX_SHRINKS):
        if grow_low:
            log_c = low
        elif grow_high:
            log_c = high
        else:
            log_c = low + (high - low) * rng.random()
        factor = math.exp(2.0 * log_c)
        for e in range(len(lengths)):
            lengths[e] = factor * here[e]
        proposed = _energy(likelihood, lengths, level)
        inside = proposed + 0.5 * ((log_variance + 2.0 * log_c - mean) / sd) ** 2 < level
        if grow_low:
            grow_low = inside and growth < 50
            low -= width if inside else 0.0
            growth += 1
        elif grow_high:
            grow_high = inside and growth < 100
            high += width if inside else 0.0
            growth += 1
        elif inside:
            return log_c, proposed
        elif log_c < 0.0:
            low = log_c
        else:
            high = log_c
    return 0.0, energy


@jit
def sample_points(
    likelihood: Likelihood,
    root: Array,
    mean: float,
    sd: float,
    X: Array,
    variance: float,
    rng: np.random.Generator,
    points: Array,
    variances: Array,
    notes: Array,
) -> float:
    """Draw len(points) embeddings, starting at X (n, d), which is overwritten, and the variance.

    A point's prior covariance is the variance times root @ root.T. With ``sd`` > 0 the variance is
    drawn too, its logarithm normal with that mean and sd. Returns the last variance.
    """
    n, d = X.shape
    edges = likelihood.problem.edges
    here, across, there = np.empty(len(edges)), np.empty(len(edges)), np.empty(len(edges))
    lengths = np.empty(len(edges))
    inverse = np.linalg.inv(root)
    edge_lengths(X, edges, here)
    energy = _energy(likelihood, here, np.inf)
    for draw in range(len(points)):
        N = np.zeros((n, d))
        Z = rng.standard_normal((n, d))
        for i in range(n):
            for k in range(d):
                for l in range(k + 1):
                    N[i, k] += math.sqrt(variance) * root[k, l] * Z[i, l]
        edge_lengths(N, edges, there)
        _products(X, N, edges, across)
        angle, energy, count = _turn(likelihood, energy, _NONE, here, across, there, rng, lengths)
        cosine, sine = math.cos(angle), math.sin(angle)
        for i in range(n):
            for k in range(d):
                X[i, k] = cosine * X[i, k] + sine * N[i, k]
        edge_lengths(X, edges, here)
        if sd > 0.0:
            squares = 0.0
            for i in range(n):
                for k in range(d):
                    whitened = 0.0
                    for l in range(k + 1):
                        whitened += inverse[k, l] * X[i, l]
                    squares += whitened * whitened
            variance = draw_variance(squares, float(n * d), mean, sd, rng)
            log_c, energy = _resize(
                likelihood, energy, here, math.log(variance), mean, sd, rng, lengths
            )
            for i in range(n):
                for k in range(d):
                    X[i, k] *= math.exp(log_c)
            for e in range(len(here)):
                here[e] *= math.exp(2.0 * log_c)
            variance *= math.exp(2.0 * log_c)
        points[draw] = X
        variances[draw] = variance
        notes[draw, ENERGY], notes[draw, EVALUATIONS] = energy, count
        notes[draw, STUCK] = count == MAX_SHRINKS
    return variance


@jit
def sample_matrices(
    likelihood: Likelihood,
    centre: Array,
    root: Array,
    D: Array,
    rng: np.random.Generator,
    matrices: Array,
    notes: Array,
) -> None:
    """Draw len(matrices) symmetric matrices, starting at D (n, n), which is overwritten.

    The prior is normal around the centre with the covariance W * W (symmetric Kronecker) of
    W = root @ root.T; the likelihood depends on the squares of the entries.
    """
    edges = likelihood.problem.edges
    D -= centre
    offset = _entries(centre, edges)
    here = _entries(D, edges)
    lengths = (offset + here) ** 2
    energy = _energy(likelihood, lengths, np.inf)
    for draw in range(len(matrices)):
        N = draw_symmetric(root, rng)
        there = _entries(N, edges)
        angle, energy, count = _turn(likelihood, energy, offset, here, here, there, rng, lengths)
        D[:] = math.cos(angle) * D + math.sin(angle) * N
        here = _entries(D, edges)
        matrices[draw] = centre + D
        notes[draw, ENERGY], notes[draw, EVALUATIONS] = energy, count
        notes[draw, STUCK] = count == MAX_SHRINKS
    D += centre


@jit
def _entries(D: Array, edges: Index) -> Array:
    """Entries (E,) of a matrix at the edges."""
    out = np.empty(len(edges))
    for e in range(len(edges)):
        out[e] = D[edges[e, 0], edges[e, 1]]
    return out


@jit
def draw_symmetric(root: Array, rng: np.random.Generator) -> Array:
    """Draw L (G + G') / 2 L' with L the root (n, n) and G standard normal: covariance W * W."""
    n = len(root)
    G = rng.standard_normal((n, n))
    half = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            half[i, j] = 0.5 * (G[i, j] + G[j, i])
    left = np.zeros((n, n))
    for i in range(n):
        for k in range(i + 1):
            left[i] += root[i, k] * half[k]
    out = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(j + 1):
                total += left[i, k] * root[j, k]
            out[i, j] = total
            out[j, i] = total
    return out


class Elliptical(NamedTuple):
    """Elliptical slice sampling of points, not centred.

    Chain k starts at its points or, without them, near its mode.
    """

    target: Target
    covariance: Array  # (d, d) of one point, up to the variance
    starts: list[Array] | None
    modes: Modes | None
    warmup: int
    n_samples: int

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The warm-up, and what is kept."""
        return Phase(self.warmup, False), Phase(self.n_samples, True)

    @property
    def block(self) -> int:
        """Running sums are recomputed at the start of every block."""
        return BLOCK

    @property
    def shapes(self) -> DrawShapes:
        """Points, their variance, and notes."""
        shape = self.target.problem.n_objects, len(self.covariance)
        return DrawShapes(shape, 1, N_NOTES)

    def check(self, state: ChainState) -> None:
        """The variance must be positive."""
        if not state.position["variance"] > 0.0:
            raise ValueError("a variance that is not positive")

    def start(self, k: int, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        """Start at the maximum of the likelihood, or near the mode."""
        if self.modes is not None:
            X, log_scale = jittered(self.modes, k, rng)[0], self.modes.mode.log_scale
        elif self.starts is not None:
            X, log_scale = self.starts[k], self.target.scale_mean
        return {"X": np.ascontiguousarray(X), "variance": np.array(np.exp(log_scale))}, {}

    def advance(
        self, state: ChainState, count: int, rng: np.random.Generator
    ) -> tuple[Arrays, ChainDraws]:
        """Draw a block."""
        X, target = state.position["X"].copy(), self.target
        draws = self.shapes.empty(count)
        variance = sample_points(
            _likelihood(target),
            np.asarray(np.linalg.cholesky(self.covariance), dtype=np.float64),
            target.scale_mean,
            target.scale_sd,
            X,
            float(state.position["variance"]),
            rng,
            draws.points,
            draws.others[:, 0],
            draws.notes,
        )
        return {"X": X, "variance": np.array(variance)}, draws

    def adapt(self, state: ChainState, draws: ChainDraws) -> tuple[Arrays, Arrays]:
        """Nothing is adapted."""
        return state.position, state.adapted

    def chain(self, draws: ChainDraws, rng: np.random.Generator) -> Chain:
        """Add the prior to the log-likelihoods."""
        points, others, notes = draws
        divergences = int(notes[:, STUCK].sum())
        log_posterior = -notes[:, ENERGY] - prior_energies(self.target, points)
        return Chain(
            points, np.empty((len(points), 0)), others[:, 0], log_posterior, divergences, rng
        )


class Matrices(NamedTuple):
    """Elliptical slice sampling of distance matrices, starting at those of points."""

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
        """Running sums are recomputed at the start of every block."""
        return BLOCK

    @property
    def shapes(self) -> DrawShapes:
        """Matrices and notes."""
        return DrawShapes(self.centre.shape, 0, N_NOTES)

    def check(self, state: ChainState) -> None:
        """The matrix must be symmetric."""
        if not np.allclose(state.position["D"], state.position["D"].T):
            raise ValueError("a matrix that is not symmetric")

    def start(self, k: int, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        """Start at the distances of a maximum of the likelihood."""
        X = self.starts[k]
        return {"D": np.linalg.norm(X[:, None] - X, axis=2)}, {}

    def advance(
        self, state: ChainState, count: int, rng: np.random.Generator
    ) -> tuple[Arrays, ChainDraws]:
        """Draw a block."""
        D = state.position["D"].copy()
        draws = self.shapes.empty(count)
        sample_matrices(
            _likelihood(self.target), self.centre, self.root, D, rng, draws.points, draws.notes
        )
        return {"D": D}, draws

    def adapt(self, state: ChainState, draws: ChainDraws) -> tuple[Arrays, Arrays]:
        """Nothing is adapted."""
        return state.position, state.adapted

    def chain(self, draws: ChainDraws, rng: np.random.Generator) -> Chain:
        """There are no variances, and the log-posterior is not computed."""
        points, others, notes = draws
        divergences = int(notes[:, STUCK].sum())
        unknown = np.full(len(points), np.nan)
        return Chain(points, others, unknown, unknown, divergences, rng)


def _likelihood(target: Target) -> Likelihood:
    return Likelihood(target.problem, target.code, target.p, target.q)

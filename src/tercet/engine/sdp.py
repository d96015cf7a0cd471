"""GNMDS as a semidefinite program over the kernel K = X·Xᵀ.

Agarwal, Wills, Cayton, Lanckriet, Kriegman & Belongie (2007), *Generalized non-metric
multidimensional scaling*, AISTATS; the supplement of the paper states the same program with the
signs of its margin reversed.  With the right signs, over all K ⪰ 0,

    minimise  tr(K) + Σ_t c_t·max(0, 1 − ⟨B_t, K⟩),    c_t = C·w_t,

where ⟨B_t, K⟩ = d²(far_t) − d²(near_t) is the margin of comparison t and
d²(i, j) = K_ii + K_jj − 2·K_ij.  Its dual has one multiplier for each comparison,

    maximise  Σ_t α_t    over 0 ≤ α_t ≤ c_t with Σ_t α_t·B_t ⪯ I,

and Σ_t α_t·B_t is the Laplacian of a graph whose edges are the compared pairs.  The value of any
dual-feasible α bounds that of every primal K from below; the duality gap bounds the error.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from tercet.arrays import Floats
from tercet.errors import InputError

__all__ = ["KernelSolution", "critical_slack_weight", "points_from_kernel", "solve_kernel"]

Integers = NDArray[np.int64]

# Measured on food100, car60, music_aset400, material_appearance and alien_eggs.
DEFAULT_C_RATIO = 8.0  # default C over the critical one: low training errors in 1 to 3 dimensions
WIDTH = 0.3  # of the smoothed hinge, in units of the margin; this and what follows: for speed
STIFF_C_RATIO = 30.0  # from this C on, again over the critical one, the width grows with C
CHECK_EVERY, RECENTRE_EVERY = 10, 40  # steps
LIPSCHITZ_DECAY = 0.95  # a step: lets the step length grow where the curvature is small


class KernelSolution(NamedTuple):
    """The kernel, how good it is, and why the solver stopped."""

    kernel: Floats
    """(n, n), positive semidefinite, rows sum to zero."""
    objective: float
    dual_objective: float
    """A lower bound of the optimum, from a dual-feasible point."""
    n_iter: int
    """Projections onto the semidefinite cone."""
    converged: bool
    reason: str
    slack_weight: float
    """The C that was used."""


class _Program(NamedTuple):
    """Distinct comparisons as two edge numbers each, and the upper bounds c of the multipliers."""

    n_objects: int
    head: Integers
    tail: Integers
    near: Integers
    far: Integers
    cap: Floats


def _program(pairs: ArrayLike, n_objects: int, weights: ArrayLike | None) -> _Program:
    """List the edges, and add up the weights of repeated comparisons."""
    array = np.asarray(pairs, dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 4 or not len(array):
        raise InputError(f"pairs must have shape (m, 4) with m ≥ 1, got {array.shape}")
    weight = np.ones(len(array)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != (len(array),) or not np.all(weight >= 0) or not np.isfinite(weight).all():
        raise InputError("weights must be one finite number ≥ 0 for each comparison")
    ends = np.sort(array.reshape(-1, 2), axis=1)
    if ends[:, 0].min() < 0 or ends[:, 1].max() >= n_objects:
        raise InputError(f"objects must be numbered 0 to {n_objects - 1}")
    code, edge = np.unique(ends[:, 0] * n_objects + ends[:, 1], return_inverse=True)
    edge = edge.reshape(-1, 2)
    both, which = np.unique(edge[:, 0] * len(code) + edge[:, 1], return_inverse=True)
    near, far = np.divmod(both, len(code))
    head, tail = np.divmod(code, n_objects)
    cap = np.asarray(np.bincount(which, weight), dtype=np.float64)
    return _Program(n_objects, head, tail, near, far, cap)


def _margins(program: _Program, K: Floats) -> Floats:
    """⟨B_t, K⟩ = d²(far_t) − d²(near_t) for every comparison."""
    head, tail, size = program.head, program.tail, K.diagonal()
    squared_length = size[head] + size[tail] - 2 * K[head, tail]
    return np.asarray(squared_length[program.far] - squared_length[program.near])


def _laplacian(program: _Program, alpha: Floats) -> Floats:
    """Σ_t α_t·B_t, as the Laplacian of the edges weighted by how often they were far or near."""
    n_edges = len(program.head)
    edge_weight = np.bincount(program.far, alpha, n_edges)
    edge_weight -= np.bincount(program.near, alpha, n_edges)
    W = np.zeros((program.n_objects, program.n_objects))
    W[program.head, program.tail] = edge_weight
    W += W.T
    return np.diag(W.sum(axis=1)) - W


def _largest_eigenvalue(M: Floats) -> float:
    last = len(M) - 1
    return float(linalg.eigvalsh(M, subset_by_index=(last, last), check_finite=False)[0])


def _project(M: Floats, expected_rank: int) -> tuple[Floats, int]:
    """Return the nearest positive semidefinite matrix and its rank."""
    if expected_rank < 0.6 * len(M):  # then computing only the positive part is faster
        value, vector = linalg.eigh(M, subset_by_value=(0, np.inf), check_finite=False)
    else:
        value, vector = linalg.eigh(M, driver="evd", check_finite=False)
        vector, value = vector[:, value > 0], value[value > 0]
    root = vector * np.sqrt(value)
    return root @ root.T, len(value)


def _smoothed_hinge(
    margin: Floats, cap: Floats, centre: Floats, width: float
) -> tuple[float, Floats]:
    """Σ_t c_t·max over 0 ≤ a_t ≤ 1 of a_t·(1 − margin_t) − width/2·(a_t − centre_t)², and its a.

    At centre 0 this is Huber's hinge, with an error of up to width/2 per comparison.  Centred at
    the multipliers of the solution it has the same solution as the hinge, at any width.
    """
    slack = 1 - margin
    a = np.clip(centre + slack / width, 0, 1)
    return float(cap @ (a * slack - width / 2 * (a - centre) ** 2)), a


def _best_scale(trace: float, margin: Floats, cap: Floats) -> float:
    """Return the s ≥ 0 that minimises s·tr(K) + Σ_t c_t·max(0, 1 − s·margin_t), exactly.

    This is convex and piecewise linear in s, with a kink at 1/margin_t for each positive margin.
    """
    positive = margin > 1e-12
    kink = 1 / margin[positive]
    order = np.argsort(kink, kind="stable")
    rise = (cap * margin)[positive][order]
    slope = trace - cap @ margin + np.concatenate([[0.0], np.cumsum(rise)])
    return float(np.concatenate([[0.0], kink[order]])[np.argmax(slope >= 0)])


def _primal_bound(program: _Program, K: Floats, margin: Floats) -> tuple[Floats, float]:
    """Scale K optimally; return it and its objective."""
    trace = float(np.trace(K))
    s = _best_scale(trace, margin, program.cap)
    return s * K, s * trace + float(program.cap @ np.maximum(0, 1 - s * margin))


def _dual_bound(program: _Program, alpha: Floats) -> float:
    """Scale α until Σ_t α_t·B_t ⪯ I holds; return its objective."""
    return float(alpha.sum()) / max(1.0, _largest_eigenvalue(_laplacian(program, alpha)))


def _critical(program: _Program) -> float:
    largest = _largest_eigenvalue(_laplacian(program, program.cap))
    return 1 / largest if largest > 1e-12 * program.cap.sum() else np.inf


def critical_slack_weight(
    pairs: ArrayLike, n_objects: int, weights: ArrayLike | None = None
) -> float:
    """Return the largest C at which K = 0 (all points coincide) is optimal.

    It is 1/λ_max(Σ_t w_t·B_t): up to there α = c is dual feasible, and its value Σ_t c_t is the
    objective of K = 0.  Infinite if the answers cancel each other.
    """
    return _critical(_program(pairs, n_objects, weights))


def solve_kernel(
    pairs: ArrayLike,
    n_objects: int,
    *,
    slack_weight: float | None = None,
    weights: ArrayLike | None = None,
    tol: float = 1e-4,
    max_iter: int = 5000,
) -> KernelSolution:
    """Solve the semidefinite program of GNMDS by accelerated projected gradient.

    The hinge is smoothed around a guess of its multipliers (`_smoothed_hinge`), which is updated to
    the current ones every few iterations: the proximal method of multipliers.  The smoothing then
    causes no error and its width need not shrink, which took about a tenth of the iterations of a
    continuation on the width.  Each step is a gradient step from a point extrapolated by Nesterov's
    momentum (reset when it points uphill; O'Donoghue & Candès 2015), projected onto the
    semidefinite cone; its length adapts by backtracking.  One iteration costs O(m + n³).

    Parameters
    ----------
    pairs : (m, 4) integers
        A row (a, b, c, d) says that a and b are closer than c and d.
    n_objects : int
    slack_weight : float, optional
        Weight C of the slack relative to the trace; 8 times the critical one by default.
    weights : (m,) floats, optional
        Weights w of the comparisons, one by default.
    tol : float
        Stop when objective and lower bound differ by less than this share of the objective.
    max_iter : int
        Maximal number of projections onto the cone.  A few hundred are enough at the default C;
        beyond 1000 times the critical C this method is slow, and may not converge.

    Notes
    -----
    It always starts at K = 0: most of the time is spent on the multipliers, and starting at the
    solution's K saved nothing.
    """
    program = _program(pairs, n_objects, weights)
    critical = _critical(program)
    if slack_weight is None:
        slack_weight = DEFAULT_C_RATIO * critical if np.isfinite(critical) else 1.0
    elif not (slack_weight > 0 and np.isfinite(slack_weight)):
        raise InputError(f"the slack weight C must be a positive number, got {slack_weight}")
    program = program._replace(cap=slack_weight * program.cap)
    if slack_weight <= critical:
        return _one_place(program, slack_weight, critical)

    cap, identity = program.cap, np.eye(n_objects)
    # With a large C nearly all multipliers are far below their caps: a wider smoothing is better.
    width = WIDTH * max(1.0, slack_weight / (STIFF_C_RATIO * critical))
    K = np.zeros((n_objects, n_objects))
    margin, centre = np.zeros_like(cap), np.zeros_like(cap)
    ahead, margin_ahead, momentum = K, margin, 1.0
    direction = _laplacian(program, cap)  # of the first step; backtracking corrects the estimate
    curvature = _laplacian(program, cap * _margins(program, direction))
    lipschitz = float(linalg.norm(curvature) / linalg.norm(direction)) / width
    rank, n_iter, n_steps = n_objects, 0, 0
    best, objective, bound, converged = K, np.inf, 0.0, False

    while not converged and n_iter < max_iter:
        value_ahead, a = _smoothed_hinge(margin_ahead, cap, centre, width)
        gradient = identity - _laplacian(program, cap * a)
        while True:
            step, rank = _project(ahead - gradient / lipschitz, rank)
            margin_step = _margins(program, step)
            value, a_step = _smoothed_hinge(margin_step, cap, centre, width)
            n_iter += 1
            moved = step - ahead
            model = value_ahead - (cap * a) @ (margin_step - margin_ahead)
            model += lipschitz / 2 * np.vdot(moved, moved)
            if value <= model + 1e-12 * abs(value_ahead) or n_iter >= max_iter:
                break
            lipschitz *= 2
        lipschitz *= LIPSCHITZ_DECAY
        if np.vdot(moved, step - K) < 0:
            momentum = 1.0
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        beta = (momentum - 1) / next_momentum
        ahead, margin_ahead = step + beta * (step - K), margin_step + beta * (margin_step - margin)
        K, margin, momentum = step, margin_step, next_momentum
        n_steps += 1
        if n_steps % CHECK_EVERY == 0 or n_iter >= max_iter:
            bound = max(bound, _dual_bound(program, cap * a_step))
            scaled, cost = _primal_bound(program, K, margin)
            if cost < objective:
                best, objective = scaled, cost
            converged = objective - bound <= tol * objective
        if n_steps % RECENTRE_EVERY == 0:
            centre = a_step

    gap = (objective - bound) / objective
    reason = f"the relative duality gap fell to {gap:.1e}"
    if not converged:
        reason = (
            f"stopped after {n_iter} iterations at a relative duality gap of {gap:.1e}, above the "
            f"tolerance {tol:.1e} (in Python: raise max_iter or tol, or lower C)"
        )
    return KernelSolution(best, objective, bound, n_iter, converged, reason, slack_weight)


def _one_place(program: _Program, slack_weight: float, critical: float) -> KernelSolution:
    """K = 0, which is optimal up to the critical slack weight."""
    reason = (
        f"all points coincide: C = {slack_weight:.3g} is too small for any answer to matter; "
        f"raise C above {critical:.3g}"
        if np.isfinite(critical)
        else "all points coincide for every C: the answers cancel each other"
    )
    kernel = np.zeros((program.n_objects, program.n_objects))
    cost = float(program.cap.sum())
    return KernelSolution(kernel, cost, cost, 0, True, reason, slack_weight)


def points_from_kernel(K: ArrayLike, n_components: int) -> Floats:
    """Return the (n, d) points whose kernel is nearest to K: its leading eigenvectors times √λ.

    Columns are ordered by size; the sign of each makes its largest entry positive.
    """
    kernel = np.asarray(K, dtype=np.float64)
    n = len(kernel)
    if not 1 <= n_components <= n:
        raise InputError(f"n_components must be between 1 and {n}, got {n_components}")
    value, vector = linalg.eigh(kernel, subset_by_index=(n - n_components, n - 1))
    points = (vector * np.sqrt(np.maximum(value, 0)))[:, ::-1]
    largest = np.abs(points).argmax(axis=0)
    return np.asarray(points * np.where(points[largest, np.arange(n_components)] < 0, -1.0, 1.0))

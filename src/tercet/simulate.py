"""Simulated points, comparisons and noisy answers (paper, section 5).

A *comparison* is a question: rows (i, j, l) ask "is i closer to j or to l?", rows (a, b, c, d)
"is a–b or c–d the closer pair?". *Answering* it orders the row so that the nearer comes first,
which makes it a triplet. ``random_state`` is always None, an int or a
``numpy.random.Generator``.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.answers.choices import Choices
from tercet.answers.either import asked_with_ties, match_objects, rearranged
from tercet.answers.questions import count_comparisons, draw_distinct, unrank
from tercet.answers.triplets import Triplets, as_triplets
from tercet.arrays import Floats, Index
from tercet.errors import InputError
from tercet.kinds import FARTHEST, FARTHEST_OR_TIE
from tercet.metrics import squared_distances
from tercet.models import ANY_PROBABILITY
from tercet.models.base import NOT_NEGATIVE, Model
from tercet.models.luce import draw_outcomes
from tercet.running.memory import need_memory
from tercet.running.provenance import Seed, as_generator

__all__ = [
    "all_comparisons",
    "answer",
    "answers_from_model",
    "choices_from_model",
    "gaussian_mixture",
    "mean_perception",
    "noisy_triplets",
    "observers",
    "perception_functions",
    "pinned_kernel",
    "random_comparisons",
    "true_triplets",
]

Probability: TypeAlias = Callable[[Floats, Floats], ArrayLike]

# Paper, section 5.1, which gives no weights; ours are equal.
MIXTURE_MEANS = np.array([[2.0, 2.0], [-2.0, -1.0], [4.0, -2.0]])
MIXTURE_COVARIANCES = np.array(
    [[[2.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.7], [0.7, 2.0]]]
)

_NUMBERS = 12  # in memory per comparison, roughly, while they are generated


class ProbabilityModel(Protocol):
    """A model that gives the probability of an answer."""

    def probability(self, near: Floats, far: Floats, n_components: int, /) -> ArrayLike: ...


# ---- points


def gaussian_mixture(n: int = 50, *, random_state: Seed = None) -> tuple[Floats, Index]:
    """Points (n, 2) of the paper's mixture of three Gaussians, and their component (n,)."""
    rng = as_generator(random_state)
    labels = rng.integers(len(MIXTURE_MEANS), size=n)
    root = np.linalg.cholesky(MIXTURE_COVARIANCES)
    spread = np.einsum("nij,nj->ni", root[labels], rng.standard_normal((n, 2)))
    return MIXTURE_MEANS[labels] + spread, labels


# ---- comparisons


def all_comparisons(n: int) -> Index:
    """All n(n − 1)(n − 2)/2 comparisons (i, j, l) with j < l, in lexicographic order."""
    count = count_comparisons(n)
    need_memory(_NUMBERS * count, f"All {count} comparisons", "draw some by random_comparisons")
    return unrank(np.arange(count), n)


def random_comparisons(
    n: int, m: int, *, replace: bool = False, random_state: Seed = None
) -> Index:
    """Draw m comparisons (i, j, l), j < l, of n objects uniformly; shape (m, 3).

    Memory and time depend on m only: comparisons are drawn by their number in
    ``all_comparisons(n)``, without listing them.
    """
    available = count_comparisons(n)
    if m < 0:
        raise InputError(f"the number of comparisons must not be negative, got {m}.")
    need_memory(_NUMBERS * m, f"{m} comparisons", "ask for fewer")
    rng = as_generator(random_state)
    if replace:
        return unrank(rng.integers(available, size=m), n)
    if m > available:
        raise InputError(
            f"{n} objects have only {available} different comparisons, {m} were requested. "
            "Request fewer, or use replace=True."
        )
    return unrank(draw_distinct(available, m, rng), n)


# ---- answers


def true_triplets(
    points: ArrayLike, comparisons: ArrayLike | Triplets | None = None, *, precomputed: bool = False
) -> Index:
    """Comparisons answered by the true distances; shape (m, 3) or (m, 4).

    Comparisons of two equal distances have no true answer and are left out.

    Parameters
    ----------
    points : (n, d) array
        Positions, or with ``precomputed`` an (n, n) matrix of distances.
    comparisons : (m, 3) or (m, 4) integer array, optional
        Default: ``all_comparisons(n)``.
    precomputed : bool
    """
    if comparisons is None:
        comparisons = all_comparisons(len(np.asarray(points)))
    rows, near, far = _distances(points, comparisons, precomputed)
    decided = near != far
    return _orient(rows[decided], near[decided] < far[decided])


def answer(
    points: ArrayLike,
    comparisons: ArrayLike | Triplets,
    *,
    noise: float = 0.0,
    lapse: float = 0.0,
    precomputed: bool = False,
    random_state: Seed = None,
) -> Index:
    """Answer comparisons with the paper's log-normal noise (section 5); shape (m, 3) or (m, 4).

    Each of the two distances δ of a comparison is perceived as z with log z ~ N(log δ, σ²), and
    the smaller z is called nearer. So the answer is correct with probability
    Φ(|log δ_far − log δ_near| / (σ√2)). Equal z are answered at random.

    Parameters
    ----------
    points : (n, d) array
        Positions, or with ``precomputed`` an (n, n) matrix of distances.
    comparisons : (m, 3) or (m, 4) integer array
    noise : float
        σ; 0 answers by the true distances.
    lapse : float
        Share of the answers that are given at random.
    precomputed : bool
    """
    if not 0.0 <= noise < np.inf:
        raise InputError(f"noise must be a standard deviation of at least 0, got {noise}.")
    _check_share(lapse, "lapse")
    rng = as_generator(random_state)
    rows, near, far = _distances(points, comparisons, precomputed)
    if noise > 0:
        with np.errstate(divide="ignore"):  # log 0 = −∞ stays nearest under any noise
            near, far = np.log(near), np.log(far)
        near = near + noise * rng.standard_normal(len(near))
        far = far + noise * rng.standard_normal(len(far))
    guessed = near == far
    if lapse > 0:
        guessed |= rng.random(len(rows)) < lapse
    first = near < far
    first[guessed] = rng.random(np.count_nonzero(guessed)) < 0.5
    return _orient(rows, first)


def answers_from_model(
    model: ProbabilityModel | Probability,
    points: ArrayLike,
    comparisons: ArrayLike | Triplets,
    *,
    lapse: float = 0.0,
    random_state: Seed = None,
) -> Index:
    """Answer comparisons by drawing from a model's probabilities; shape (m, 3) or (m, 4).

    Parameters
    ----------
    model : object or callable
        Either has ``probability(near_squared, far_squared, n_components)``, or is called with
        two arrays of squared distances; gives the probability that the first is called nearer.
    points : (n, d) array
    comparisons : (m, 3) or (m, 4) integer array
    lapse : float
        λ in p ← (1 − λ)p + λ/2: the share of answers given at random.
    """
    _check_share(lapse, "lapse")
    points = np.asarray(points, dtype=np.float64)
    rows = as_triplets(comparisons, n_objects=len(points)).array
    squared = squared_distances(points, rows)
    probability = getattr(model, "probability", None)
    if probability is not None:
        p = np.asarray(probability(*squared, points.shape[1]))
    elif callable(model):
        p = np.asarray(model(*squared))
    else:
        raise InputError(
            f"{type(model).__name__} gives no probability of an answer; use a model that does, "
            f"such as {ANY_PROBABILITY}, or a function of two arrays of squared distances."
        )
    if p.shape != (len(rows),) or not ((p >= 0) & (p <= 1)).all():
        raise InputError("a model must give one probability in [0, 1] for every comparison.")
    p = (1.0 - lapse) * p + lapse / 2.0
    return _orient(rows, as_generator(random_state).random(len(rows)) < p)


def choices_from_model(
    model: Model,
    points: ArrayLike,
    choices: Choices,
    *,
    lapse: float = 0.0,
    tie: float = 0.0,
    bias: ArrayLike | None = None,
    random_state: Seed = None,
) -> Choices:
    """The same questions with answers drawn from a model: the odds of a pair ∝ its similarity.

    Parameters
    ----------
    model : Model
        A similarity, such as ``CKL(2).model()``.
    points : (n, d) array
    choices : Choices
        What was chosen has no effect.
    lapse : float
        Share of answers that are any of the outcomes, all equally likely.
    tie : float
        Odds of "cannot tell" against the geometric mean of the alternatives', as an answer to
        choices of one; never, if 0.
    bias : (positions,) array, optional
        Log-odds by which the alternative at each position is preferred.
    """
    _check_share(lapse, "lapse")
    NOT_NEGATIVE.check("tie", tie)
    points = np.asarray(points, dtype=np.float64)
    known = match_objects(choices, len(points), None)
    apart = points[known.pairs[:, 0]] - points[known.pairs[:, 1]]
    log_s, _ = model.log_similarity(np.einsum("ak,ak->a", apart, apart), points.shape[1])
    if bias is not None:
        log_s += _sides(known, np.asarray(bias, dtype=np.float64))
    known = asked_with_ties(known, allowed=tie > 0.0)
    order, chosen = np.empty(len(log_s), dtype=np.int64), known.n_chosen.copy()
    rng, even = as_generator(random_state), float(np.log(tie)) if tie > 0.0 else 0.0
    draw_outcomes(float(lapse), even, known.cuts, known.kinds, log_s, rng, order, chosen)
    return rearranged(known, order, chosen)


def _sides(choices: Choices, bias: Floats) -> Floats:
    """What the positions of the alternatives (A,) add to their log-similarities."""
    shown = choices.positions
    if shown is None or bias.ndim != 1 or shown.max() >= len(bias) or not np.isfinite(bias).all():
        raise InputError(
            "bias must be one finite log-odds for every position, and the choices must have "
            f"positions; got shape {bias.shape}."
        )
    farthest = np.isin(choices.kinds, (FARTHEST, FARTHEST_OR_TIE))
    sign = np.repeat(np.where(farthest, -1.0, 1.0), choices.n_alternatives)
    return np.where(shown < 0, 0.0, sign * bias[shown])


def noisy_triplets(
    points: ArrayLike,
    m: int | None = None,
    *,
    fraction: float | None = None,
    noise: float = 0.0,
    replace: bool = False,
    random_state: Seed = None,
) -> Triplets:
    """Answers with log-normal noise to random comparisons of the points: a training set.

    Parameters
    ----------
    points : (n, d) array
    m, fraction : int, float
        Number of comparisons, or their share of all n(n − 1)(n − 2)/2: give one of the two.
    noise, replace, random_state
        As in ``answer`` and ``random_comparisons``.
    """
    n = len(np.asarray(points))
    if fraction is not None and m is None:
        _check_share(fraction, "fraction")
        m = round(fraction * count_comparisons(n))
    elif m is None or fraction is not None:
        raise InputError("give either m, the number of comparisons, or fraction, their share.")
    rng = as_generator(random_state)
    comparisons = random_comparisons(n, m, replace=replace, random_state=rng)
    return Triplets(answer(points, comparisons, noise=noise, random_state=rng), n_objects=n)


def _distances(
    points: ArrayLike, comparisons: ArrayLike | Triplets, precomputed: bool
) -> tuple[Index, Floats, Floats]:
    """Check comparisons and look up the two distances of each."""
    points = np.asarray(points, dtype=np.float64)
    asked = as_triplets(comparisons, n_objects=len(points))
    if not precomputed:
        near, far = squared_distances(points, asked)
        return asked.array, np.sqrt(near), np.sqrt(far)
    if points.ndim != 2 or points.shape[0] != points.shape[1]:
        raise InputError(f"precomputed distances must be a square matrix, got {points.shape}.")
    if not (points >= 0.0).all():
        raise InputError("precomputed distances must be numbers of at least 0.")
    a, b, c, d = asked.pairs().T
    return asked.array, points[a, b], points[c, d]


def _orient(rows: Index, first: NDArray[np.bool_]) -> Index:
    """Put the nearer pair first: reverse rows where ``first`` is false."""
    turned = rows[:, [0, 2, 1]] if rows.shape[1] == 3 else rows[:, [2, 3, 0, 1]]
    return np.where(first[:, None], rows, turned)


def _check_share(value: float, name: str) -> None:
    if not 0.0 <= value <= 1.0:
        raise InputError(f"{name} is a share and must lie in [0, 1], got {value}.")


# ---- observers (paper, section 5.4 and supplement)


def mean_perception(stimuli: ArrayLike) -> Floats:
    """Return the mean perception function m(x) = 1/(1 + exp(−25(x − 0.5)))."""
    x = np.asarray(stimuli, dtype=np.float64)
    return 1.0 / (1.0 + np.exp(-25.0 * (x - 0.5)))


def pinned_kernel(stimuli: ArrayLike, lengthscale: float) -> Floats:
    """Covariance (n, n) of perception functions that all agree at the stimuli 0 and 1.

    The squared-exponential kernel k conditioned on x = (0, 1), as in the supplement:
    k_post(s, t) = k(s, t) − k(s, x) k(x, x)⁻¹ k(x, t).
    """
    if not 0.0 < lengthscale < np.inf:
        raise InputError(f"lengthscale must be positive, got {lengthscale}.")
    s = _stimuli(stimuli)
    need_memory(4 * len(s) ** 2, f"The covariances of {len(s)} stimuli", "give fewer stimuli")
    pins = np.array([0.0, 1.0])

    def k(a: Floats, b: Floats) -> Floats:
        return np.asarray(np.exp(-((a[:, None] - b) ** 2) / (2.0 * lengthscale**2)))

    # For long lengthscales the two pins become one: the pseudo-inverse tends to the right limit.
    inverse = np.linalg.pinv(k(pins, pins), rcond=1e-10, hermitian=True)
    return k(s, s) - k(s, pins) @ inverse @ k(pins, s)


def perception_functions(
    n_observers: int, stimuli: ArrayLike, *, lengthscale: float, random_state: Seed = None
) -> Floats:
    """Perception functions of observers, from the paper's pinned Gaussian process.

    The covariance is ``pinned_kernel``; the mean stays ``mean_perception``, which is 4e-6 away
    from the identity at 0 and 1. The shorter the lengthscale, the more observers differ.

    Parameters
    ----------
    n_observers : int
    stimuli : (n,) array
        In [0, 1]; the paper has ``np.linspace(0, 1, 20)``.
    lengthscale : float
        The paper has 2, 0.88 and 0.54.

    Returns
    -------
    (n_observers, n) array
    """
    s = _stimuli(stimuli)
    # The kernel is numerically singular, so there is no Cholesky factor: clip negative rounding.
    values, vectors = np.linalg.eigh(pinned_kernel(s, lengthscale))
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    root[(s == 0.0) | (s == 1.0)] = 0.0
    normal = as_generator(random_state).standard_normal((n_observers, len(s)))
    return np.asarray(mean_perception(s) + normal @ root.T)


def observers(
    perceptions: ArrayLike,
    m: int,
    *,
    noise: float = 0.0,
    lapse: float = 0.0,
    replace: bool = False,
    random_state: Seed = None,
) -> Triplets:
    """Answers of observers who each compare stimuli by their own perception function.

    Observer o answers m random comparisons by the distances |ψ_oi − ψ_oj|.

    Parameters
    ----------
    perceptions : (k, n) array
        Perceived value ψ of every stimulus, one row per observer; see ``perception_functions``.
    m : int
        Comparisons per observer.
    noise, lapse : float
        As in ``answer``.
    replace : bool
        Whether an observer may be asked the same comparison again.

    Returns
    -------
    Triplets
        k·m triplets; ``observers`` is the row of ``perceptions`` of each.
    """
    psi = np.asarray(perceptions, dtype=np.float64)
    if psi.ndim != 2 or not len(psi):
        raise InputError(f"perceptions must have shape (observers, stimuli), got {psi.shape}.")
    rng = as_generator(random_state)
    n, answers = psi.shape[1], []
    for own in psi:
        asked = random_comparisons(n, m, replace=replace, random_state=rng)
        answers.append(answer(own[:, None], asked, noise=noise, lapse=lapse, random_state=rng))
    labels = np.repeat(np.arange(len(psi)), m)
    return Triplets(np.concatenate(answers), n_objects=n, observers=labels)


def _stimuli(stimuli: ArrayLike) -> Floats:
    s = np.asarray(stimuli, dtype=np.float64)
    if s.ndim != 1 or not ((s >= 0.0) & (s <= 1.0)).all():
        raise InputError("stimuli must be a list of numbers in [0, 1]; rescale them first.")
    return s

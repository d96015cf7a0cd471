"""Points, comparisons of them and noisy answers (paper, section 5).

A *comparison* is a question: rows (i, j, l) ask "is i closer to j or to l?", rows (a, b, c, d)
"is a–b or c–d the closer pair?". *Answering* it orders the row so that the nearer comes first,
which makes it a triplet.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.answers.choices import Choices
from tercet.answers.questions import count_comparisons, draw_distinct, unrank
from tercet.answers.triplets import Triplets, as_triplets
from tercet.arrays import Floats, Index
from tercet.errors import InputError
from tercet.metrics import squared_distances
from tercet.models import ANY_PROBABILITY
from tercet.running.memory import need_memory
from tercet.running.provenance import Seed, as_generator
from tercet.simulate.agreement import noise_for_agreement
from tercet.simulate.people import check_share, people_who
from tercet.simulate.screens import answered, check_distances

__all__ = [
    "MIXTURE_MEANS",
    "Probability",
    "all_comparisons",
    "answer",
    "answers_from_model",
    "gaussian_mixture",
    "noisy_triplets",
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


@overload
def answer(
    points: ArrayLike,
    comparisons: Choices,
    *,
    noise: float = ...,
    lapse: float = ...,
    precomputed: bool = ...,
    random_state: Seed = ...,
) -> Choices: ...
@overload
def answer(
    points: ArrayLike,
    comparisons: ArrayLike | Triplets,
    *,
    noise: float = ...,
    lapse: float = ...,
    precomputed: bool = ...,
    random_state: Seed = ...,
) -> Index: ...
def answer(
    points: ArrayLike,
    comparisons: ArrayLike | Triplets | Choices,
    *,
    noise: float = 0.0,
    lapse: float = 0.0,
    precomputed: bool = False,
    random_state: Seed = None,
) -> Index | Choices:
    """Answer questions with the paper's log-normal noise (section 5); shape (m, 3) or (m, 4).

    Each of the two distances δ of a comparison is perceived as z with log z ~ N(log δ, σ²), and
    the smaller z is called nearer. So the answer is correct with probability
    Φ(|log δ_far − log δ_near| / (σ√2)). Equal z are answered at random. Of a choice among more
    pairs, all distances are perceived, and the pairs chosen by their z.

    Parameters
    ----------
    points : (n, d) array
        Positions, or with ``precomputed`` an (n, n) matrix of distances.
    comparisons : (m, 3) or (m, 4) integer array, or Choices
        What was chosen in Choices has no effect; they are returned with other answers.
    noise : float
        σ; 0 answers by the true distances.
    lapse : float
        Share of the answers that are given at random.
    precomputed : bool
    """
    people = people_who(noise, None, lapse)
    if isinstance(comparisons, Choices):
        return answered(points, comparisons, people, precomputed, random_state)
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
    check_share(lapse, "lapse")
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


def noisy_triplets(
    points: ArrayLike,
    m: int | None = None,
    *,
    fraction: float | None = None,
    noise: float = 0.0,
    agreement: float | None = None,
    replace: bool = False,
    random_state: Seed = None,
) -> Triplets:
    """Answers with log-normal noise to random comparisons of the points: a training set.

    Parameters
    ----------
    points : (n, d) array
    m, fraction : int, float
        Number of comparisons, or their share of all n(n − 1)(n − 2)/2: give one of the two.
    agreement : float, optional
        Instead of noise, how often two people agree, such as 0.74; see `noise_for_agreement`.
    noise, replace, random_state
        As in ``answer`` and ``random_comparisons``.
    """
    n = len(np.asarray(points))
    if fraction is not None and m is None:
        check_share(fraction, "fraction")
        m = round(fraction * count_comparisons(n))
    elif m is None or fraction is not None:
        raise InputError("give either m, the number of comparisons, or fraction, their share.")
    if agreement is not None:
        if noise != 0.0:
            raise InputError("give either noise or agreement: each says how people answer.")
        noise = noise_for_agreement(agreement, points)
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
    check_distances(points)
    a, b, c, d = asked.pairs().T
    return asked.array, points[a, b], points[c, d]


def _orient(rows: Index, first: NDArray[np.bool_]) -> Index:
    """Put the nearer pair first: reverse rows where ``first`` is false."""
    turned = rows[:, [0, 2, 1]] if rows.shape[1] == 3 else rows[:, [2, 3, 0, 1]]
    return np.where(first[:, None], rows, turned)

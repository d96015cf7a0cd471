"""Certainty of a map: of all comparisons, of single ones, and of nearest neighbours.

The confidence in a comparison is max(π, 1 − π), where π is `Ensemble.triplet_probability`: ½ where
the map is undecided, 1 where it is certain.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.answers.questions import count_comparisons, number_comparisons
from tercet.answers.triplets import Triplets, as_triplets
from tercet.arrays import Floats, Index
from tercet.ensemble import Ensemble
from tercet.ensemble.averages import choose_sample
from tercet.errors import InputError
from tercet.running.provenance import Seed
from tercet.simulate import all_comparisons, random_comparisons

__all__ = [
    "CertainComparison",
    "Certainty",
    "Neighbour",
    "Shares",
    "certainty",
    "choose_comparisons",
    "nearest_neighbours",
    "shares_of",
    "thin",
]


DRAWS = 1000  # used of an ensemble, and more of them where there are few objects:
WORK = 10**9  # limit on draws times the cube of the number of objects
TABLE = 2 * 10**7  # distances held at a time
FOR_RANKS = 500  # draws that rank comparisons which are certain in all of them
SHOWN = 10  # comparisons of each kind
LEVELS = (0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # at which shares are listed, beside the level
NEIGHBOURS = 3
_GRID = np.linspace(0.5, 1.0, 101)


class Neighbour(NamedTuple):
    """An object near another one."""

    object: int
    distance: float  # mean over the draws
    probability: float  # that it is the nearest of all objects


class CertainComparison(NamedTuple):
    """A comparison, and its probability under the map."""

    anchor: int
    near: int
    far: int  # farther than near with a probability of at least ½
    probability: float
    answers: int | None  # how often it was asked; None where unknown
    agreed: int | None  # how many of these answered near


class Shares(NamedTuple):
    """Share of comparisons above each confidence."""

    confidence: Floats  # (k,) rising from ½ to 1
    share: Floats  # (k,)
    counted: int  # comparisons used
    in_all: int  # comparisons that exist

    def at(self, confidence: float) -> float:
        """Share of the comparisons above a confidence."""
        place = int(np.searchsorted(self.confidence, confidence - 1e-9))
        return float(self.share[min(place, len(self.share) - 1)])


class Certainty(NamedTuple):
    """How certain a map is of all comparisons; printable.

    Attributes
    ----------
    share : float
        Share of comparisons whose confidence is above the level.
    shares : tuple of (confidence, share)
        The same at other levels.
    expected_error : float
        Average uncertainty, the mean of min(π, 1 − π): the expected share of comparisons that the
        map has wrong.
    most, least : tuple of Claim
        The most and the least certain comparisons, at most one per anchor; no comparison above the
        level is among the least certain.
    contested : tuple of Claim
        Comparisons of which the map is certain and most answers disagree; empty without answers.
    counted : int
        Number of comparisons used.
    is_sample : bool
        Whether these are a random sample of all.
    neighbours : tuple of tuples of Neighbour
        The nearest neighbours of each object, nearest first.
    level : float
    curve : Shares
        The share above every level, which `tercet.plots.plot_uncertainty` draws.
    names : tuple of str
        Names of the objects, or their numbers.
    """

    share: float
    shares: tuple[tuple[float, float], ...]
    expected_error: float
    most: tuple[CertainComparison, ...]
    least: tuple[CertainComparison, ...]
    contested: tuple[CertainComparison, ...]
    counted: int
    is_sample: bool
    neighbours: tuple[tuple[Neighbour, ...], ...]
    level: float
    curve: Shares
    names: tuple[str, ...]

    def __str__(self) -> str:
        which = f"{self.counted} random comparisons" if self.is_sample else "all comparisons"
        lines = [
            f"Certain (above {self.level:.3g}) of {self.share:.1%} of {which}; "
            f"{self.expected_error:.1%} expected to be wrong."
        ]
        for title, claims in (
            ("Most certain", self.most),
            ("Least certain", self.least),
            ("Contested", self.contested),
        ):
            lines += [f"{title}: {self.tell(claim)}" for claim in claims[:3]]
        return "\n".join(lines)

    def tell(self, claim: CertainComparison) -> str:
        """A claim in words."""
        anchor, near, far = (self.names[i] for i in claim[:3])
        asked = f"; {claim.agreed} of {claim.answers} answers" if claim.answers else ""
        return f"{anchor} is closer to {near} than to {far} ({claim.probability:.3f}{asked})"


def certainty(
    ensemble: Ensemble,
    answers: Any = None,
    *,
    level: float = 0.95,
    method: str | None = None,
    n_jobs: int | None = None,
    random_state: Seed = 0,
) -> Certainty:
    """Compute how certain an ensemble is of all comparisons x–y against x–z, and of single ones.

    Up to 120 objects, all comparisons are used, beyond that 500 000 random ones; with many objects
    about a thousand of the draws, evenly spaced.

    Parameters
    ----------
    ensemble : Ensemble
        Of points or of distances.
    answers : Triplets, or (m, 3) or (m, 4) array of numbers or names, optional
        With them, claims include how often they were asked and how many answers agreed, and
        contested ones are found. Quadruplets are not used.
    level : float
        Confidence above which a comparison counts as certain, from ½ up to, but not including, 1.
    method : {"paper", "joint", "vote"}, optional
        As in `Ensemble.triplet_probability`.
    n_jobs : int, optional
        Threads, all cores by default; the result does not depend on them.
    random_state : None, int or numpy.random.Generator
        For the sample of comparisons.

    Returns
    -------
    Certainty

    Examples
    --------
    >>> import tercet as tc
    >>> points, _ = tc.simulate.gaussian_mixture(10, random_state=0)
    >>> answers = tc.simulate.noisy_triplets(points, 300, noise=0.3, random_state=0)
    >>> maps = tc.Bootstrap(tc.STE(2), n_samples=20, random_state=0).fit(answers).ensemble_
    >>> found = tc.certainty(maps, answers, level=0.9)
    >>> found.counted, found.most[0].probability > 0.9
    (360, True)
    """
    _check_level(level)
    rows, is_sample = choose_comparisons(ensemble.n_objects, random_state)
    thinned = thin(ensemble)
    p = thinned.triplet_probability(rows, method, n_jobs)
    turned, confidence = _turned(rows, p)
    asked = None if answers is None else _match(ensemble, answers)
    votes = _Votes(asked)
    margin = _margin(thinned, turned, confidence)
    most = _one_an_anchor(turned, np.lexsort((-margin, -confidence)))
    least = _one_an_anchor(turned, np.argsort(confidence, kind="stable"))
    least = least[confidence[least] <= level]
    return Certainty(
        share=float(np.mean(confidence > level)),
        shares=tuple((at, float(np.mean(confidence > at))) for at in sorted({*LEVELS, level})),
        expected_error=float(np.mean(1.0 - confidence)),
        most=tuple(votes.claim(turned[i], confidence[i]) for i in most),
        least=tuple(votes.claim(turned[i], confidence[i]) for i in least),
        contested=() if asked is None else _contested(thinned, asked, votes, level, method),
        counted=len(rows),
        is_sample=is_sample,
        neighbours=nearest_neighbours(thinned, NEIGHBOURS),
        level=level,
        curve=shares_of(p, level)._replace(in_all=count_comparisons(ensemble.n_objects)),
        names=ensemble.names or tuple(map(str, range(ensemble.n_objects))),
    )


def choose_comparisons(n_objects: int, random_state: Seed = 0) -> tuple[Index, bool]:
    """The comparisons (m, 3) to use, and whether these are a random sample of all."""
    size = choose_sample("auto", n_objects)
    if size is None:
        return all_comparisons(n_objects), False
    return random_comparisons(n_objects, size, random_state=random_state), True


def thin(ensemble: Ensemble) -> Ensemble:
    """Evenly spaced draws, all of them where there are few objects, else about a thousand."""
    most = max(DRAWS, WORK // ensemble.n_objects**3)
    return ensemble[:: -(-len(ensemble) // most)]


def shares_of(probability: ArrayLike, level: float = 0.95) -> Shares:
    """Share of comparisons with probabilities π (m,) above every confidence.

    Parameters
    ----------
    probability : (m,) array
    level : float
        A confidence to include in the grid, from ½ up to 1.
    """
    _check_level(level)
    p = np.asarray(probability, dtype=np.float64)
    confidence = np.sort(np.maximum(p, 1.0 - p))
    edges = np.union1d(_GRID, level)
    above = len(confidence) - np.searchsorted(confidence, edges, side="right")
    return Shares(edges, above / len(confidence), len(confidence), len(confidence))


def nearest_neighbours(ensemble: Ensemble, k: int = 3) -> tuple[tuple[Neighbour, ...], ...]:
    """The k nearest objects of every object by mean distance, nearest first.

    Each has the probability that it is *the* nearest of all objects: the share of draws.

    Parameters
    ----------
    ensemble : Ensemble
        Of points or of distances.
    k : int
        At most the number of other objects.

    Returns
    -------
    tuple of tuples of Neighbour
        One tuple for each object.

    Examples
    --------
    >>> import numpy as np
    >>> import tercet as tc
    >>> line = tc.Ensemble(np.array([[[0.0], [1.0], [3.0], [7.0]]]))
    >>> [neighbour.object for neighbour in tc.nearest_neighbours(line, 2)[3]]
    [2, 1]
    """
    if k < 1:
        raise InputError(f"k must be 1 or more neighbours, got {k!r}.")
    return tuple(_neighbours(ensemble, i, k) for i in range(ensemble.n_objects))


def _neighbours(ensemble: Ensemble, i: int, k: int) -> tuple[Neighbour, ...]:
    others = np.delete(np.arange(ensemble.n_objects), i)
    table = ensemble.distances(np.column_stack([np.full(len(others), i), others]))
    nearest = np.bincount(table.argmin(axis=1), minlength=len(others)) / len(table)
    mean = table.mean(axis=0)
    order = np.argsort(mean, kind="stable")[:k]
    return tuple(
        Neighbour(int(others[j]), float(mean[j]), float(nearest[j])) for j in order.tolist()
    )


# --- inside -----------------------------------------------------------------------------------


def _check_level(level: float) -> None:
    if not 0.5 <= level < 1.0:
        raise InputError(f"level must lie between 0.5 and 1, such as 0.95, got {level!r}.")


def _match(ensemble: Ensemble, answers: Any) -> Triplets:
    """The answers with the ensemble's numbering of objects, and their votes."""
    given = as_triplets(answers)
    objects = Triplets([[0, 1, 2]], n_objects=ensemble.n_objects, names=ensemble.names)
    return Triplets(objects.encode(given), n_objects=ensemble.n_objects, weights=given.weights)


def _turned(rows: Index, p: Floats) -> tuple[Index, Floats]:
    """Comparisons with the likelier object as near, and their confidence."""
    return np.where((p >= 0.5)[:, None], rows, rows[:, [0, 2, 1]]), np.maximum(p, 1.0 - p)


def _margin(ensemble: Ensemble, rows: Index, confidence: Floats) -> Floats:
    """Standard deviations by which far exceeds near, for comparisons tied at the top.

    Many comparisons are certain in all draws; this ranks them.
    """
    margin = np.zeros(len(rows))
    top = np.flatnonzero(confidence == confidence.max())[: TABLE // len(ensemble)]
    some = ensemble[:: -(-len(ensemble) // FOR_RANKS)]
    near, far = (some.distances(rows[top][:, [0, k]]) for k in (1, 2))
    difference = far - near
    margin[top] = difference.mean(axis=0) / np.maximum(difference.std(axis=0), 1e-12)
    return margin


def _one_an_anchor(rows: Index, order: NDArray[np.int64]) -> Index:
    """The first comparisons in this order, no two with the same anchor."""
    first = np.unique(rows[order, 0], return_index=True)[1]
    return np.asarray(order[np.sort(first)[:SHOWN]])


class _Votes:
    """Counts of answers by comparison."""

    def __init__(self, answers: Triplets | None) -> None:
        self.near: dict[tuple[int, int, int], int] | None = None
        if answers is None or answers.is_quadruplets:
            return
        rows, place = np.unique(answers.array, axis=0, return_inverse=True)
        given = np.bincount(place.reshape(-1), answers.votes).astype(np.int64)
        self.near = {
            (a, b, c): k for (a, b, c), k in zip(rows.tolist(), given.tolist(), strict=True)
        }

    def claim(self, row: Index, probability: float) -> CertainComparison:
        """A comparison with its answers."""
        anchor, near, far = row.tolist()
        if self.near is None:
            return CertainComparison(anchor, near, far, float(probability), None, None)
        agreed, against = (self.near.get((anchor, *pair), 0) for pair in ((near, far), (far, near)))
        return CertainComparison(anchor, near, far, float(probability), agreed + against, agreed)


def _contested(
    ensemble: Ensemble, answers: Triplets, votes: _Votes, level: float, method: str | None
) -> tuple[CertainComparison, ...]:
    """Comparisons of which the map is certain and most answers disagree, most answers first."""
    if answers.is_quadruplets:
        return ()
    first = np.unique(number_comparisons(answers), return_index=True)[1]
    rows = answers.array[first]
    turned, confidence = _turned(rows, ensemble.triplet_probability(rows, method))
    claims = (votes.claim(turned[i], confidence[i]) for i in np.flatnonzero(confidence > level))
    against = [
        (2 * claim.agreed - claim.answers, -claim.probability, claim)
        for claim in claims
        if claim.agreed is not None
        and claim.answers is not None
        and 2 * claim.agreed < claim.answers
    ]
    against.sort(key=lambda each: each[:2])
    return tuple(claim for *_, claim in against[:SHOWN])

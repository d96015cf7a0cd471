"""How sure the map is: of every comparison, and of every object."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tercet.answers.questions import number_comparisons
from tercet.ensemble import Ensemble
from tercet.provenance import seed_for
from tercet.report.analysis import Certainty, Claim, Floats, Neighbour, Object
from tercet.simulate import all_comparisons, random_comparisons
from tercet.triplets import Triplets
from tercet.uses.quality.counts import mentions

__all__ = ["describe_objects", "measure_certainty", "thin"]

Index = NDArray[np.int64]

EXACT = 120  # objects, of which all comparisons are looked at
SAMPLE = 500_000  # comparisons that are looked at of more objects
DRAWS = 1000  # that are looked at, and more of them where there are few objects:
WORK = 10**9  # draws times the third power of the number of objects
TABLE = 2 * 10**7  # distances held at a time
SHOWN = 10  # comparisons of each kind
LEVELS = (0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # at which shares are told, beside the level
NEIGHBOURS = 3
_SAMPLE = 2  # first key of the seed


def measure_certainty(
    ensemble: Ensemble, triplets: Triplets, level: float, seed: int, n_jobs: int | None
) -> Certainty:
    """Look at all comparisons, or at a random choice of very many."""
    n = ensemble.n_objects
    is_sample = n > EXACT
    if is_sample:
        rng = np.random.default_rng(seed_for(seed, _SAMPLE))
        rows = random_comparisons(n, SAMPLE, random_state=rng)
    else:
        rows = all_comparisons(n)
    thinned = thin(ensemble)
    p = thinned.triplet_probability(rows, n_jobs=n_jobs)
    confidence = np.maximum(p, 1.0 - p)
    turned = np.where((p >= 0.5)[:, None], rows, rows[:, [0, 2, 1]])
    votes = _Votes(triplets)
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
        contested=_contested(thinned, triplets, votes, level),
        counted=len(rows),
        is_sample=is_sample,
    )


def thin(ensemble: Ensemble) -> Ensemble:
    """Evenly spaced draws, all of them where there are few objects, else about a thousand."""
    most = max(DRAWS, WORK // ensemble.n_objects**3)
    return ensemble[:: -(-len(ensemble) // most)]


def _margin(ensemble: Ensemble, rows: Index, confidence: Floats) -> Floats:
    """By how many standard deviations far is farther than near, where the surest are as sure.

    Many comparisons are certain in all draws; this says which of them are most clearly so.
    """
    margin = np.zeros(len(rows))
    top = np.flatnonzero(confidence == confidence.max())[: TABLE // len(ensemble)]
    near, far = (ensemble.distances(rows[top][:, [0, k]]) for k in (1, 2))
    difference = far - near
    margin[top] = difference.mean(axis=0) / np.maximum(difference.std(axis=0), 1e-12)
    return margin


def _one_an_anchor(rows: Index, order: NDArray[np.int64]) -> Index:
    """The first comparisons in this order, no two with the same anchor."""
    first = np.unique(rows[order, 0], return_index=True)[1]
    return np.asarray(order[np.sort(first)[:SHOWN]])


def _votes(triplets: Triplets) -> Index:
    """How many answers each row (m,) is; 1 where weights are no counts."""
    return np.ones(len(triplets), dtype=np.int64) if triplets.votes is None else triplets.votes


class _Votes:
    """How often comparisons were asked and what was said, looked up by the comparison."""

    def __init__(self, triplets: Triplets) -> None:
        self.near: dict[tuple[int, int, int], int] = {}
        if triplets.is_quadruplets:
            return
        answers, place = np.unique(triplets.array, axis=0, return_inverse=True)
        given = np.bincount(place.reshape(-1), _votes(triplets)).astype(np.int64)
        self.near = {
            (a, b, c): k for (a, b, c), k in zip(answers.tolist(), given.tolist(), strict=True)
        }

    def claim(self, row: Index, probability: float) -> Claim:
        """A comparison with its answers."""
        anchor, near, far = row.tolist()
        agreed, against = (self.near.get((anchor, *pair), 0) for pair in ((near, far), (far, near)))
        return Claim(anchor, near, far, float(probability), agreed + against, agreed)


def _contested(
    ensemble: Ensemble, triplets: Triplets, votes: _Votes, level: float
) -> tuple[Claim, ...]:
    """Comparisons answered against a map that is sure of the contrary, most answers first."""
    if triplets.is_quadruplets:
        return ()
    first = np.unique(number_comparisons(triplets), return_index=True)[1]
    rows = triplets.array[first]
    p = ensemble.triplet_probability(rows)
    turned = np.where((p >= 0.5)[:, None], rows, rows[:, [0, 2, 1]])
    confidence = np.maximum(p, 1.0 - p)
    sure = np.flatnonzero(confidence > level)
    claims = [votes.claim(turned[i], confidence[i]) for i in sure]
    against = [claim for claim in claims if 2 * claim.agreed < claim.answers]
    against.sort(key=lambda claim: (2 * claim.agreed - claim.answers, -claim.probability))
    return tuple(against[:SHOWN])


def describe_objects(ensemble: Ensemble, triplets: Triplets, level: float) -> tuple[Object, ...]:
    """Every object: its place, how sure that is, and its nearest neighbours."""
    n = ensemble.n_objects
    names = ensemble.names or tuple(map(str, range(n)))
    counts = mentions(triplets, _votes(triplets))
    mean, interval = ensemble.point_mean(), ensemble.point_interval(level)
    radius = np.sqrt(np.trace(ensemble.point_covariance(), axis1=1, axis2=2))
    thinned = thin(ensemble)
    return tuple(
        Object(
            i,
            names[i],
            int(counts[i]),
            mean[i],
            interval[i],
            float(radius[i]),
            _neighbours(thinned, i),
        )
        for i in range(n)
    )


def _neighbours(ensemble: Ensemble, i: int) -> tuple[Neighbour, ...]:
    others = np.delete(np.arange(ensemble.n_objects), i)
    pairs = np.column_stack([np.full(len(others), i), others])
    table = ensemble.distances(pairs)
    nearest = np.bincount(table.argmin(axis=1), minlength=len(others)) / len(table)
    mean = table.mean(axis=0)
    order = np.argsort(mean, kind="stable")[:NEIGHBOURS]
    return tuple(
        Neighbour(int(others[k]), float(mean[k]), float(nearest[k])) for k in order.tolist()
    )

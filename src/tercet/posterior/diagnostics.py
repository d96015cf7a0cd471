"""Whether chains have converged: what they agree on, and how many independent draws they are worth.

The posterior does not see rotations, so coordinates say nothing. Looked at are distances (of many
pairs, a fixed random choice), the sum of squares of the centred points, the log-posterior and the
parameters drawn with the points. R-hat and effective sample sizes are those of Vehtari, Gelman,
Simpson, Carpenter & Bürkner (2021), rank-normalised, of split chains, as ArviZ computes them.

Chains by the hundred are short, and R-hat of short chains is large whether they agree or not. They
begin in groups at the same point (superchains), and whether the groups agree is what nested R-hat
tells (Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari & Gelman 2024). All of them may still be
on their way from similar starts, so the first halves of the chains are held against the second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray
from scipy.special import ndtri

from tercet.engine.constants import WATCHED_PAIRS
from tercet.engine.problem import some_pairs
from tercet.models.base import Array

# The largest of many R-hats is well above 1 in converged chains too: hence not the usual 1.01.
R_HAT = 1.05
# Nested R-hat is the root of 1 + B / W. With B / W at 16 / 400 the means of 16 superchains are
# worth 400 draws together.
R_HAT_NESTED = 1.02
ESS_A_CHAIN = 50
ENOUGH_ESS = 400  # of however many chains


@dataclass(frozen=True)
class Diagnostics:
    """What the chains have to say about themselves.

    Attributes
    ----------
    r_hat : float
        The largest, over everything that is looked at; 1 when the chains agree.
    ess_bulk, ess_tail : float
        The smallest number of independent draws that the draws are worth, for means and for the
        5 % and 95 % quantiles.
    worst : str
        What the chains disagree about most.
    divergences : int
        Trajectories, or slices, that went astray after the warm-up.
    n_chains, n_samples : int
        Chains, and draws of each.
    superchains : int
        Groups of chains that began at the same point, between which ``r_hat`` is nested; 0 where
        every chain began at its own.
    """

    r_hat: float
    ess_bulk: float
    ess_tail: float
    worst: str
    divergences: int
    n_chains: int
    n_samples: int
    superchains: int = 0

    def describe(self) -> dict[str, Any]:
        """Everything, for the record; what is not a number is None."""
        return {k: None if v != v else v for k, v in vars(self).items()}

    @property
    def limit(self) -> float:
        """The R-hat from which on the chains disagree."""
        return R_HAT_NESTED if self.superchains else R_HAT

    @property
    def agree(self) -> bool:
        """Whether the chains ended in the same maps, so that what they say can be stated as found.

        True of a single chain, which has nobody to disagree with.
        """
        return self.n_chains == 1 or self.r_hat < self.limit

    @property
    def problems(self) -> list[str]:
        """What is wrong, in plain words; empty when nothing is."""
        found = []
        limit, kind = self.limit, "nested R-hat" if self.superchains else "R-hat"
        if not self.agree:
            found.append(
                f"the {self.n_chains} chains disagree about {self.worst} ({kind} {self.r_hat:.2f}, "
                f"should be below {limit})"
            )
        fewest = min(self.ess_bulk, self.ess_tail)
        enough = min(ESS_A_CHAIN * self.n_chains, ENOUGH_ESS)
        if not fewest >= enough:
            found.append(
                f"the {self.n_chains * self.n_samples} draws are worth only {fewest:.0f} "
                f"independent ones (should be {enough} or more)"
            )
        if self.divergences > 0.01 * self.n_chains * self.n_samples:
            found.append(f"{self.divergences} draws went astray")
        return found


def recorded_diagnostics(provenance: Mapping[str, Any]) -> Diagnostics | None:
    """The diagnostics in the record of an ensemble, or None where it has none that can be read."""
    told = provenance.get("diagnostics")
    if not isinstance(told, Mapping):
        return None
    names = [field.name for field in fields(Diagnostics)]
    given = {name: told[name] for name in names if name in told and name != "worst"}
    if any(v is not None and not isinstance(v, int | float) for v in given.values()):
        return None
    numbers: dict[str, Any] = {k: math.nan if v is None else v for k, v in given.items()}
    try:
        return Diagnostics(**numbers, worst=str(told.get("worst", "nothing")))
    except TypeError:  # something is missing
        return None


def diagnose_chains(
    quantities: dict[str, Array], divergences: int = 0, superchains: int = 0
) -> Diagnostics:
    """Diagnose quantities, (chains, draws) or (chains, draws, K) each.

    With ``superchains`` the chains c, c + superchains, ... began at the same point.
    """
    r_hat, bulk, tail, worst = 0.0, np.inf, np.inf, "nothing"
    for name, values in quantities.items():
        # Each quantity by itself in memory.
        table = np.ascontiguousarray(np.moveaxis(np.atleast_3d(values), 2, 0))
        axes = {"chain_axis": 1, "draw_axis": 2}
        hats = _nested(table, superchains) if superchains else array_stats.rhat(table, **axes)
        if np.max(hats) > r_hat or np.isnan(hats).any():
            r_hat, worst = float(np.max(hats)), name
        # np.minimum, for an effective sample size that is no number must not be passed over.
        bulk = np.minimum(bulk, np.min(array_stats.ess(table, method="bulk", **axes)))
        ends = array_stats.ess(table, method="tail", prob=(0.05, 0.95), **axes)
        tail = np.minimum(tail, np.min(ends))
    chains, draws = next(iter(quantities.values())).shape[:2]
    return Diagnostics(
        r_hat, float(bulk), float(tail), worst, int(divergences), chains, draws, superchains
    )


def _nested(table: Array, superchains: int) -> Array:
    """Nested R-hat (K,) of superchains, or of the halves of all chains where that is larger.

    ``table`` is (K, chains, draws). Superchains must have equal numbers of chains, so that a few
    of the last may be left out.
    """
    chains, draws = table.shape[1:]
    whole = chains // superchains * superchains
    hats = _between(table[:, :whole], np.arange(whole) % superchains)
    half = draws // 2
    if half < 4:  # too few to be split
        return hats
    halves = np.concatenate([table[:, :, :half], table[:, :, -half:]], axis=1)
    return np.maximum(hats, _between(halves, np.repeat([0, 1], chains)))


def _between(table: Array, groups: NDArray[np.integer]) -> Array:
    """Rank-normalised nested R-hat (K,) of groups of chains, of the draws and of the folded ones.

    As ``array_stats.rhat_nested(..., method="rank")``, which takes twice as long to rank them.
    """
    half = table.shape[2] // 2
    split = np.concatenate([table[:, :, :half], table[:, :, -half:]], axis=2)
    folded = np.abs(split - np.median(split, axis=(1, 2), keepdims=True))
    bulk, tail = (
        array_stats.rhat_nested(
            np.array([_normal_scores(values) for values in part]), groups, method="split"
        )
        for part in (split, folded)
    )
    return np.asarray(np.maximum(bulk, tail))


def _normal_scores(values: Array) -> Array:
    """Normal quantiles of the ranks, which ties share (Blom 1958); NaN where any value is."""
    if np.isnan(values).any():
        return np.full(values.shape, np.nan)
    order = np.argsort(values, axis=None)
    ascending = values.ravel()[order]
    starts = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    ends = np.append(starts[1:], len(order))
    ranks = np.empty(len(order))
    ranks[order] = np.repeat(0.5 * (starts + ends + 1), ends - starts)
    return np.asarray(ndtri((ranks - 0.375) / (len(order) + 0.25)).reshape(values.shape))


def distances_to_watch(draws: Array, kind: str) -> Array:
    """Distances (S, K) of a fixed random choice of pairs, of points (S, n, d) or matrices."""
    first, second = some_pairs(draws.shape[1], WATCHED_PAIRS)
    if kind == "distances":
        return np.asarray(draws[:, first, second])
    return np.asarray(np.linalg.norm(draws[:, first] - draws[:, second], axis=2))

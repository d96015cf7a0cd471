"""Whether chains have converged: what they agree on, and how many independent draws they are worth.

The posterior does not see rotations, so coordinates say nothing. Looked at are distances (of many
pairs, a fixed random choice), the sum of squares of the centred points, the log-posterior and the
parameters drawn with the points. R-hat and effective sample sizes are those of Vehtari, Gelman,
Simpson, Carpenter & Bürkner (2021), rank-normalised, of split chains, as ArviZ computes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from arviz_stats.base import array_stats

from tercet.models.base import Array

MOST_PAIRS = 50
# The largest of many R-hats is well above 1 in converged chains too: hence not the usual 1.01.
R_HAT = 1.05
ESS_A_CHAIN = 50


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
    """

    r_hat: float
    ess_bulk: float
    ess_tail: float
    worst: str
    divergences: int
    n_chains: int
    n_samples: int

    def describe(self) -> dict[str, Any]:
        """Everything, for the record; what is not a number is None."""
        return {k: None if v != v else v for k, v in vars(self).items()}

    @property
    def problems(self) -> list[str]:
        """What is wrong, in plain words; empty when nothing is."""
        found = []
        if self.n_chains > 1 and not self.r_hat < R_HAT:
            found.append(
                f"the {self.n_chains} chains disagree about {self.worst} (R-hat {self.r_hat:.2f}, "
                f"should be below {R_HAT})"
            )
        fewest = min(self.ess_bulk, self.ess_tail)
        if not fewest >= ESS_A_CHAIN * self.n_chains:
            found.append(
                f"the {self.n_chains * self.n_samples} draws are worth only {fewest:.0f} "
                f"independent ones (should be {ESS_A_CHAIN * self.n_chains} or more)"
            )
        if self.divergences > 0.01 * self.n_chains * self.n_samples:
            found.append(f"{self.divergences} draws went astray")
        return found


def diagnose_chains(quantities: dict[str, Array], divergences: int = 0) -> Diagnostics:
    """Diagnose quantities, (chains, draws) or (chains, draws, K) each."""
    r_hat, bulk, tail, worst = 0.0, np.inf, np.inf, "nothing"
    for name, values in quantities.items():
        table = values if values.ndim == 3 else values[:, :, None]
        axes = {"chain_axis": 0, "draw_axis": 1}
        hats = array_stats.rhat(table, **axes)
        if np.max(hats) > r_hat or np.isnan(hats).any():
            r_hat, worst = float(np.max(hats)), name
        # np.minimum, for an effective sample size that is no number must not be passed over.
        bulk = np.minimum(bulk, np.min(array_stats.ess(table, method="bulk", **axes)))
        ends = array_stats.ess(table, method="tail", prob=(0.05, 0.95), **axes)
        tail = np.minimum(tail, np.min(ends))
    chains, draws = next(iter(quantities.values())).shape[:2]
    return Diagnostics(r_hat, float(bulk), float(tail), worst, int(divergences), chains, draws)


def distances_to_watch(draws: Array, kind: str) -> Array:
    """Distances (S, K) of a fixed random choice of pairs, of points (S, n, d) or matrices."""
    first, second = np.triu_indices(draws.shape[1], 1)
    if len(first) > MOST_PAIRS:
        chosen = np.random.default_rng(0).choice(len(first), MOST_PAIRS, replace=False)
        first, second = first[chosen], second[chosen]
    if kind == "distances":
        return np.asarray(draws[:, first, second])
    return np.asarray(np.linalg.norm(draws[:, first] - draws[:, second], axis=2))

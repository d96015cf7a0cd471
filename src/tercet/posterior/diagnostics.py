"""Convergence of chains: R-hat and effective sample size.

The posterior is invariant to rotation, so coordinates are not diagnosed, but distances (of a
fixed random choice of pairs), the sum of squares of the centred points, the log-posterior and the
parameters drawn with the points.

Hundreds of chains are short, and R-hat of short chains is large whether they agree or not. They
start in groups at the same point (superchains), and nested R-hat tests whether the groups agree
(Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari & Gelman 2024). All of them may still be moving
away from similar starts, so the first halves of the chains are compared with the second halves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import chdtri

from tercet.engine.constants import WATCHED_PAIRS
from tercet.engine.problem import some_pairs
from tercet.models.base import Array
from tercet.posterior.convergence import FEWEST_DRAWS, convergence

R_HAT = 1.05  # of four chains or more: not the usual 1.01, see `largest_r_hat`
CHANCE = 0.05  # that converged chains have a larger one
# Nested R-hat is the root of 1 + B / W. With B / W = 16 / 400 the 16 superchains together have an
# effective sample size of 400.
R_HAT_NESTED = 1.02
ESS_A_CHAIN = 50
ENOUGH_ESS = 400  # of any number of chains
_OTHERS = 5  # quantities besides the distances of pairs, roughly


@dataclass(frozen=True)
class Diagnostics:
    """Convergence diagnostics of the chains.

    Attributes
    ----------
    r_hat : float
        The largest R-hat of all quantities; 1 when the chains agree.
    ess_bulk, ess_tail : float
        The smallest effective sample size of all quantities, for means and for the 5 % and 95 %
        quantiles.
    worst : str
        The quantity with the largest R-hat.
    divergences : int
        Divergent transitions (or failed slices) after the warm-up.
    n_chains, n_samples : int
        Chains, and draws of each.
    superchains : int
        Groups of chains that started at the same point, for which ``r_hat`` is nested; 0 if every
        chain had its own start.
    modes : int
        Different modes that the searches for the chains' starts found; 0 if there was no search.
    dropped : int
        Chains that were restarted, because the mode they had found is too improbable to matter.
    deficit : float
        How far, in nats, the best of the dropped ones was below the best of all; NaN if none was.
    """

    r_hat: float
    ess_bulk: float
    ess_tail: float
    worst: str
    divergences: int
    n_chains: int
    n_samples: int
    superchains: int = 0
    modes: int = 0
    dropped: int = 0
    deficit: float = math.nan

    def describe(self) -> dict[str, Any]:
        """All values, for the provenance; missing ones are None."""
        return {k: None if v != v else v for k, v in vars(self).items()}

    @property
    def limit(self) -> float:
        """The R-hat at which chains are taken to disagree."""
        if self.superchains:
            return R_HAT_NESTED
        return round(max(R_HAT, largest_r_hat(self.n_chains)), 2)

    @property
    def agree(self) -> bool:
        """Whether the chains, or the halves of a single one, converged to the same maps by R-hat.

        True of fewer draws than can be judged, which are a problem of their own.
        """
        return self.n_samples < FEWEST_DRAWS or self.r_hat < self.limit

    @property
    def enough(self) -> bool:
        """Whether the chains have converged, with draws enough for any use."""
        return not self.problems and min(self.ess_bulk, self.ess_tail) >= ENOUGH_ESS

    @property
    def starts(self) -> str:
        """What was found and dropped in the search for starts, in words; empty if nothing was."""
        if self.dropped == 0:
            return ""
        chains = "one chain was" if self.dropped == 1 else f"{self.dropped} chains were"
        return (
            f"{self.modes} modes found; {chains} restarted from a better one, "
            f"at least {self.deficit:.0f} nats above"
        )

    @property
    def problems(self) -> list[str]:
        """Problems in plain words; empty if there are none."""
        if self.n_samples < FEWEST_DRAWS:
            return [f"{self.n_samples} draws of a chain are too few to judge whether it converged"]
        problems = []
        limit, kind = self.limit, "nested R-hat" if self.superchains else "R-hat"
        if not self.agree:
            who = f"the {self.n_chains} chains"
            if self.n_chains == 1:
                who = "the first and the second half of the chain"
            problems.append(
                f"{who} disagree about {self.worst} ({kind} {self.r_hat:.2f}, "
                f"should be below {limit})"
            )
        fewest = min(self.ess_bulk, self.ess_tail)
        enough = fewest_ess(self.n_chains)
        if not fewest >= enough:
            problems.append(
                f"the effective sample size of the {self.n_chains * self.n_samples} draws is only "
                f"{fewest:.0f} (should be {enough} or more)"
            )
        if self.divergences > 0.01 * self.n_chains * self.n_samples:
            problems.append(f"{self.divergences} divergent transitions")
        return problems


def fewest_ess(n_chains: int) -> int:
    """The effective sample size that so many chains should have together."""
    return min(ESS_A_CHAIN * n_chains, ENOUGH_ESS)


def largest_r_hat(n_chains: int) -> float:
    """The R-hat that the largest of all quantities exceeds by chance, in converged chains.

    Of M half chains with N effective draws together, (R-hat² − 1) N / M + 1 is about chi-squared
    over its M − 1 degrees of freedom. Every quantity has two: of its values and of their distances
    from the median. N is the fewest that are accepted.
    """
    halves, count = 2.0 * n_chains, 2.0 * (WATCHED_PAIRS + _OTHERS)
    ratio = float(chdtri(halves - 1.0, CHANCE / count)) / (halves - 1.0)
    return math.sqrt(1.0 + (ratio - 1.0) * halves / fewest_ess(n_chains))


def recorded_diagnostics(provenance: Mapping[str, Any]) -> Diagnostics | None:
    """The diagnostics in the provenance of an ensemble, or None if missing or unreadable."""
    recorded = provenance.get("diagnostics")
    if not isinstance(recorded, Mapping):
        return None
    names = [field.name for field in fields(Diagnostics)]
    given = {name: recorded[name] for name in names if name in recorded and name != "worst"}
    if any(v is not None and not isinstance(v, int | float) for v in given.values()):
        return None
    numbers: dict[str, Any] = {k: math.nan if v is None else v for k, v in given.items()}
    try:
        return Diagnostics(**numbers, worst=str(recorded.get("worst", "nothing")))
    except TypeError:  # something is missing
        return None


def diagnose_chains(
    quantities: dict[str, Array],
    divergences: int = 0,
    superchains: int = 0,
    modes: int = 0,
    deficits: Sequence[float] | Array = (),
) -> Diagnostics:
    """Diagnose quantities, (chains, draws) or (chains, draws, K) each.

    With ``superchains`` the chains c, c + superchains, ... started at the same point. ``modes``
    were found, and chains with these ``deficits`` dropped, in the search for starts.
    """
    tables = [np.moveaxis(np.atleast_3d(values), 2, 0) for values in quantities.values()]
    found = convergence(np.concatenate(tables), superchains)
    r_hat, worst = 0.0, "nothing"
    places = np.cumsum([len(table) for table in tables])[:-1]
    for name, hats in zip(quantities, np.split(found.r_hat, places), strict=True):
        if np.max(hats) > r_hat or np.isnan(hats).any():
            r_hat, worst = float(np.max(hats)), name
    bulk, tail = float(np.min(found.ess_bulk)), float(np.min(found.ess_tail))  # or NaN
    chains, draws = next(iter(quantities.values())).shape[:2]
    found_before = modes, len(deficits), float(min(deficits, default=math.nan))
    return Diagnostics(
        r_hat, bulk, tail, worst, int(divergences), chains, draws, superchains, *found_before
    )


def distances_to_watch(draws: Array, kind: str) -> Array:
    """Distances (S, K) of a fixed random choice of pairs, of points (S, n, d) or matrices."""
    first, second = some_pairs(draws.shape[1], WATCHED_PAIRS)
    if kind == "distances":
        return np.asarray(draws[:, first, second])
    return np.asarray(np.linalg.norm(draws[:, first] - draws[:, second], axis=2))

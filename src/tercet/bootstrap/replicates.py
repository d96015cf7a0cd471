"""What became of the replicates of a bootstrap: failed, not converged, without a maximum."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tercet.bootstrap.resampling import Replicates
from tercet.engine.blocks import Blocks
from tercet.engine.fit import Fit, Objective
from tercet.errors import ConvergenceWarning, SeparableWarning
from tercet.limits import LARGEST_NUMBER
from tercet.metrics import satisfied
from tercet.models.base import Array
from tercet.streamed import StreamedTriplets
from tercet.triplets import Triplets

Subsets = Replicates | Sequence[Blocks]


class Outcome(NamedTuple):
    """Which replicates are kept, and how many are what."""

    kept: list[int]
    counts: dict[str, int]
    reason: str  # why the first that did not converge stopped


def judge(
    fits: Sequence[Fit],
    objective: Objective,
    triplets: Triplets | StreamedTriplets,
    subsets: Subsets,
) -> Outcome:
    """Tell failed replicates from others, and unfinished ones from those without a maximum."""
    kept = [k for k, fit in enumerate(fits) if is_finite(fit)]
    separable = {
        k
        for k in kept
        if fits[k].separable
        or (objective.runs_away and _satisfies(fits[k].embedding, triplets, subsets, k))
    }
    unfinished = [k for k in kept if not (fits[k].converged or k in separable)]
    counts = {
        "replicates": len(fits),
        "failed": len(fits) - len(kept),
        "not_converged": len(unfinished),
        "separable": len(separable),
    }
    return Outcome(kept, counts, fits[unfinished[0]].reason if unfinished else "")


def warn_about_replicates(outcome: Outcome, name: str, stacklevel: int = 2) -> None:
    """Say what the user of the estimator of that name should know, in a warning or two."""
    counts, messages = outcome.counts, []
    total = counts["replicates"]
    if counts["failed"]:
        messages.append(f"{counts['failed']} of {total} replicates failed and were left out")
    if counts["not_converged"]:
        messages.append(
            f"{counts['not_converged']} of {total} replicates did not converge and were kept "
            f"(the first: {name} {outcome.reason})"
        )
    if messages:
        warnings.warn(f"{'; '.join(messages)}.", ConvergenceWarning, stacklevel=stacklevel)
    if 2 * counts["separable"] > total:
        warnings.warn(
            f"in {counts['separable']} of {total} replicates {name} satisfies every answer, so "
            "their size means nothing; with a penalty, such as 1/30, it does.",
            SeparableWarning,
            stacklevel=stacklevel,
        )


def is_finite(fit: Fit) -> bool:
    """Whether the fit gave an embedding at all, also of numbers that mean something."""
    halves = 0.5 * LARGEST_NUMBER  # which stay within once they are centred
    return math.isfinite(fit.loss) and bool((np.abs(fit.embedding) <= halves).all())


def _satisfies(
    embedding: Array, answers: Triplets | StreamedTriplets, subsets: Subsets, number: int
) -> bool:
    if isinstance(answers, Triplets):
        assert isinstance(subsets, Replicates)
        # Of many rows, one of the first is not satisfied; that spares drawing them all again.
        some = satisfied(embedding, answers[subsets.head(number)]).all()
        return bool(some and satisfied(embedding, answers[subsets[number]]).all())
    replicate = subsets[number]
    assert isinstance(replicate, Blocks)
    blocks = (replicate.read(block)[0] for block in range(replicate.n_blocks))
    return all(satisfied(embedding, block).all() for block in blocks if len(block))

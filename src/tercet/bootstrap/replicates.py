"""The replicates of a bootstrap: fitted or taken from a checkpoint, and what became of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from tercet.bootstrap.resampling import Replicates
from tercet.checkpoint import Checkpoint
from tercet.engine.blocks import Blocks
from tercet.engine.fit import Fit, Objective
from tercet.errors import ConvergenceWarning, DataWarning, SeparableWarning
from tercet.limits import LARGEST_NUMBER
from tercet.metrics import satisfied
from tercet.models.base import Array
from tercet.streamed import StreamedTriplets
from tercet.triplets import Triplets

Subsets = Replicates | Sequence[Blocks]


_ALL, _REPLICATE = "all answers", "replicate"  # what a checkpoint calls them

Shape = tuple[int, int]  # objects and dimensions


def fit_once(checkpoint: Checkpoint, shape: Shape, fit: Callable[[], Fit]) -> Fit:
    """The fit of all answers, or the one that was kept."""
    return checkpoint.once(_ALL, 0, fit, Fit._asdict, lambda content: _restored(content, shape))


def fit_replicates(
    checkpoint: Checkpoint,
    shape: Shape,
    count: int,
    fit: Callable[[list[int]], Generator[Fit, None, None]],
) -> Generator[tuple[int, Fit], None, None]:
    """The fits of the replicates with their numbers: those that were kept, then all others.

    Parameters
    ----------
    checkpoint : Checkpoint
        What it does not have yet is added as it comes.
    shape : tuple of two ints
        Objects and dimensions of each.
    count : int
        How many replicates there are.
    fit : callable
        Takes the numbers of some replicates and gives their fits, in the same order.
    """
    missing = []
    for number in range(count):
        known = checkpoint.one(_REPLICATE, number, lambda content: _restored(content, shape))
        if known is None:
            missing.append(number)
        else:
            yield number, known
    if missing:
        with closing(fit(missing)) as fits:
            for number, found in zip(missing, fits, strict=True):
                checkpoint.add(_REPLICATE, number, found._asdict())
                yield number, found


_KINDS = {
    "loss": (float, int),
    "n_iter": (int,),
    "converged": (bool,),
    "separable": (bool,),
    "reason": (str,),
}


def _restored(content: dict[str, Any], shape: Shape) -> Fit:
    """A fit as it was kept; one that failed has any numbers. ValueError if it is no fit."""
    fit = Fit(**content)
    embedding: Any = fit.embedding
    if not isinstance(embedding, np.ndarray) or embedding.dtype != np.float64:
        raise ValueError("an embedding without numbers")
    if embedding.shape != shape:
        raise ValueError(f"an embedding of the shape {embedding.shape}")
    if any(type(content[name]) not in kinds for name, kinds in _KINDS.items()):
        raise ValueError("a fit with other values")
    return fit


class Outcome(NamedTuple):
    """Which replicates are kept, and how many are what."""

    kept: list[int]
    counts: dict[str, int]
    reason: str  # why the first that did not converge stopped
    void: bool = False  # whether a correction means nothing: no answer contradicts the map of all


def classify(
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
    if outcome.void:
        warnings.warn(
            "the embedding of all answers satisfies every one of them, so its size means "
            "nothing, and correction=True with it; add a penalty, such as penalty=1/30.",
            DataWarning,
            stacklevel=stacklevel,
        )
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

"""Fits that a checkpoint keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tercet.bootstrap.resampling import Replicates
from tercet.checkpoint import Checkpoint
from tercet.engine.backend import fit_anywhere
from tercet.engine.fit import Fit, Solver
from tercet.engine.problem import Problem

_ALL, _REPLICATE = "all answers", "replicate"


def fit_once(checkpoint: Checkpoint, fit: Callable[[], Fit]) -> Fit:
    """The fit of all answers, or the one that was kept."""
    return Fit(**checkpoint.once(_ALL, 0, lambda: fit()._asdict()))


def fit_replicates(
    checkpoint: Checkpoint,
    solver: Solver,
    problem: Problem,
    replicates: Replicates,
    seeds: Sequence[np.random.SeedSequence],
    n_jobs: int | None,
    tick: Callable[[int], object],
) -> list[Fit]:
    """Fit the replicates that were not kept, and keep each; ``tick`` is told how many there are."""
    known = {
        k: Fit(**content)
        for k in range(len(replicates))
        for content in checkpoint.rows(_REPLICATE, k)
    }
    if known:
        tick(len(known))
    missing = [k for k in range(len(replicates)) if k not in known]
    coming = iter(missing)

    def keep(fits: list[Fit]) -> None:
        for fit in fits:
            checkpoint.add(_REPLICATE, next(coming), fit._asdict())
        tick(len(fits))

    if missing:
        chosen = [seeds[k] for k in missing]
        fits = fit_anywhere(solver, problem, replicates.only(missing), chosen, n_jobs, keep)
        known |= dict(zip(missing, fits, strict=True))
    return [known[k] for k in range(len(replicates))]

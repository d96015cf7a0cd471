"""Many fits on whatever runs them: threads of this process, or a joblib backend that was chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from tercet.engine.fit import Fit, Rows, Seeds, Solver, batches, collect, fit_subsets
from tercet.engine.problem import Problem


def fit_anywhere(
    solver: Solver,
    problem: Problem,
    subsets: Sequence[Rows],
    seeds: Seeds,
    n_jobs: int | None = None,
    done: Callable[[int], object] | None = None,
) -> list[Fit]:
    """Solve the problems of many subsets, as `fit_subsets` does, on the active joblib backend.

    Outside of ``joblib.parallel_config(backend=...)`` that is threads of this process, all cores by
    default. Each subset has its own seed, so the result does not depend on where it was computed.
    """
    if not backend_is_chosen():
        n_threads = None if n_jobs in (None, -1) else n_jobs
        return fit_subsets(solver, problem, subsets, seeds, n_threads, done)
    streams = getattr(get_active_backend()[0], "supports_return_generator", False)
    parallel = Parallel(n_jobs=n_jobs, return_as="generator" if streams else "list")
    spans = batches(solver, problem, len(subsets), effective_n_jobs(n_jobs))
    task = delayed(_solve_batch)
    parts = parallel(task(solver, problem, subsets[span], seeds[span]) for span in spans)
    return collect(parts, done)


def backend_is_chosen() -> bool:
    """Whether a joblib backend was chosen, by `parallel_config` or because this is its worker.

    Only the default one follows a hint to prefer threads or processes.
    """
    hints = ("threads", "processes")
    return len({type(get_active_backend(prefer=hint)[0]) for hint in hints}) == 1


def _solve_batch(
    solver: Solver, problem: Problem, subsets: Sequence[Rows], seeds: Seeds
) -> list[Fit]:
    # Backends hand over large arrays read-only, for which the engine would be compiled anew.
    fields = (_writable(field) for field in problem)
    return solver.solve_subsets(Problem(*fields), [_writable(rows) for rows in subsets], seeds)


def _writable(value: Any) -> Any:
    return np.require(value, requirements="W") if isinstance(value, np.ndarray) else value

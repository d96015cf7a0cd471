"""Chains and maps that many tests want are computed once: by the first, for all processes.

The same answers, settings and seed give the same bits, which other tests are about.
"""

from contextlib import contextmanager
from dataclasses import replace

import pytest
from joblib import Memory

from tercet.analysis import from_answers
from tercet.posterior import posterior
from tercet.running.checkpoint import NOTHING_KEPT


@contextmanager
def computed_once(folder):
    """What is drawn from a posterior, and the maps of an analysis, are kept in the folder."""
    memory = Memory(folder, verbose=0)
    draw, make_map = posterior.draw, from_answers._make_map
    kept_draws = memory.cache(draw, ignore=["n_jobs", "progress", "checkpoint"])
    kept_maps = memory.cache(make_map)

    def drawn(plan, answers, entropy, n_jobs, progress=None, checkpoint=NOTHING_KEPT):
        if checkpoint._file is not None:
            return draw(plan, answers, entropy, n_jobs, progress, checkpoint)
        return kept_draws(plan, answers, entropy, n_jobs, progress)

    def made(kind, answers, settings):
        return kept_maps(kind, answers, replace(settings, n_jobs=None, progress=None))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior, "draw", drawn)
        patch.setattr(from_answers, "_make_map", made)
        yield

"""Simulation-based calibration on a larger scale: ranks of true values must be uniform."""

from __future__ import annotations

from typing import Any

import numpy as np

from studies import sbc
from studies.cells import Cell, Result, collect
from studies.report import Goal, Section, Table
from studies.setting import Setting
from tercet.models import CKLModel, STEModel, TSTEModel

VERSION = 1  # raise it when changes in tercet affect what is measured here
REPEATS, QUICK_REPEATS, BLOCK = 400, 40, 20
BINS = 10
LEAST = 0.01  # of the smallest p-value times the number of p-values
N, D, ANSWERS = 8, 2, 80
MODELS = {"STE": STEModel(), "t-STE": TSTEModel(), "CKL": CKLModel()}
SETTINGS: list[dict[str, Any]] = [
    {"model": "STE", "learned": False, "learn": [], "sampler": "hmc"},
    {"model": "STE", "learned": False, "learn": [], "sampler": "elliptical_slice"},
    {"model": "STE", "learned": True, "learn": [], "sampler": "hmc"},
    {"model": "STE", "learned": True, "learn": ["lapse"], "sampler": "hmc"},
    {"model": "t-STE", "learned": True, "learn": [], "sampler": "hmc"},
    {"model": "CKL", "learned": True, "learn": [], "sampler": "hmc"},
    {"model": "CKL", "learned": False, "learn": ["exponent", "mu", "lapse"], "sampler": "hmc"},
]


def measure(model: str, learned: bool, learn: list[str], sampler: str, seed: int) -> Result:
    """Ranks of a block of truths, by quantity."""
    ranks = sbc.run(
        MODELS[model], learned, N, D, ANSWERS, BLOCK, seed, learn=tuple(learn), sampler=sampler
    )
    return {"ranks": {name: values.tolist() for name, values in ranks.items()}}


def run(setting: Setting) -> Section:
    """All settings."""
    section = Section("Simulation-based calibration: are the samplers right?")
    repeats = setting.choose(REPEATS, QUICK_REPEATS)
    keys = [(at, seed) for seed in range(repeats // BLOCK) for at in range(len(SETTINGS))]
    cells = [Cell("sbc", VERSION, measure, {**SETTINGS[at], "seed": seed}) for at, seed in keys]
    results = collect(cells, setting.jobs)
    rows, least = [], []
    for at, settings in enumerate(SETTINGS):
        done = [
            result["ranks"]
            for (which, _), result in zip(keys, results, strict=True)
            if which == at and "failed" not in result
        ]
        if not done:
            continue
        ranks = {name: np.concatenate([part[name] for part in done]) for name in done[0]}
        for name, p in sbc.p_values(ranks, BINS).items():
            counts = np.bincount(ranks[name] * BINS // (sbc.KEPT + 1), minlength=BINS)
            rows.append([_title(settings), name, " ".join(map(str, counts)), f"{p:.3f}"])
            least.append(p)
    smallest = min(1.0, min(least) * len(least)) if least else np.nan
    section.goals.append(
        Goal(
            f"ranks of {len(least)} quantities uniform",
            f"smallest p-value times {len(least)} ≥ {LEAST:g}",
            f"{smallest:.2g}",
            bool(smallest >= LEAST) if least else None,
        )
    )
    section.parts += [
        f"{repeats} truths from the prior (seeds 0 to {repeats // BLOCK - 1}, {BLOCK} truths "
        f"each), {N} objects, d = {D}, {ANSWERS} answers from the model. The rank of the truth "
        f"among {sbc.KEPT} thinned draws is uniform if the sampler is right (Talts et al. 2018).",
        Table(
            "Ranks and the p-value of χ² against a uniform distribution",
            ["sampler", "quantity", f"ranks in {BINS} equal bins", "p"],
            rows,
        ),
    ]
    section.notes += setting.notes(results)
    return section


def _title(settings: dict[str, Any]) -> str:
    scale = "v learned" if settings["learned"] else "v known"
    sampler = settings["sampler"].replace("_", " ")
    return ", ".join([settings["model"], scale, *settings["learn"], sampler])

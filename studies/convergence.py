"""Do the chains converge on people's answers? The default posterior of every set, five seeds each.

Chains of one seed may all miss the same mode, so the chains of all seeds are also compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from benchmarks.data import HOW_TO_FIND, find_data, load_from

from studies.cells import Cell, Result, collect
from studies.methods import QUIET, health, is_suspect
from studies.report import NONE, Goal, Section, Table
from studies.setting import Setting
from tercet import datasets
from tercet.arrays import Floats
from tercet.ensemble import Ensemble
from tercet.errors import recorded
from tercet.posterior import Posterior
from tercet.posterior.convergence import convergence
from tercet.posterior.diagnostics import distances_to_watch

VERSION = 1  # raise it when changes in tercet affect what is measured here
SEEDS, QUICK_SEEDS = 5, 2
KEPT = 200  # draws of a chain that are stored, evenly spaced
DIGITS = 7  # significant ones of what is stored
POOLED, ENOUGH, SHARE = 1.02, 400, 0.95  # R-hat of all seeds, effective sample size, share of fits
NAMED = 12  # warnings that are spelled out


class People(NamedTuple):
    """A set of people's answers, and where to draw maps of it."""

    load: Callable[[], datasets.Dataset]
    dimensions: tuple[int, ...]
    cost: float  # rough minutes of a fit in one dimension


SETS = {
    "alien_eggs": People(datasets.load_alien_eggs, (1, 2, 3), 1.0),
    "car60": People(datasets.load_cars, (1, 2, 3, 4), 4.0),
    "material_appearance": People(datasets.load_material, (1, 2, 3, 4), 3.0),
    "food100": People(datasets.load_food, (2, 3, 4), 30.0),
    "music_aset400": People(datasets.load_music, (2, 3, 5), 10.0),
    "things_oddoneout": People(datasets.load_things, (2, 3), 60.0),
}
Place = tuple[str, int]  # a set and a dimension


def measure(people: str, d: int, seed: int) -> Result:
    """Fit the default posterior as a user would; diagnostics, warnings and some of the draws."""
    folder = find_data()
    assert folder is not None
    triplets = load_from(folder, SETS[people].load)[1]
    start = time.perf_counter()
    with recorded() as caught:
        made = Posterior(d, random_state=seed, **QUIET).fit(triplets)
    took = time.perf_counter() - start
    ensemble = made.ensemble_
    quantities = watch(ensemble)
    heights = quantities["the log-posterior"]
    step = -(-heights.shape[1] // KEPT)
    return {
        "took": took,
        "objects": triplets.n_objects,
        "answers": ensemble.provenance["n_answers"],
        "about": health(made),
        "warnings": [f"{each.category.__name__}: {each.message}" for each in caught],
        "log_posterior": [heights.mean(axis=1).tolist(), heights.std(axis=1).tolist()],
        "names": list(quantities),
        "draws": [_rounded(values[:, ::step]) for values in quantities.values()],
    }


def watch(ensemble: Ensemble) -> dict[str, Floats]:
    """What draws of all seeds have in common, (chains, draws) each: no coordinates."""
    draws = ensemble.draws - ensemble.draws.mean(axis=1, keepdims=True)
    columns = {
        "the log-posterior": ensemble.statistics["log_posterior"],
        "the size of the map": np.sum(draws**2, axis=(1, 2)),
        **{f"the {name}": values for name, values in ensemble.parameters.items()},
        **{f"distance {k}": each for k, each in enumerate(distances_to_watch(draws, "points").T)},
    }
    return {name: values.reshape(ensemble.n_chains, -1) for name, values in columns.items()}


def _rounded(values: Floats) -> list[list[float]]:
    return [[float(f"{value:.{DIGITS}g}") for value in chain] for chain in values]


class Pooled(NamedTuple):
    """R-hat of the chains of all seeds together: the largest, and of what."""

    r_hat: float
    worst: str


def pool(results: Sequence[Result]) -> Pooled:
    """Compare the chains of several fits to the same answers."""
    fewest = min(len(chain) for result in results for chain in result["draws"][0])
    tables = [np.array(result["draws"])[:, :, :fewest] for result in results]
    hats = convergence(np.concatenate(tables, axis=1)).r_hat
    worst = int(np.argmax(np.where(np.isnan(hats), np.inf, hats)))
    return Pooled(float(hats[worst]), results[0]["names"][worst])


def smallest(result: Result) -> float:
    """The smaller of the bulk and tail effective sample size of all quantities; NaN if unknown."""
    sizes = [result["about"][name] for name in ("ess_bulk", "ess_tail")]
    return float("nan") if None in sizes else min(sizes)


# --- the study ----------------------------------------------------------------------------------


def run(setting: Setting) -> Section:
    """Every set in every dimension."""
    section = Section("Do the default chains converge?")
    if find_data() is None:
        section.parts.append(HOW_TO_FIND.replace("case", "study"))
        return section
    seeds = setting.choose(SEEDS, QUICK_SEEDS)
    cells = setting.part(
        Cell(
            "convergence",
            VERSION,
            measure,
            {"people": people, "d": d, "seed": seed},
            cost=about.cost * (1.0 + 0.3 * d),
        )
        for people, about in setting.choose(SETS, {"alien_eggs": SETS["alien_eggs"]}).items()
        for d in setting.choose(about.dimensions, (1,))
        for seed in range(seeds)
    )
    results = collect(cells, setting.jobs)
    found: dict[Place, list[Result]] = {}
    for cell, result in zip(cells, results, strict=True):
        found.setdefault((cell.settings["people"], cell.settings["d"]), []).append(result)
    section.parts.append(_explanation(len({cell.settings["seed"] for cell in cells})))
    if found:
        pooled = {place: pool(done) for place, group in found.items() if (done := _done(group))}
        section.goals += _goals(found, pooled)
        section.parts += [_together(found, pooled), _alone(found)]
    section.notes += [*setting.notes(results), *_warnings(found)]
    return section


def _done(group: Sequence[Result]) -> list[Result]:
    return [result for result in group if "failed" not in result]


def converged(group: Sequence[Result], pooled: Pooled | None) -> bool:
    """Whether all seeds ended, agree, and have enough draws each."""
    if pooled is None or len(_done(group)) < len(group):
        return False
    return pooled.r_hat < POOLED and all(smallest(result) >= ENOUGH for result in group)


def _goals(found: dict[Place, list[Result]], pooled: dict[Place, Pooled]) -> list[Goal]:
    good = sum(converged(group, pooled.get(place)) for place, group in found.items())
    done = [result for group in found.values() for result in _done(group)]
    told = sum(bool(result["about"]["problems"]) for result in done)
    suspect = sum(is_suspect(result["about"]) for result in done)
    return [
        Goal(
            "people's answers: sets and dimensions in which the chains of all seeds agree (R-hat "
            f"below {POOLED:g}), each seed with an effective sample size of {ENOUGH}",
            f"at least {100 * SHARE:.0f} %",
            f"{good} of {len(found)}",
            good >= SHARE * len(found),
        ),
        Goal(
            "people's answers: default fits that warn",
            NONE,
            f"{told} of {len(done)} ({suspect} by the limits of earlier pages)",
            None,
        ),
    ]


def _together(found: dict[Place, list[Result]], pooled: dict[Place, Pooled]) -> Table:
    rows = []
    for (people, d), group in found.items():
        if not (done := _done(group)):
            continue
        all_seeds = pooled[people, d]
        minutes = np.median([result["took"] for result in done]) / 60.0
        rows.append(
            [
                people,
                str(done[0]["objects"]),
                f"{done[0]['answers']:,}",
                str(d),
                f"{all_seeds.r_hat:.3f}, {all_seeds.worst}",
                f"{min(map(smallest, done)):.0f}",
                f"{sum(bool(result['about']['problems']) for result in done)} of {len(done)}",
                "yes" if converged(group, all_seeds) else "**no**",
                f"{minutes:.1f}",
            ]
        )
    return Table(
        "All seeds together: R-hat of their chains, largest of all quantities; smallest effective "
        "sample size of a seed; seeds that warn; whether the goal is reached; median minutes of a "
        "fit on one core",
        ["set", "objects", "answers", "d", "R-hat", "ESS", "warn", "reached", "minutes"],
        rows,
    )


def _alone(found: dict[Place, list[Result]]) -> Table:
    rows = []
    for (people, d), group in found.items():
        if not (done := _done(group)):
            continue
        about = [result["about"] for result in done]
        r_hats = [NONE if each["r_hat"] is None else f"{each['r_hat']:.3f}" for each in about]
        sizes = {f"{each['n_chains']} × {each['n_samples']}" for each in about}
        means = np.concatenate([result["log_posterior"][0] for result in done])
        sd = float(np.mean(np.concatenate([result["log_posterior"][1] for result in done])))
        rows.append(
            [
                people,
                str(d),
                " or ".join(sorted(sizes)),
                ", ".join(r_hats),
                ", ".join(f"{smallest(result):.0f}" for result in done),
                ", ".join(str(each["divergences"]) for each in about),
                ", ".join(str(each.get("dropped", 0)) for each in about),
                f"{means.min():.1f} to {means.max():.1f} ({sd:.1f})",
            ]
        )
    return Table(
        "Every seed: chains × draws, R-hat, smallest effective sample size, divergent transitions, "
        "restarted chains; and the log-posterior, means of the lowest and the highest chain of all "
        "seeds (standard deviation within a chain)",
        ["set", "d", "chains", "R-hat", "ESS", "divergent", "restarted", "log-posterior"],
        rows,
    )


def _warnings(found: dict[Place, list[Result]]) -> list[str]:
    told = [
        f"{people}, d = {d}, seed {result['settings']['seed']}: {'; '.join(problems)}"
        for (people, d), group in found.items()
        for result in _done(group)
        if (problems := result["about"]["problems"])
    ]
    others = {
        warning
        for group in found.values()
        for result in _done(group)
        for warning in result["warnings"]
        if not warning.startswith("ConvergenceWarning")
    }
    notes = [*told[:NAMED]]
    if len(told) > NAMED:
        notes.append(f"… and {len(told) - NAMED} others that warn.")
    return notes + [f"Also given: {warning}" for warning in sorted(others)]


def _explanation(seeds: int) -> str:
    return (
        "`tc.Posterior(d, random_state=seed).fit(answers)` with all defaults, on every set of "
        f"people's answers as `tc.datasets` loads it, for {seeds} seeds. R-hat is that of split, "
        "rank-normalised chains, or of the folded draws if that is larger, and the largest of all "
        "quantities: the log-posterior, the size of the map, the learned parameters and the "
        "distances of 50 pairs. For all seeds together it is taken of the chains of all seeds, "
        f"{KEPT} evenly spaced draws of each. The effective sample size is the smallest of all "
        "quantities, for means or for the 5 % and 95 % quantiles. No warning is silenced."
    )

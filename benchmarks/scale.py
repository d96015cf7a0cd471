"""A perceptual scale: 10 000 bootstraps of the published MLDS data, beside the published time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tercet as tc
from benchmarks import data
from benchmarks.report import Line, Section, Table, duration
from benchmarks.setting import Setting, Timed, take_turns, timed
from tercet.uses.scale import PerceptualScale
from tercet.uses.scale.difference import LINKS
from tercet.uses.scale.goodness import goodness_of_fit

SAMPLES = 10_000
PUBLISHED = 14 * 60.0  # seconds, Knoblauch & Maloney, J. Stat. Software 25(2), 2008
GOAL = 10.0  # seconds
STANDARD_ERRORS = (0.0245, 0.0252, 0.0278, 0.0246)  # the first that were published


def run(setting: Setting) -> Section:
    """Both bootstraps, the BCa intervals and the goodness of fit."""
    section = Section("A perceptual scale: 10 000 bootstraps of 990 quadruplets")
    if setting.data is None:
        section.notes.append(data.HOW_TO_FIND)
        return section
    answers, stimuli = load_kk(setting.data)
    size = setting.choose(SAMPLES, 200)

    def scale(uncertainty: str, lapse: bool = False) -> Timed:
        settings = {"uncertainty": uncertainty, "n_samples": size, "random_state": 0}
        return timed(lambda: tc.perceptual_scale(answers, stimuli, lapse=lapse, **settings))

    scale("parametric")  # loads the compiled code
    runs = {
        "parametric": lambda: scale("parametric"),
        "answers resampled": lambda: scale("bootstrap"),
        "answers resampled, with a lapse rate": lambda: scale("bootstrap", lapse=True),
    }
    took = take_turns(runs, setting.choose(5, 1))
    for name, measured in took.items():
        published = name == "parametric"
        section.lines.append(
            Line(
                f"perceptual scale, {size} bootstraps, {name}",
                duration(measured.seconds),
                f"≤ {GOAL:g} s",
                bool(measured.seconds <= GOAL),
                "about 14 min (published 2008)" if published else "–",
                f"{PUBLISHED / measured.seconds:.0f}×" if published and not setting.quick else "–",
                _noise(measured.result),
                "σ 0.179 (glm), 0.175 (optim)" if published else "–",
            )
        )
    drawn, resampled = took["parametric"].result, took["answers resampled"].result
    seconds, limits = timed(lambda: resampled.sigma_interval(kind="bca"))
    section.notes += [
        f"The BCa interval of σ, {limits[0]:.3f} to {limits[1]:.3f}, with its jackknife over "
        f"answers: {duration(seconds)} more.",
        "Standard errors of the first values: "
        + ", ".join(
            f"{ours:.4f} (published {theirs:.4f})"
            for ours, theirs in zip(drawn.std()[1:5], STANDARD_ERRORS, strict=True)
        )
        + ".",
        "The published time is from Knoblauch & Maloney, J. Stat. Software 25(2), 2008, on a "
        "2.16 GHz computer of that time: the ratio is not that of two programs alone.",
    ]
    section.tables.append(_fits(answers, stimuli, size))
    return section


def load_kk(folder: Path) -> tuple[tc.Triplets, np.ndarray]:
    """One observer's 990 answers about 11 correlations of scatterplots, in three sessions."""
    files = [folder / "mlds_examples" / f"kk{k}.csv" for k in (1, 2, 3)]
    table = np.concatenate([np.loadtxt(f, int, delimiter=",", skiprows=1) for f in files])
    rows = table[:, 1:] - 1
    answers = np.where(table[:, :1] == 1, rows, rows[:, [2, 3, 0, 1]])
    return tc.Triplets(answers), np.append(np.arange(10) / 10, 0.98)


def _fits(answers: tc.Triplets, stimuli: np.ndarray, size: int) -> Table:
    """Goodness of fit by link, beside what was published."""
    published = {
        "probit": ("633", "0.55", "0.016"),
        "logit": ("610", "0.57", "0.22"),
        "cauchit": ("611", "0.57", "0.07"),
    }
    rows = []
    for lapse in (False, True):
        for link in LINKS:
            scale = tc.perceptual_scale(
                answers, stimuli, link=link, lapse=lapse, n_samples=2, random_state=0
            )
            seconds, fit = timed(lambda s=scale: goodness_of_fit(s, n_samples=size, random_state=0))
            aic, daf, p = ("–", "–", "–") if lapse else published[link]
            rows.append(
                [
                    f"{link}, lapse rate {scale.lapse:.3f}" if lapse else link,
                    f"{fit.aic:.1f} ({aic})",
                    f"{fit.daf:.3f} ({daf})",
                    f"{fit.runs:.0f}, p = {fit.runs_p:.3f} ({p})",
                    f"{fit.outside:.1%}",
                    duration(seconds),
                ]
            )
    header = ["link", "AIC", "deviance accounted for", "runs", "residuals outside 95 %", "time"]
    return Table(f"Goodness of fit with {size} simulations (in brackets: published)", header, rows)


def _noise(scale: PerceptualScale) -> str:
    low, high = scale.sigma_interval()
    return f"σ {scale.sigma:.3f} ({low:.3f} to {high:.3f})"

"""Does a guaranteed error rate hold? Thresholds chosen from held-out answers, known truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom

from studies.cells import Cell, Result, collect
from studies.methods import Make, log_ratio, posterior
from studies.report import NONE, Goal, Section, Table, short
from studies.setting import Setting
from tercet import simulate
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.estimators import STE
from tercet.metrics import squared_distances
from tercet.uses.abstain import choose_threshold

VERSION = 1  # raise it when changes in tercet affect what is measured here
N, ANSWERS, HELD_OUT = 30, 1000, 1000
NOISES = (0.3, 1.0)
ERRORS = (0.05, 0.1, 0.2)
DELTA = 0.1
FITS, QUICK_FITS, HOLD_OUTS = 20, 2, 10
THIN = 8  # of 4000 draws, for speed: the guarantee holds for any ensemble
NAIVE = np.linspace(0.5, 0.995, 100)  # candidate thresholds of the naive rule
MODELS: dict[str, Make] = {"STE": posterior(STE(2)), "CKL, exponent, μ": log_ratio()}


class Place(NamedTuple):
    """A model and the noise of the answers."""

    model: str
    noise: float


def measure(model: str, noise: float, fit: int) -> Result:
    """Fit once, and choose thresholds from ten hold-outs; coverage and risk of each, or None."""
    rng = np.random.default_rng([fit, round(10 * noise), list(MODELS).index(model)])
    points, _ = simulate.gaussian_mixture(N, random_state=fit)
    train = simulate.noisy_triplets(points, ANSWERS, noise=noise, random_state=rng)
    ensemble = MODELS[model](fit).fit(train).ensemble_[::THIN]
    asked = simulate.all_comparisons(N)
    near, far = squared_distances(points, asked)
    truth = ndtr(0.5 * np.log(far / near) / (np.sqrt(2.0) * noise))
    p = ensemble.answer_probability(asked)

    def does(threshold: float | None) -> tuple[float, float] | None:
        """Coverage and true risk over all comparisons."""
        sure = np.maximum(p, 1.0 - p) > (1.0 if threshold is None else threshold)
        wrong = np.where(p > 0.5, 1.0 - truth, truth)[sure]
        return (float(sure.mean()), float(wrong.mean())) if len(wrong) else None

    found: Result = {"promise": {}, "naive": {}}
    for _ in range(HOLD_OUTS):
        rows = rng.integers(len(asked), size=HELD_OUT)
        given = Triplets(simulate.answer(points, asked[rows], noise=noise, random_state=rng))
        own = np.maximum(p, 1.0 - p)[rows]
        wrong = ensemble.answer_probability(given) < 0.5
        for error in ERRORS:
            promise = choose_threshold(ensemble, given, error=error, delta=DELTA, unit="answer")
            choices = {"promise": promise.threshold, "naive": _naive(own, wrong, error)}
            for rule, threshold in choices.items():
                found[rule].setdefault(f"{error:g}", []).append(does(threshold))
    return found


def _naive(confidence: Floats, wrong: NDArray[np.bool_], error: float) -> float | None:
    """The loosest threshold with no more than the share ``error`` of wrong predictions."""
    passing = (
        float(threshold)
        for threshold in NAIVE
        if (sure := confidence > threshold).any() and wrong[sure].mean() <= error
    )
    return next(passing, None)


def run(setting: Setting) -> Section:
    """Every model, noise and error."""
    section = Section("Abstaining: does the guaranteed error rate hold?")
    fits = setting.choose(FITS, QUICK_FITS)
    places = [Place(model, noise) for noise in NOISES for model in MODELS]
    keys = [(place, fit) for fit in range(fits) for place in places]
    cells = [
        Cell("abstain", VERSION, measure, {**place._asdict(), "fit": fit}) for place, fit in keys
    ]
    results: dict[Place, list[Result]] = {place: [] for place in places}
    for (place, _), result in zip(keys, collect(cells, setting.jobs), strict=True):
        results[place].append(result)
    allowed = int(binom.ppf(0.99, fits * HOLD_OUTS, DELTA))
    rows = []
    for place in places:
        for error in ERRORS:
            kept, naive = (_choices(results[place], rule, error) for rule in ("promise", "naive"))
            rows.append([place.model, f"{place.noise:g}", short(error, 2), *kept[1:], *naive[1:]])
            section.goals.append(
                Goal(
                    f"guarantee of {error:.0%}, {place.model}, σ = {place.noise:g}",
                    f"fails in at most {allowed} of {fits * HOLD_OUTS}",
                    f"{kept[0]}; a naive threshold {naive[0]}",
                    int(kept[0]) <= allowed,
                )
            )
    section.parts.append(_explanation(fits))
    header = ["model", "σ", "error", "given", "failed", "coverage", "risk"]
    header += [f"naive: {name}" for name in header[3:]]
    section.parts.append(Table("Guarantees given and failed; means over those given", header, rows))
    section.notes += setting.notes([r for group in results.values() for r in group])
    return section


def _choices(results: list[Result], rule: str, error: float) -> list[str]:
    """How many failed; then how many were given, how many failed, mean coverage and mean risk."""
    done = [r[rule][f"{error:g}"] for r in results if "failed" not in r]
    all_of_it = [choice for choices in done for choice in choices]
    made = np.array([choice for choice in all_of_it if choice is not None]).reshape(-1, 2)
    broken = str(int(np.sum(made[:, 1] > error)))
    means = [short(float(mean)) for mean in made.mean(axis=0)] if len(made) else [NONE, NONE]
    return [broken, f"{len(made)} of {len(all_of_it)}", broken, *means]


def _explanation(fits: int) -> str:
    return (
        f"{fits} posteriors (seeds 0 to {fits - 1}, one draw in {THIN} kept), each of {ANSWERS} "
        f"answers about {N} points of the paper's mixture with log-normal noise σ, and for each "
        f"{HOLD_OUTS} new hold-outs of "
        f"{HELD_OUT} answers to random comparisons; `choose_threshold(…, delta={DELTA:g}, "
        'unit="answer")`. The hold-outs of one posterior share it, which does no harm: the '
        "guarantee is conditional on the posterior. Risk and coverage of a chosen threshold are "
        "exact, over all comparisons, from the probability Φ(log(δ_il/δ_ij)/(σ√2)) of an answer; a "
        "guarantee fails where the risk is above the error. Neither model generated the answers. "
        "Naive: the loosest threshold with no more than the guaranteed share of held-out answers "
        "predicted wrongly."
    )

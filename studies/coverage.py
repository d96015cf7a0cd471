"""Do 95 % intervals contain the truth in 95 % of cases? Distances, shapes and points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import chi2

from studies.cells import Cell, Result, collect
from studies.methods import Make, Maker, bootstraps, health, posterior
from studies.report import Goal, Section, Table
from studies.setting import Setting
from studies.worlds import MODELS, World, size
from tercet import simulate
from tercet.align import procrustes
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.embedder import Embedder
from tercet.ensemble import Ensemble
from tercet.estimators import STE, TSTE
from tercet.posterior.priors import VARIANCE

VERSION = 2  # raise it when changes in tercet affect what is measured here
N, D, LEVEL = 20, 2, 0.95
ANSWERS = (200, 800)
TRUTHS = {"learned": 200, "fixed": 100}
QUICK_TRUTHS, BLOCK = 20, 10
GOAL = (0.93, 0.97)
ESTIMATORS: dict[str, type[Embedder]] = {"STE": STE, "t-STE": TSTE}
MIXTURE = {"STE": World("STE", 0.3), "t-STE": World("t-STE", 0.7)}
KINDS = {
    "learned": "truths from the prior, its variance v from its own prior",
    "fixed": "one truth from the paper's mixture, new answers",
}
WHAT = {
    "distances": "distances",
    "shape": "distances over their root mean square",
    "points": "points",
}
POSTERIOR, LAPLACE = "posterior", "Laplace"


class Place(NamedTuple):
    """A kind of truth, the model of the answers, and their number: a column of the tables."""

    truth: str
    model: str
    answers: int


def makers(model: str) -> dict[str, Make]:
    """Every method, by name; the prior of the posterior is what truths are drawn from."""
    estimator = ESTIMATORS[model]
    exact = posterior(estimator(D))

    def laplace(seed: int) -> Maker:
        return exact(seed).set_params(sampler="laplace")

    return {POSTERIOR: exact, LAPLACE: laplace, **bootstraps(estimator)}


FITS = tuple(makers("STE"))


def measure(truth: str, model: str, answers: int, fit: str, first: int) -> Result:
    """Coverage of a block of truths: the share of distances, and of points, inside, for each."""
    inside: dict[str, list[float]] = {what: [] for what in WHAT}
    problems = 0
    for seed in range(first, first + BLOCK):
        points, triplets = _draw(truth, model, answers, seed)
        maker = makers(model)[fit](seed).fit(triplets)
        problems += bool(health(maker).get("problems"))
        for what, share in _coverage(maker.ensemble_, points).items():
            inside[what].append(share)
    return {"inside": inside, "problems": problems}


def _draw(truth: str, model: str, answers: int, seed: int) -> tuple[Floats, Triplets]:
    key = [list(KINDS).index(truth), list(MODELS).index(model), answers]
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    if truth == "fixed":
        points = size(MIXTURE[model]) * simulate.gaussian_mixture(N, random_state=0)[0]
    else:
        median, spread = VARIANCE
        v = median * np.exp(spread * rng.standard_normal())
        points = np.sqrt(v) * rng.standard_normal((N, D))
    asked = simulate.random_comparisons(N, answers, random_state=rng)
    rows = simulate.answers_from_model(MODELS[model], points, asked, random_state=rng)
    return points, Triplets(rows, n_objects=N)


def _coverage(ensemble: Ensemble, points: Floats) -> dict[str, float]:
    truth, drawn = pdist(points), ensemble.distances()
    low, high = ensemble.distance_interval(level=LEVEL).T
    shapes = drawn / np.sqrt(np.mean(drawn**2, axis=1, keepdims=True))
    shape = truth / np.sqrt(np.mean(truth**2))
    least, most = np.quantile(shapes, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    gap = procrustes(points, ensemble.point_mean()).aligned - ensemble.point_mean()
    solved = np.linalg.solve(ensemble.point_covariance(), gap[:, :, None])[:, :, 0]
    squares = np.sum(gap * solved, axis=1)
    return {
        "distances": float(np.mean((low <= truth) & (truth <= high))),
        "shape": float(np.mean((least <= shape) & (shape <= most))),
        "points": float(np.mean(squares <= chi2.ppf(LEVEL, D))),
    }


def run(setting: Setting) -> Section:
    """Every method for every kind of truth."""
    section = Section("Coverage: do 95 % intervals contain the truth?")
    truths = {kind: setting.choose(full, QUICK_TRUTHS) for kind, full in TRUTHS.items()}
    places = [Place(t, m, a) for t in KINDS for m in ESTIMATORS for a in ANSWERS]
    results = _results(places, truths, setting.jobs)
    shares = {
        (place, fit, what): np.array([x for r in group for x in r["inside"][what]])
        for (place, fit), group in results.items()
        for what in WHAT
    }
    section.parts.append(_explanation(truths))
    for truth, words in KINDS.items():
        here = [place for place in places if place.truth == truth]
        if truth != "fixed":
            section.goals += [_goal(place, shares) for place in here]
        section.parts.append(f"### {words[0].upper()}{words[1:]}")
        header = ["method", *(f"{place.model}, {place.answers} answers" for place in here)]
        for what, title in WHAT.items():
            rows = [[fit, *(_text(shares[p, fit, what]) for p in here)] for fit in FITS]
            section.parts.append(Table(f"Coverage of {title}, % ± standard error", header, rows))
    posteriors = [r for (_, fit), group in results.items() if fit == POSTERIOR for r in group]
    section.notes += setting.notes([r for group in results.values() for r in group])
    section.notes.append(
        f"{sum(r['problems'] for r in posteriors)} of {BLOCK * len(posteriors)} posteriors warned "
        "that they did not converge; they are included."
    )
    return section


def _results(
    places: Sequence[Place], truths: dict[str, int], jobs: int
) -> dict[tuple[Place, str], list[Result]]:
    keys = [
        (place, fit, first)
        for first in range(0, max(truths.values()), BLOCK)
        for place in places
        for fit in FITS
        if first < truths[place.truth]
    ]
    cells = [
        Cell("coverage", VERSION, measure, {**place._asdict(), "fit": fit, "first": first})
        for place, fit, first in keys
    ]
    found: dict[tuple[Place, str], list[Result]] = {}
    for (place, fit, _), result in zip(keys, collect(cells, jobs), strict=True):
        found.setdefault((place, fit), [])
        if "failed" not in result:
            found[place, fit].append(result)
    return found


def _goal(place: Place, shares: dict[tuple[Place, str, str], Floats]) -> Goal:
    found = {what: shares[place, POSTERIOR, what] for what in ("distances", "points")}
    return Goal(
        f"posterior, {place.model}, {place.answers} answers, {KINDS[place.truth]}",
        f"{GOAL[0]:.0%} to {GOAL[1]:.0%}",
        ", ".join(f"{what} {_text(values)} %" for what, values in found.items()),
        all(GOAL[0] <= values.mean() <= GOAL[1] for values in found.values()),
    )


def _text(shares: Floats) -> str:
    """Mean coverage in per cent; the standard error takes a truth as one observation."""
    if len(shares) < 2:
        return "failed"
    return f"{100 * shares.mean():.1f} ± {100 * shares.std(ddof=1) / np.sqrt(len(shares)):.1f}"


def _explanation(truths: dict[str, int]) -> str:
    median, spread = VARIANCE
    return (
        f"{truths['learned']} truths (seeds 0 to {truths['learned'] - 1}), and {truths['fixed']} "
        f"sets of answers about a fixed one, of {N} objects in {D} dimensions, answers to "
        "random comparisons drawn from the model that is fitted. log v is normal around "
        f"log {median:g} with standard deviation {spread:g} where v is learned. The fixed truth is "
        f"the paper's mixture (seed 0) times {size(MIXTURE['STE']):.3f} for STE and "
        f"{size(MIXTURE['t-STE']):.3f} for t-STE, which gives as many correct answers as "
        f"log-normal noise of σ = {MIXTURE['STE'].like:g} and {MIXTURE['t-STE'].like:g}.\n\n"
        "Distances: the share of all pairs whose true distance lies in `distance_interval`, "
        "without scaling for posteriors (replicates of a bootstrap are aligned with scaling, as in "
        "the paper). Over their root mean square: the same for maps divided by their size. Points: "
        "the truth is aligned with `point_mean` by rotation, reflection and translation, and the "
        "share of points within the 95 % ellipses of `point_covariance` is counted. Standard "
        "errors take a truth as one observation."
    )

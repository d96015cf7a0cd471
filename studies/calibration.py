"""Are comparisons with 90 % confidence true in 90 % of cases? Simulations with known truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.cells import Cell, Result, collect
from studies.methods import Make, bootstraps, health, log_ratio, posterior
from studies.plots import Curve, reliability_plot
from studies.report import Goal, Image, Section, Table, short, with_error
from studies.setting import Setting
from studies.worlds import N, World, draw, share_right, size
from tercet import simulate
from tercet.estimators import STE, TSTE
from tercet.metrics import log_loss, reliability_table

VERSION = 2  # raise it when changes in tercet affect what is measured here
POINT_SETS, QUICK_SETS = 10, 2
SIZES = (588, 2000, 4000)
WORLDS = {
    "log-normal": [World("log-normal", like) for like in (0.0, 0.3, 1.0)],
    "STE": [World("STE", like) for like in (0.3, 1.0)],
    # Answers of t-STE in two dimensions are right in 75 % of cases at most.
    "t-STE": [World("t-STE", like) for like in (0.7, 1.0)],
}
PI = ("paper", "joint", "vote")

FITS: dict[str, Make] = {
    **bootstraps(),
    "Laplace, STE": posterior(STE(2), sampler="laplace"),
    "posterior, STE": posterior(STE(2)),
    "posterior, t-STE": posterior(TSTE(2)),
    "posterior, log-ratio": log_ratio(),
}


class Method(NamedTuple):
    """What makes the ensemble, and which π is read from it."""

    fit: str
    pi: str

    @property
    def title(self) -> str:
        """How tables name it."""
        return f"{self.fit}; {self.pi}"


PAPER = (Method("paper bootstrap", "paper"), Method("paper Bayes", "paper"))
RECOMMENDED = Method("posterior, log-ratio", "vote")
METHODS = (
    *PAPER,
    Method("bootstrap of the MAP", "joint"),
    Method("bootstrap of the MAP", "vote"),
    Method("corrected subsamples of the MAP", "joint"),
    Method("parametric bootstrap of the MAP", "joint"),
    Method("Laplace, STE", "vote"),
    Method("posterior, STE", "paper"),
    Method("posterior, STE", "joint"),
    Method("posterior, STE", "vote"),
    Method("posterior, t-STE", "vote"),
    Method("posterior, log-ratio", "joint"),
    RECOMMENDED,
)
SHOWN = (*PAPER, Method("bootstrap of the MAP", "joint"), METHODS[-4], RECOMMENDED)


class Place(NamedTuple):
    """A world and a number of answers: a column of the tables."""

    world: World
    answers: int

    @property
    def title(self) -> str:
        """How tables name it."""
        return f"{self.world.title}, {self.answers}"


class Score(NamedTuple):
    """One method at one place, over all point sets."""

    count: NDArray[np.float64]  # of the comparisons in each bin of confidence
    confidence: NDArray[np.float64]  # their sum
    right: NDArray[np.float64]
    losses: NDArray[np.float64]  # mean of each point set

    @property
    def error(self) -> float:
        """Expected calibration error of all comparisons together."""
        return float(np.abs(self.right - self.confidence).sum() / self.count.sum())

    @property
    def loss(self) -> float:
        """Mean log-loss."""
        return float(self.losses.mean())

    @property
    def loss_error(self) -> float:
        """Standard error of the mean log-loss, over point sets."""
        return float(self.losses.std(ddof=1) / np.sqrt(len(self.losses)))

    @property
    def accuracy(self) -> float:
        """Share of comparisons on the right side of one half."""
        return float(self.right.sum() / self.count.sum())


def measure(noise: str, like: float, answers: int, seed: int, fit: str) -> Result:
    """Fit one method to one point set, and score every π on all true triplets."""
    points, triplets = draw(World(noise, like), answers, seed)
    maker = FITS[fit](seed).fit(triplets)
    truth = simulate.true_triplets(points)
    scores = {}
    for pi in PI:
        p = maker.ensemble_.triplet_probability(truth, pi, n_jobs=1)
        table = reliability_table(p)
        filled = table.count > 0
        scores[pi] = {
            "count": table.count.tolist(),
            "confidence": np.where(filled, table.count * table.confidence, 0.0).tolist(),
            "right": np.where(filled, table.count * table.accuracy, 0.0).tolist(),
            "loss": log_loss(p),
        }
    return {"scores": scores, "health": health(maker)}


def run(setting: Setting) -> Section:
    """Every method in every world."""
    section = Section("Calibration: are comparisons with 90 % confidence true in 90 %?")
    sets = setting.choose(POINT_SETS, QUICK_SETS)
    places = [Place(w, m) for worlds in WORLDS.values() for w in worlds for m in SIZES]
    results = _results(places, sets, setting.jobs)
    scores = {
        (place, method): _pool([result["scores"][method.pi] for result in done])
        for place in places
        for method in METHODS
        if (done := _done(results[place, method.fit]))
    }
    section.goals += [_goal(place, scores) for place in places]
    section.parts.append(_explanation(sets))
    for name, worlds in WORLDS.items():
        here = [place for place in places if place.world in worlds]
        title = f"Answers with {name} noise" if name == "log-normal" else f"Answers from {name}"
        section.parts.append(f"### {title}")
        section.parts += _tables(here, scores)
        section.parts.append(_plot(name, here, scores))
    section.parts += ["### Did the chains converge?", _chains(places, results)]
    section.notes += setting.notes([r for group in results.values() for r in group])
    return section


def _results(
    places: Sequence[Place], sets: int, jobs: int
) -> dict[tuple[Place, str], list[Result]]:
    """Results of all point sets, by place and fit."""
    # One kind of noise after the other, and within it one point set after the other: what is known
    # when a run is interrupted is a smaller study.
    keys = [
        (place, fit, seed)
        for noise in WORLDS
        for seed in range(sets)
        for place in places
        for fit in FITS
        if place.world.noise == noise
    ]
    cells = [
        Cell("calibration", VERSION, measure, _settings(place, fit, seed))
        for place, fit, seed in keys
    ]
    found: dict[tuple[Place, str], list[Result]] = {}
    for (place, fit, _), result in zip(keys, collect(cells, jobs), strict=True):
        found.setdefault((place, fit), []).append(result)
    return found


def _done(results: Sequence[Result]) -> list[Result]:
    return [result for result in results if "failed" not in result]


def _settings(place: Place, fit: str, seed: int) -> dict[str, Any]:
    world, answers = place
    return {**world._asdict(), "answers": answers, "seed": seed, "fit": fit}


def _pool(scores: Sequence[Result]) -> Score:
    sums = (np.sum([s[name] for s in scores], axis=0) for name in ("count", "confidence", "right"))
    return Score(*sums, np.array([s["loss"] for s in scores]))


def _goal(place: Place, scores: dict[tuple[Place, Method], Score]) -> Goal:
    ours = scores[place, RECOMMENDED]
    others = [scores[place, paper].loss for paper in PAPER]
    limit = 0.05 if place.world.like == 1.0 and place.answers == min(SIZES) else 0.03
    return Goal(
        f"{place.title}: {RECOMMENDED.title}",
        f"error ≤ {short(limit, 2)}, log-loss below {' and '.join(map(short, others))}",
        f"error {short(ours.error)}, log-loss {short(ours.loss)}",
        bool(ours.error <= limit and ours.loss < min(others)),
    )


def _tables(places: Sequence[Place], scores: dict[tuple[Place, Method], Score]) -> list[Table]:
    header = ["method; π", *(place.title for place in places)]
    shown = {
        "Expected calibration error": lambda s: short(s.error),
        "Mean log-loss ± its standard error over the point sets": lambda s: with_error(
            s.loss, s.loss_error
        ),
        "Share of all comparisons that are on the right side of ½": lambda s: short(s.accuracy),
    }
    tables = []
    for caption, text in shown.items():
        rows = []
        for method in METHODS:
            found = (scores.get((place, method)) for place in places)
            row = [method.title, *("failed" if s is None else text(s) for s in found)]
            rows.append([f"**{cell}**" for cell in row] if method == RECOMMENDED else row)
        tables.append(Table(caption, header, rows))
    return tables


def _plot(name: str, places: Sequence[Place], scores: dict[tuple[Place, Method], Score]) -> Image:
    file = f"reliability_{name.lower()}.png"
    panels = {
        place.title: {m.title: Curve(*scores[place, m][:3]) for m in SHOWN if (place, m) in scores}
        for place in places
    }
    reliability_plot(file, panels, columns=len(SIZES))
    return Image(file, f"Share of comparisons that are true, by confidence, {name}")


def _chains(places: Sequence[Place], results: dict[tuple[Place, str], list[Result]]) -> Table:
    fits = [fit for fit in FITS if fit.startswith("posterior")]
    rows = []
    for place in places:
        row = [place.title]
        for fit in fits:
            healths = [result["health"] for result in _done(results[place, fit])]
            if not healths:
                row.append("failed")
                continue
            hat = max(h["r_hat"] or np.nan for h in healths)
            least = min(min(h["ess_bulk"], h["ess_tail"]) for h in healths)
            warned = sum(bool(h["problems"]) for h in healths)
            row.append(f"{warned} ({hat:.2f}, {least:.0f})")
        rows.append(row)
    caption = (
        "How many of the fits warned that they did not converge "
        "(largest R-hat, smallest effective sample size)"
    )
    return Table(caption, ["world, answers", *fits], rows)


def _explanation(sets: int) -> str:
    made = ", ".join(
        f"{w.noise} like σ = {w.like:g}: × {size(w):.3f}, {share_right(w, size(w)):.1%} correct"
        for name in ("STE", "t-STE")
        for w in WORLDS[name]
    )
    plain = ", ".join(f"{share_right(w):.1%} at {w.title}" for w in WORLDS["log-normal"])
    return (
        f"{sets} point sets (seeds 0 to {sets - 1}) of {N} points from the paper's mixture, "
        "answers to random comparisons, new for each set. Scored on all "
        f"{N * (N - 1) * (N - 2) // 2:,} true triplets of each point set: confidence max(π, 1 − π) "
        "in 10 equal bins of [½, 1], pooled over point sets. The seed of a method is that of the "
        "point set.\n\n"
        f"Log-normal noise is the paper's: answers are correct in {plain}. Answers from STE and "
        "t-STE are drawn from the model itself, on the mixture scaled so that answers are correct "
        "as often (over all comparisons of 20 other point sets) as with log-normal noise of a "
        f"given σ: {made}. Answers of t-STE are never correct more often than "
        f"{share_right(World('t-STE', 1.0), 100.0):.1%}, however large the map, so it has "
        "σ = 0.7 instead of 0.3."
    )

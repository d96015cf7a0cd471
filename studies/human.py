"""Prediction of the next person's answer: log-loss on held-out answers of people."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from benchmarks.data import HOW_TO_FIND, find_data
from numpy.typing import NDArray

from studies.answers import part
from studies.cells import Cell, Result, collect
from studies.methods import ENOUGH_ESS, ESS_A_CHAIN, R_HAT, health, is_suspect, posterior
from studies.report import Goal, Section, Table, short, with_error
from studies.setting import Setting
from tercet.answers.triplets import Triplets
from tercet.arrays import Index
from tercet.embedder import Embedder
from tercet.estimators import CKL, STE, TSTE
from tercet.metrics import log_loss, squared_distances

VERSION = 4  # raise it when changes in tercet affect what is measured here
SIZES = (500, 2000, 4000)
REPEATS, QUICK_REPEATS = 3, 2
FOLDS = 5
VARIANCES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
SETS = {"food100": 2, "material_appearance": 2, "alien_eggs": 1, "car60": 2}  # dimensions
MODELS: dict[str, type[Embedder]] = {"STE": STE, "t-STE": TSTE, "CKL": CKL}

LEARNED: dict[str, tuple[str, tuple[str, ...]]] = {
    **{name: (name, ()) for name in MODELS},
    "STE, lapse": ("STE", ("lapse",)),
    "CKL, exponent, μ": ("CKL", ("exponent", "mu")),
    "CKL, exponent, μ, lapse": ("CKL", ("exponent", "mu", "lapse")),
}
PLUG_IN, POSTERIOR = "plug-in", "posterior"
NAMED = 8  # warnings that are spelled out


class Method(NamedTuple):
    """A single best embedding or the posterior, and of what."""

    kind: str
    model: str

    @property
    def title(self) -> str:
        """How tables name it."""
        return f"{self.kind}, {self.model}"


METHODS = (
    *(Method(PLUG_IN, name) for name in MODELS),
    *(Method(POSTERIOR, name) for name in LEARNED),
)
Losses = dict[tuple[str, int, Method], NDArray[np.float64]]


def measure(people: str, answers: int, repeat: int, kind: str, model: str) -> Result:
    """Learn from some answers and predict the others."""
    folder = find_data()
    assert folder is not None
    train, test = part(folder, people, answers, repeat)
    name, learn = LEARNED[model]
    d = SETS[people]
    if kind == PLUG_IN:
        p, about = _plug_in(MODELS[name], d, train, test, repeat)
    else:
        maker = posterior(MODELS[name](d), learn=learn)(repeat).fit(train)
        p, about = maker.ensemble_.answer_probability(test), health(maker)
    return {"loss": log_loss(p), "wrong": float(np.mean(p < 0.5)), "about": about}


def _plug_in(
    model: type[Embedder], d: int, train: Triplets, test: Index, seed: int
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Answer probability from the MAP, whose prior variance cross-validation chose."""
    fold = np.random.default_rng([seed, 11]).permutation(len(train)) % FOLDS

    def predict(variance: float, rows: Any, asked: Index) -> NDArray[np.float64]:
        estimator = model(d, penalty=0.5 / variance, random_state=seed).fit(train[rows])
        return estimator.model().probability(*squared_distances(estimator.embedding_, asked), d)

    losses = [
        np.mean([log_loss(predict(v, fold != k, train.array[fold == k])) for k in range(FOLDS)])
        for v in VARIANCES
    ]
    best = VARIANCES[int(np.argmin(losses))]
    return predict(best, slice(None), test), {"variance": best}


def run(setting: Setting) -> Section:
    """Every method on every set."""
    section = Section("Answers of people: does the posterior predict the next answer better?")
    if find_data() is None:
        section.parts.append(HOW_TO_FIND.replace("case", "study"))
        return section
    repeats = setting.choose(REPEATS, QUICK_REPEATS)
    results = _results(repeats, setting.jobs)
    losses = {
        key: np.array([r.get("loss", np.nan) for r in group]) for key, group in results.items()
    }
    section.parts.append(_explanation(repeats))
    for people in SETS:
        section.goals += [_goal(people, size, losses) for size in SIZES]
        section.parts += [f"### {people}, d = {SETS[people]}", *_tables(people, results, losses)]
    section.notes += setting.notes([r for group in results.values() for r in group])
    section.notes += _about(results)
    return section


def _results(repeats: int, jobs: int) -> dict[tuple[str, int, Method], list[Result]]:
    keys = [
        (people, size, method, repeat)
        for repeat in range(repeats)
        for people in SETS
        for size in SIZES
        for method in METHODS
    ]
    cells = [
        Cell(
            "human",
            VERSION,
            measure,
            {"people": people, "answers": size, "repeat": repeat, **method._asdict()},
        )
        for people, size, method, repeat in keys
    ]
    found: dict[tuple[str, int, Method], list[Result]] = {}
    for (people, size, method, _), result in zip(keys, collect(cells, jobs), strict=True):
        found.setdefault((people, size, method), []).append(result)
    return found


def _goal(people: str, size: int, losses: Losses) -> Goal:
    """The best plug-in beside the best posterior, of the same three models."""

    def best(kind: str) -> Method:
        return min(
            (method for method in METHODS if method.kind == kind),
            key=lambda method: np.nanmean(losses[people, size, method]),
        )

    plug_in, other = best(PLUG_IN), best(POSTERIOR)
    base = losses[people, size, plug_in]
    least = losses[people, size, other] - base
    same = losses[people, size, Method(POSTERIOR, plug_in.model)] - base
    return Goal(
        f"{people}, {size} answers: log-loss, best {plug_in.title} {short(np.nanmean(base), 4)}",
        "best posterior lower",
        f"{other.title} {_difference(least)}; with the plug-in's own model, nothing else learned, "
        f"{_difference(same)}",
        bool(np.nanmean(least) < 0),
    )


def _tables(
    people: str, results: dict[tuple[str, int, Method], list[Result]], losses: Losses
) -> list[Table]:
    rows, differences = [], []
    for method in METHODS:
        row = [method.title]
        for size in SIZES:
            own = losses[people, size, method]
            wrong = [r.get("wrong", np.nan) for r in results[people, size, method]]
            loss = with_error(float(np.nanmean(own)), _error(own), 4)
            row.append(f"{loss}, {short(float(np.nanmean(wrong)))}")
        rows.append(row)
        if method.kind == POSTERIOR:
            base = Method(PLUG_IN, LEARNED[method.model][0])
            pairs = (losses[people, size, method] - losses[people, size, base] for size in SIZES)
            differences.append([method.title, *map(_difference, pairs)])
    header = ["method", *(f"{size} answers" for size in SIZES)]
    return [
        Table("Log-loss of held-out answers ± standard error, and error rate", header, rows),
        Table("Log-loss, posterior minus plug-in of the same model", header, differences),
    ]


def _error(values: NDArray[np.float64]) -> float:
    return float(np.nanstd(values, ddof=1) / np.sqrt(np.sum(~np.isnan(values))))


def _difference(values: NDArray[np.float64]) -> str:
    mean = float(np.nanmean(values))
    return ("+" if mean >= 0 else "") + with_error(mean, _error(values), 4)


def _about(results: dict[tuple[str, int, Method], list[Result]]) -> list[str]:
    done = [(key, r) for key, group in results.items() for r in group if "about" in r]
    chains = [(key, r) for key, r in done if "r_hat" in r["about"]]
    warned = [
        f"{people}, {size}, {method.title} (R-hat {r['about']['r_hat'] or np.nan:.2f})"
        for (people, size, method), r in chains
        if is_suspect(r["about"])
    ]
    told = sum("ConvergenceWarning" in r["warned"] for _, r in chains)
    restarted = sum(bool(r["about"].get("dropped")) for _, r in chains)
    chosen = [r["about"]["variance"] for _, r in done if "variance" in r["about"]]
    edge = sum(v in (VARIANCES[0], VARIANCES[-1]) for v in chosen)
    return [
        f"{len(warned)} of {len(chains)} posteriors warned that they did not converge"
        + (f", such as {'; '.join(warned[:NAMED])}" if warned else "")
        + f". Counted are an R-hat of {R_HAT:g} or more, an effective sample size below "
        f"{ESS_A_CHAIN} a chain (at most {ENOUGH_ESS}), and more than one divergent transition "
        f"in a hundred. `fit` itself gave a ConvergenceWarning in {told}; in {restarted}, chains "
        "were restarted from a better mode.",
        "The best plug-in and the best posterior are those with the lowest log-loss on the "
        f"held-out answers, of {len(LEARNED)} posteriors and {len(MODELS)} plug-ins.",
        f"Cross-validation chose the first or last variance of the grid in {edge} of "
        f"{len(chosen)} fits.",
    ]


def _explanation(repeats: int) -> str:
    return (
        f"Trained on 500, 2000 and 4000 answers, {repeats} random subsets of each size (seeds 0 to "
        f"{repeats - 1}); means and standard errors over these. food100: one triplet per "
        "screen, 4000 screens held out; car60: one triplet per statement, 2500 statements "
        "held out (others in each repeat); material_appearance: the published split, every vote "
        "an answer; alien_eggs: the answers to random comparisons, tested on the published test "
        "set.\n\n"
        "Plug-in: the MAP embedding, its prior variance v (penalty 1/(2v)) chosen from "
        f"{', '.join(f'{v:g}' for v in VARIANCES)} by the log-loss in {FOLDS}-fold "
        "cross-validation within the training answers, then fitted to all of them. Posterior: "
        "defaults, with the named parameters learned. μ and the exponent of CKL are 0.05 and 2 "
        "unless learned."
    )

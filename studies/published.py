"""Choices of people: published figures, and other ways of counting the same answers."""

from __future__ import annotations

import numpy as np
from benchmarks.data import HOW_TO_FIND, find_data, load_from
from scipy.optimize import minimize_scalar

from studies.answers import every_answer
from studies.cells import Cell, Result, collect
from studies.methods import QUIET
from studies.models import difference
from studies.report import NONE, Goal, Section, Table, short, with_error
from studies.setting import Setting
from tercet import datasets
from tercet.answers.choices import Choices
from tercet.answers.either import Answers
from tercet.answers.triplets import Triplets
from tercet.ensemble import Ensemble
from tercet.estimators import Shepard
from tercet.held_out import HeldOut, held_out
from tercet.metrics import squared_distances, tabulate_confidence
from tercet.posterior import Posterior

VERSION = 2  # raise it when changes in tercet affect what is measured here
CHOICES, TRIPLETS = "choices", "independent triplets"

# Bits per comparison of the authors' maps in 1 to 5 dimensions, subject S7, similarities of animals
# (their repository, jvlab/similarities at 54b08876, folder model-fitting).
AUTHORS = (-0.5748, -0.4575, -0.4278, -0.4166, -0.4033)
STARTS = 5

CENTRAL, SEQUENTIAL = "farthest pair, odds 1/s", "nearest two of three pairs"
SHORT = {"n_samples": 500, "n_chains": 2}

DIMENSION, PENALTIES, QUICK_PENALTIES = 10, (0.7, 1.0, 1.4, 2.0, 2.8), (1.4,)
OWN, TUNED = "as fitted", "tuned"  # the size of the map
CALIBRATED = 0.02


def rank(d: int) -> Result:
    """Mean log-probability in bits of the comparisons that rankings of eight imply."""
    folder = find_data()
    assert folder is not None
    rankings = every_answer(folder, "jvlab_s7").answers
    assert isinstance(rankings, Choices)
    split = Triplets(rankings.triplets().array, n_objects=rankings.n_objects)
    bits = {}
    for way, answers in ((CHOICES, rankings), (TRIPLETS, split)):
        fitted = Shepard(d, n_init=STARTS, random_state=0).fit(answers)
        lengths = squared_distances(fitted.embedding_, split)
        bits[way] = float(np.mean(fitted.model().log_prob(*lengths, d)) / np.log(2.0))
    return bits


def centre(way: str) -> Result:
    """Which car of three is the most central, as one kind of choice or another; held out."""
    folder = find_data()
    assert folder is not None
    train, test = every_answer(folder, "car60").part(0, 5, 6000)
    made = Posterior(2, random_state=0, **SHORT, **QUIET).fit(_central(way, train.answers))
    found = held_out(made.ensemble_, _central(way, test.answers), test.units, jointly=False)
    sizes = np.bincount(test.units).astype(float)
    return {"losses": (-found.log_density).round(7).tolist(), "sizes": sizes.tolist()}


def _central(way: str, answers: Answers) -> Choices:
    assert isinstance(answers, Choices)
    if way == CENTRAL:
        return answers
    pairs = answers.pairs.reshape(-1, 3, 2)[:, [1, 2, 0]]  # the first is the least similar pair
    both = np.tile([0, 1], (len(pairs), 1))
    return Choices(pairs, both, ordered=False, n_objects=answers.n_objects)


def things(way: str, penalty: float) -> Result:
    """One penalised map of 1 854 things; its size is chosen by a tenth of the choices."""
    folder = find_data()
    assert folder is not None
    triplets = load_from(folder, lambda: datasets.load_things("participants"))[1]
    choices = Choices.from_triplets(triplets)
    tenth = np.random.default_rng(0).integers(10, size=len(choices))
    test, validation, train = choices[tenth == 0], choices[tenth == 1], choices[tenth > 1]
    answers: Answers = train
    if way == TRIPLETS:
        answers = Triplets(train.triplets().array, n_objects=choices.n_objects)
    fitted = Shepard(DIMENSION, penalty=penalty, max_iter=300, random_state=0).fit(answers)

    def predict(scale: float, answers: Choices) -> HeldOut:
        ensemble = Ensemble(scale * fitted.embedding_[None], model=fitted.model())
        return held_out(ensemble, answers, np.arange(len(answers)), jointly=False)

    def loss(scale: float) -> float:
        return -float(np.mean(predict(scale, validation).log_density))

    best = minimize_scalar(loss, bounds=(0.5, 2.5), method="bounded", options={"xatol": 0.01})
    results: Result = {"scale": float(best.x)}
    for size, scale in ((OWN, 1.0), (TUNED, best.x)):
        found = predict(scale, test)
        results[size] = {
            "validation": loss(scale),
            "losses": (-found.log_density).round(5).tolist(),
            "sizes": [1.0] * len(test),
            "right": float(np.mean(found.right)),
            "calibration": tabulate_confidence(found.confidence, found.right, least=0.0).error,
        }
    return results


# --- the study ----------------------------------------------------------------------------------


def run(setting: Setting) -> Section:
    """Rankings, most central cars, and odd ones out."""
    section = Section("Choices of people, counted in several ways")
    if find_data() is None:
        section.parts.append(HOW_TO_FIND.replace("case", "study"))
        return section
    dimensions = range(1, setting.choose(len(AUTHORS), 2) + 1)
    penalties = setting.choose(PENALTIES, QUICK_PENALTIES)
    ranks = [Cell("published-ranks", VERSION, rank, {"d": d}) for d in dimensions]
    cars = [Cell("published-cars", VERSION, centre, {"way": way}) for way in (CENTRAL, SEQUENTIAL)]
    odd = [
        Cell("published-things", VERSION, things, {"way": way, "penalty": penalty})
        for way in (CHOICES, TRIPLETS)
        for penalty in penalties
    ]
    results = collect(ranks + cars + odd, setting.jobs)
    if failed := [result["failed"] for result in results if "failed" in result]:
        section.notes.append(f"Failed: {'; '.join(failed)}")
        return section
    _rankings(section, results[: len(ranks)])
    _cars(section, *results[len(ranks) : len(ranks) + 2])
    last = results[len(ranks) + 2 :]
    _things(section, penalties, last[: len(penalties)], last[len(penalties) :])
    section.notes += setting.notes(results)
    return section


def _rankings(section: Section, results: list[Result]) -> None:
    rows = [
        [str(d), _bits(authors), *(_bits(found[way]) for way in (TRIPLETS, CHOICES))]
        for d, (authors, found) in enumerate(zip(AUTHORS, results, strict=False), start=1)
    ]
    section.parts += [
        "One person (S7) ranked eight animals by their similarity to a ninth, 1 110 times. "
        f"Shepard's model with γ = 1, the best of {STARTS} starts, without a penalty.",
        Table(
            "Mean log-probability of the comparisons that the rankings imply, in bits",
            ["dimensions", "the authors", "ours, fitted to them", "ours, fitted to rankings"],
            rows,
        ),
    ]


def _bits(value: float) -> str:
    return short(value, 4).replace("-", "−")


def _cars(section: Section, central: Result, sequential: Result) -> None:
    rows = [
        [way, short(difference([found])[0], 4), versus]
        for way, found, versus in (
            (CENTRAL, central, NONE),
            (SEQUENTIAL, sequential, with_error(*difference([sequential], [central]), 4)),
        )
    ]
    section.parts += [
        "Which of three cars is the most central: the two others are the farthest pair, or the "
        "two pairs with the central car are the nearest, in either order. Posteriors of two chains "
        "of 500 draws in two dimensions; a fifth of the triples of cars held out.",
        Table("Log-loss of the answer", ["most central as", "log-loss", "worse by"], rows),
    ]


def _things(
    section: Section, penalties: tuple[float, ...], exact: list[Result], split: list[Result]
) -> None:
    rows = []
    for way, found in ((CHOICES, exact), (TRIPLETS, split)):
        for penalty, result in zip(penalties, found, strict=True):
            row = [way, f"{penalty:g}"]
            for size in (OWN, TUNED):
                each = result[size]
                mark = " *" if each is _best(found, size) else ""
                row += [short(np.mean(each["losses"]), 4) + mark, short(each["calibration"])]
            rows.append([*row, f"{result['scale']:.2f}", short(result[TUNED]["right"])])
    for size in (OWN, TUNED):
        ours, theirs = (_best(found, size) for found in (exact, split))
        mean, error = difference([ours], [theirs])
        section.goals.append(
            Goal(
                f"THINGS, size of the map {size}: log-loss of held-out choices, exact likelihood "
                "minus independent triplets; calibration error",
                f"lower by two standard errors; ≤ {short(CALIBRATED, 2)}",
                f"{with_error(mean, error, 4)}; {short(ours['calibration'])}",
                mean < -2.0 * error and ours["calibration"] <= CALIBRATED,
            )
        )
    section.parts += [
        f"Odd ones out of 264 people, 1 854 things, one penalised map in {DIMENSION} dimensions "
        "(Shepard, γ = 1). A tenth of the choices is held out; another tenth chooses the penalty "
        "(*) and, where tuned, the size of the map, which a penalty makes too small.",
        Table(
            "Held-out choices of THINGS; guessing has a log-loss of 1.0986",
            [
                "fitted to",
                "penalty",
                f"log-loss, {OWN}",
                "calibration error",
                f"log-loss, {TUNED}",
                "calibration error",
                "size ×",
                "accuracy",
            ],
            rows,
        ),
    ]


def _best(results: list[Result], size: str) -> Result:
    """Of the penalty that predicts the validation choices best."""
    found: Result = min((result[size] for result in results), key=lambda each: each["validation"])
    return found

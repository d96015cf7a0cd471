"""“Cannot tell” and sides: coverage where they are modelled, and where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from studies.cells import Cell, Result, collect
from studies.choices import PEOPLE, SHORT, D, N
from studies.methods import QUIET
from studies.recommended import COVERED, coverage, in_percent
from studies.report import Goal, Section, Table
from studies.setting import Setting
from tercet import simulate
from tercet.answers.choices import Choices
from tercet.answers.either import Answers
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.makers import LEARNED
from tercet.posterior import Posterior

VERSION = 1  # raise it when changes in tercet affect what is measured here
WORLDS, QUICK_WORLDS = 40, 2
ODD, PAIRS = "300 odd ones out", "400 triplets"
TIE = {ODD: 1.75, PAIRS: 0.82}  # odds of "cannot tell" at which it is a fifth of the answers
BIAS = {ODD: (0.6, 0.0, -0.6), PAIRS: (0.6, -0.6)}  # log-odds of the positions

TIES, SIDES = "a fifth are ties", "sides differ"
USED, DROPPED, MODELLED, IGNORED = "ties used", "ties dropped", "sides learned", "sides ignored"
MAKERS = {TIES: (USED, DROPPED), SIDES: (MODELLED, IGNORED)}


def ask(kind: str, rng: np.random.Generator) -> Choices:
    """Random questions, each with its objects at random positions."""
    count = 300 if kind == ODD else 400
    rows = np.array([rng.choice(N, 3, replace=False) for _ in range(count)])
    shown = np.array([rng.permutation(len(BIAS[kind])) for _ in range(count)])
    if kind == ODD:
        return Choices.odd_one_out(rows, n_objects=N, positions=shown)
    return Choices.from_triplets(Triplets(rows, n_objects=N), positions=shown)


def world(kind: str, trouble: str, number: int) -> tuple[Floats, Choices]:
    """Standard normal points, and people's answers."""
    rng = np.random.default_rng([number, 81])
    points = rng.standard_normal((N, D))
    asked = ask(kind, rng)
    how: dict[str, Any] = {"tie": TIE[kind]} if trouble == TIES else {"bias": BIAS[kind]}
    return points, simulate.choices_from_model(
        PEOPLE.model(), points, asked, random_state=rng, **how
    )


def cover(kind: str, trouble: str, maker: str, number: int) -> Result:
    """Coverage of relative distances, their mean width, and the parameters found."""
    points, choices = world(kind, trouble, number)
    learn = (*LEARNED, "bias") if maker == MODELLED else LEARNED
    answers: Answers = choices.without_ties() if maker == DROPPED else choices
    made = Posterior(D, learn=learn, random_state=number, **SHORT, **QUIET).fit(answers)
    found = coverage(made.ensemble_.distances(), pdist(points))
    drawn = made.ensemble_.parameters
    for name, true in _truths(kind, maker).items():
        low, high = np.quantile(drawn[name], [0.025, 0.975])
        found |= {name: float(drawn[name].mean()), f"{name} inside": bool(low <= true <= high)}
    return found


def _truths(kind: str, maker: str) -> dict[str, float]:
    if maker == USED:
        return {"tie": TIE[kind]}
    return {f"bias_{p}": b for p, b in enumerate(BIAS[kind])} if maker == MODELLED else {}


def run(setting: Setting) -> Section:
    """Coverage of both kinds of questions, with ties and with sides."""
    worlds = setting.choose(WORLDS, QUICK_WORLDS)
    keys = [
        (kind, trouble, maker, number)
        for number in range(worlds)
        for kind in (ODD, PAIRS)
        for trouble, makers in MAKERS.items()
        for maker in makers
    ]
    names = ("kind", "trouble", "maker", "number")
    cells = [Cell("ties", VERSION, cover, dict(zip(names, key, strict=True))) for key in keys]
    results = collect(cells, setting.jobs)
    found: dict[tuple[str, str], list[Result]] = {}
    for (kind, _, maker, _), result in zip(keys, results, strict=True):
        if "failed" not in result:
            found.setdefault((kind, maker), []).append(result)
    section = Section("“Cannot tell” and sides")
    section.parts += [_explanation(worlds), _coverage(found), _parameters(found)]
    section.goals += [
        Goal(
            f"coverage, {kind}, {maker}",
            "93 to 97 %",
            f"{np.mean([each['inside'] for each in found[kind, maker]]):.1%}",
            _is_right(found[kind, maker]),
        )
        for kind in (ODD, PAIRS)
        for maker in (USED, MODELLED)
        if (kind, maker) in found
    ]
    section.notes += setting.notes(results)
    return section


def _is_right(results: list[Result]) -> bool:
    share = np.mean([each["inside"] for each in results])
    return bool(COVERED[0] <= share <= COVERED[1])


def _explanation(worlds: int) -> str:
    return (
        f"{worlds} worlds of {N} standard normal points in {D} dimensions, and people as above "
        "who answer “cannot tell” in a fifth of the cases, with odds of "
        f"{TIE[ODD]:g} (odd ones out) or {TIE[PAIRS]:g} (triplets) times the geometric mean of the "
        "alternatives' (Davidson's model); or who prefer one position to another by log-odds of "
        f"{BIAS[ODD]} or {BIAS[PAIRS]}. Maps are drawn by `Posterior(2)`, 2 chains of 400 draws: "
        "with these answers as they are, or without the ties; with the odds of the positions "
        "learned, or as if there were none."
    )


def _coverage(found: dict[tuple[str, str], list[Result]]) -> Table:
    rows = [
        [maker, *(in_percent(found.get((kind, maker), [])) for kind in (ODD, PAIRS))]
        for makers in MAKERS.values()
        for maker in makers
    ]
    return Table(
        "Coverage of distances over their root mean square, % ± standard error over worlds (mean "
        "width)",
        ["", ODD, PAIRS],
        rows,
    )


def _parameters(found: dict[tuple[str, str], list[Result]]) -> Table:
    rows = []
    for kind in (ODD, PAIRS):
        for maker in (USED, MODELLED):
            results = found.get((kind, maker), [])
            for name, true in _truths(kind, maker).items():
                means = [each[name] for each in results]
                inside = np.mean([each[f"{name} inside"] for each in results])
                rows.append(
                    [
                        f"{kind}, {name}",
                        f"{true:g}",
                        f"{np.mean(means):.2f} ± {np.std(means):.2f}",
                        f"{inside:.0%}",
                    ]
                )
    return Table(
        "Parameters: truth, posterior means (mean ± standard deviation over worlds), and how often "
        "95 % intervals hold the truth",
        ["", "true", "found", "inside"],
        rows,
    )

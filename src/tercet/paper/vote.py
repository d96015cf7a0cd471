"""A plain majority vote over the embeddings against π (paper, section 3.3).

The paper says of counting the embeddings in which a triplet is true that it "leads to bad results
because it does not take the corresponding distances of a triplet into account", and shows no
numbers. Here the same embeddings judge the same triplets by three rules: the paper's π, the π of
the difference of the two distances ("joint"), and the vote. The first two predict the same, the
smaller of two mean distances, and differ in their confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tercet import simulate
from tercet.ensemble import Ensemble
from tercet.metrics import log_loss
from tercet.paper.drawing import COLOUR_OF, fraction_axis, legend_below, letter, line, panels
from tercet.paper.experiments import Cell, Figure, Measurements, Pictures, Result, Row
from tercet.paper.figure2 import training_set
from tercet.paper.methods import (
    BAYES,
    BOOTSTRAP,
    RECOMMENDED,
    draw_ensemble,
    mixture,
    score_probabilities,
)
from tercet.paper.settings import Size

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

__all__ = ["FIGURE", "VOTE", "share_of_draws"]

VERSION = 1
VOTE = "vote"
RULES = {  # colour, marker, label
    "paper": (COLOUR_OF[BOOTSTRAP], "o", "π of the paper"),
    "joint": (COLOUR_OF[RECOMMENDED], "D", "π, joint"),
    VOTE: (COLOUR_OF["vote"], "v", "majority vote"),
}
COSTS = {BOOTSTRAP: 0.3, BAYES: 1.0}  # seconds a cell, about
NUMBERS = {
    "error": "triplet error",
    "brier": "Brier score",
    "calibration error": "calibration error",
}


def _cells(size: Size) -> list[Cell]:
    """The noise levels of figure 2b and the fractions of figure 2c, STE by both methods."""
    grids: dict[tuple[float, float], list[str]] = {}
    for noise in size.noises:
        grids.setdefault((noise, size.noise_fraction), []).append("noise")
    for fraction in size.fractions:
        grids.setdefault((0.0, fraction), []).append("fraction")
    return [
        Cell(
            "vote",
            VERSION,
            compare_rules,
            {
                "ensemble": ensemble,
                "points": size.points,
                "noise": noise,
                "fraction": fraction,
                "grids": names,
                "repeat": repeat,
            },
            cost,
        )
        for ensemble, cost in COSTS.items()
        for (noise, fraction), names in grids.items()
        for repeat in range(size.repeats)
    ]


def compare_rules(
    ensemble: str, points: int, noise: float, fraction: float, grids: Sequence[str], repeat: int
) -> Result:
    """One training set, one set of embeddings, three rules; rows for each grid that they are of.

    For the log-loss all probabilities are kept half a vote away from 0 and 1, since a vote that is
    unanimous and wrong would cost infinity.
    """
    true = simulate.true_triplets(mixture(points)[0])
    drawn = draw_ensemble(
        ensemble, "STE", 2, training_set(points, noise, fraction, repeat), repeat, 0
    )
    rows: list[Row] = []
    for rule in RULES:
        if rule == VOTE:
            pi = share_of_draws(drawn, true)
        else:
            pi = drawn.triplet_probability(true, method=rule, n_jobs=1)
        row = score_probabilities(pi) | {"log-loss": log_loss(pi, clip=0.5 / len(drawn))}
        rows += [{"grid": grid, "rule": rule} | row for grid in grids]
    return {"rows": rows}


def share_of_draws(ensemble: Ensemble, triplets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share (m,) of the draws in which near is nearer, a tie counting half: the plain vote.

    `Ensemble.triplet_probability` gives (wins + ½) / (S + 1), which never claims certainty; the
    paper counts.
    """
    size = len(ensemble)
    smoothed = ensemble.triplet_probability(triplets, method="vote", n_jobs=1)
    return np.asarray(np.rint(2.0 * smoothed * (size + 1) - 1.0) / (2.0 * size))


def draw_rules(table: Measurements, title: str) -> Picture:
    """Over the noise above, over the fraction of triplets below; one column a number."""
    picture, axes = panels(2, len(NUMBERS), width=2.6, height=2.3)
    for grid, row in zip(("noise", "fraction"), axes, strict=True):
        found = table.where(grid=grid)
        for ax, (number, name) in zip(row, NUMBERS.items(), strict=True):
            for rule, (colour, marker, label) in RULES.items():
                curve = found.where(rule=rule).curve(grid, number)
                line(ax, curve, rule, label, color=colour, marker=marker)
            ax.set_ylabel(name)
            ax.set_ylim(bottom=0.0)
            if grid == "noise":
                ax.set_xlabel("noise σ")
            else:
                fraction_axis(ax, found.values("fraction"))
    (fraction,) = table.where(grid="noise").values("fraction")
    letter(axes[:, 0], [f"{title}, {100 * fraction:g}% of all triplets", f"{title}, no noise"])
    legend_below(picture, axes[:1, :1])
    return picture


def _pictures(table: Measurements) -> Pictures:
    """The bootstrap, and the Bayesian embeddings."""
    return {
        "vote": draw_rules(table.where(ensemble=BOOTSTRAP), "STE bootstrap"),
        "vote_bayes": draw_rules(table.where(ensemble=BAYES), "Bayesian STE"),
    }


FIGURE = Figure(
    "vote",
    "The same embeddings judged by the paper's π, by joint π and by a plain majority vote.",
    _cells,
    _pictures,
    (
        ("ensemble", "grid", "rule", "noise", "fraction"),
        ("uncertainty", "error", "calibration error", "brier", "log-loss"),
    ),
)

"""Figure 3: predict a triplet where π is certain, else abstain; the supplement's Bayesian STE.

More triplets make fewer errors and fewer abstentions; a higher threshold makes fewer errors and
more abstentions (paper, sections 4.1 and 5.2). Beside the paper's two methods stands the
recommended one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tercet import simulate
from tercet.paper.drawing import fraction_axis, letter, line, panels
from tercet.paper.experiments import Cell, Figure, Measurements, Pictures, Result, Row
from tercet.paper.figure2 import training_set
from tercet.paper.methods import BAYES, BOOTSTRAP, PI, RECOMMENDED, draw_ensemble, mixture
from tercet.paper.settings import Size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

__all__ = ["FIGURE", "predict_or_abstain"]

VERSION = 1
# About how many seconds a cell takes, and how many more with all triplets.
COSTS = {BOOTSTRAP: (0.2, 0.0), BAYES: (0.4, 0.0), RECOMMENDED: (4.0, 400.0)}
# Names of the pictures and labels of their methods.
PICTURES = {
    BOOTSTRAP: ("figure_3", "STE bootstrap"),
    BAYES: ("figure_3_supplement", "Bayesian STE"),
    RECOMMENDED: ("figure_3_recommended", "recommended default"),
}
LINEAR = 1e-3  # errors below are drawn on a linear axis: some are 0


def _cells(size: Size) -> list[Cell]:
    """Every fraction of the triplets without noise, every method; all thresholds in one cell."""
    found = []
    for method, (cost, more) in COSTS.items():
        for fraction in size.fractions:
            for repeat in range(size.repeats):
                settings: dict[str, Any] = {
                    "method": method,
                    "points": size.points,
                    "fraction": fraction,
                    "thresholds": list(size.thresholds),
                    "repeat": repeat,
                }
                if method == RECOMMENDED:
                    settings["draws"] = size.draws
                found.append(Cell("3", VERSION, predict, settings, cost + more * fraction))
    return found


def predict(
    method: str,
    points: int,
    fraction: float,
    thresholds: Sequence[float],
    repeat: int,
    draws: int = 0,
) -> Result:
    """One training set and one method: error and abstention of each threshold on all triplets."""
    true = simulate.true_triplets(mixture(points)[0])
    ensemble = draw_ensemble(
        method, "STE", 2, training_set(points, 0.0, fraction, repeat), repeat, draws
    )
    pi = ensemble.triplet_probability(true, method=PI[method], n_jobs=1)
    return {"rows": [predict_or_abstain(pi, threshold) for threshold in thresholds]}


def predict_or_abstain(pi: NDArray[np.float64], threshold: float) -> Row:
    """Count what the rule of section 4.1 does with probabilities (m,) of true triplets.

    A triplet is predicted right where π > t and wrong where π < 1 − t; in [1 − t, t] the rule
    abstains. The "error" is that of the predicted triplets, and absent where there are none.
    """
    # As `Ensemble.predict` has it: 1 − π, not 1 − t, so that no rounding favours one answer.
    right, wrong = int(np.sum(pi > threshold)), int(np.sum(1.0 - pi > threshold))
    predicted = right + wrong
    row: Row = {
        "threshold": threshold,
        "abstention": 1.0 - predicted / len(pi),
        "error over all": wrong / len(pi),
        "wrong": wrong,
        "predicted": predicted,
    }
    return row | ({"error": wrong / predicted} if predicted else {})


def draw_thresholds(ax: Axes, table: Measurements, y: str) -> None:
    """A quantity over the fraction of triplets, one line a threshold.

    Of many thresholds some are drawn. A place where a repeat predicts nothing, and so has no error,
    is left out.
    """
    from matplotlib import colormaps

    thresholds = table.values("threshold")
    shown = thresholds[:: max(1, len(thresholds) // 3)]
    colours = colormaps["viridis"](np.linspace(0.0, 0.85, len(shown)))
    for threshold, colour, marker in zip(shown, colours, "osD^v<>", strict=False):
        rows = table.where(threshold=threshold)
        lacking = {row["fraction"] for row in rows.rows if y not in row}
        drawn = Measurements(row for row in rows.rows if row["fraction"] not in lacking)
        if len(drawn):
            curve = drawn.curve("fraction", y)
            line(ax, curve, "", f"t = {threshold:g}", color=colour, marker=marker, clip_on=False)
    fraction_axis(ax, table.values("fraction"))


def draw_method(table: Measurements, title: str) -> Picture:
    """Error of the predictions on the left, abstention on the right."""
    picture, ((left, right),) = panels(1, 2, width=3.4, height=2.6)
    draw_thresholds(left, table, "error")
    left.set_yscale("symlog", linthresh=LINEAR, linscale=0.4)
    left.set_ylim(0.0, 0.5)
    left.set_yticks([0.0, 0.001, 0.01, 0.1, 0.5], ["0", "0.1%", "1%", "10%", "50%"])
    left.set_yticks([], minor=True)
    left.set_ylabel("wrong among predicted triplets")
    draw_thresholds(right, table, "abstention")
    right.set_ylim(0.0, 1.0)
    right.set_ylabel("abstention rate")
    letter((left, right), [f"prediction error, {title}", f"abstention rate, {title}"])
    picture.legend(*right.get_legend_handles_labels(), loc="outside right center")
    return picture


def _pictures(table: Measurements) -> Pictures:
    """The bootstrap as in the paper, Bayesian STE as in the supplement, the recommended default."""
    return {
        name: draw_method(table.where(method=method), title)
        for method, (name, title) in PICTURES.items()
    }


FIGURE = Figure(
    "3",
    "Abstaining where π is uncertain: fewer errors with more triplets and a higher threshold.",
    _cells,
    _pictures,
    (
        ("method", "fraction", "threshold"),
        ("error", "error over all", "abstention"),
    ),
)

"""Figure 2a: which dimension? MNIST digits on d principal components, embedded in 1 to d + 4.

The supplement shows the same for 2, 4 and 5 components. Beside the paper's curves stands what
`tercet.estimate_dimension` finds, our recommended way to choose.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from tercet import datasets, simulate
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.bootstrap import Bootstrap
from tercet.estimators import CKL, STE
from tercet.paper.drawing import legend_below, letter, line, panels
from tercet.paper.experiments import Cell, Figure, Measurements, Pictures, Result
from tercet.paper.methods import (
    BAYES,
    BOOTSTRAP,
    METHOD,
    PI,
    POINTS,
    QUIET,
    RECOMMENDED,
    TRIPLETS,
    draw_ensemble,
    stream,
)
from tercet.paper.settings import DIMENSION_FRACTION, DIMENSION_NOISE, Size
from tercet.posterior import Posterior
from tercet.uses.dimension import estimate_dimension

__all__ = ["FIGURE", "draw_column"]

VERSION = 1
COST, BAYES_COST, FIT_COST = 0.3, 0.5, 7.0  # seconds: a bootstrap, a chain, a posterior
CHAINS = {"chains": 2, "warmup": 250}  # of the posterior that chooses


def _cells(size: Size) -> list[Cell]:
    """Every true dimension, embedding dimension, method and repeat."""
    out = []
    for true in size.true_dimensions:
        tried = size.dimensions(true)
        for repeat in range(size.repeats):
            world: dict[str, Any] = {
                "true": true,
                "points": size.points,
                "fraction": DIMENSION_FRACTION,
                "noise": DIMENSION_NOISE,
                "repeat": repeat,
            }
            for d in tried:
                for method, cost in ((BOOTSTRAP, COST), (BAYES, BAYES_COST)):
                    settings = world | {"dimension": d, "method": method}
                    out.append(Cell("2a", VERSION, embed, settings, cost))
            settings = world | {"highest": tried[-1]} | CHAINS | {"draws": size.draws // 4}
            out.append(Cell("2a", VERSION, recommend, settings, FIT_COST * len(tried)))
    return out


@cache
def digits(true: int, points: int) -> Floats:
    """Images of sixes and eights on the first principal components of all of them, (n, true)."""
    images = datasets.load_mnist_digits(6, 8).features
    assert images is not None
    on_components = PCA(true, svd_solver="covariance_eigh").fit_transform(images)
    chosen = stream(0, POINTS, true).choice(len(images), points, replace=False)
    return np.asarray(on_components[chosen], dtype=np.float64)


def digit_answers(true: int, points: int, fraction: float, noise: float, repeat: int) -> Triplets:
    """A share of all triplets, answered with noise; fresh ones in every repeat."""
    return simulate.noisy_triplets(
        digits(true, points),
        fraction=fraction,
        noise=noise,
        random_state=stream(repeat, TRIPLETS, true),
    )


def embed(
    true: int,
    points: int,
    fraction: float,
    noise: float,
    dimension: int,
    method: str,
    repeat: int,
) -> Result:
    """One embedding dimension: the average uncertainty, and the cost of STE on all answers."""
    triplets = digit_answers(true, points, fraction, noise, repeat)
    ensemble = draw_ensemble(method, "STE", dimension, triplets, repeat, 0)
    # Over all comparisons, min(π, 1 − π): the truth is unknown when a dimension is chosen.
    row: dict[str, Any] = {"uncertainty": ensemble.average_uncertainty(method=PI[method], n_jobs=1)}
    if method == BOOTSTRAP:
        fitted = STE(dimension, random_state=stream(repeat, METHOD, dimension)).fit(triplets)
        row["cost"] = fitted.loss_
    return {"rows": [row | {"triplets": len(triplets)}]}


def recommend(
    true: int,
    points: int,
    fraction: float,
    noise: float,
    highest: int,
    draws: int,
    chains: int,
    warmup: int,
    repeat: int,
) -> Result:
    """What `estimate_dimension` measures in each dimension, and which it recommends."""
    size: dict[str, Any] = {"n_samples": max(draws, 20), "n_chains": chains, "warmup": warmup}
    found = estimate_dimension(
        digit_answers(true, points, fraction, noise, repeat),
        range(1, highest + 1),
        posterior=Posterior(CKL(), learn=("exponent", "mu"), **size),
        bootstrap=Bootstrap(STE(), 2),  # not shown
        random_state=stream(repeat, METHOD),
        **QUIET,
    )
    rows: list[dict[str, Any]] = [
        {
            "method": RECOMMENDED,
            "dimension": row.dimension,
            "uncertainty": row.posterior.value,
            "left-out log-loss": row.left_out.value,
            "R-hat": row.r_hat,
        }
        for row in found.rows
    ]
    # An undecided estimate counts as 0.
    rows.append({"method": RECOMMENDED, "chosen": found.dimension or 0})
    return {"rows": rows}


def draw_column(axes: np.ndarray[Any, Any], table: Measurements, true: int) -> None:
    """The cost of STE above, the average uncertainties below."""
    top, bottom = axes
    rows = table.where(true=true)
    cost = rows.where(method=BOOTSTRAP).curve("dimension", "cost")
    line(top, cost, "cost", "STE cost", color="0.2")
    top.set_ylabel("STE cost")
    top.set_ylim(bottom=0.0)
    for method in (BOOTSTRAP, BAYES, RECOMMENDED):
        line(bottom, rows.where(method=method).curve("dimension", "uncertainty"), method)
    bottom.set_ylabel("average uncertainty")
    bottom.set_ylim(bottom=0.0)
    bottom.set_xlabel(f"embedding dimension\n{_chosen(rows, true)}")
    for ax in axes:
        ax.axvline(true, color="0.7", linewidth=0.8, zorder=0)
        ax.set_xticks(cost.x)


def _chosen(rows: Measurements, true: int) -> str:
    """How often the recommended method chooses the true dimension, in words."""
    chosen = [row["chosen"] for row in rows.rows if "chosen" in row]
    right = sum(choice == true for choice in chosen)
    return f"(recommended: {true} in {right} of {len(chosen)})"


def _picture(table: Measurements, dimensions: list[int]) -> Any:
    picture, axes = panels(2, len(dimensions), width=3.4 if len(dimensions) == 1 else 2.7)
    for column, true in enumerate(dimensions):
        draw_column(axes[:, column], table, true)
    letter(axes[0], [f"$d_{{true}}$ = {true}" for true in dimensions])
    legend_below(picture, axes[1, :1])
    return picture


def draw_all(table: Measurements) -> Pictures:
    """Three components as in the paper, the others as in the supplement."""
    first, *others = table.values("true")
    return {
        "figure_2a": _picture(table, [first]),
        "figure_2a_supplement": _picture(table, others),
    }


FIGURE = Figure(
    "2a",
    "MNIST on d components: the STE cost keeps falling with the embedding dimension, the average "
    "uncertainty need not.",
    _cells,
    draw_all,
    (("true", "method", "dimension"), ("cost", "uncertainty", "left-out log-loss", "chosen")),
    (datasets.load_mnist_digits,),
)

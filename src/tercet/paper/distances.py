"""The supplement's Gaussian prior over distance matrices, beside the prior over embeddings.

The paper reports that models with this prior "did not behave satisfactorily" and shows no numbers.
Here both priors see the same answers and are sampled in the same way from the maximum of the STE
likelihood (the prior over embeddings, where it has no maximum, from its shape), and are looked at
twice: by the paper's 500 draws from the start, and by 500 draws that come later, when the start is
forgotten. Columns of the second look end in "later".
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet import simulate
from tercet.answers.triplets import Triplets
from tercet.ensemble import Ensemble
from tercet.estimators import STE
from tercet.paper.drawing import COLOUR_OF, fraction_axis, legend_below, letter, line, panels
from tercet.paper.experiments import Cell, Figure, Measurements, Pictures, Result, Row
from tercet.paper.figure2 import training_set
from tercet.paper.methods import METHOD, PRIOR, QUIET, mixture, score_probabilities, stream
from tercet.paper.settings import LATER, Size
from tercet.paper.vote import share_of_draws
from tercet.posterior import DistancePrior, Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DISTANCES", "EMBEDDINGS", "FIGURE", "distance_prior", "geometry"]


VERSION = 1
DISTANCES, EMBEDDINGS = "distances", "embeddings"
LOOKS = {  # colour, marker, name
    EMBEDDINGS: (COLOUR_OF["Bayes"], "s", "prior over embeddings"),
    DISTANCES: (COLOUR_OF["bootstrap"], "o", "prior over distances"),
}
COSTS = {EMBEDDINGS: 1.0, DISTANCES: 3.0}  # seconds a cell, about
NUMBERS = {
    "uncertainty": "average uncertainty",
    "error": "triplet error",
    "triangle": "share of violated triangle inequalities",
}
SUFFIX = " later"
THINNED = 50  # draws whose triangles are checked
PAIRS = 300  # distances of one draw in the picture


def _cells(size: Size) -> list[Cell]:
    """Every fraction, without noise and with that in the middle; and one draw of each prior."""
    noises = dict.fromkeys((size.noises[0], size.noises[len(size.noises) // 2]))
    later = LATER * size.points * (size.points - 1) // 2
    found = []
    for prior, cost in COSTS.items():
        for noise in noises:
            for fraction in size.fractions:
                for repeat in range(size.repeats):
                    settings: dict[str, Any] = {
                        "prior": prior,
                        "points": size.points,
                        "noise": noise,
                        "fraction": fraction,
                        "repeat": repeat,
                        "later": later,
                    }
                    found.append(Cell("distances", VERSION, judge_prior, settings, cost))
        shown = {
            "shown": prior,
            "points": size.points,
            "noise": size.noises[0],
            "fraction": size.fractions[len(size.fractions) // 2],
            "repeat": 0,
            "later": later,
        }
        found.append(Cell("distances", VERSION, show_draw, shown, cost))
    return found


def judge_prior(
    prior: str, points: int, noise: float, fraction: float, repeat: int, later: int
) -> Result:
    """One training set and one prior: quality of its draws, and whether they are distances."""
    true = simulate.true_triplets(mixture(points)[0])
    triplets = training_set(points, noise, fraction, repeat)
    row = geometry(draw_from_prior(prior, points, triplets, repeat), " a priori")
    for warmup, suffix in ((0, ""), (later, SUFFIX)):
        posterior = draw_from_posterior(prior, triplets, repeat, warmup)
        drawn, diagnostics = posterior.ensemble_, posterior.diagnostics_
        assert diagnostics is not None
        numbers = score_probabilities(drawn.triplet_probability(true, method="paper", n_jobs=1)) | {
            "error of a draw": float(1.0 - share_of_draws(drawn, true).mean()),
            "effective draws": diagnostics.ess_bulk,
        }
        row |= {f"{name}{suffix}": value for name, value in numbers.items()}
        row |= geometry(drawn, suffix)
    row["asymmetry"] = max(value for name, value in row.items() if name.startswith("asymmetry"))
    return {"rows": [row | {"triplets": len(triplets)}]}


def show_draw(
    shown: str, points: int, noise: float, fraction: float, repeat: int, later: int
) -> Result:
    """Some true distances and the same of one draw, the last, of the short and the later chain."""
    triplets = training_set(points, noise, fraction, repeat)
    every = np.stack(np.triu_indices(points, 1), axis=1)
    chosen = stream(repeat, PRIOR, 1).permutation(len(every))[:PAIRS]
    columns = [Ensemble(mixture(points)[0][np.newaxis]).distances(every[chosen])[0]]
    for warmup in (0, later):
        ensemble = draw_from_posterior(shown, triplets, repeat, warmup).ensemble_
        columns.append(ensemble[-1].distances(every[chosen])[0])
    names = ("true distance", "drawn", f"drawn{SUFFIX}")
    return {"rows": [dict(zip(names, row, strict=True)) for row in np.stack(columns, 1).tolist()]}


# --- the priors and their posteriors ----------------------------------------------------------


def distance_prior(triplets: Triplets, repeat: int) -> DistancePrior:
    """The prior whose distances have the mean and the variance of those of the STE fit.

    With W = w·I the variance of an entry off the diagonal is w² / 2 (supplement: W ⊛ W).
    """
    fitted = STE(2, random_state=stream(repeat, METHOD)).fit(triplets).embedding_
    lengths = Ensemble(fitted[np.newaxis]).distances()
    return DistancePrior(float(lengths.mean()), float(np.sqrt(2.0) * lengths.std()))


def draw_from_posterior(prior: str, triplets: Triplets, repeat: int, warmup: int) -> Posterior:
    """500 elliptical-slice draws after ``warmup`` discarded ones."""
    settings: dict[str, Any] = {"warmup": warmup, "random_state": stream(repeat, METHOD)} | QUIET
    if prior == DISTANCES:
        settings["prior"] = distance_prior(triplets, repeat)
    return Posterior.paper(STE(2), **settings).fit(triplets)


def draw_from_prior(prior: str, points: int, triplets: Triplets, repeat: int) -> Ensemble:
    """Draws from the prior itself, which depends on the answers only through D₀ and W."""
    rng = stream(repeat, PRIOR, 0)
    if prior == DISTANCES:
        matrices = distance_prior(triplets, repeat).sample(THINNED, points, rng)
        return Ensemble(matrices, kind="distances")
    return Ensemble(rng.standard_normal((THINNED, points, 2)))  # triangles do not depend on scale


def geometry(ensemble: Ensemble, suffix: str = "") -> Row:
    """Whether draws are distance matrices: symmetric, positive, with the triangle inequality.

    Returns
    -------
    dict
        "asymmetry", the largest |D_ij − D_ji|; "negative", the share of entries off the diagonal
        below 0; "triangle", the share of objects i < j < k and of up to 50 draws in which the size
        of one of the three distances is above the sum of the others. The likelihood sees squares,
        so an entry's size is its distance.
    """
    n = ensemble.n_objects
    if ensemble.kind == "distances":
        matrices = ensemble.draws
    else:
        ordered = np.indices((n, n)).reshape(2, -1).T
        matrices = ensemble.distances(ordered).reshape(len(ensemble), n, n)
    thinned = np.abs(matrices[:: -(-len(matrices) // THINNED)])
    i, j, k = np.array(list(combinations(range(n), 3))).T
    sides = np.stack([thinned[:, i, j], thinned[:, i, k], thinned[:, j, k]])
    longest = sides.max(axis=0)
    # Objects on one line have equality, but for rounding.
    broken = 2.0 * longest > (1.0 + 1e-9) * sides.sum(axis=0)
    off = matrices[:, ~np.eye(n, dtype=bool)]
    return {
        f"asymmetry{suffix}": float(np.abs(matrices - matrices.transpose(0, 2, 1)).max()),
        f"negative{suffix}": float(np.mean(off < 0.0)),
        f"triangle{suffix}": float(np.mean(broken)),
    }


# --- the picture ------------------------------------------------------------------------------


def draw_number(ax: Axes, table: Measurements, number: str) -> None:
    """A number over the fraction, for both priors: the paper's draws, and dashed those later."""
    (later,) = table.values("later")
    for prior, (colour, marker, name) in LOOKS.items():
        rows = table.where(prior=prior)
        for suffix, dashes, label in (
            ("", "-", f"{name}, 500 draws"),
            (SUFFIX, "--", f"{name}, {later} draws later"),
        ):
            look: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dashes}
            look["markerfacecolor"] = "white" if suffix else colour
            line(ax, rows.curve("fraction", number + suffix), prior, label, **look)
    ax.set_ylabel(NUMBERS[number])
    fraction_axis(ax, table.values("fraction"))


def draw_scatter(ax: Axes, rows: list[Row], column: str, prior: str) -> None:
    """Distances of one draw against the true ones, each divided by its mean."""
    true, drawn = (np.array([row[name] for row in rows]) for name in ("true distance", column))
    colour, marker, _ = LOOKS[prior]
    ax.plot([0.0, 2.6], [0.0, 2.6], color="0.7", linewidth=0.8, zorder=0)
    look: dict[str, Any] = {"s": 5, "color": colour, "marker": marker, "linewidth": 0}
    ax.scatter(true / true.mean(), drawn / drawn.mean(), alpha=0.6, **look)
    ax.set_xlim(0.0, 2.6)
    ax.set_ylim(0.0, 2.6)
    ax.set_xlabel("true distance / mean")
    ax.set_ylabel("drawn distance / mean")


def _draw(table: Measurements) -> Pictures:
    """Without noise, with noise, and single draws."""
    judged = table.where(repeat=0).values("noise")
    picture, axes = panels(len(judged) + 1, 3, width=2.7, height=2.2)
    for noise, row in zip(judged, axes, strict=False):
        for ax, number in zip(row, NUMBERS, strict=True):
            draw_number(ax, table.where(noise=noise), number)
            ax.set_ylim(0.0, 0.55)
    bottom = {
        (EMBEDDINGS, SUFFIX): "one draw, embeddings, later",
        (DISTANCES, ""): "one draw, distances",
        (DISTANCES, SUFFIX): "one draw, distances, later",
    }
    for ax, (prior, suffix) in zip(axes[-1], bottom, strict=True):
        draw_scatter(ax, table.where(shown=prior).rows, f"drawn{suffix}", prior)
    titles = [f"noise σ = {noise:g}" if noise else "no noise" for noise in judged]
    letter([*axes[:-1, 0], *axes[-1]], [*titles, *bottom.values()])
    legend_below(picture, axes[:1, :1], 2)
    return {"distances": picture}


FIGURE = Figure(
    "distances",
    "A Gaussian prior over distance matrices keeps symmetry, but loses the map it starts from.",
    _cells,
    _draw,
    (
        ("prior", "noise", "fraction"),
        (
            *(f"{name}{suffix}" for suffix in ("", SUFFIX) for name in NUMBERS),
            "asymmetry",
            "negative",
            "triangle a priori",
            "effective draws",
        ),
    ),
)

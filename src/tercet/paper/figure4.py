"""Figure 4: psychophysics, from observers whose perception functions differ more and more.

Every observer has a perception function from a Gaussian process and answers by it without noise;
one scale is made of the answers of all (paper, section 5.4). The recommended scale is that of
`perceptual_scale` with its own model, signed differences, but its bootstrap draws observers and not
answers, since a statement about people has to know how much they differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tercet import simulate
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.bootstrap import Bootstrap
from tercet.estimators import STE
from tercet.paper.drawing import legend_below, letter, line, panels
from tercet.paper.experiments import Cell, Curve, Figure, Measurements, Pictures, Result
from tercet.paper.methods import BOOTSTRAP, METHOD, PERCEPTION, QUIET, RECOMMENDED, TRIPLETS, stream
from tercet.paper.settings import ANSWERS, LENGTHSCALES, STIMULI, SUBSAMPLE, Size
from tercet.plots.axes import COLOURS
from tercet.uses.scale import perceptual_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FIGURE", "functions_of", "normalised", "observer_answers"]


VERSION = 1
PROCESS = "process"  # the Gaussian process itself, beside the methods
SHOWN = 5  # of its functions
NINE = slice(1, 18, 2)  # stimuli of panel (b)
APART = 0.012  # of the lengthscales' error bars at one stimulus, to the side
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": COLOURS[5], "marker": "o"},
    {"color": COLOURS[0], "marker": "s"},
    {"color": COLOURS[1], "marker": "D"},
)


def _cells(size: Size) -> list[Cell]:
    """Both methods for every lengthscale, and the process for the smallest."""
    asked = {"stimuli": STIMULI, "observers": size.observers, "answers": ANSWERS}
    paper = {"method": BOOTSTRAP, "replicates": size.replicates, "subsample": SUBSAMPLE}
    ours = {"method": RECOMMENDED, "samples": 2 * size.draws}
    shown = {"method": PROCESS, "lengthscale": LENGTHSCALES[-1], "repeat": 0, "points": 101}
    found = [Cell("4", VERSION, show_process, shown, 0.1)]
    for lengthscale in LENGTHSCALES:
        # Where observers hardly contradict each other, embeddings diverge and take long.
        longer = 15.0 if lengthscale == LENGTHSCALES[0] else 1.0
        for repeat in range(size.repeats):
            world = {"lengthscale": lengthscale, "repeat": repeat, **asked}
            found += [
                Cell("4", VERSION, bootstrap_scale, paper | world, longer),
                Cell("4", VERSION, recommended_scale, ours | world, 3.0),
            ]
    return found


# --- observers ----------------------------------------------------------------------------------


def functions_of(observers: int, stimuli: Floats, lengthscale: float, repeat: int) -> Floats:
    """Perception functions (observers, stimuli); all lengthscales of a repeat share their draws."""
    return simulate.perception_functions(
        observers, stimuli, lengthscale=lengthscale, random_state=stream(repeat, PERCEPTION)
    )


def observer_answers(functions: Floats, answers: int, repeat: int) -> Triplets:
    """Answers of all observers; all lengthscales of a repeat share the comparisons."""
    return simulate.observers(functions, answers, random_state=stream(repeat, TRIPLETS))


def function_spread(stimuli: Floats, lengthscale: float) -> Floats:
    """Standard deviation (n,) of the Gaussian process at every stimulus."""
    variance = np.diag(simulate.pinned_kernel(stimuli, lengthscale))
    return np.sqrt(np.clip(variance, 0.0, None))  # the pinned ends round to either side of 0


def ends_of(functions: Floats) -> float:
    """How far any function is from 0 at the first stimulus and from 1 at the last."""
    return float(np.abs(functions[:, [0, -1]] - [0.0, 1.0]).max())


# --- cells --------------------------------------------------------------------------------------


def show_process(method: str, lengthscale: float, repeat: int, points: int) -> Result:
    """Mean, standard deviation and some functions of the process, at evenly spaced stimuli."""
    x = np.linspace(0.0, 1.0, points)
    mean, spread = simulate.mean_perception(x), function_spread(x, lengthscale)
    functions = functions_of(SHOWN, x, lengthscale, repeat)
    drawn = [f"observer {number}" for number in range(1, SHOWN + 1)]
    rows: list[dict[str, Any]] = [
        {"stimulus": s, "function": m, "function sd": sd, **dict(zip(drawn, own, strict=True))}
        for s, m, sd, own in zip(
            x.tolist(), mean.tolist(), spread.tolist(), functions.T.tolist(), strict=True
        )
    ]
    return {"rows": [*rows, {"ends": ends_of(functions)}]}


def bootstrap_scale(
    method: str,
    lengthscale: float,
    repeat: int,
    stimuli: int,
    observers: int,
    answers: int,
    replicates: int,
    subsample: float,
) -> Result:
    """The paper's scale: STE in one dimension of small subsamples, each normalised by itself."""
    x = np.linspace(0.0, 1.0, stimuli)
    functions = functions_of(observers, x, lengthscale, repeat)
    maker = Bootstrap(
        STE(1), replicates, fraction=subsample, random_state=stream(repeat, METHOD), **QUIET
    )
    ensemble = maker.fit(observer_answers(functions, answers, repeat)).ensemble_
    return describe_scale(normalised(ensemble.draws[:, :, 0]), functions, x, lengthscale)


def recommended_scale(
    method: str,
    lengthscale: float,
    repeat: int,
    stimuli: int,
    observers: int,
    answers: int,
    samples: int,
) -> Result:
    """Our scale: signed differences, observers resampled."""
    x = np.linspace(0.0, 1.0, stimuli)
    functions = functions_of(observers, x, lengthscale, repeat)
    scale = perceptual_scale(
        observer_answers(functions, answers, repeat),
        x,
        unit="observer",
        n_samples=samples,
        random_state=stream(repeat, METHOD),
        **QUIET,
    )
    return describe_scale(scale.samples, functions, x, lengthscale)


def normalised(positions: Floats) -> Floats:
    """Positions (S, n) moved and stretched so that in each row the first is 0 and the last 1."""
    start, end = positions[:, :1], positions[:, -1:]
    return np.asarray((positions - start) / (end - start))


def describe_scale(
    samples: Floats, functions: Floats, stimuli: Floats, lengthscale: float
) -> Result:
    """Mean and standard deviation of normalised scales (S, n), and the error of the mean.

    "Covered" is the share of inner stimuli whose mean function is within two standard deviations.
    "Shortest" is the least distance from first to last stimulus in any sample, as a share of the
    length of its scale: near 0, the normalised sample is wild, and so are mean and deviation.
    """
    mean, sd = samples.mean(axis=0), samples.std(axis=0, ddof=1)
    true, spread = simulate.mean_perception(stimuli), function_spread(stimuli, lengthscale)
    names = ("stimulus", "mean", "sd", "function", "function sd")
    columns = (values.tolist() for values in (stimuli, mean, sd, true, spread))
    rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    whole = {
        "departure": float(np.sqrt(np.mean((mean - true) ** 2))),
        "spread": float(sd[1:-1].mean()),
        "covered": float(np.mean(np.abs(mean - true)[1:-1] <= 2.0 * sd[1:-1])),
        "ends": ends_of(functions),
        "function spread": float(spread[1:-1].mean()),
        "shortest": float(1.0 / np.ptp(samples, axis=1).max()),
    }
    return {"rows": [*rows, whole]}


# --- pictures -----------------------------------------------------------------------------------


def _draw(table: Measurements) -> Pictures:
    """Means and point uncertainties; the process and error bars, as in the supplement."""
    main, axes = panels(2, 1, width=3.6, height=2.4)
    draw_means(axes[0, 0], table.where(method=BOOTSTRAP))
    draw_spreads(axes[1, 0], table.where(method=BOOTSTRAP))
    letter(axes[:, 0], ["mean embeddings", "standard deviations of nine stimuli"])
    legend_below(main, axes[:1, 0])
    other, axes = panels(1, 3, width=2.9, height=2.9)
    draw_process(axes[0, 0], table.where(method=PROCESS))
    for ax, method in zip(axes[0, 1:], (BOOTSTRAP, RECOMMENDED), strict=True):
        draw_error_bars(ax, table.where(method=method, repeat=0))
    axes[0, 2].sharey(axes[0, 1])
    process = f"Gaussian process, {_label(LENGTHSCALES[-1])}"
    letter(axes[0], [process, "paper's bootstrap, one repeat", "recommended, one repeat"])
    legend_below(other, axes[0, :2])
    return {"figure_4": main, "figure_4_supplement": other}


def draw_means(ax: Axes, table: Measurements) -> None:
    """The mean embedding for every lengthscale, and the mean function."""
    for lengthscale, look in zip(LENGTHSCALES, LOOKS, strict=True):
        curve = table.where(lengthscale=lengthscale).curve("stimulus", "mean")
        line(ax, curve, BOOTSTRAP, _label(lengthscale), **look)
    _mean_function(ax)
    _name_axes(ax, "perception")


def draw_spreads(ax: Axes, table: Measurements) -> None:
    """The standard deviations of nine stimuli for every lengthscale."""
    for k, (lengthscale, look) in enumerate(zip(LENGTHSCALES, LOOKS, strict=True)):
        curve = table.where(lengthscale=lengthscale).curve("stimulus", "sd")
        nine = Curve(curve.x[NINE] + APART * (k - 1), curve.values[:, NINE])
        line(ax, nine, BOOTSTRAP, _label(lengthscale), band=False, **look)
    _name_axes(ax, "standard deviation")
    ax.set_ylim(bottom=0.0)


def draw_process(ax: Axes, table: Measurements) -> None:
    """Mean function, one standard deviation to either side, and some functions."""
    rows = [row for row in table.rows if "stimulus" in row]
    x, mean, sd = (np.array([r[k] for r in rows]) for k in ("stimulus", "function", "function sd"))
    ax.fill_between(x, mean - sd, mean + sd, color="0.85", linewidth=0, label="mean ± sd")
    own = [[row[f"observer {number}"] for number in range(1, SHOWN + 1)] for row in rows]
    thin = ax.plot(x, own, color=LOOKS[-1]["color"], linewidth=0.8)
    thin[0].set_label(f"{SHOWN} observers")
    _mean_function(ax)
    _name_axes(ax, "perception")


def draw_error_bars(ax: Axes, table: Measurements) -> None:
    """The scale of one repeat for every lengthscale, side by side, with standard deviations."""
    for k, (lengthscale, look) in enumerate(zip(LENGTHSCALES, LOOKS, strict=True)):
        rows = table.where(lengthscale=lengthscale)
        scale, sd = rows.curve("stimulus", "mean"), rows.curve("stimulus", "sd")
        thin = look | {"linewidth": 0.8, "markersize": 2.5, "capsize": 1.2}
        x = scale.x + APART * (k - 1)
        ax.errorbar(x, scale.mean, sd.mean, label=_label(lengthscale), **thin)
    _mean_function(ax)
    _name_axes(ax, "perception")


def _label(lengthscale: float) -> str:
    return f"$l$ = {lengthscale:g}"


def _mean_function(ax: Axes) -> None:
    x = np.linspace(0.0, 1.0, 201)
    y = simulate.mean_perception(x)
    ax.plot(x, y, color="0.15", linewidth=1.0, zorder=4, label="mean function")


def _name_axes(ax: Axes, y: str) -> None:
    ax.set_xlabel("stimulus")
    ax.set_ylabel(y)
    ax.set_xlim(-0.03, 1.03)


FIGURE = Figure(
    "4",
    "The more perception functions differ, the larger are the scale's error and uncertainty.",
    _cells,
    _draw,
    (
        ("method", "lengthscale"),
        ("departure", "spread", "covered", "function spread", "ends", "shortest"),
    ),
)

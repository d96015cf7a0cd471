"""Every plot: axes in and out, pyplot left alone, colours that all people can tell apart."""

import inspect
import math

import numpy as np
import pytest
from matplotlib import pyplot, rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure

import tercet as tc
from tercet import plots
from tercet.models import CKLModel
from tercet.plots.axes import COLOURS
from tercet.uses.active.loop import Record
from tercet.uses.compare.comparison import Comparison, ModelScore
from tercet.uses.dimension.evidence import DimensionEstimate, DimensionRow, Measured
from tercet.uses.scale.goodness import GoodnessOfFit

pytestmark = pytest.mark.usefixtures("headless")

N = 7
NAME = r"$\frac <&"  # a formula that is none, and HTML


def ensemble(d=2):
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(N, d)) + 0.2 * rng.normal(size=(80, N, d))
    names = [f"{NAME} {i}" for i in range(N)]
    chains = np.repeat(np.arange(4), 20)
    log_posterior = {"log_posterior": rng.normal(size=80)}
    model = CKLModel()
    return tc.Ensemble(draws, chains=chains, names=names, statistics=log_posterior, model=model)


def answers():
    return tc.simulate.random_comparisons(N, 60, random_state=0)


def estimate():
    some = Measured(0.5, 0.1)
    rows = [DimensionRow(d, *[some] * 3, math.nan, *[some] * 4, 1.0, 0.0) for d in (1, 2)]
    return DimensionEstimate(1, "decided", "Because.", tuple(rows), "comparison", 100)


def comparison():
    score = dict.fromkeys(ModelScore._fields, 0.5) | {"model": NAME, "difference": 0.0}
    given = {"scores": (ModelScore(**score),), "n_answers": 9}
    return Comparison(**(dict.fromkeys(Comparison.__dataclass_fields__) | given))


def scale():
    psi = np.linspace(0.0, 1.0, 5)
    rows = tc.simulate.noisy_triplets(psi[:, None], 150, noise=0.3, replace=True, random_state=0)
    return tc.perceptual_scale(tc.Triplets(rows), n_samples=20, random_state=0)


def goodness():
    rng = np.random.default_rng(0)
    residuals = np.sort(rng.normal(size=30))
    given = {
        "n_answers": 30,
        "residuals": residuals,
        "envelope": residuals[:, None] + [-0.2, 0.2],
        "level": 0.95,
        "simulated_runs": rng.integers(10, 20, size=50),
        "runs": 14,
        "runs_p": 0.5,
    }
    made = GoodnessOfFit.__new__(GoodnessOfFit)
    for name, value in given.items():
        object.__setattr__(made, name, value)
    return made


def curve(seed):
    scores = np.random.default_rng(seed).uniform(0.6, 0.9, size=4)
    return [Record(k, 100 * (k + 1), score, 0.5, 0.1, 0.0) for k, score in enumerate(scores)]


def plan():
    return [100, 200, 400], [0.6, 0.7, 0.8], [0.5, 0.6, 0.7], [0.7, 0.8, 0.9]


# What each plot is given, and, where it draws into several axes, how many.
CASES = {
    "plot_dimension": (lambda: ((estimate(),), {}), 4),
    "plot_distances": (lambda: ((ensemble(3),), {}), None),
    "plot_learning": (lambda: (({NAME: [curve(0), curve(1)], "b": [curve(2)]},), {}), None),
    "plot_map": (lambda: ((ensemble(),), {"groups": list("aabbccd")}), None),
    "plot_models": (lambda: ((comparison(),), {}), None),
    "plot_observers": (
        lambda: (([NAME, "b"], [0.8, 0.5], [0.7, 0.4], [0.9, 0.6]), {"flagged": [0, 1]}),
        None,
    ),
    "plot_pairs": (lambda: ((ensemble(3),), {}), 3),
    "plot_plan": (lambda: (plan(), {"target": 0.7, "needed": 250, "ylabel": "accuracy"}), None),
    "plot_rank": (lambda: ((ensemble(),), {}), 5),
    "plot_reliability": (lambda: (([0.6, 0.8, 0.9, 0.3],), {"label": NAME}), None),
    "plot_residuals": (lambda: ((goodness(),), {}), 2),
    "plot_risk_coverage": (lambda: (({NAME: tc.risk_coverage([0.9, 0.2, 0.8])},), {}), None),
    "plot_scale": (lambda: (({NAME: scale(), "b": scale()},), {}), None),
    "plot_shepard": (lambda: ((ensemble(), answers()), {}), None),
    "plot_trace": (lambda: ((ensemble(),), {}), (5, 2)),
    "plot_uncertainty": (lambda: ((ensemble(), answers()), {}), None),
}
each = pytest.mark.parametrize("name", sorted(CASES))


def call(name, figure=None):
    """Draw into new axes, or into those of a figure; return what came back, and what was given."""
    given, count = CASES[name]
    positional, more = given()
    if figure is None:
        return getattr(plots, name)(*positional, **more), None
    if count is None:
        axes = more["ax"] = figure.subplots()
    else:
        rows, columns = (1, count) if isinstance(count, int) else count
        axes = figure.subplots(rows, columns)
        more["axes"] = axes
    return getattr(plots, name)(*positional, **more), axes


def flat(axes):
    return list(np.array(axes, dtype=object).ravel())


def colours_in(ax):
    for line in ax.lines:
        yield from (line.get_color(), line.get_markerfacecolor(), line.get_markeredgecolor())
    for shape in (*ax.collections, *ax.patches):
        yield from (shape.get_facecolor(), shape.get_edgecolor())
    for text in (*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label):
        yield text.get_color()


def test_every_plot_is_here():
    assert set(CASES) == set(plots.__all__)


@each
def test_axes_that_are_given_are_drawn_into_and_come_back(name):
    figure = Figure(figsize=(12, 12), layout="constrained")
    returned, axes = call(name, figure)
    assert flat(returned) == flat(axes)
    assert all(ax.lines or ax.patches or ax.collections or ax.images for ax in flat(axes))
    assert figure.axes == flat(axes)
    figure.draw_without_rendering()  # no formula, no missing letter


@each
def test_without_axes_there_is_a_new_figure(name):
    already = pyplot.figure()
    returned, _ = call(name)
    assert all(isinstance(ax, Axes) for ax in flat(returned))
    (figure,) = {ax.get_figure() for ax in flat(returned)}
    assert figure is not already
    assert figure.axes == flat(returned)
    assert pyplot.get_fignums() == [already.number, figure.number]
    figure.draw_without_rendering()


@each
def test_pyplot_is_left_alone_where_axes_are_given(name):
    before = pyplot.figure()
    settings = dict(rcParams)
    call(name, Figure(figsize=(12, 12)))
    assert pyplot.get_fignums() == [before.number]
    assert pyplot.gcf() is before
    assert not before.axes
    assert dict(rcParams) == settings


@each
def test_colours_are_of_the_palette_or_grey(name):
    allowed = to_rgba_array(COLOURS)[:, :3]
    _, axes = call(name, Figure(figsize=(12, 12)))
    for ax in flat(axes):
        for colour in colours_in(ax):
            for *rgb, alpha in to_rgba_array(colour):
                known = np.isclose(allowed, rgb, atol=0.01).all(axis=1).any()
                assert alpha == 0 or max(rgb) - min(rgb) < 0.01 or known, colour


def test_axes_are_given_by_name_alone():
    wrong = []
    for name, (_, several) in CASES.items():
        where = inspect.signature(getattr(plots, name)).parameters
        right = {"ax"} if several is None else {"axes"}
        given = [where[each] for each in {"ax", "axes"} & where.keys()]
        by_name = all(p.kind is p.KEYWORD_ONLY or name == "plot_models" for p in given)
        if {p.name for p in given} != right or not by_name or given[0].default is not None:
            wrong.append(f"{name}{inspect.signature(getattr(plots, name))}")
    assert not wrong, "\n".join(wrong)

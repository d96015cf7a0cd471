"""Trace and rank plots: of what rotation does not change, through either ArviZ."""

import sys

import numpy as np
import pytest
import xarray
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

import tercet as tc
from tercet.errors import InputError, TercetError
from tercet.plots import plot_rank, plot_trace
from tercet.plots.axes import COLOURS
from tercet.plots.traces import quantities


def ensemble(n_chains=4, draws=50, n=8, **more):
    rng = np.random.default_rng(0)
    size = n_chains * draws
    points = rng.normal(size=(n, 2)) + 0.2 * rng.normal(size=(size, n, 2))
    given = {
        "chains": np.tile(np.arange(n_chains), draws),
        "parameters": {"lapse": rng.uniform(size=size)},
        "statistics": {"log_posterior": rng.normal(size=size)},
        "names": [f"$ {i}" for i in range(n)],
    }
    return tc.Ensemble(points, **(given | more))


def turned(made, seed=0):
    """The same map in every draw, turned and moved at random."""
    rng = np.random.default_rng(seed)
    turns = np.linalg.qr(rng.normal(size=(len(made), 2, 2)))[0]
    moved = made.draws @ turns + rng.normal(size=(len(made), 1, 2))
    return ensemble_like(made, moved)


def ensemble_like(made, draws):
    return tc.Ensemble(
        draws,
        chains=made.chains,
        parameters=made.parameters,
        statistics=made.statistics,
        names=made.names,
    )


def test_nothing_that_is_shown_depends_on_rotation():
    made = ensemble()
    before, after = quantities(made), quantities(turned(made))
    assert list(before) == list(after)
    for name, values in before.items():
        assert values.shape == (4, 50)
        assert_allclose(values, after[name])


def test_what_is_shown_is_that_of_the_draws():
    made = ensemble()
    found = quantities(made, n_distances=2)
    assert list(found)[:3] == ["log posterior", "size of the map", "lapse"]
    assert len(found) == 5
    of_chain = made[made.chains == 2]
    assert_allclose(found["lapse"][2], of_chain.parameters["lapse"])
    assert_allclose(found["log posterior"][2], of_chain.statistics["log_posterior"])
    spread = of_chain.draws.var(axis=1).sum(axis=1)
    assert_allclose(found["size of the map"][2], np.sqrt(spread))


def test_the_distances_that_chains_disagree_about_are_shown():
    made = ensemble()
    draws = made.draws.copy()
    draws[made.chains == 3, 5] += 4.0  # one chain has object 5 elsewhere
    names = list(quantities(ensemble_like(made, draws)))[3:]
    assert len(names) == 3
    for name in names:
        assert r"\$ 5" in name
        assert float(name.split("R-hat ")[1]) > 1.3


def test_of_many_pairs_some_are_looked_at():
    assert len(quantities(ensemble(n=60, draws=10))) == 6


def test_distances_have_no_size():
    square = np.abs(np.random.default_rng(0).normal(size=(20, 4, 4)))
    made = tc.Ensemble(square + square.transpose(0, 2, 1), kind="distances")
    assert [name.split()[0] for name in quantities(made)] == ["distance"] * 3


@pytest.mark.slow
def test_traces_are_drawn_into_given_axes():
    made = ensemble()
    axes = Figure(figsize=(8, 9)).subplots(6, 2)
    rows = plot_trace(made, axes=axes)
    assert [list(row) for row in axes] == rows
    shown = quantities(made)
    assert [row[0].get_title(loc="left") for row in rows] == list(shown)
    for values, (_, right) in zip(shown.values(), rows, strict=True):
        lines = [line.get_ydata() for line in right.lines if len(line.get_ydata()) == 50]
        assert_allclose(lines, values)
    rows[0][0].figure.draw_without_rendering()


def test_ranks_are_drawn_into_given_axes():
    made = ensemble()
    axes = Figure(figsize=(8, 9)).subplots(2, 3).ravel()
    drawn = plot_rank(made, axes=axes)
    assert drawn == list(axes)
    assert [ax.get_title(loc="left") for ax in drawn] == list(quantities(made))
    assert all(ax.patches or ax.lines for ax in drawn)
    drawn[0].figure.draw_without_rendering()


class Arviz1:
    """What the new ArviZ is asked: to draw into axes that it gets as a tree of arrays."""

    __version__ = "1.3.0"

    def __init__(self):
        self.calls = {}

    def PlotCollection(self, data, tree, **options):  # noqa: N802
        self.tree, self.options = tree, options
        return "the collection"

    def __getattr__(self, name):
        def plot(data, **options):
            self.calls[name] = options

        return plot


@pytest.mark.parametrize("columns", [1, 2])
def test_the_new_arviz_gets_the_axes_and_colours(columns, monkeypatch):
    class Tree(dict):
        @property
        def dataset(self):
            return xarray.Dataset({k: (("chain", "draw"), v) for k, v in self.items()})

    new = Arviz1()
    modules = {"arviz": new, "xarray": xarray}
    monkeypatch.setattr("tercet.plots.traces.import_module", modules.__getitem__)
    monkeypatch.setattr(
        "tercet.plots.traces.in_arviz", lambda q, *rest: {"posterior": Tree(q["posterior"])}
    )
    axes = Figure().subplots(6, columns, squeeze=False)
    if columns == 2:
        plot_trace(ensemble(), axes=axes)
        assert new.calls["plot_trace_dist"]["plot_collection"] == "the collection"
        expected = dict(enumerate(map(list, axes)))
    else:
        plot_rank(ensemble(), axes=axes[:, 0])
        assert new.calls["plot_rank"]["plot_collection"] == "the collection"
        expected = dict(enumerate(axes[:, 0]))
    assert {k: new.tree["plot"][f"q{k}"].to_numpy().tolist() for k in range(6)} == expected
    assert new.tree["figure"].item() is axes[0, 0].figure
    assert new.options["color"] == list(COLOURS[:4])


@pytest.mark.parametrize("plot", [plot_trace, plot_rank])
def test_what_cannot_be_drawn_is_said(plot):
    with pytest.raises(InputError, match=r"equal length, and these have \[3, 9\] draws"):
        plot(ensemble(2, 6, chains=[0] * 3 + [1] * 9))
    with pytest.raises(InputError, match="chains of 3 draws are too short"):
        plot(ensemble(draws=3))
    with pytest.raises(InputError, match="6 quantities to draw; pass 6"):
        plot(ensemble(), axes=Figure().subplots(2, 2))


@pytest.mark.parametrize("plot", [plot_trace, plot_rank])
def test_without_arviz_the_extra_is_named(plot, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(TercetError, match=r"tercet\[arviz\]"):
        plot(ensemble(), axes=Figure().subplots(6, 2 if plot is plot_trace else 1))

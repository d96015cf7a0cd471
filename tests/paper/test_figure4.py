"""Psychophysics: the paper's settings, what a cell computes, and what is drawn."""

import math
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import tercet as tc
from tercet.errors import DataWarning
from tercet.paper import figure4, methods
from tercet.paper.experiments import measurements_of
from tercet.paper.figure4 import FIGURE, describe_scale, functions_of, normalised, observer_answers
from tercet.paper.methods import BOOTSTRAP, RECOMMENDED, stream
from tercet.paper.settings import FULL, LENGTHSCALES, QUICK, TINY
from tercet.uses.scale.scale import SAMPLES

X = np.linspace(0.0, 1.0, 20)
# Observers who differ so much that no embedding runs away, and fits are quick.
WORLD = {"lengthscale": 0.54, "repeat": 0, "stimuli": 20, "observers": 12, "answers": 100}


@contextmanager
def few_answers():
    """Some replicates run away, and some scales are wild."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DataWarning)
        yield


def compute(cell):
    with few_answers():
        return cell.function(**cell.settings) | {"settings": cell.settings}


@pytest.fixture(scope="module")
def table():
    return measurements_of([compute(cell) for cell in FIGURE.cells(TINY)])


def test_settings_are_the_papers():
    """Paper, section 5.4."""
    cells = [cell.settings for cell in FIGURE.cells(FULL)]
    paper = [cell for cell in cells if cell["method"] == BOOTSTRAP]
    assert sorted((c["lengthscale"], c["repeat"]) for c in paper) == [
        (lengthscale, repeat) for lengthscale in (0.54, 0.88, 2.0) for repeat in range(5)
    ]
    for cell in paper:
        assert (cell["stimuli"], cell["observers"], cell["answers"]) == (20, 50, 100)
        assert (cell["replicates"], cell["subsample"]) == (50, 0.1)
    ours = [cell for cell in cells if cell["method"] == RECOMMENDED]
    assert [cell["samples"] for cell in ours] == 15 * [SAMPLES]
    assert len(X[figure4.NINE]) == 9
    assert [cell.settings["replicates"] for cell in FIGURE.cells(QUICK)[1::2]] == 3 * [50]


def test_observers_of_a_repeat_are_the_same_for_all_lengthscales():
    """Their functions differ from the mean by the same normal draws; they see the same stimuli."""
    long, short = (functions_of(30, X, l, 3) for l in (2.0, 0.54))
    mean = tc.simulate.mean_perception(X)
    draws = stream(3, methods.PERCEPTION).standard_normal((30, 20))
    for functions in (long, short):
        explained = np.linalg.lstsq(draws, functions - mean, rcond=None)[0]
        np.testing.assert_allclose(draws @ explained, functions - mean, atol=1e-8)
    assert not np.allclose(functions_of(30, X, 2.0, 4), long)
    asked = [np.sort(observer_answers(f, 10, 3).array[:, 1:]) for f in (long, short)]
    np.testing.assert_array_equal(*asked)


def test_normalised_puts_every_first_at_0_and_last_at_1():
    positions = np.array([[2.0, 4.0, 6.0], [1.0, 0.0, -3.0]])
    np.testing.assert_allclose(normalised(positions), [[0.0, 0.5, 1.0], [0.0, 0.25, 1.0]])


def test_the_papers_cell_is_the_bootstrap_normalised():
    settings = {"method": BOOTSTRAP, "replicates": 6, "subsample": 0.3, **WORLD}
    functions = tc.simulate.perception_functions(
        12, X, lengthscale=0.54, random_state=stream(0, methods.PERCEPTION)
    )
    answers = tc.simulate.observers(functions, 100, random_state=stream(0, methods.TRIPLETS))
    with few_answers():
        rows = figure4.bootstrap_scale(**settings)["rows"]
        assert figure4.bootstrap_scale(**settings)["rows"] == rows
        maker = tc.Bootstrap(
            tc.STE(1), 6, fraction=0.3, random_state=stream(0, methods.METHOD), n_jobs=1
        )
        scale = tc.perceptual_scale(maker.fit(answers).ensemble_, X)
    np.testing.assert_allclose([row["mean"] for row in rows[:-1]], scale.mean(), atol=1e-12)
    np.testing.assert_allclose([row["sd"] for row in rows[:-1]], scale.std(), atol=1e-12)
    assert rows[-1]["spread"] == pytest.approx(scale.std()[1:-1].mean())


def test_the_recommended_cell_resamples_observers():
    rows = figure4.recommended_scale(method=RECOMMENDED, samples=40, **WORLD)["rows"]
    answers = observer_answers(functions_of(12, X, 0.54, 0), 100, 0)
    by = {
        unit: tc.perceptual_scale(
            answers, X, unit=unit, n_samples=40, random_state=stream(0, methods.METHOD)
        )
        for unit in ("observer", "answer")
    }
    sd = [row["sd"] for row in rows[:-1]]
    np.testing.assert_allclose([row["mean"] for row in rows[:-1]], by["observer"].mean())
    np.testing.assert_allclose(sd, by["observer"].std())
    assert not np.allclose(sd, by["answer"].std(), rtol=0.05)


def test_numbers_of_a_scale():
    """A scale that is right at the ends, 0.3 off elsewhere, with samples 0.1 to either side."""
    inner = np.r_[0.0, np.ones(18), 0.0]
    mean = tc.simulate.mean_perception(X)
    samples = np.array([mean + (0.3 + step) * inner for step in (-0.1, 0.1)])
    functions = np.tile(mean, (2, 1))
    functions[1, -1] += 0.25
    *rows, whole = describe_scale(samples, functions, X, 0.54)["rows"]
    assert whole["departure"] == pytest.approx(0.3 * math.sqrt(18 / 20))
    assert whole["spread"] == pytest.approx(0.1 * math.sqrt(2.0))
    assert whole["covered"] == 0.0
    assert whole["ends"] == pytest.approx(0.25, abs=1e-5)
    assert whole["shortest"] == pytest.approx(1.0 / np.ptp(samples[1]))
    kernel = tc.simulate.pinned_kernel(X, 0.54)
    assert whole["function spread"] == pytest.approx(np.sqrt(np.diag(kernel)[1:-1]).mean())
    assert [row["function"] for row in rows] == mean.tolist()
    assert describe_scale(samples - 0.2 * inner, functions, X, 0.54)["rows"][-1]["covered"] == 1.0


@pytest.mark.slow
def test_the_table_has_curves_for_claims(table):
    for method in (BOOTSTRAP, RECOMMENDED):
        rows = table.where(method=method)
        for name in ("departure", "spread", "ends", "function spread", "shortest"):
            curve = rows.curve("lengthscale", name)
            assert curve.values.shape == (TINY.repeats, 3)
            assert np.isfinite(curve.values).all()
        assert (rows.curve("lengthscale", "ends").values < 1e-5).all()
        assert (np.diff(rows.curve("lengthscale", "function spread").mean) < 0.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [1, 2])
def test_pictures(table, repeats):
    kept = [row for row in table.rows if row["repeat"] < repeats]
    pictures = FIGURE.draw(type(table)(kept))
    assert list(pictures) == ["figure_4", "figure_4_supplement"]
    means, spreads = pictures["figure_4"].axes
    assert (means.get_ylabel(), spreads.get_ylabel()) == ("perception", "standard deviation")
    lengthscales = [f"$l$ = {value:g}" for value in LENGTHSCALES]
    process, paper, ours = pictures["figure_4_supplement"].axes
    for ax in (means, paper, ours):
        labels = ax.get_legend_handles_labels()[1]
        assert labels.count("mean function") == 1
        assert [label for label in labels if label != "mean function"] == lengthscales
    nine = [bars.lines[0].get_xdata() for bars in spreads.containers]
    assert [len(x) for x in nine] == [9, 9, 9]
    np.testing.assert_allclose(nine[1], X[1:18:2])
    assert "0.54" in process.get_title(loc="left")
    functions = [np.asarray(curve.get_ydata()) for curve in process.lines[: figure4.SHOWN]]
    for own in functions:
        np.testing.assert_allclose(own[[0, -1]], [0.0, 1.0], atol=1e-5)
    for picture in pictures.values():
        assert len(picture.legends) == 1
        picture.canvas.draw()

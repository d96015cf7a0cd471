"""How sure a map is of comparisons, and how often answers agree with it."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta

import tercet as tc
from tercet.ensemble import averages
from tercet.errors import InputError
from tercet.models import CKLModel, SOEModel
from tercet.plots import plot_shepard, plot_uncertainty
from tercet.plots.predictions import shepard

N = 12
POINTS = np.random.default_rng(0).normal(size=(N, 2))


def ensemble(size=60, noise=0.3, **more):
    rng = np.random.default_rng(1)
    return tc.Ensemble(POINTS + noise * rng.normal(size=(size, N, 2)), **more)


def answers(m=400, **columns):
    rows = tc.simulate.noisy_triplets(POINTS, m, noise=0.5, random_state=2)
    return tc.Triplets(rows, n_objects=N, **columns)


# --- comparison uncertainty -------------------------------------------------------------------


def drawn(ax, curve=0):
    """A curve of the picture, and where it is marked."""
    lines = [line for line in ax.lines if line.get_label().startswith(("all", "the"))]
    marks = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    return lines[curve].get_xydata().T, marks[curve]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("method", ["joint", "vote"])
def test_shares_are_those_of_all_comparisons(method, ax):
    made = ensemble()
    p = made.triplet_probability(tc.simulate.all_comparisons(N), method)
    plot_uncertainty(made, method=method, ax=ax)
    (confidence, share), _ = drawn(ax)
    for at, found in zip(confidence, share, strict=True):
        assert found == pytest.approx(np.mean(np.maximum(p, 1 - p) > at))
    assert legend(ax)[0].startswith("all 660 comparisons: ")


def test_of_many_comparisons_some_are_looked_at(monkeypatch, ax):
    made = ensemble()
    exact = tc.certainty(made).share
    monkeypatch.setattr(averages, "EXACT_OBJECTS", N - 1)
    monkeypatch.setattr(averages, "SAMPLE", 400)
    plot_uncertainty(made, ax=ax)
    assert legend(ax)[0].startswith("all 660 comparisons (random sample of 400)")
    assert drawn(ax)[1][1] == pytest.approx(exact, abs=0.06)


def test_those_that_were_asked_are_drawn_beside(ax):
    made, asked = ensemble(), answers(50)
    plot_uncertainty(made, asked, ax=ax)
    p = made.triplet_probability(asked)
    share = np.mean(np.maximum(p, 1 - p) > 0.95)
    assert legend(ax)[1] == f"the 50 asked: {share:.0%} more than 95% certain"
    assert_allclose(drawn(ax)[1], [0.95, tc.certainty(made).share])
    assert_allclose(drawn(ax, 1)[1], [0.95, share])


@pytest.mark.parametrize("level", [0.8, 0.9973])
def test_the_level_is_marked(ax, level):
    made = ensemble()
    p = made.triplet_probability(tc.simulate.all_comparisons(N))
    share = np.mean(np.maximum(p, 1 - p) > level)
    plot_uncertainty(made, level=level, ax=ax)
    assert legend(ax)[0].endswith(f": {share:.0%} more than {100 * level:.3g}% certain")
    assert_allclose(drawn(ax)[1], [level, share])
    for wrong in (0.4, 1.0):
        with pytest.raises(InputError, match="level must lie between"):
            plot_uncertainty(made, level=wrong, ax=ax)


def test_what_certainty_found_is_drawn_as_it_is(ax):
    made = ensemble()
    found = tc.certainty(made, level=0.8)
    plot_uncertainty(found, ax=ax)
    beside = Figure().subplots()
    plot_uncertainty(made, level=0.8, ax=beside)
    assert legend(ax) == legend(beside)
    assert_array_equal(drawn(ax)[0], drawn(beside)[0])
    assert_allclose(drawn(ax)[1], [0.8, found.share])
    with pytest.raises(InputError, match="pass the ensemble"):
        plot_uncertainty(found, level=0.9, ax=ax)


def test_distances_are_enough(ax):
    made = ensemble()
    square = np.linalg.norm(made.draws[:, :, None] - made.draws[:, None], axis=3)
    plot_uncertainty(tc.Ensemble(square, kind="distances"), answers(20), ax=ax)
    beside = Figure().subplots()
    plot_uncertainty(made, answers(20), ax=beside)
    assert_allclose(drawn(ax)[0], drawn(beside)[0])


# --- Shepard's diagram ------------------------------------------------------------------------


def test_groups_hold_the_share_of_answers_that_agree():
    triplets = answers(400)
    found = shepard(POINTS, triplets, bins=8)
    i, j, l = triplets.array.T
    near = np.linalg.norm(POINTS[i] - POINTS[j], axis=1)
    far = np.linalg.norm(POINTS[i] - POINTS[l], axis=1)
    assert_allclose(found.ratio, np.maximum(near, far) / np.minimum(near, far))
    assert_array_equal(found.agrees, near < far)
    for k, part in enumerate(np.array_split(np.argsort(found.ratio), 8)):
        agree = np.sum((near < far)[part])
        assert found.share[k] == pytest.approx(agree / 50)
        interval = beta(agree + 0.5, 50 - agree + 0.5).ppf([0.025, 0.975])
        assert_allclose([found.low[k], found.high[k]], interval)
        assert found.centre[k] == pytest.approx(np.exp(np.log(found.ratio[part]).mean()))
    assert found.expected is None
    assert found.share[-1] > 0.9 > found.share[0]


def test_turning_a_map_around_changes_nothing_and_scale_neither():
    triplets = answers(100)
    turned = 3.0 * POINTS @ np.array([[0.6, 0.8], [-0.8, 0.6]]) + 5.0
    assert_allclose(shepard(turned, triplets).share, shepard(POINTS, triplets).share)


def test_weights_count():
    rows = answers(60).array
    weights = np.tile([1, 2, 3], 20)
    heavy = shepard(POINTS, tc.Triplets(rows, n_objects=N, weights=weights), bins=1)
    repeated = shepard(POINTS, np.repeat(rows, weights, axis=0), bins=1)
    for what in ("centre", "share", "low", "high"):
        assert_allclose(getattr(heavy, what), getattr(repeated, what))


def test_the_line_is_what_the_model_expects(ax):
    made, triplets = ensemble(model=CKLModel()), answers(200)
    found = shepard(made, triplets, bins=1)
    distances = made.distances().mean(axis=0)
    number = {pair: k for k, pair in enumerate(zip(*np.triu_indices(N, 1), strict=True))}

    def length(a, b):
        return distances[number[min(a, b), max(a, b)]]

    nearer = [(i, j, l) if length(i, j) < length(i, l) else (i, l, j) for i, j, l in triplets.array]
    expected = made.answer_probability(np.array(nearer)).mean()
    assert_allclose(found.expected, [expected])
    plot_shepard(made, triplets, ax=ax)
    assert "model" in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("model", [None, SOEModel()])
def test_without_probabilities_there_is_no_line(model):
    assert shepard(ensemble(model=model), answers(50)).expected is None


def test_answers_against_the_map_are_marked(ax):
    triplets = answers(300)
    plot_shepard(POINTS, triplets, ax=ax)
    found = shepard(POINTS, triplets)
    against = next(
        line for line in ax.lines if line.get_label() == "answers that contradict the map"
    )
    assert_allclose(np.sort(against.get_xdata()), np.sort(found.ratio[found.agrees == 0]))


def test_named_answers_are_matched_by_name_and_quadruplets_are_fine(ax):
    names = [f"n{i}" for i in range(N)]
    made = ensemble(names=names)
    rows = answers(80).array
    shuffled = np.random.default_rng(0).permutation(N)
    place = np.argsort(shuffled)
    by_name = tc.Triplets(place[rows], names=[names[i] for i in shuffled])
    assert_allclose(shepard(made, by_name).share, shepard(made, rows).share)
    quadruplets = rows[:, [0, 1, 0, 2]]
    assert_allclose(shepard(made, quadruplets).share, shepard(made, rows).share)
    plot_shepard(made, quadruplets[:3], ax=ax)


def test_points_in_one_place_are_ties(ax):
    found = shepard(np.zeros((3, 2)), [[0, 1, 2], [1, 2, 0]])
    assert_array_equal(found.ratio, [1, 1])
    assert_array_equal(found.share, [0.5, 0.5])
    plot_shepard([[0.0], [0.0], [1.0]], [[0, 1, 2], [2, 1, 0]], ax=ax)  # a ratio without end
    ax.figure.draw_without_rendering()


def test_a_wrong_number_of_groups_is_said():
    with pytest.raises(InputError, match="bins must be at least 1"):
        plot_shepard(POINTS, answers(10), bins=0)

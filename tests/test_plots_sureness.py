"""How sure a map is of comparisons, and how often answers agree with it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta

import tercet as tc
from tercet.errors import InputError
from tercet.models import CKLModel, SOEModel
from tercet.plots import plot_shepard, plot_uncertainty
from tercet.plots import uncertainty as sure
from tercet.plots.shepard import shepard
from tercet.plots.uncertainty import sureness

N = 12
POINTS = np.random.default_rng(0).normal(size=(N, 2))


def ensemble(size=60, noise=0.3, **more):
    rng = np.random.default_rng(1)
    return tc.Ensemble(POINTS + noise * rng.normal(size=(size, N, 2)), **more)


def answers(m=400, **columns):
    rows = tc.simulate.noisy_triplets(POINTS, m, noise=0.5, random_state=2)
    return tc.Triplets(rows, n_objects=N, **columns)


# --- comparison uncertainty -------------------------------------------------------------------


@pytest.mark.parametrize("method", ["joint", "vote"])
def test_shares_are_those_of_all_comparisons(method):
    made = ensemble()
    p = made.triplet_probability(tc.simulate.all_comparisons(N), method)
    found = sureness(made, method=method)
    assert found.looked_at == found.in_all == len(p) == N * (N - 1) * (N - 2) // 2
    for level in (0.5, 0.6, 0.75, 0.95, 0.99):
        assert found.at(level) == pytest.approx(np.mean(np.maximum(p, 1 - p) >= level))
    assert found.share[0] == 1.0
    assert (np.diff(found.share) <= 0).all()


def test_a_certain_map_is_certain_of_all():
    found = sureness(tc.Ensemble(np.stack([POINTS] * 5)), method="joint")
    assert_array_equal(found.share, np.ones(len(found.confidence)))


def test_of_many_comparisons_some_are_looked_at(monkeypatch, ax):
    made = ensemble()
    exact = sureness(made).at(0.95)
    monkeypatch.setattr(sure, "MOST", 500)
    monkeypatch.setattr(sure, "SAMPLE", 400)
    found = sureness(made)
    assert (found.looked_at, found.in_all) == (400, 660)
    assert found.at(0.95) == pytest.approx(exact, abs=0.06)
    assert sureness(made).share.tolist() == found.share.tolist()
    plot_uncertainty(made, ax=ax)
    (text,) = (text.get_text() for text in ax.get_legend().get_texts())
    assert text.startswith("all 660 comparisons (400 of them, at random)")


def test_those_that_were_asked_are_drawn_beside(ax):
    made, asked = ensemble(), answers(50)
    plot_uncertainty(made, asked, ax=ax)
    p = made.triplet_probability(asked)
    share = np.mean(np.maximum(p, 1 - p) >= 0.95)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[1] == f"the 50 that were asked: {share:.0%} at least 95% sure"
    marked = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert_allclose(marked, [[0.95, sureness(made).at(0.95)], [0.95, share]])


@pytest.mark.parametrize("level", [0.8, 0.9973])
def test_the_level_is_marked(ax, level):
    made = ensemble()
    p = made.triplet_probability(tc.simulate.all_comparisons(N))
    share = np.mean(np.maximum(p, 1 - p) >= level)
    plot_uncertainty(made, level=level, ax=ax)
    (text,) = (text.get_text() for text in ax.get_legend().get_texts())
    assert text.endswith(f": {share:.0%} at least {100 * level:.3g}% sure")
    (marked,) = (line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o")
    assert_allclose(marked, [level, share])
    for wrong in (0.4, 1.0):
        with pytest.raises(InputError, match="level must lie between"):
            plot_uncertainty(made, level=wrong, ax=ax)


def test_distances_are_enough(ax):
    made = ensemble()
    square = np.linalg.norm(made.draws[:, :, None] - made.draws[:, None], axis=3)
    of_distances = tc.Ensemble(square, kind="distances")
    assert_allclose(sureness(of_distances).share, sureness(made).share)
    plot_uncertainty(of_distances, answers(20), ax=ax)


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
    against = next(line for line in ax.lines if line.get_label() == "answers against the map")
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

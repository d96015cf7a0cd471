import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tercet as tc
from tercet import simulate
from tercet.paper.distances import FIGURE, distance_prior, geometry, judge_prior, show_draw
from tercet.paper.drawing import style
from tercet.paper.experiments import measurements_of
from tercet.paper.figure2 import training_set
from tercet.paper.methods import METHOD, mixture, score_probabilities, stream
from tercet.paper.settings import FULL

SMALL = {"points": 10, "noise": 0.5, "fraction": 0.2, "repeat": 0, "later": 300}
pytestmark = pytest.mark.filterwarnings("ignore::tercet.errors.ConvergenceWarning")


@pytest.fixture(scope="module")
def rows():
    return {prior: judge_prior(prior, **SMALL)["rows"][0] for prior in ("distances", "embeddings")}


def matrix(ij, ik, jk):
    return np.array([[0.0, ij, ik], [ij, 0.0, jk], [ik, jk, 0.0]])


def test_geometry_by_hand():
    draws = [matrix(1, 1, 1), matrix(1, 1, 3), matrix(2, 1, 1), matrix(-3, 1, 1)]
    found = geometry(tc.Ensemble(draws, kind="distances"))
    assert found["asymmetry"] == 0.0
    assert found["negative"] == pytest.approx(1 / 12)
    assert found["triangle"] == pytest.approx(2 / 4)  # equality, of objects on a line, is none


def test_points_have_the_geometry_of_distances():
    points = np.random.default_rng(0).normal(size=(120, 8, 2))
    line = np.random.default_rng(1).normal(size=(5, 8, 1))
    for draws in (points, line):
        assert set(geometry(tc.Ensemble(draws)).values()) == {0.0}


def test_independent_distances_have_not():
    drawn = tc.DistancePrior(1.0, 1.0).sample(50, 8, random_state=0)
    found = geometry(tc.Ensemble(drawn, kind="distances"), " of it")
    assert found["asymmetry of it"] == 0.0
    assert 0.01 < found["negative of it"] < 0.2
    assert 0.1 < found["triangle of it"] < 0.7


def test_the_prior_has_mean_and_variance_of_the_fit():
    triplets = training_set(10, 0.5, 0.2, 0)
    fitted = tc.STE(2, random_state=stream(0, METHOD)).fit(triplets).embedding_
    lengths = tc.Ensemble(fitted[np.newaxis]).distances()[0]
    drawn = distance_prior(triplets, 0).sample(2000, 10, random_state=0)
    upper = drawn[:, *np.triu_indices(10, 1)]
    assert_allclose(upper.mean(), lengths.mean(), rtol=0.02)
    assert_allclose(upper.std(), lengths.std(), rtol=0.02)


@pytest.mark.slow
def test_a_cell_is_the_supplements_posterior(rows):
    triplets = training_set(10, 0.5, 0.2, 0)
    post = tc.Posterior(
        tc.STE(2),
        prior=distance_prior(triplets, 0),
        sampler="elliptical_slice",
        n_samples=500,
        n_chains=1,
        warmup=0,
        random_state=stream(0, METHOD),
        progress=False,
    ).fit(triplets)
    true = simulate.true_triplets(mixture(10)[0])
    row, pi = rows["distances"], post.ensemble_.triplet_probability(true, method="paper")
    assert {name: row[name] for name in score_probabilities(pi)} == score_probabilities(pi)
    assert row["negative"] == geometry(post.ensemble_)["negative"]
    by_draw = [
        np.mean(D[true[:, 0], true[:, 1]] ** 2 >= D[true[:, 0], true[:, 2]] ** 2)
        for D in post.ensemble_.draws
    ]
    assert row["error of a draw"] == pytest.approx(np.mean(by_draw))


def test_only_points_keep_the_triangle_inequality(rows):
    for suffix in ("", " later", " a priori"):
        assert rows["embeddings"][f"triangle{suffix}"] == 0.0
        assert rows["distances"][f"triangle{suffix}"] > 0.02
    assert all(row["asymmetry"] == 0.0 for row in rows.values())


def test_the_same_settings_give_the_same_numbers(rows):
    assert judge_prior("distances", **SMALL)["rows"] == [rows["distances"]]


def test_the_grid():
    cells = FIGURE.cells(FULL)
    judged = [cell.settings for cell in cells if "prior" in cell.settings]
    assert {s["noise"] for s in judged} == {0.0, 0.75}
    assert {s["fraction"] for s in judged} == set(FULL.fractions)
    assert {s["later"] for s in judged} == {8 * 1225}
    assert len(judged) == 2 * 2 * 6 * 5
    assert len(cells) == len(judged) + 2
    assert all(json.loads(json.dumps(c.settings)) == c.settings for c in cells)


def test_a_draw_to_show_and_the_picture(rows):
    results = []
    for prior, row in rows.items():
        shown = show_draw(prior, **SMALL)
        assert len(shown["rows"]) == 45
        results.append(shown | {"settings": {"shown": prior, **SMALL}})
        for noise in (0.0, 0.5):
            for fraction in (0.1, 0.2):
                changed = {"prior": prior, **SMALL, "noise": noise, "fraction": fraction}
                results.append({"rows": [row], "settings": changed})
    X = mixture(10)[0]
    truth = sorted(np.linalg.norm(X[i] - X[j]) for i in range(10) for j in range(i))
    assert_allclose(sorted(row["true distance"] for row in results[0]["rows"]), truth)
    with style():
        (picture,) = FIGURE.draw(measurements_of(results)).values()
    assert len(picture.axes) == 9
    assert [ax.get_title(loc="left") for ax in picture.axes[::3]] == [
        "(a) noise σ = 0.5",
        "(b) no noise",
        "(c) one draw, embeddings, later",
    ]
    for ax, name in zip(picture.axes[:3], ("uncertainty", "error", "triangle"), strict=True):
        heights = [line.get_ydata()[0] for line in ax.lines]
        expected = [rows[p][name + s] for p in ("embeddings", "distances") for s in ("", " later")]
        assert_allclose(heights, expected)
    assert len(picture.legends[0].get_texts()) == 4

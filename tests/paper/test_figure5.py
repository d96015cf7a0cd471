"""Active learning on three data sets: the run, its tasks, and the pictures."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from tercet import metrics, simulate
from tercet.answers.triplets import Triplets
from tercet.bootstrap import Bootstrap
from tercet.datasets import Dataset
from tercet.datasets.catalogue import CATALOGUE
from tercet.ensemble import Ensemble
from tercet.estimators import TSTE
from tercet.models import STEModel
from tercet.paper import active, figure5
from tercet.paper.active import INFORMATION_GAIN, RANDOM, PaperWorld
from tercet.paper.drawing import style
from tercet.paper.experiments import Measurements
from tercet.paper.methods import (
    BAYES,
    BOOTSTRAP,
    CHOICE,
    METHOD,
    NOISE,
    RECOMMENDED,
    score_probabilities,
    stream,
)
from tercet.paper.settings import FULL, QUICK, TINY

CANCER = "Breast Cancer"
SMALL = {"points": 24, "seed_answers": 200, "batch": 40, "budget": 280, "repeat": 0}
ANSWER_POORLY = pytest.mark.filterwarnings(
    "ignore::tercet.errors.SeparableWarning", "ignore::tercet.errors.ConvergenceWarning"
)


def blobs(spread, labels=None):
    points, own = make_blobs(60, centers=3, cluster_std=spread, n_features=4, random_state=0)
    return PaperWorld(0, points, own if labels is None else labels(own))


def shuffled(labels):
    return np.random.default_rng(0).permutation(labels)


# --- the tasks --------------------------------------------------------------------------------


@pytest.mark.parametrize("twins", [False, True])
def test_triplet_error_is_that_of_the_metrics(twins):
    points = active.load(CANCER, 40).points.copy()
    embedding = np.random.default_rng(0).normal(size=(40, 5))
    if twins:  # equal distances: no true answer; and an embedding that satisfies neither
        points[1], embedding[3] = points[0], embedding[2]
    true = active.nearer(np.sqrt(active.all_squared_distances(points)))
    rows = simulate.true_triplets(points)
    assert np.count_nonzero(true) == len(rows)
    assert active.true_triplet_error(embedding, true) == metrics.triplet_error(embedding, rows)
    assert active.true_triplet_error(points, true) == 0.0
    assert active.true_triplet_error(np.zeros((40, 5)), true) == 1.0


def test_the_error_of_the_posterior_is_that_of_its_votes():
    points = active.load(CANCER, 20).points
    draws = points[:, :5] + np.random.default_rng(0).normal(size=(50, 20, 5))
    ensemble = Ensemble(draws)
    true = active.nearer(np.sqrt(active.all_squared_distances(points)))
    pi = ensemble.triplet_probability(simulate.true_triplets(points), "vote")
    assert active.posterior_error(ensemble, true) == pytest.approx(
        score_probabilities(pi)["error"], abs=1e-12
    )


def test_classes_that_lie_apart_are_learnt_and_shuffled_ones_are_not():
    assert active.classify(blobs(0.1).points, blobs(0.1), 0) == 0.0
    world = blobs(0.1, shuffled)
    assert 0.4 < active.classify(world.points, world, 0) < 0.9


def test_half_of_each_class_is_learnt_from(monkeypatch):
    seen = []
    fit = active.KNeighborsClassifier.fit
    monkeypatch.setattr(
        active.KNeighborsClassifier,
        "fit",
        lambda self, X, y: seen.append((self.n_neighbors, X[:, 0], y)) or fit(self, X, y),
    )
    world = blobs(1.0)
    for repeat in (0, 0, 1):
        active.classify(world.points, world, repeat)
    assert {k for k, _, _ in seen} == {5}
    assert all(Counter(y.tolist()) == {0: 10, 1: 10, 2: 10} for _, _, y in seen)
    np.testing.assert_array_equal(seen[0][1], seen[1][1])
    assert not np.array_equal(seen[0][1], seen[2][1])


def test_clusters_that_lie_apart_are_found_and_shuffled_labels_are_not():
    assert active.cluster(blobs(0.1).points, blobs(0.1), 0) == 1.0
    world = blobs(0.1, shuffled)
    assert abs(active.cluster(world.points, world, 0)) < 0.2


# --- the data ---------------------------------------------------------------------------------


def test_features_are_used_as_they_are(monkeypatch):
    features = np.random.default_rng(0).normal(5.0, 3.0, size=(80, 2))
    own = Dataset(CATALOGUE["satellite"], "", features=features, labels=np.arange(80))
    monkeypatch.setitem(active.DATASETS, "Satellite", lambda: own)
    world = active.load("Satellite", 30)
    np.testing.assert_array_equal(world.points, features[world.labels])
    assert len(set(world.labels.tolist())) == 30


def test_all_repeats_have_the_same_points():
    first, second = active.load(CANCER, 30), active.load(CANCER, 30)
    np.testing.assert_array_equal(first.points, second.points)
    np.testing.assert_array_equal(first.labels, second.labels)


# --- the run ----------------------------------------------------------------------------------


@ANSWER_POORLY
def test_a_run_is_what_the_public_names_compute():
    world = active.load(CANCER, 24)
    true = simulate.true_triplets(world.points)
    asked = simulate.random_comparisons(24, 200, replace=True, random_state=stream(0, CHOICE, 2, 0))
    answers = np.empty((0, 3), dtype=np.int64)
    errors = []
    for step in range(3):
        noise = stream(0, NOISE, 2, step)
        given = simulate.answer(world.points, asked, noise=0.1, random_state=noise)
        answers = np.concatenate([answers, given])
        tste = TSTE(5, alpha=4.0, random_state=stream(0, METHOD, 2, step))
        errors.append(metrics.triplet_error(tste.fit(answers).embedding_, true))
        boot = Bootstrap.paper(TSTE(5), random_state=stream(0, METHOD, 2, step), progress=False)
        every = simulate.all_comparisons(24)
        pi = boot.fit(answers, n_objects=24).ensemble_.triplet_probability(every, "paper")
        asked = every[np.argsort(-np.minimum(pi, 1.0 - pi))[:40]]
    rows = active.run(CANCER, "t-STE", BOOTSTRAP, **SMALL)["rows"]
    assert [row["answers"] for row in rows] == [200, 240, 280]
    assert [row["triplet error"] for row in rows] == errors


@pytest.mark.slow
@ANSWER_POORLY
@pytest.mark.parametrize("strategy", [RANDOM, BAYES, INFORMATION_GAIN])
def test_strategies_share_their_start_and_then_differ(strategy):
    rows = active.run(CANCER, "STE", strategy, **SMALL)["rows"]
    assert rows == active.run(CANCER, "STE", strategy, **SMALL)["rows"]
    others = active.run(CANCER, "STE", BOOTSTRAP, **SMALL)["rows"]
    assert rows[0] == others[0]
    assert rows[1] != others[1]
    assert set(rows[0]) == {"answers", *figure5.TASKS}
    assert rows[0] != active.run(CANCER, "STE", strategy, **SMALL | {"repeat": 1})["rows"][0]


@pytest.mark.slow
@ANSWER_POORLY
@pytest.mark.parametrize(
    ("strategy", "draws", "chains", "options"),
    [
        (BOOTSTRAP, 20, 1, {"strategy": "uncertainty", "method": "paper", "repeats": True}),
        (BAYES, 500, 1, {"strategy": "uncertainty", "method": "paper", "repeats": True}),
        (
            INFORMATION_GAIN,
            1,
            1,
            {"strategy": "information_gain", "per_anchor": 40, "repeats": True},
        ),
        (RECOMMENDED, 60, 2, {"strategy": "mutual_information", "per_anchor": 4}),
    ],
)
def test_every_strategy_chooses_by_its_own_draws(monkeypatch, strategy, draws, chains, options):
    seen = []

    def suggest(ensemble, k, *, triplets, random_state, n_jobs, **given):
        seen.append((ensemble, k, len(triplets), given))
        return real(
            ensemble, k, triplets=triplets, random_state=random_state, n_jobs=n_jobs, **given
        )

    real = active.suggest
    monkeypatch.setattr(active, "suggest", suggest)
    extra = {"draws": 30} if strategy == RECOMMENDED else {}
    rows = active.run(CANCER, "STE", strategy, **SMALL | {"budget": 240}, **extra)["rows"]
    assert [(len(e), e.n_chains, e.n_components) for e, *_ in seen] == [(draws, chains, 5)]
    assert [(k, m, given) for _, k, m, given in seen] == [(40, 200, options)]
    own = [row.get("triplet error of the posterior") for row in rows]
    assert [value is not None for value in own] == [strategy == RECOMMENDED] * 2


def test_random_questions_may_come_again():
    triplets = Triplets([[0, 1, 2]], n_objects=4)
    ensemble = Ensemble(np.zeros((1, 4, 2)) + np.arange(4)[:, None], model=STEModel())
    asked = active.choose_batch(RANDOM, ensemble, triplets, 50, stream(0, CHOICE))
    assert asked.shape == (50, 3)
    assert len(np.unique(asked, axis=0)) == 12


# --- the figure -------------------------------------------------------------------------------


def test_the_settings_are_those_of_the_paper(tmp_path):
    """Section 5.5 and the supplement."""
    cells = figure5.FIGURE.cells(FULL)
    runs = [c.settings for c in cells if c.function is active.run]
    assert Counter(s["strategy"] for s in runs) == dict.fromkeys(figure5.STRATEGIES, 30) | {
        RECOMMENDED: 5
    }
    assert {s["dataset"] for s in runs} == {"Satellite", "MNIST", CANCER}
    sizes = {(s["points"], s["seed_answers"], s["batch"], s["budget"]) for s in runs}
    assert sizes == {(200, 2000, 1000, 10000)}
    assert {(s["noise"], s["dimension"]) for s in runs} == {(0.1, 5)}
    assert TSTE(5).model().constants(5)[0] == 4.0
    own = [s for s in runs if s["strategy"] == RECOMMENDED]
    assert {(s["dataset"], s["model"], s["draws"]) for s in own} == {("Satellite", "STE", 200)}
    assert len(cells) == len(runs) + 15
    assert len({c.path(tmp_path) for c in cells}) == len(cells)


@pytest.mark.parametrize("size", [QUICK, TINY])
def test_smaller_sizes_have_the_same_runs(size):
    def kinds(cells):
        return {(c.settings["dataset"], c.settings.get("model")) for c in cells}

    assert kinds(figure5.FIGURE.cells(size)) == kinds(figure5.FIGURE.cells(FULL))
    assert len(figure5.FIGURE.cells(size)) == 28 * size.repeats


def made_up(repeats, datasets=("Satellite", "MNIST", CANCER)):
    """A table as cells leave it, with values that tell strategies apart."""
    rows = []
    for dataset, repeat in product(datasets, range(repeats)):
        rows.append({"dataset": dataset, "strategy": "features", "repeat": repeat})
        rows[-1] |= {"kNN error": 0.1, "ARI": 0.9}
        for model, (i, strategy), m in product(
            figure5.MODELS, enumerate([*figure5.STRATEGIES, RECOMMENDED]), (150, 200)
        ):
            if strategy == RECOMMENDED and (dataset, model) != ("Satellite", "STE"):
                continue
            row = {"dataset": dataset, "model": model, "strategy": strategy, "repeat": repeat}
            row |= {"answers": m} | dict.fromkeys(figure5.TASKS, 0.1 * i + repeat + 1 / m)
            if strategy == RECOMMENDED:
                row["triplet error of the posterior"] = 0.05
            rows.append(row)
    return Measurements(rows)


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [1, 2])
def test_the_pictures_follow_the_paper(repeats):
    with style():
        pictures = figure5.FIGURE.draw(made_up(repeats))
    names = ["figure_5", "figure_5_satellite", "figure_5_mnist", "figure_5_breast_cancer"]
    assert list(pictures) == names
    axes = pictures["figure_5"].axes
    assert [ax.get_ylabel() for ax in axes] == list(figure5.TASKS.values())
    assert axes[0].get_title(loc="left") == "(a) triplet prediction"
    lines = {line.get_label(): line.get_ydata() for line in axes[1].lines}
    mean = np.mean([0.2 + r + 1 / np.array([150, 200]) for r in range(repeats)], axis=0)
    np.testing.assert_allclose(lines["Bayes"], mean)
    assert list(lines) == [
        "random",
        "bootstrap",
        "Bayes",
        "recommended default",
        "original features",
    ]
    for name in names[1:]:
        axes = np.array(pictures[name].axes).reshape(3, 2)
        assert all(len(ax.lines) == 4 for ax in axes[0])
        assert all(len(ax.lines) == 5 for ax in axes[1:].flat)
        assert [ax.get_xlabel() for ax in axes[-1]] == ["number of triplets"] * 2
        (legend,) = pictures[name].legends
        texts = [text.get_text() for text in legend.get_texts()]
        assert texts == ["random", "bootstrap", "Bayes", "information gain", "original features"]


def test_what_is_missing_is_left_out():
    with style():
        assert list(figure5.FIGURE.draw(made_up(1, (CANCER,)))) == ["figure_5_breast_cancer"]
    rows = [r for r in made_up(1).rows if r["strategy"] not in (RECOMMENDED, BAYES)]
    with style():
        picture = figure5.FIGURE.draw(Measurements(rows))["figure_5"]
    labels = [line.get_label() for line in picture.axes[0].lines]
    assert labels == ["random", "bootstrap"]

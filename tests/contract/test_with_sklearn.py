"""The estimators among scikit-learn's tools: pipelines, folds, clones, pickles, seeds, joblib."""

import pickle

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

import tercet as tc
from tercet.errors import InputError
from tercet.metrics import log_loss
from tercet.simulate import gaussian_mixture, noisy_triplets, true_triplets

POINTS, _ = gaussian_mixture(15, random_state=0)
ANSWERS = noisy_triplets(POINTS, 500, noise=0.3, random_state=0)
TRUTH = true_triplets(POINTS)


def ste(**parameters):
    return tc.STE(**({"penalty": 1 / 30, "random_state": 0} | parameters))


@pytest.fixture(scope="module")
def fitted():
    return ste().fit(ANSWERS)


# ---- with scikit-learn


def test_a_map_can_be_clustered():
    pipeline = make_pipeline(ste(), KMeans(3, n_init=5, random_state=0))
    labels = pipeline.fit_predict(ANSWERS)
    assert labels.shape == (15,)
    assert len(set(labels)) == 3


@pytest.mark.parametrize("data", [ANSWERS, ANSWERS.array], ids=["Triplets", "array"])
def test_cross_validation(data):
    scores = cross_val_score(ste(n_objects=15), data, cv=KFold(4, shuffle=True, random_state=0))
    assert scores.shape == (4,)
    assert scores.mean() > 0.75


@pytest.mark.filterwarnings("ignore::tercet.errors.DataWarning")
def test_a_fold_may_lack_objects():
    rows = ANSWERS.array[np.argsort(ANSWERS.array.max(axis=1), kind="stable")]
    last = KFold(3)  # the last fold has all answers about the last objects
    assert rows[: 2 * len(rows) // 3].max() < 14
    kept = cross_val_score(ste(), tc.Triplets(rows), cv=last, error_score="raise")
    told = cross_val_score(ste(n_objects=15), rows, cv=last, error_score="raise")
    np.testing.assert_array_equal(kept, told)
    with pytest.raises(InputError, match=r"only 1[0-4] objects"):
        cross_val_score(ste(), rows, cv=last, error_score="raise")


def test_shuffled_answers_predict_nothing():
    """Negative control: coin flips give about half of the answers held out."""
    rng = np.random.default_rng(0)
    flipped = np.where(rng.random(500)[:, None] < 0.5, ANSWERS.array, ANSWERS.array[:, [0, 2, 1]])
    scores = cross_val_score(ste(), tc.Triplets(flipped), cv=5)
    assert abs(scores.mean() - 0.5) < 0.1


def test_clones_and_parameters():
    model = tc.CKL(3, mu=0.2, exponent=1.5, n_init=4)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(mu=0.3).mu == 0.3
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(nu=0.3)
    assert repr(tc.STE(3)) == "STE(n_components=3)"


def test_fitted_models_survive_pickling(fitted):
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.embedding_, fitted.embedding_)
    np.testing.assert_array_equal(copy.predict(TRUTH), fitted.predict(TRUTH))


# ---- seeds


def test_the_same_seed_gives_the_same_bits(fitted):
    np.testing.assert_array_equal(ste().fit(ANSWERS).embedding_, fitted.embedding_)
    generator = ste(random_state=np.random.default_rng(0)).fit(ANSWERS)
    np.testing.assert_array_equal(generator.embedding_, fitted.embedding_)


def test_another_seed_starts_elsewhere():
    maps = [ste(start="random", random_state=k).fit(ANSWERS).embedding_ for k in (0, 1)]
    assert not np.array_equal(*maps)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_every_joblib_backend_gives_the_same_bits(backend):
    def fit(seed):
        return ste(start="random", random_state=seed).fit(ANSWERS).embedding_

    with parallel_config(backend=backend, n_jobs=2):
        maps = Parallel()(delayed(fit)(seed) for seed in range(3))
    for seed, embedding in enumerate(maps):
        np.testing.assert_array_equal(embedding, fit(seed))


# ---- folds, searches and log-losses of everything that predicts answers

SIGNS = np.where(np.random.default_rng(0).random(len(ANSWERS)) < 0.5, 1, -1)
TURNED = np.where(SIGNS[:, None] == 1, ANSWERS.array, ANSWERS.array[:, [0, 2, 1]])
ODD = tc.Choices.odd_one_out([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 1, 4]], n_objects=15)
QUICK = {"n_samples": 60, "n_chains": 1, "warmup": 60, "random_state": 0, "progress": False}
CLASSIFIERS = [
    ste(n_objects=15),
    tc.Shepard(n_objects=15, penalty=1 / 30, random_state=0),
    tc.Bootstrap(ste(n_objects=15), n_samples=8, random_state=0),
    pytest.param(tc.Posterior(tc.STE(n_objects=15), **QUICK), marks=pytest.mark.slow),
]
quietly = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::tercet.errors.DataWarning"
)


@quietly
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_folds_with_signs_are_folds_of_answers(estimator):
    folds = KFold(2, shuffle=True, random_state=0)
    turned = cross_val_score(estimator, TURNED, SIGNS, cv=folds)
    np.testing.assert_allclose(turned, cross_val_score(estimator, ANSWERS, cv=folds), atol=1e-3)
    assert turned.mean() > 0.65


@quietly
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_neg_log_loss_is_our_log_loss(estimator):
    train, test = next(KFold(2, shuffle=True, random_state=0).split(TURNED))
    (found,) = cross_val_score(estimator, TURNED, SIGNS, cv=[(train, test)], scoring="neg_log_loss")
    fitted = clone(estimator).fit(TURNED[train], SIGNS[train])
    probability = fitted.predict_proba(TURNED[test])
    assert probability.shape == (len(test), 2)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.classes_, [-1, 1])
    assert found == pytest.approx(-log_loss(probability[:, 1], SIGNS[test]))
    np.testing.assert_array_equal(
        fitted.classes_[probability.argmax(axis=1)], fitted.predict(TURNED[test])
    )


@quietly
def test_a_grid_search_finds_the_penalty():
    search = GridSearchCV(
        ste(n_objects=15), {"penalty": [1 / 30, 300.0]}, cv=3, scoring="neg_log_loss"
    )
    assert search.fit(TURNED, SIGNS).best_params_ == {"penalty": 1 / 30}
    assert search.predict_proba(TURNED).shape == (500, 2)
    again = GridSearchCV(
        tc.Bootstrap(ste(n_objects=15), random_state=0), {"n_samples": [2, 4]}, cv=2
    )
    assert again.fit(ANSWERS).best_score_ > 0.65


@quietly
@pytest.mark.slow
def test_a_grid_search_over_posteriors():
    maker = tc.Posterior(tc.STE(n_objects=15), **QUICK)
    search = GridSearchCV(maker, {"estimator__n_components": [1, 2]}, cv=2, scoring="neg_log_loss")
    search.fit(TURNED, SIGNS)
    assert search.best_params_ == {"estimator__n_components": 2}


@quietly
@pytest.mark.parametrize(
    "estimator",
    [
        ste(),
        tc.SOE(random_state=0),
        *(tc.Bootstrap(e, 5, random_state=0) for e in (ste(), tc.SOE())),
    ],
    ids=["STE", "SOE", "bootstrap of STE", "bootstrap of SOE"],
)
def test_choices_are_predicted_and_scored_as_wholes(estimator):
    """From all true triplets, every map has these the same way as the points."""
    lengths = np.linalg.norm(POINTS[ODD.pairs[:, 0]] - POINTS[ODD.pairs[:, 1]], axis=1)
    expected = np.where(lengths.reshape(-1, 3).argmin(axis=1) == 0, 1, -1)
    assert {*expected.tolist()} == {-1, 1}
    fitted = estimator.fit(TRUTH)
    found = fitted.predict(ODD)
    np.testing.assert_array_equal(found, expected)
    assert fitted.score(ODD) == np.mean(found == 1)
    with pytest.raises(InputError, match="choices take no y"):
        fitted.score(ODD, [1, 1, 1, 1])


def test_losses_have_no_probabilities(fitted):
    assert not hasattr(tc.SOE(), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        tc.GNMDS().predict_proba([[0, 1, 2]])
    assert "GNMDS is a loss" in str(caught.value.__cause__)
    with pytest.raises(InputError, match="log_likelihood"):
        fitted.predict_proba(ODD)

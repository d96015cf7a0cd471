"""The estimators as people use them: names, signs, weights, objects, warnings, parameters."""

import numpy as np
import pytest

import tercet as tc
from tercet.errors import ConvergenceWarning, DataWarning, InputError, SeparableWarning
from tercet.metrics import procrustes_distance, triplet_error
from tercet.simulate import gaussian_mixture, noisy_triplets, true_triplets

MAP = 1 / 30
POINTS, LABELS = gaussian_mixture(15, random_state=0)
ANSWERS = noisy_triplets(POINTS, 500, noise=0.3, random_state=0)
TRUTH = true_triplets(POINTS)
NAMES = tuple(f"stimulus {k}" for k in range(15))


def ste(**parameters):
    return tc.STE(**({"penalty": MAP, "random_state": 0} | parameters))


@pytest.fixture(scope="module")
def fitted():
    return ste().fit(ANSWERS)


def distances(X):
    return np.linalg.norm(X[:, None] - X, axis=-1)


# ---- predict, score, transform


def test_predict_says_which_is_nearer(fitted):
    D = distances(fitted.embedding_)
    i, j, l = TRUTH.T
    expected = np.where(D[i, j] < D[i, l], 1, -1)
    np.testing.assert_array_equal(fitted.predict(TRUTH), expected)
    np.testing.assert_array_equal(fitted.predict(TRUTH[:, [0, 2, 1]]), -expected)


def test_predict_takes_quadruplets_too(fitted):
    pairs = TRUTH[:, [0, 1, 0, 2]]
    np.testing.assert_array_equal(fitted.predict(pairs), fitted.predict(TRUTH))


def test_score_is_the_share_of_predicted_answers(fitted):
    assert fitted.score(TRUTH) == pytest.approx(1 - triplet_error(fitted.embedding_, TRUTH))
    assert fitted.score(TRUTH) == np.mean(fitted.predict(TRUTH) == 1)
    assert fitted.score(TRUTH, -np.ones(len(TRUTH))) == pytest.approx(1 - fitted.score(TRUTH))


def test_weights_count_in_the_score(fitted):
    right = fitted.predict(ANSWERS) == 1
    weighted = tc.Triplets(ANSWERS, weights=np.where(right, 3.0, 1.0))
    expected = 3 * right.sum() / (3 * right.sum() + (~right).sum())
    assert fitted.score(weighted) == pytest.approx(expected)


def test_transform_returns_the_embedding_of_the_objects(fitted):
    assert fitted.transform() is fitted.embedding_
    assert fitted.transform(ANSWERS) is fitted.embedding_
    np.testing.assert_array_equal(ste().fit_transform(ANSWERS), fitted.embedding_)


def test_the_embedding_is_centred(fitted):
    np.testing.assert_allclose(fitted.embedding_.mean(axis=0), 0, atol=1e-12)


def test_queries_by_name():
    named = tc.Triplets(ANSWERS, names=NAMES)
    model = ste().fit(named)
    asked = [["stimulus 3", "stimulus 0", "stimulus 11"]]
    assert model.predict(asked) == model.predict([[3, 0, 11]])
    with pytest.raises(InputError, match="Did you mean 'stimulus 11'"):
        model.predict([["stimulus 3", "stimulus 0", "stimulus 11x"]])


def test_queries_by_name_need_names(fitted):
    with pytest.raises(InputError, match="the objects have only numbers"):
        fitted.predict([["a", "b", "c"]])


def test_queries_about_unknown_objects_are_refused(fitted):
    with pytest.raises(InputError, match="only 15 objects"):
        fitted.predict([[0, 1, 15]])


# ---- what the answers are


def test_y_turns_rows_around(fitted):
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], size=len(ANSWERS))
    turned = np.where(y[:, None] == 1, ANSWERS.array, ANSWERS.array[:, [0, 2, 1]])
    np.testing.assert_array_equal(ste().fit(turned, y).embedding_, fitted.embedding_)
    np.testing.assert_array_equal(ste().fit(turned, y == 1).embedding_, fitted.embedding_)


def test_turned_rows_keep_their_weights_and_names():
    weights = np.random.default_rng(1).uniform(0.1, 5.0, size=len(ANSWERS))
    straight = tc.Triplets(ANSWERS, weights=weights, names=NAMES)
    turned = tc.Triplets(ANSWERS.array[:, [0, 2, 1]], weights=weights, names=NAMES)
    found = ste().fit(turned, -np.ones(len(ANSWERS)))
    np.testing.assert_array_equal(found.embedding_, ste().fit(straight).embedding_)
    assert found.predict([["stimulus 3", "stimulus 0", "stimulus 11"]]).shape == (1,)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.ones(3), "one answer per comparison, 500"),
        (np.zeros(500), r"\+1 .* or -1 .*got .*0.* in row 0 \(500 such rows"),
        (np.r_[np.ones(7), 2, np.ones(492)], "in row 7"),
    ],
)
def test_y_that_is_no_answer_is_refused(y, words):
    with pytest.raises(InputError, match=words):
        ste().fit(ANSWERS, y)


@pytest.mark.parametrize("model", [tc.STE, tc.SOE, tc.GNMDS])
def test_a_weight_is_a_repeated_answer(model):
    counts = np.random.default_rng(0).integers(1, 4, size=len(ANSWERS))
    settings = {"tol": 1e-7} if model is tc.GNMDS else {"tol": 1e-12, "penalty": MAP}
    weighted = tc.Triplets(ANSWERS, weights=counts)
    repeated = tc.Triplets(np.repeat(ANSWERS.array, counts, axis=0))
    first, second = (
        model(2, random_state=0, **settings).fit(T).embedding_ for T in (weighted, repeated)
    )
    assert procrustes_distance(first, second) < 1e-2 * np.linalg.norm(second)


def test_quadruplets_of_triplets_give_the_same_map(fitted):
    pairs = ANSWERS.array[:, [0, 1, 0, 2]]
    found = ste().fit(pairs)
    assert found.loss_ == pytest.approx(fitted.loss_, rel=1e-6)


# ---- invariance


def test_relabelling_the_objects_relabels_the_map(fitted):
    order = np.random.default_rng(0).permutation(15)
    relabelled = ste().fit(order[ANSWERS.array])
    assert relabelled.loss_ == pytest.approx(fitted.loss_, rel=1e-6)
    D = distances(relabelled.embedding_)[np.ix_(order, order)]
    np.testing.assert_allclose(D, distances(fitted.embedding_), atol=1e-2)


def test_the_order_of_the_rows_does_not_matter(fitted):
    shuffled = ANSWERS[np.random.default_rng(0).permutation(len(ANSWERS))]
    assert ste().fit(shuffled).loss_ == pytest.approx(fitted.loss_, rel=1e-6)


def test_turned_answers_are_other_answers(fitted):
    """Negative control: near and far exchanged must not give the same map."""
    turned = ste().fit(ANSWERS.array[:, [0, 2, 1]])
    assert turned.score(TRUTH) < 0.5 < 0.8 < fitted.score(TRUTH)


# ---- how many objects


def test_objects_beyond_the_last_answer():
    with pytest.warns(DataWarning, match=r"2 objects are never mentioned.*15, 16"):
        in_fit = ste().fit(ANSWERS.array, n_objects=17)
    with pytest.warns(DataWarning, match="never mentioned"):
        in_constructor = ste(n_objects=17).fit(ANSWERS.array)
    assert in_fit.embedding_.shape == in_constructor.embedding_.shape == (17, 2)
    assert in_fit.n_objects_ == 17
    np.testing.assert_array_equal(in_fit.embedding_, in_constructor.embedding_)


def test_n_objects_of_fit_goes_first():
    with pytest.warns(DataWarning, match="1 object is never mentioned"):
        assert ste(n_objects=40).fit(ANSWERS.array, n_objects=16).n_objects_ == 16


def test_too_few_objects_are_refused():
    with pytest.raises(InputError, match="n_objects"):
        ste(n_objects=9).fit(ANSWERS.array)


# ---- warnings


def test_separable_answers_are_said_with_the_cure():
    clean = true_triplets(POINTS, ANSWERS.array)
    with pytest.warns(SeparableWarning, match=r"^STE: .*satisfies every answer.*penalty=1/30"):
        model = tc.STE(2, random_state=0).fit(clean)
    assert model.separable_
    assert not model.converged_
    assert "every comparison is satisfied" in model.reason_
    assert model.n_iter_ < 1000
    assert ste().fit(clean).converged_  # the cure


def test_a_loss_is_not_called_separable():
    model = tc.SOE(2, random_state=0).fit(true_triplets(POINTS, ANSWERS.array))
    assert not model.separable_
    assert model.converged_


def test_the_limit_is_said():
    words = r"^STE stopped at the limit of 2 iterations \(loss \d.*raise max_iter"
    with pytest.warns(ConvergenceWarning, match=words):
        model = ste(max_iter=2).fit(ANSWERS)
    assert not model.converged_
    assert model.n_iter_ == 2


def test_what_the_answers_cannot_tell_is_said():
    rows = np.r_[ANSWERS.array, [[15, 16, 17]]]
    with pytest.warns(DataWarning) as caught:
        ste().fit(rows)
    messages = [str(w.message) for w in caught]
    assert any("fall into 2 parts" in m for m in messages)
    assert any("mentioned in fewer than 3 answers" in m for m in messages)
    assert all(w.filename == __file__ for w in caught)  # it points at the caller's line


# ---- parameters


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": 0}, "'n_components' .* positive whole number, got 0"),
        ({"n_components": 2.0}, "'n_components'"),
        ({"max_iter": -1}, "'max_iter'"),
        ({"tol": 0.0}, "'tol' .* positive number, got 0.0"),
        ({"penalty": -0.1}, "'penalty' .* 0 or more, got -0.1"),
        ({"penalty": np.nan}, "'penalty'"),
        ({"start": "best"}, "'spectral' or 'random', got 'best'"),
        ({"n_init": 0}, "'n_init'"),
        ({"n_init": "many"}, "'auto' or a positive whole number, got 'many'"),
        ({"n_init": True}, "'n_init'"),
    ],
)
def test_impossible_parameters_are_named(parameters, words):
    with pytest.raises(InputError, match=words):
        ste(**parameters).fit(ANSWERS)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (tc.TSTE(2, alpha=-1.0), "alpha"),
        (tc.CKL(2, mu=-1.0), "mu"),
        (tc.CKL(2, exponent=0.0), "exponent"),
        (tc.Shepard(2, gamma=0.0), "gamma"),
        (tc.SOE(2, margin=0.0), "margin"),
        (tc.GNMDS(2, C=0.0), "C"),
    ],
)
def test_impossible_parameters_of_models_are_named(model, name):
    with pytest.raises(InputError, match=f"{name} must be"):
        model.fit(ANSWERS)


@pytest.mark.parametrize("init", [np.zeros((15, 3)), np.zeros((3, 2)), np.full((15, 2), np.nan)])
def test_a_warm_start_needs_the_right_shape(init):
    with pytest.raises(InputError, match=r"init must be finite coordinates .*\(15, 2\)"):
        ste().fit(ANSWERS, init=init)


def test_a_warm_start_at_the_solution_stays_there(fitted):
    again = ste().fit(ANSWERS, init=fitted.embedding_)
    assert again.n_iter_ <= 5
    assert again.loss_ == pytest.approx(fitted.loss_, rel=1e-8)

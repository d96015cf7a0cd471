"""scikit-learn's own estimator checks, fed with triplets where they would make feature matrices.

Every check calls two functions of its module to adapt its data to what an estimator accepts. Here
these two turn each row of features into a triplet, and each target into +1 or -1; the checks
themselves run as they are, but for what the three tables below say.
"""

import unittest
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from sklearn.utils import estimator_checks

import tercet as tc
from tercet.errors import InputError
from tercet.simulate import all_comparisons

# Checks that ask for an error and its words: the error must come, as an InputError, in our words,
# which name the row, the value and the cure.
OWN_WORDS = {
    "check_classifier_not_supporting_multiclass": "says that y must be +1 or -1, and the row",
    "check_classifiers_regression_target": "says that y must be +1 or -1, and the row",
    "check_complex_data": "says that there must be 3 or 4 columns",
    "check_dtype_object": "names the row and the cell that is neither number nor name",
    "check_estimators_empty_data_messages": "says that there must be 3 or 4 columns",
    "check_estimators_nan_inf": "names the row and the column that is missing or too large",
    "check_fit2d_predict1d": "says that a single comparison is [[anchor, near, far]]",
    "check_n_features_in_after_fitting": "says that there must be 3 or 4 columns",
    "check_positive_only_tag_during_fit": "names the row with the negative object number",
}
# Checks of all methods that hold for predict and score. transform gives the map of the objects:
# it has a row for every object, not for every comparison, and does not look at comparisons.
NOT_TRANSFORM = {
    "check_estimators_nan_inf",
    "check_fit2d_predict1d",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in_after_fitting",
}
# Checks that do not apply, and why.
NOT_APPLICABLE = {
    "check_array_api_input": "comparisons are read with NumPy; skipped without SCIPY_ARRAY_API",
    "check_classifier_data_not_an_array": "wants a data frame without the names of its columns",
    "check_classifiers_classes": "wants other labels than +1 and -1",
    "check_classifiers_one_label": "wants the sign of some comparisons to be that of all others",
    "check_classifiers_train": "wants the labels 0 and 1, and signs without a reason predicted",
    "check_transformer_data_not_an_array": "wants a row of transform for every row of X",
    "check_transformer_general": "wants a row of transform for every row of X",
}

ROWS = all_comparisons(5)
ESTIMATORS = [
    tc.STE(),
    tc.TSTE(),
    tc.CKL(),
    tc.Shepard(),
    tc.SOE(),
    tc.GNMDS(),
    tc.GNMDS(direct=True),
]

pytestmark = [
    pytest.mark.filterwarnings("ignore::tercet.errors.DataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


# ---- the harness


def as_triplets(features):
    """A triplet for each row of features, the same whatever rows are beside it."""
    features = np.asarray(features, dtype=np.float64)
    number = np.floor(997 * np.abs(features @ np.arange(1, features.shape[1] + 1))).astype(int)
    rows = ROWS[number % len(ROWS)]
    turned = np.floor(10 * features.sum(axis=1)).astype(int) % 2 == 1
    return np.where(turned[:, None], rows[:, [0, 2, 1]], rows)


def enforce_triplets(estimator, X, X_test=None, **_):
    return as_triplets(X) if X_test is None else (as_triplets(X), as_triplets(X_test))


def enforce_signs(estimator, y):
    return np.where(np.asarray(y, dtype=np.float64).ravel() > np.median(y), 1, -1)


def blobs_with_signs(*arguments, **keywords):
    X, y = estimator_checks_make_blobs(*arguments, **keywords)
    return X, np.where(y > 0, 1, -1)


estimator_checks_make_blobs = estimator_checks.make_blobs


@contextmanager
def raises_in_own_words(error, match=None, may_pass=False, err_msg=None):
    """scikit-learn's `raises`, for InputError instead of its own words."""
    try:
        yield
    except InputError:
        return
    assert may_pass, err_msg


@pytest.fixture
def harness(monkeypatch):
    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_X", enforce_triplets)
    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_y", enforce_signs)
    monkeypatch.setattr(estimator_checks, "make_blobs", blobs_with_signs)
    return monkeypatch


def without_transform(cls):
    hidden = property(lambda self: getattr(self, "no_transform"))  # noqa: B009
    return type(cls.__name__, (cls,), {"transform": hidden})


def run(check, estimator, harness):
    name = estimator_checks._check_name(check)
    if name in OWN_WORDS:
        harness.setattr(estimator_checks, "raises", raises_in_own_words)
    if name in NOT_TRANSFORM:
        estimator = without_transform(type(estimator))(**estimator.get_params())
    check(estimator)


def list_checks(estimator):
    return [check for _, check in estimator_checks.estimator_checks_generator(estimator)]


CHECKS = list_checks(tc.STE())
RUN = [c for c in CHECKS if estimator_checks._check_name(c) not in NOT_APPLICABLE]


def check_id(check):
    extra = check.func.keywords if isinstance(check.func, partial) else {}
    return estimator_checks._check_name(check) + "".join(f", {k}" for k in extra)


# ---- the checks


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("check", RUN, ids=check_id)
def test_scikit_learn_check(check, estimator, harness):
    run(check, estimator, harness)


def test_every_estimator_has_the_same_checks():
    names = [estimator_checks._check_name(check) for check in CHECKS]
    assert len(names) > 40
    for estimator in ESTIMATORS:
        assert [estimator_checks._check_name(c) for c in list_checks(estimator)] == names


@pytest.mark.parametrize("name", NOT_APPLICABLE)
def test_what_does_not_apply_still_fails(name, harness):
    """Else it belongs among the checks that run."""
    checks = [c for c in CHECKS if estimator_checks._check_name(c) == name]
    assert checks, f"scikit-learn has no check {name} any more"
    for check in checks:
        with pytest.raises((AssertionError, InputError, unittest.SkipTest)):
            run(check, tc.STE(), harness)


@pytest.mark.parametrize("name", sorted(OWN_WORDS.keys() | NOT_TRANSFORM))
def test_exceptions_are_still_needed(name, harness):
    checks = [c for c in CHECKS if estimator_checks._check_name(c) == name]
    assert checks, f"scikit-learn has no check {name} any more"
    for check in checks:
        with pytest.raises((AssertionError, InputError, IndexError)):
            check(tc.STE())


def test_the_harness_can_fail(harness):
    """Negative control: an estimator that forgets its seed does not pass."""

    class Forgetful(tc.STE):
        def fit(self, X, y=None, **keywords):
            super().fit(X, y, **keywords)
            self.embedding_ = np.random.default_rng().normal(size=self.embedding_.shape)
            return self

    (check,) = [c for c in CHECKS if check_id(c) == "check_fit_idempotent"]
    with pytest.raises(AssertionError, match="Idempotency"):
        run(check, Forgetful(), harness)

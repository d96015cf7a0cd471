import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import stats
from scipy.special import logsumexp
from tests.worlds import ste_answers as answers
from tests.worlds import ste_choices as choices

import tercet as tc
from tercet import (
    held_out as predictive,
)
from tercet.answers.choices import number_choices
from tercet.answers.questions import number_comparisons
from tercet.answers.repeats import repeated_votes
from tercet.held_out import (
    held_out,
    leave_one_out,
    mean_per_answer,
    stacking_weights,
)
from tercet.models import STEModel
from tercet.plots.comparisons import plot_models
from tercet.uses.compare import by_prediction, replicates
from tercet.uses.compare.by_prediction import name_models
from tercet.uses.compare.comparison import ModelScore, clearly_worse, lack_of_fit
from tercet.uses.compare.replicates import deviance

SMALL = {"n_samples": 50, "n_chains": 2, "warmup": 100, "n_jobs": 1}


def quick(estimator, **more):
    return tc.Posterior(estimator, **(SMALL | more))


@pytest.fixture(scope="module")
def fitted():
    T = answers(repeats=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return T, quick(tc.STE(2), n_samples=200, warmup=None, random_state=0).fit(T).ensemble_


@pytest.fixture(scope="module")
def compared():
    models = [quick(tc.STE(2)), quick(tc.CKL(2), learn=("exponent", "mu")), tc.SOE(2, n_init=1)]
    return tc.compare_models(answers(repeats=2), models, random_state=0, n_jobs=2)


# --- scores -----------------------------------------------------------------------------------


def test_stacking_finds_what_a_grid_finds():
    rng = np.random.default_rng(0)
    log_density = np.log(rng.beta(2.0, 1.0, size=(200, 3)))
    log_density[:, 2] -= 0.3
    grid = np.linspace(0.0, 1.0, 101)
    pairs = [(a, b) for a, b in itertools.product(grid, grid) if a + b <= 1.0 + 1e-12]
    candidates = np.array([(a, b, max(0.0, 1.0 - a - b)) for a, b in pairs])
    with np.errstate(divide="ignore"):
        score = logsumexp(log_density[:, None] + np.log(candidates), axis=2).sum(axis=0)
    weights = stacking_weights(log_density)
    np.testing.assert_allclose(weights, candidates[score.argmax()], atol=0.011)
    ours = logsumexp(log_density + np.log(np.maximum(weights, 1e-300)), axis=1).sum()
    assert ours >= score.max()


def test_stacking_gives_all_weight_to_a_model_that_is_always_better():
    better = np.log(np.random.default_rng(0).uniform(0.1, 0.9, 50))
    weights = stacking_weights(np.stack([better - 0.1, better], axis=1))
    np.testing.assert_allclose(weights, [0.0, 1.0], atol=1e-4)


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(2, 30), st.integers(0, 1000))
def test_stacking_weights_are_shares(k, u, seed):
    log_density = -np.random.default_rng(seed).exponential(size=(u, k))
    weights = stacking_weights(log_density)
    assert (weights >= 0.0).all()
    assert weights.sum() == pytest.approx(1.0)
    # At the maximum of a concave function on the simplex no model gains from more weight.
    p = np.exp(log_density)
    assert (p / (p @ weights)[:, None]).mean(axis=0).max() < 1.0 + 1e-4


def test_the_standard_error_of_equal_units_is_the_usual_one():
    totals = np.random.default_rng(0).normal(size=40)
    mean, error = mean_per_answer(totals, np.ones(40))
    assert mean == pytest.approx(totals.mean())
    assert error == pytest.approx(totals.std(ddof=1) / math.sqrt(40))
    assert mean_per_answer(totals * 3, np.full(40, 3.0)) == pytest.approx((mean, error))


def test_the_standard_error_of_unequal_units_is_that_of_resampled_units():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, 200).astype(float)
    totals = rng.normal(0.5 * sizes, np.sqrt(sizes))
    chosen = rng.integers(200, size=(4000, 200))
    means = totals[chosen].sum(axis=1) / sizes[chosen].sum(axis=1)
    assert mean_per_answer(totals, sizes)[1] == pytest.approx(means.std(), rel=0.08)


# --- predictions ------------------------------------------------------------------------------


def test_held_out_density_is_that_of_all_answers_of_a_unit(fitted):
    T, ensemble = fitted
    units = number_comparisons(T)
    found = held_out(ensemble, T, units)
    log_p = np.log(ensemble.answer_probability(T, by_draw=True))
    for unit in (0, 7, units.max()):
        expected = np.log(np.exp(log_p[:, units == unit].sum(axis=1)).mean())
        assert found.log_density[unit] == pytest.approx(expected)
    np.testing.assert_allclose(found.probability, ensemble.answer_probability(T))
    alone = held_out(ensemble, T, units, jointly=False)
    assert alone.log_density.sum() == pytest.approx(np.log(found.probability).sum())


def test_votes_count_as_often_as_rows(fitted):
    T, ensemble = fitted
    rows, votes = np.unique(T.array, axis=0, return_counts=True)
    counted = tc.Triplets(rows, n_objects=8, weights=votes)
    for predict in (held_out, leave_one_out):
        by_row = predict(ensemble, T, number_comparisons(T))
        by_vote = predict(ensemble, counted, number_comparisons(counted))
        np.testing.assert_allclose(by_vote.log_density, by_row.log_density)


def test_blocks_do_not_change_predictions(fitted, monkeypatch):
    T, ensemble = fitted
    units = number_comparisons(T)
    whole = leave_one_out(ensemble, T, units)
    monkeypatch.setattr("tercet.held_out.BLOCK", 7 * len(ensemble))
    for ours, theirs in zip(leave_one_out(ensemble, T, units), whole, strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_a_unit_that_all_draws_agree_on_has_no_k_hat():
    points = np.zeros((40, 3, 1))
    points[:, 1], points[:, 2] = 1e-4, 20.0 + 1e-3 * np.arange(40)[:, None]
    ensemble = tc.Ensemble(points, model=STEModel())
    found = leave_one_out(ensemble, tc.Triplets([[0, 1, 2]]), np.array([0]))
    assert found.log_density[0] == pytest.approx(0.0, abs=1e-9)
    assert found.k_hat[0] == 0.0


def test_the_efficiency_of_a_large_unit_is_not_lost(monkeypatch):
    """Answers that all draws find equally unlikely, down to e^-1000, do not change it."""
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(200, 6, 2)).cumsum(axis=0) / 10  # not independent
    draws[:, 3:] = [[0, 0], [10, 0], [0, 1]]
    ensemble = tc.Ensemble(draws, model=STEModel(), alignment="none")
    seen = []

    def note(likelihood, efficiency, raw):
        seen.append(efficiency)
        return raw, 0.0

    monkeypatch.setattr(predictive, "_smoothed", note)
    for rows in ([[0, 1, 2]], [[0, 1, 2]] + 10 * [[3, 4, 5]]):
        leave_one_out(ensemble, tc.Triplets(rows, n_objects=6), np.zeros(len(rows), dtype=int))
    assert seen[0] < 0.5
    assert seen[1] == pytest.approx(seen[0])


def test_leaving_out_costs(fitted):
    T, ensemble = fitted
    units = number_comparisons(T)
    seen, unseen = held_out(ensemble, T, units), leave_one_out(ensemble, T, units)
    assert (unseen.log_density < seen.log_density + 1e-9).mean() > 0.95


# --- folds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["screen", "observer"])
@pytest.mark.parametrize("method", ["loo", "kfold"])
def test_no_unit_is_on_both_sides_of_a_fold(unit, method, monkeypatch):
    T = choices(repeats=2, observers=np.arange(120) // 2 % 9)[0]
    units = T.observers if unit == "observer" else number_choices(T)
    seen = []

    def fit_part(candidate, fold, plan, n_jobs):
        assert not set(units[fold.left_out]) & set(units[~fold.left_out])
        seen.append(fold.left_out)
        return original(candidate, fold, plan, n_jobs)

    original = by_prediction._fit_part
    monkeypatch.setattr(by_prediction, "_fit_part", fit_part)
    monkeypatch.setattr(by_prediction, "K_HAT", 0.3)
    model = quick(tc.STE(2), n_samples=20, warmup=20)
    found = tc.compare_models(
        T, [model], method=method, unit=unit, folds=3, n_jobs=1, random_state=0
    )
    assert found.unit == unit
    assert found.n_units == len(np.unique(units))
    assert seen
    assert np.sum(seen, axis=0).max() == 1  # nothing is left out twice
    if method == "kfold":
        assert np.sum(seen, axis=0).min() == 1
        assert found.scores[0].source == "3-fold"


def test_many_large_k_hats_mean_folds_and_few_mean_refits(monkeypatch):
    T, model = answers(), quick(tc.STE(2), n_samples=20, warmup=20)
    monkeypatch.setattr(by_prediction, "K_HAT", -10.0)
    score = tc.compare_models(T, [model], folds=2, random_state=0, n_jobs=1).scores[0]
    assert score.source == "2-fold"
    assert score.n_flagged > 18
    monkeypatch.setattr(by_prediction, "K_HAT", 0.3)
    monkeypatch.setattr(by_prediction, "MOST_FLAGGED", 0.99)
    again = tc.compare_models(T, [model], folds=2, random_state=0, n_jobs=1)
    assert again.scores[0].source == "leave-one-out"
    assert "Refitted without influential comparisons" in again.verdict


def test_an_approximation_is_not_reweighted():
    model = tc.Posterior(tc.STE(2), sampler="laplace", n_samples=50)
    score = tc.compare_models(answers(), [model], folds=2, random_state=0).scores[0]
    assert score.model == "STE, Laplace"
    assert score.source == "2-fold"
    assert score.k_hat is None


# --- lack of fit ------------------------------------------------------------------------------


def test_repeats_are_found_whichever_way_they_were_asked():
    T = tc.Triplets(
        [[0, 1, 2], [0, 2, 1], [0, 1, 2], [1, 2, 3], [3, 0, 1]], weights=[2, 1, 1, 1, 3]
    )
    asked = repeated_votes(T)
    np.testing.assert_array_equal(asked.rows, [0, 4])
    np.testing.assert_array_equal(asked.near, [3, 3])
    np.testing.assert_array_equal(asked.total, [4, 3])
    turned = repeated_votes(tc.Triplets([[0, 1, 2, 3], [3, 2, 1, 0]]))
    assert (turned.near[0], turned.total[0]) == (1, 2)


def test_without_repeats_it_cannot_tell(fitted):
    _, ensemble = fitted
    T = answers()
    assert lack_of_fit(ensemble, T) is None
    weighted = tc.Triplets(T.array, n_objects=8, weights=np.full(60, 1.5))
    assert lack_of_fit(ensemble, weighted) is None


def test_the_deviance_is_that_of_a_binomial():
    near, total = np.array([0, 3, 2]), np.array([2, 4, 2])
    p = np.array([[0.3, 0.6, 0.9]])
    saturated = stats.binom.logpmf(near, total, near / total)
    expected = 2.0 * (saturated - stats.binom.logpmf(near, total, p[0])).sum()
    assert deviance(near, total, p)[0] == pytest.approx(expected)


def test_lack_of_fit_says_its_size(fitted):
    T, ensemble = fitted
    found = lack_of_fit(ensemble, T, random_state=0)
    assert found.n_comparisons == 60
    assert found.n_answers == 120
    assert found.n_parameters == 8 * 2 - 3
    assert found.degrees == 60 - 13
    assert found == lack_of_fit(ensemble, T.array, random_state=0)
    assert "60 repeated comparisons" in str(found)


# --- lack of fit of choices -------------------------------------------------------------------


def of_truth(points, size=100):
    """An ensemble that knows the truth, so that p-values are uniform."""
    draws = np.repeat(points[None], size, axis=0)
    return tc.Ensemble(draws, model=STEModel(), alignment="none")


@pytest.mark.parametrize("kind", ["odd", "set", "ranking"])
def test_votes_within_choices_are_those_of_their_comparisons(kind):
    C, points = choices(kind=kind, m=200)
    found = lack_of_fit(of_truth(points, 3), C, random_state=0)
    asked = repeated_votes(C.triplets())
    assert found.n_comparisons == len(asked.rows)
    assert found.n_answers == asked.total.sum()
    p = of_truth(points, 1).answer_probability(C.triplets()[asked.rows])
    assert found.deviance == pytest.approx(deviance(asked.near, asked.total, p).item())
    assert found == lack_of_fit(of_truth(points, 3), C.triplets(), random_state=0)


def test_choices_of_all_kinds_are_counted_together():
    parts = [choices(kind=kind, m=60)[0] for kind in ("odd", "set", "ranking")]
    shown = np.argsort(np.random.default_rng(1).random((60, 8)), axis=1)
    best, worst = shown[:, 1], shown[:, 2]
    parts.append(tc.Choices.best_worst(shown[:, 0], shown[:, 1:6], best, worst))
    parts.append(tc.Choices.most_central(shown[:, :3]))
    joined = tc.Choices.concatenate(parts)
    found = lack_of_fit(of_truth(choices()[1], 3), joined, random_state=0)
    asked = repeated_votes(joined.triplets())
    assert (found.n_comparisons, found.n_answers) == (len(asked.rows), asked.total.sum())


def test_without_repeated_comparisons_choices_cannot_tell():
    C, points = choices(n=30, m=3)
    assert lack_of_fit(of_truth(points), C) is None
    C = choices(n=8, m=60, weights=np.full(60, 0.5))[0]
    assert lack_of_fit(of_truth(choices()[1]), C) is None


def test_counted_choices_are_as_many_rows():
    C, points = choices(m=50)
    counted = choices(m=50, weights=np.full(50, 2))[0]
    twice = tc.Choices.concatenate([C, C])
    found = [lack_of_fit(of_truth(points), each, random_state=0) for each in (counted, twice)]
    assert found[0].n_answers == found[1].n_answers
    assert found[0].deviance == pytest.approx(found[1].deviance)


def test_of_very_many_choices_a_part_is_used(monkeypatch):
    C, points = choices(m=400)
    whole = lack_of_fit(of_truth(points), C, random_state=0)
    monkeypatch.setattr(replicates, "MOST_PAIRS", 600)
    part = lack_of_fit(of_truth(points), C, random_state=0)
    assert 0 < part.n_answers <= 2 * 200 < whole.n_answers


@pytest.mark.slow
def test_whole_outcomes_give_uniform_p_values_and_independent_votes_do_not():
    """The comparisons within a set of nearest objects depend on each other."""
    ours, theirs = [], []
    for seed in range(100):
        C, points = choices(m=6, repeats=12, kind="set", seed=seed)
        ours.append(lack_of_fit(of_truth(points), C, random_state=seed).p_value)
        apart = tc.Triplets(C.triplets().array, n_objects=8)
        theirs.append(lack_of_fit(of_truth(points), apart, random_state=seed).p_value)
    assert stats.kstest(ours, "uniform").pvalue > 0.01
    assert np.mean(np.array(ours) < 0.05) <= 0.1
    assert np.mean(np.array(theirs) < 0.05) > 0.1


@pytest.mark.slow
def test_a_fitted_map_fits_and_one_of_too_few_dimensions_does_not():
    found = {1: [], 2: []}
    for seed in range(6):
        C, _ = choices(kind="ranking", size=1.5, seed=seed)
        for d, values in found.items():
            maker = quick(tc.STE(d), n_samples=100, random_state=seed)
            ensemble = maker._fit_quietly(C).ensemble_
            values.append(lack_of_fit(ensemble, C, random_state=seed).p_value)
    assert 0.1 < np.median(found[2]) < 0.9
    assert min(found[2]) > 0.02
    assert np.median(found[1]) < 0.05


# --- the comparison ---------------------------------------------------------------------------


def test_the_best_comes_first_and_differences_are_to_it(compared):
    first, second, third = compared.scores
    assert compared.best == first.model
    assert first.difference == 0.0
    assert second.difference == pytest.approx(second.log_loss - first.log_loss)
    assert third.model == "SOE"
    assert third.log_loss is third.weight is None
    assert third.source == "5-fold"
    assert sum(compared.weights.values()) == pytest.approx(1.0)
    assert first.log_loss == pytest.approx(-compared.log_density[:, 0].sum() / 120)


def test_it_reads_as_a_table_and_as_words(compared):
    rows = compared.records()
    assert [row["model"] for row in rows] == [score.model for score in compared.scores]
    assert set(rows[0]) >= {"log_loss", "difference", "difference_se", "weight", "lack_of_fit_p"}
    text = str(compared)
    assert "120 answers, 60 comparisons" in text
    assert f"{compared.best} predicts held-out answers best" in text
    assert "noise ceiling" in text
    assert "Without a likelihood only accuracy" in text
    assert max(map(len, compared.verdict.splitlines())) > 0


@pytest.mark.slow
def test_same_seed_same_bits_for_any_number_of_threads(compared):
    models = [quick(tc.STE(2)), quick(tc.CKL(2), learn=("exponent", "mu")), tc.SOE(2, n_init=1)]
    again = tc.compare_models(answers(repeats=2), models, random_state=0, n_jobs=1)
    assert again == compared
    np.testing.assert_array_equal(again.log_density, compared.log_density)


def test_fits_that_fail_are_reported_and_nothing_is_warned(compared):
    # pytest would turn a warning into an error.
    assert compared.scores[0].problems  # 50 draws are too few
    assert "ot converged" in compared.verdict or "ot fully converged" in compared.verdict


def disagreeing(monkeypatch, until):
    """Chains agree from so many draws on, by model; the sizes of all fits to all answers."""
    seen = []

    def converged(made):
        kind, size = type(made.embedder).__name__, made.diagnostics_.n_samples
        seen.append((kind, size))
        return size >= until.get(kind, 0)

    monkeypatch.setattr(by_prediction, "_converged", converged)
    return seen


def test_models_whose_chains_disagree_are_refitted_once_and_not_called_best(monkeypatch):
    models = [quick(tc.STE(2), n_samples=20), quick(tc.CKL(2), n_samples=20)]
    usual = tc.compare_models(answers(), models, random_state=0, n_jobs=1)
    first, second = (score.model for score in usual.scores)
    seen = disagreeing(monkeypatch, {first: math.inf, second: 80})
    found = tc.compare_models(answers(), models, random_state=0, n_jobs=1)
    assert set(seen) == {("STE", 20), ("STE", 80), ("CKL", 20), ("CKL", 80)}
    assert found.best == second  # although the other may predict better
    good, bad = found.scores
    assert (good.converged, good.ran_longer) == (True, True)
    assert (bad.converged, bad.ran_longer, bad.weight) == (False, True, None)
    assert bad.difference == pytest.approx(bad.log_loss - good.log_loss)
    assert found.weights == {second: pytest.approx(1.0)}
    assert f"which still disagree; neither called best nor compared with it: {first}." in (
        found.verdict
    )
    assert f"Refitted with longer chains, because they disagreed: {second}." in found.verdict
    assert f"! {first}" in found.table()
    assert [row["converged"] for row in found.records()] == [True, False]
    assert len(plot_models(found).get_yticklabels()) == 2


def test_if_no_chains_agree_no_model_is_best(monkeypatch):
    disagreeing(monkeypatch, {"STE": math.inf})
    model = quick(tc.STE(2), n_samples=20)
    found = tc.compare_models(answers(), [model], random_state=0, n_jobs=1)
    assert found.best is None
    assert found.weights == {}
    assert found.verdict.startswith("No model is called best: the chains of all ended in")
    assert "predicts held-out answers best" not in str(found)


def test_a_hold_out_is_scored_answer_by_answer():
    T, rest = answers(), answers(seed=1)
    found = tc.compare_models(T, [quick(tc.STE(2)), tc.GNMDS(2)], holdout=rest, random_state=0)
    assert [score.source for score in found.scores] == ["hold-out", "hold-out"]
    assert found.n_answers == 60
    assert any("of the 60 rows of the hold-out" in note for note in found.notes)


def test_a_hold_out_is_matched_by_name():
    T = answers()
    names = [f"object {i}" for i in range(8)]
    named = tc.Triplets(T.array, names=names)
    back = tc.Triplets(7 - T.array, names=names[::-1])
    model = [quick(tc.STE(2), n_samples=20)]
    found = [
        tc.compare_models(named, model, holdout=rest, random_state=0, n_jobs=1).scores[0].log_loss
        for rest in (named, back, np.array(names)[T.array])
    ]
    assert found[0] == pytest.approx(found[1]) == pytest.approx(found[2])


@pytest.mark.slow
def test_screens_are_left_out_whole_where_they_have_several_answers():
    model = [quick(tc.STE(2), n_samples=200, warmup=200)]
    T = choices(m=40, repeats=2)[0]
    found = tc.compare_models(T.triplets(), model, random_state=0, n_jobs=1)
    assert (found.unit, found.n_answers) == ("screen", 80)
    assert found.n_units == len(np.unique(number_choices(T)))
    assert found.chance == pytest.approx(1 / 3)
    assert found.chance_log_loss == pytest.approx(math.log(3.0))
    assert "(chance: 1.099)" in found.verdict
    assert "(chance: 33.3%)" in found.verdict
    assert "On screens shown more than once it predicts" in found.verdict
    assert found.ceiling.n_outcomes == 3
    assert found.scores[0].in_order > found.scores[0].accuracy
    alone = tc.compare_models(answers(screens=np.arange(60)), model, random_state=0, n_jobs=1)
    assert alone.unit == "comparison"


def test_models_without_likelihood_go_by_accuracy():
    found = tc.compare_models(answers(), [tc.SOE(2, n_init=1), tc.GNMDS(2)], random_state=0)
    assert found.scores[0].accuracy >= found.scores[1].accuracy
    assert found.weights == {}
    assert found.verdict.startswith("Without a likelihood")
    with pytest.raises(tc.InputError, match="likelihood"):
        plot_models(found)


def score(difference, error):
    rest = dict.fromkeys(ModelScore._fields)
    return ModelScore(**(rest | {"difference": difference, "difference_se": error}))


def test_clearly_worse_is_beyond_two_errors_and_four_nats():
    assert clearly_worse(score(0.05, 0.02), 1000)
    assert not clearly_worse(score(0.03, 0.02), 1000)
    assert not clearly_worse(score(0.003, 0.0001), 1000)
    assert not clearly_worse(score(None, None), 1000)


# --- labels and errors ------------------------------------------------------------------------


def test_labels_say_what_differs():
    models = [
        tc.STE(2),
        tc.TSTE(2, alpha=3.0),
        tc.CKL(2, mu=0.0),
        tc.Posterior(tc.CKL(2), learn=("exponent", "mu")),
        tc.Posterior(tc.CKL(2), learn={"lapse": (1.0, 20.0)}),
        tc.STE(2),
    ]
    assert [candidate.label for candidate in name_models(models)] == [
        "STE",
        "t-STE, alpha = 3",
        "CKL, mu = 0",
        "CKL, exponent and mu learned",
        "CKL, lapse learned",
        "STE (2)",
    ]
    assert [c.label for c in name_models([tc.STE(1), tc.STE(2)])] == ["STE in 1-d", "STE in 2-d"]
    assert [c.label for c in name_models({"mine": tc.STE(1)})] == ["mine"]


def test_the_default_models_are_the_variants():
    from tercet.uses.compare.by_prediction import _default_models

    labels = [candidate.label for candidate in name_models(_default_models(3))]
    assert labels == [
        "STE",
        "t-STE",
        "CKL",
        "Shepard",
        "STE, lapse learned",
        "CKL, exponent and mu learned",
        "CKL, exponent, mu and lapse learned",
        "Shepard, gamma, tail and lapse learned",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "waic"}, "'loo' or 'kfold', got 'waic'"),
        ({"folds": 1}, "at least 2, got 1"),
        ({"models": []}, "models is empty"),
        ({"models": "STE"}, "must be a list"),
        ({"models": tc.STE(2)}, "must be a list"),
        ({"models": [tc.Bootstrap(tc.STE(2))]}, "unfitted Posterior"),
        ({"models": [tc.STE(0)]}, "n_components"),
        ({"models": [tc.Posterior(tc.STE(2), learn=("mu",))]}, "learn must be among"),
        ({"n_components": 0}, "n_components must be"),
        ({"unit": "day"}, "unit must be one of"),
        ({"folds": 100}, "60 comparisons are too few for 100 folds"),
        ({"holdout": [[0, 1, 2]]}, "holdout has one comparison"),
        ({"random_state": -1}, "random_state"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_input_is_said_before_work_starts(given, message, monkeypatch):
    monkeypatch.setattr(by_prediction, "_fit", None)
    with pytest.raises(tc.InputError, match=message):
        tc.compare_models(answers(), **given)


# --- the picture ------------------------------------------------------------------------------


def test_the_picture_shows_models_with_a_likelihood_best_on_top(compared):
    ax = Figure().subplots()
    assert plot_models(compared, ax) is ax
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [s.model for s in compared.scores[:2]]
    low, high = ax.get_ylim()
    assert low > high
    written = [text.get_text() for text in ax.texts]
    assert [f"{weight:.2f}" for weight in compared.weights.values()] == written[:2]


def test_a_dollar_sign_is_not_a_formula():
    found = tc.compare_models(
        answers(), {r"$\frac$": quick(tc.STE(2), n_samples=20)}, random_state=0, n_jobs=1
    )
    ax = Figure().subplots()
    plot_models(found, ax=ax)
    ax.figure.draw_without_rendering()

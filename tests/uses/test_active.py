import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import tercet as tc
from tercet import DataWarning, Ensemble, InputError
from tercet.models import CKLModel, SOEModel, STEModel, TSTEModel
from tercet.simulate import all_comparisons, noisy_triplets, true_triplets
from tercet.uses.active import ActiveLoop, Suggestions, scores, suggest
from tercet.uses.active.candidates import STRATEGIES, Candidates, comparisons, number_rows

N, D, S = 9, 2, 12
NAMES = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis")
MODELS = {
    "STE": (STEModel(), {}),
    "t-STE": (TSTEModel(), {}),
    "t-STE, alpha": (TSTEModel(3.0), {}),
    "CKL": (CKLModel(), {}),
    "CKL, no mu": (CKLModel(mu=0.0), {}),
    "CKL, all": (
        CKLModel(),
        {
            "exponent": np.linspace(0.5, 3, S),
            "mu": np.linspace(0.01, 1, S),
            "lapse": np.linspace(0.0, 0.3, S),
        },
    ),
    "STE, lapse": (STEModel(), {"lapse": np.full(S, 0.1)}),
}
EVERY = all_comparisons(N)


def ensemble(model="STE", n=N, size=S, seed=0, **options):
    rng = np.random.default_rng(seed)
    draws = rng.normal(size=(1, n, D)) + 0.4 * rng.normal(size=(size, n, D))
    kind, parameters = MODELS[model]
    return Ensemble(draws, model=kind, parameters=parameters, **options)


def answers(m=60, n=N, seed=1):
    points = np.random.default_rng(seed).normal(size=(n, D))
    return noisy_triplets(points, m, noise=0.3, random_state=seed)


def entropy(p):
    p = np.clip(p, 1e-300, 1.0)
    return -np.sum(p * np.log2(p), axis=-1)


def binary(p):
    return entropy(np.stack([p, 1 - p], axis=-1))


# --- scores against slow formulas ----------------------------------------------------------------


def slow_mutual_information(ens, rows):
    p = ens.answer_probability(rows, by_draw=True)
    return binary(p.mean(axis=0)) - binary(p).mean(axis=0)


def slow_information_gain(ens, rows, triplets):
    """As Tamuz et al. write it: the entropy of τ less its expected entropy after the answer."""

    def moved(draw, b, c):
        """Probability of "b is nearer" with the anchor at each of the points."""
        own = {k: v[draw] for k, v in ens.parameters.items() if k != "lapse"}
        model = type(ens.model)(**({**vars(ens.model), **own}))
        x = ens.draws[draw]
        near, far = (np.sum((x - x[i]) ** 2, axis=1) for i in (b, c))
        lapse = ens.parameters["lapse"][draw] if "lapse" in ens.parameters else 0.0
        return (1 - lapse) * model.probability(near, far, D) + lapse / 2

    total = np.zeros(len(rows))
    for draw in range(len(ens)):
        tau = np.ones((ens.n_objects, ens.n_objects))
        for a, b, c in triplets:
            tau[a] *= moved(draw, b, c)
        tau /= tau.sum(axis=1, keepdims=True)
        for t, (a, b, c) in enumerate(rows):
            p_x = moved(draw, b, c)
            p = tau[a] @ p_x
            after = [tau[a] * p_x / p, tau[a] * (1 - p_x) / (1 - p)]
            total[t] += entropy(tau[a]) - p * entropy(after[0]) - (1 - p) * entropy(after[1])
    return total / len(ens)


def slow_scores(ens, rows, strategy, triplets, method=None):
    if strategy == "mutual_information":
        return slow_mutual_information(ens, rows)
    if strategy == "information_gain":
        return slow_information_gain(ens, rows, triplets)
    p = ens.triplet_probability(rows, method)
    return 0.5 - np.sqrt((p - 0.5) ** 2)


@pytest.mark.parametrize("model", MODELS)
def test_answers_follow_from_one_number_for_each_distance(model):
    ens = ensemble(model)
    about = scores.predict_answers(ens)
    rows = EVERY[EVERY[:, 0] == 3]
    u = scores.strengths(about, 3)
    p = 1 / (1 + np.exp(u[:, rows[:, 1]] - u[:, rows[:, 2]]))
    p = 0.5 + about.keep[:, None] * (p - 0.5)
    assert_allclose(p, ens.answer_probability(rows, by_draw=True), atol=1e-13)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("strategy", ["mutual_information", "information_gain"])
def test_bits_equal_the_slow_formula(model, strategy):
    ens, triplets = ensemble(model), answers()
    found = suggest(ens, len(EVERY), strategy, triplets=triplets, repeats=True, n_draws=S)
    expected = slow_scores(ens, found.array, strategy, triplets.array)
    assert_allclose(found.scores, expected, atol=1e-12)
    assert (np.diff(found.scores) <= 0).all()
    # Chosen from a list, comparisons are scored one by one: the same numbers.
    some = suggest(
        ens, 40, strategy, triplets=triplets, candidates=EVERY[::5], repeats=True, n_draws=S
    )
    assert_allclose(some.scores, slow_scores(ens, some.array, strategy, triplets.array), atol=1e-12)


@pytest.mark.parametrize("kind", ["points", "distances"])
@pytest.mark.parametrize("strategy", ["uncertainty", "mutual_information", "information_gain"])
@pytest.mark.parametrize("k", [1, 7, 100])
def test_the_best_of_all_are_found(strategy, k, kind):
    ens, triplets = ensemble(seed=5), answers()
    if kind == "distances":
        matrices = np.linalg.norm(ens.draws[:, :, None] - ens.draws[:, None], axis=-1)
        same, ens = ens, Ensemble(matrices, kind="distances", model=STEModel())
    else:
        same = ens
    found = suggest(
        ens,
        k,
        strategy,
        triplets=triplets,
        repeats=True,
        per_anchor=k,
        n_draws=S,
        random_state=0,
    )
    every = slow_scores(same, EVERY, strategy, triplets.array)
    assert_allclose(found.scores, np.sort(every)[::-1][:k], atol=1e-12)
    own = slow_scores(same, found.array, strategy, triplets.array)
    assert_allclose(found.scores, own, atol=1e-12)
    assert (found.array[:, 1] < found.array[:, 2]).all()
    assert len(np.unique(found.array, axis=0)) == k


@pytest.mark.parametrize("method", ["paper", "joint", "vote"])
def test_uncertainty_is_the_papers_argmin(method):
    ens = ensemble()
    found = suggest(ens, 50, method=method, random_state=0)
    distance = (ens.triplet_probability(EVERY, method) - 0.5) ** 2
    own = (ens.triplet_probability(found.array, method) - 0.5) ** 2
    assert_allclose(own, np.sort(distance)[:50], atol=1e-14)
    some = suggest(ens, 5, method=method, candidates=found.array[20:30], random_state=0)
    assert_allclose(some.scores, found.scores[20:25], rtol=0, atol=0)


def test_lapses_lower_what_an_answer_tells():
    draws = ensemble().draws
    told = [
        suggest(
            Ensemble(draws, model=STEModel(), parameters={"lapse": np.full(S, lapse)}),
            1,
            "mutual_information",
        ).scores[0]
        for lapse in (0.0, 0.2, 1.0)
    ]
    assert told[0] > told[1] > told[2]
    assert told[2] == pytest.approx(0.0, abs=1e-12)


def test_mutual_information_leaves_alone_what_people_answer_at_random():
    """Objects at the same distance in every draw: π is ½, but no answer will tell anything."""
    x = np.array([[0.0, 0], [1, 0], [-1, 0], [3, 0], [0, 2]])
    draws = x + np.r_[0, 0, 0, 0, 1][:, None] * np.random.default_rng(0).normal(size=(S, 5, 1))
    ens = Ensemble(draws, model=STEModel())
    asked = np.array([[0, 1, 2]])
    assert suggest(ens, 1, "uncertainty", candidates=asked).scores[0] == 0.5
    assert suggest(ens, 1, "mutual_information", candidates=asked).scores[0] < 1e-12


@pytest.mark.slow
def test_thousands_of_answers_do_not_underflow():
    ens = ensemble(seed=3)
    rows = np.repeat(answers(12, seed=4).array, 2000, axis=0)
    found = suggest(ens, 100, "information_gain", triplets=rows, repeats=True, n_draws=2)
    assert np.isfinite(found.scores).all()
    product = np.prod(np.full(2000, 0.3))
    assert product == 0.0  # what a product of probabilities would be
    counted = tc.Triplets(answers(12, seed=4).array, n_objects=N, weights=np.full(12, 2000))
    same = suggest(ens, 100, "information_gain", triplets=counted, repeats=True, n_draws=2)
    assert_allclose(same.scores, found.scores, atol=1e-9)


def test_positions_are_probabilities_after_many_answers():
    u = np.random.default_rng(0).normal(size=(N, N)) * 50
    rows = np.repeat(answers(30).array, 500, axis=0)
    tau = scores._places(u, rows, np.ones(len(rows)), 1.0)
    assert_allclose(tau.sum(axis=1), 1.0)


# --- which may be asked ---------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_answered_and_pending_comparisons_are_left_out(strategy):
    ens, triplets = ensemble(), answers(100)
    pending = EVERY[5:9][:, [0, 2, 1]]
    left = len(EVERY) - len(np.union1d(number_rows(triplets.array, N), number_rows(pending, N)))
    found = suggest(ens, left, strategy, triplets=triplets, pending=pending, random_state=0)
    numbers = number_rows(found.array, N)
    assert len(np.unique(numbers)) == left
    assert not np.isin(numbers, number_rows(triplets.array, N)).any()
    assert not np.isin(numbers, number_rows(pending, N)).any()
    again = suggest(ens, len(EVERY) - 4, strategy, triplets=triplets, pending=pending, repeats=True)
    assert not np.isin(number_rows(again.array, N), number_rows(pending, N)).any()
    assert np.isin(number_rows(triplets.array[:1], N), number_rows(again.array, N)).all()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_candidates_in_any_order_count_once(strategy):
    ens, triplets = ensemble(), answers()
    some = EVERY[::7]
    twice = np.concatenate([some, some[:, [0, 2, 1]]])
    options = {"triplets": triplets, "repeats": True, "random_state": 0}
    found = suggest(ens, len(some), strategy, candidates=twice, **options)
    assert_array_equal(np.sort(number_rows(found.array, N)), np.sort(number_rows(some, N)))
    with pytest.raises(InputError, match=r"only 36 are not pending.* or offer others\.$"):
        suggest(ens, len(some) + 1, strategy, candidates=twice, **options)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_anchor_is_asked_more_often_than_the_cap(strategy):
    ens, triplets = ensemble(), answers()
    options = {"triplets": triplets, "repeats": True, "random_state": 0}
    found = suggest(ens, 2 * N, strategy, per_anchor=2, **options)
    assert (np.bincount(found.array[:, 0]) == 2).all()
    some = suggest(ens, 6, strategy, per_anchor=2, **options)
    every = suggest(ens, len(EVERY), strategy, **options)
    seen, expected = np.zeros(N, dtype=int), []
    for row in every.array:  # the best first, as long as its anchor has room
        if seen[row[0]] < 2 and len(expected) < 6:
            seen[row[0]] += 1
            expected.append(row)
    assert_array_equal(some.array, expected)


@pytest.mark.parametrize("strategy", ["mutual_information", "information_gain"])
def test_bits_do_not_stay_with_one_anchor(strategy):
    """Twice an even share, as measured: docs/uses.md."""
    ens, triplets = ensemble(seed=3), answers()
    options = {"triplets": triplets, "repeats": True, "random_state": 0}
    found = suggest(ens, 18, strategy, **options)
    assert np.bincount(found.array[:, 0]).max() == 4
    free = suggest(ens, 18, strategy, per_anchor=18, **options)
    assert np.bincount(free.array[:, 0]).max() > 4
    only = EVERY[EVERY[:, 0] < 2]  # room is made where candidates need it
    some = suggest(ens, 20, strategy, candidates=only, per_anchor=None, **options)
    assert np.bincount(some.array[:, 0]).max() <= 20
    lopsided = np.concatenate([EVERY[EVERY[:, 0] == 0], EVERY[EVERY[:, 0] == 1][:1]])
    assert len(suggest(ens, 29, strategy, candidates=lopsided, **options)) == 29


# --- the default strategy, and random questions without a map -------------------------------------


def test_by_default_the_strategy_suits_the_model():
    draws = ensemble().draws
    for model, strategy in (
        (STEModel(), "mutual_information"),
        (SOEModel(), "uncertainty"),
        (None, "uncertainty"),
    ):
        ens = Ensemble(draws, model=model)
        found = suggest(ens, 7, random_state=0)
        assert found.strategy == strategy
        assert_array_equal(found.array, suggest(ens, 7, strategy, random_state=0).array)
    assert suggest(ensemble(), 7, method="vote").strategy == "uncertainty"  # π is for that alone


def test_a_loop_has_the_same_default():
    start = {"start": noisy_triplets(POINTS, 80, random_state=3)}
    assert ActiveLoop(LAPLACE, **start).strategy == "mutual_information"
    assert ActiveLoop(LAPLACE, **start, method="joint").strategy == "uncertainty"
    with pytest.warns(DataWarning, match="not valid for actively chosen"):
        loop = ActiveLoop(tc.Bootstrap(tc.SOE(2)), **start)
    assert loop.strategy == "uncertainty"


def test_random_questions_need_no_map():
    expected = suggest(ensemble(names=NAMES), 12, "random", random_state=3)
    for objects in (N, np.int64(N), NAMES, list(NAMES)):
        found = suggest(objects, 12, "random", random_state=3)
        assert_array_equal(found.array, expected.array)
        assert found.names == (None if np.ndim(objects) == 0 else expected.names)


def test_random_questions_from_answers_repeat_none_of_them():
    given = tc.Triplets(answers(100), names=NAMES)
    left = len(EVERY) - len(np.unique(number_rows(given.array, N)))
    expected = suggest(ensemble(names=NAMES), left, "random", triplets=given, random_state=0)
    for source in (given, [list(row) for row in np.array(NAMES)[given.array]]):
        found = suggest(source, left, "random", random_state=0)
        assert found.names == expected.names
    again = suggest(given, len(EVERY), "random", repeats=True)
    assert len(again) == len(EVERY)
    others = suggest(given, left, "random", triplets=given[:1], pending=given[1:], random_state=0)
    assert others.names == expected.names


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (2, "3 objects or more, up to 2097151; there are 2"),
        (10**9, "up to 2097151; there are 1000000000"),
        (["a", "b"], "3 objects or more"),
        (["a", "b", "a"], "'a'"),
        (True, "two dimensions"),
        ([[0, 1, 2, 3]], "comparisons of one anchor"),
    ],
)
def test_random_questions_about_something_else(source, message):
    with pytest.raises(InputError, match=message):
        suggest(source, 1, "random")


def test_numbers_of_comparisons_come_back():
    assert_array_equal(comparisons(number_rows(EVERY[:, [0, 2, 1]], N), N), EVERY)


def test_of_many_comparisons_some_are_drawn():
    n = 40
    ens = ensemble(n=n)
    found = suggest(ens, 200, "random", pool=2000, random_state=0)
    assert len(np.unique(number_rows(found.array, n))) == 200
    drawn = Candidates(n, np.empty(0, np.int64), None, 2000, 3)
    assert drawn.is_sample
    assert not drawn.is_all
    sizes = [len(drawn.of(anchor)) for anchor in range(n)]
    pairs = (n - 1) * (n - 2) / 2
    expected = pairs * (1 - np.exp(-2000 / n / pairs))
    assert abs(np.mean(sizes) - expected) < 4 * np.sqrt(expected / n)
    for anchor in range(n):
        one, other = np.divmod(drawn.of(anchor), n)
        assert (one < other).all()
        assert not ((one == anchor) | (other == anchor)).any()
    best = suggest(ens, 5, "uncertainty", random_state=0).scores
    of_some = suggest(ens, 5, "uncertainty", pool=2000, random_state=0).scores
    assert (of_some <= best).all()
    for strategy in ("mutual_information", "information_gain"):
        triplets = answers(100, n)
        told = suggest(ens, 5, strategy, triplets=triplets, pool=2000, random_state=0)
        assert (told.scores > 0).all()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_anchors_of_which_nothing_is_drawn(strategy):
    found = suggest(ensemble(n=40), 1, strategy, triplets=answers(9, 40), pool=1, random_state=0)
    assert len(found) == 1


def test_more_are_drawn_where_most_have_been_answered():
    n = 20
    every = all_comparisons(n)
    left = np.random.default_rng(0).permutation(len(every))[:200]
    answered = np.delete(every, left, axis=0)
    found = suggest(ensemble(n=n), 20, "random", triplets=answered, pool=160, random_state=0)
    assert np.isin(number_rows(found.array, n), number_rows(every[left], n)).all()
    assert len(found) == 20


def test_random_is_uniform():
    drawn = [
        number_rows(suggest(ensemble(), 60, "random", random_state=seed).array, N)
        for seed in range(400)
    ]
    counts = np.unique(np.concatenate(drawn), return_counts=True)[1]
    expected = 400 * 60 / len(EVERY)
    share = 1 - 60 / len(EVERY)
    chi2 = np.sum((counts - expected) ** 2) / (expected * share)
    assert len(counts) == len(EVERY)
    assert abs(chi2 - len(EVERY)) < 5 * np.sqrt(2 * len(EVERY))


@pytest.mark.slow
def test_random_is_uniform_over_pairs_of_questions_too():
    """A pool with as many of each anchor would hardly ever give two of the same anchor."""
    n, repeats, ens = 12, 1000, ensemble(n=12)
    both = [
        suggest(ens, 2, "random", pool=12, random_state=seed, n_jobs=1).array[:, 0]
        for seed in range(repeats)
    ]
    each = (n - 1) * (n - 2) // 2
    share = (each - 1) / (n * each - 1)
    found = np.mean([one == other for one, other in both])
    assert abs(found - share) < 4 * np.sqrt(share * (1 - share) / repeats)


def test_ties_are_broken_by_the_seed():
    same = Ensemble(np.repeat(ensemble().draws[:1], 3, axis=0), model=STEModel())
    found = [suggest(same, 20, "mutual_information", random_state=seed) for seed in (0, 0, 1)]
    assert_array_equal(found[0].array, found[1].array)
    assert (found[0].array != found[2].array).any()
    assert len(np.unique(found[0].array[:, 0])) > 3


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_threads_and_generators_change_nothing(strategy):
    ens, triplets = ensemble(n=30), answers(300, 30)
    rng = np.random.default_rng
    found = [
        suggest(ens, 50, strategy, triplets=triplets, random_state=seed, n_jobs=jobs)
        for seed, jobs in ((4, 1), (4, 2), (4, 3), (rng(2), 1), (rng(2), 2))
    ]
    for other in found[1:3]:
        assert_array_equal(other.array, found[0].array)
        assert_array_equal(other.scores, found[0].scores)
    assert_array_equal(found[3].array, found[4].array)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["uncertainty", "mutual_information"]))
def test_renaming_the_objects_renames_the_suggestions(seed, strategy):
    ens = ensemble(seed=seed)
    order = np.random.default_rng(seed).permutation(N)
    turned = Ensemble(ens.draws[:, order], model=ens.model)
    first, second = (suggest(each, 10, strategy, random_state=0) for each in (ens, turned))
    assert_allclose(first.scores, second.scores, atol=1e-12)
    back = number_rows(order[second.array], N)
    clear = first.scores > first.scores[-1] + 1e-9
    assert set(number_rows(first.array[clear], N)) <= set(back)


# --- what comes back ------------------------------------------------------------------------------


def test_suggestions_have_names_and_can_be_read():
    ens = ensemble(names=NAMES)
    found = suggest(ens, 3, random_state=0)
    assert isinstance(found, Suggestions)
    assert len(found) == 3
    assert list(found) == found.names
    assert_array_equal(np.asarray(found), found.array)
    with pytest.raises(ValueError, match="read-only"):
        found.array[0, 0] = 1
    assert found.names == [tuple(NAMES[i] for i in row) for row in found.array]
    lines = str(found).splitlines()
    assert lines[0].split()[:3] == ["anchor", "one", "other"]
    assert lines[1].split()[:3] == list(found.names[0])
    assert tc.Triplets(found.names, names=NAMES).array.tolist() == found.array.tolist()
    without = suggest(ensemble(), 2, random_state=0)
    assert without.names is None
    assert list(without) == [tuple(row) for row in without.array]
    assert "no score" in str(suggest(ensemble(), 1, "random"))


def test_names_go_in_too():
    ens = ensemble(names=NAMES)
    only = [["ant", "bee", "cat"], ["ant", "cat", "dog"], ["dog", "ant", "eel"]]
    found = suggest(ens, 1, candidates=only, pending=only[:1], triplets=only[1:2])
    assert found.names == [("dog", "ant", "eel")]
    named = tc.Triplets(only[1:2], names=NAMES[::-1])  # in another order: names decide
    assert suggest(ens, 1, candidates=only, pending=only[:1], triplets=named).names == found.names


# --- wrong input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "greedy"}, "strategy must be one of 'uncertainty', .*, got 'greedy'"),
        ({"k": 0}, "k must be a positive whole number, got 0"),
        ({"k": 2.0}, "k must be a positive whole number"),
        ({"k": len(EVERY) + 1}, "253 comparisons were requested, but of all comparisons only 252"),
        ({"k": 20, "per_anchor": 2}, "per_anchor=2 allows only 18"),
        ({"per_anchor": 0}, "per_anchor must be a positive whole number"),
        ({"pool": 0}, "pool must be a positive whole number"),
        ({"n_draws": -1}, "n_draws must be a positive whole number"),
        ({"method": "mean"}, "method must be one of"),
        ({"method": "vote", "strategy": "random"}, "method is for strategy='uncertainty'"),
        ({"candidates": [[0, 1, 2, 3]]}, "candidates: they must be comparisons of one anchor"),
        ({"candidates": [[0, 1, 1]]}, "candidates: row 0"),
        ({"candidates": [[0, 1, N]]}, "candidates: row 0"),
        ({"candidates": [[0, 1]]}, "candidates: "),
        ({"candidates": []}, "of 0 offered only 0"),
        ({"pending": [["ant", "bee", "cat"]]}, "pending: "),
        ({"triplets": [[0, 1, 0]]}, "triplets: row 0"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_wrong_input_is_an_error(options, message):
    with pytest.raises(InputError, match=message):
        suggest(ensemble(), **options)


def test_information_gain_needs_the_answers_so_far():
    with pytest.raises(InputError, match=r"information_gain.* needs the answers so far"):
        suggest(ensemble(), 3, "information_gain")


@pytest.mark.parametrize("strategy", ["mutual_information", "information_gain"])
def test_bits_need_a_model_that_is_a_probability(strategy):
    for model, message in (SOEModel(), "SOE is a loss"), (None, "has no model"):
        ens = Ensemble(ensemble().draws, model=model)
        with pytest.raises(InputError, match=rf"{strategy}.*{message}.*'uncertainty' works"):
            suggest(ens, 3, strategy, triplets=answers())
        assert len(suggest(ens, 3)) == 3


def test_something_else_than_an_ensemble():
    with pytest.raises(InputError, match="ensemble_ of a fitted"):
        suggest(tc.Posterior(tc.STE(2)), 3)
    with pytest.raises(InputError, match=r"got int\. Only strategy='random' also accepts"):
        suggest(N, 3)


# --- the loop -------------------------------------------------------------------------------------

POINTS = np.random.default_rng(8).normal(size=(N, D))
TRUTH = true_triplets(POINTS)
MAKER = tc.Posterior(tc.CKL(2), n_samples=150, n_chains=1, warmup=150, sampler="hmc", n_jobs=1)
LAPLACE = tc.Posterior(tc.CKL(2), n_samples=100, n_chains=1, sampler="laplace", n_jobs=1)


def oracle(asked):
    return true_triplets(POINTS, asked)


def loop_of(strategy="uncertainty", maker=LAPLACE, who=oracle, **options):
    settings = {"start": noisy_triplets(POINTS, 80, random_state=3), "k": 5, "random_state": 0}
    return ActiveLoop(maker, who, strategy=strategy, **(settings | options))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_loop_goes_round(strategy):
    loop = loop_of(strategy, score=TRUTH)
    assert loop.run(2) is loop
    assert [r.round for r in loop.curve] == [0, 1, 2]
    assert [r.n_answers for r in loop.curve] == [80, 85, 90]
    assert len(loop.triplets) == 90
    assert len(loop.pending) == 0
    assert len(np.unique(number_rows(loop.triplets.array, N))) == 90
    last = loop.curve[-1]
    assert last.score == pytest.approx(
        np.mean(loop.ensemble_.answer_probability(TRUTH) > 0.5), abs=1e-12
    )
    assert last.log_loss > 0
    assert last.uncertainty == pytest.approx(loop.ensemble_.average_uncertainty())
    assert len(str(loop).splitlines()) == 4


def test_a_loop_can_be_resumed_and_repeated():
    whole, parts = loop_of().run(3), loop_of().run(1).run(2)
    assert_array_equal(whole.triplets.array, parts.triplets.array)
    assert [r.uncertainty for r in whole.curve] == [r.uncertainty for r in parts.curve]
    other = loop_of(random_state=1).run(3)
    assert (whole.triplets.array != other.triplets.array).any()


def test_ask_and_tell_are_the_two_halves_of_a_step():
    loop, whole = loop_of(who=None), loop_of()
    asked = loop.ask()
    assert_array_equal(loop.pending, asked.array)
    loop.tell(oracle(asked.array)[::-1])
    assert len(loop.pending) == 0
    whole.step()
    assert_array_equal(
        np.sort(number_rows(loop.triplets.array, N)), np.sort(number_rows(whole.triplets.array, N))
    )


def test_comparisons_that_wait_are_not_asked_again():
    loop = loop_of(who=None, repeats=True)
    first, second = loop.ask(), loop.ask(7)
    assert len(loop.curve) == 1  # no answers in between, so one fit
    assert len(loop.pending) == 12
    assert not np.isin(number_rows(first.array, N), number_rows(second.array, N)).any()
    loop.tell(oracle(first.array[:2]))
    assert len(loop.pending) == 10
    assert len(loop.triplets) == 82
    loop.withdraw()
    assert len(loop.pending) == 0
    assert np.isin(number_rows(loop.ask(200).array, N), number_rows(first.array, N)).any()


def test_answers_may_be_signs():
    loop = loop_of(who=None)
    asked = loop.ask().array
    signs = np.where((oracle(asked) == asked).all(axis=1), 1, -1)
    loop.tell(signs)
    assert_array_equal(loop.triplets.array[80:], oracle(asked))
    signed = loop_of(who=lambda asked: np.where((oracle(asked) == asked).all(axis=1), 1, -1))
    signed.step()
    assert_array_equal(signed.triplets.array, loop.triplets.array)


def test_candidates_may_change_from_round_to_round():
    offered = [EVERY[:40], EVERY[40:80]]
    loop = loop_of(candidates=lambda: offered[len(loop.curve) - 1], repeats=True)
    loop.run(2)
    rows = number_rows(loop.triplets.array[80:], N)
    assert np.isin(rows[:5], number_rows(offered[0], N)).all()
    assert np.isin(rows[5:], number_rows(offered[1], N)).all()


def test_an_interruption_loses_at_most_one_round():
    def tired(asked):
        if len(loop.curve) == 2:
            raise KeyboardInterrupt
        return oracle(asked)

    loop = loop_of(who=tired)
    with pytest.raises(KeyboardInterrupt):
        loop.run(3)
    assert len(loop.triplets) == 85
    assert len(loop.pending) == 0
    loop.oracle = oracle
    assert loop.run(1).curve[-1].n_answers == 90


def test_an_interrupted_loop_goes_on_as_if_nothing_had_happened():
    def tired(asked):
        raise KeyboardInterrupt

    loop = loop_of("random", who=tired)
    with pytest.raises(KeyboardInterrupt):
        loop.run(2)
    loop.oracle = oracle
    assert_array_equal(loop.run(2).triplets.array, loop_of("random").run(2).triplets.array)


def test_no_answers_change_nothing():
    loop = loop_of(who=None)
    loop.ask()
    for nothing in ([], np.empty((0, 3), dtype=int)):
        loop.tell(nothing)
    loop.ask()
    assert len(loop.curve) == 1
    assert len(loop.pending) == 10


def test_names_weights_and_scores_of_ones_own():
    start = noisy_triplets(POINTS, 80, random_state=3).array
    start = tc.Triplets(start, names=NAMES, weights=np.full(80, 2))
    loop = loop_of(start=start, score=lambda ens: ens.n_objects)
    loop.run(1)
    assert loop.triplets.names == NAMES
    assert loop.triplets.n_answers == 165
    assert loop.curve[-1].score == N
    assert np.isnan(loop.curve[-1].log_loss)
    asked = loop.ask()
    loop.tell(asked.names)
    assert loop.triplets.n_answers == 170
    held = tc.Triplets(TRUTH[:2], n_objects=N, weights=[3, 1])
    assert len(loop_of(score=held).score) == 4


def test_resampling_chosen_answers_is_warned_about():
    boot = tc.Bootstrap(tc.STE(2, penalty=1 / 30), n_samples=10, n_jobs=1)
    with pytest.warns(DataWarning, match="not valid for actively chosen comparisons.*Posterior"):
        loop = loop_of(maker=boot)
    assert loop.run(1).curve[-1].n_answers == 85
    loop_of("random", maker=boot)  # no warning, which would be an error here


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maker": tc.STE(2)}, "maker must be an unfitted Posterior or Bootstrap"),
        ({"strategy": "best"}, "strategy must be one of"),
        ({"k": 0}, "k must be a positive whole number"),
        ({"per_anchor": 0}, "per_anchor must be a positive whole number"),
        ({"method": "mean"}, "method must be one of"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"who": 5}, "oracle must be a function"),
        ({"candidates": 5}, "candidates: comparisons must have two dimensions"),
        ({"candidates": [[0, 1, 2, 3]]}, "candidates: they must be comparisons of one anchor"),
        ({"random_share": 1.5}, "random_share must be a share"),
        ({"start": None}, "give start, names or n_objects"),
        ({"names": NAMES}, "names are those of the answers in start"),
        ({"score": [[0, 1, 99]]}, "99"),
        ({"score": []}, "score has no answers"),
        ({"score": tc.Triplets(EVERY[:2], weights=[1.5, 1])}, "weights of score"),
        (
            {"maker": tc.Bootstrap(tc.SOE(2)), "strategy": "mutual_information"},
            "SOE is not one; use STE",
        ),
    ],
)
def test_a_loop_checks_what_it_is_given(options, message):
    with pytest.raises(InputError, match=message):
        loop_of(**options)


def test_a_loop_checks_answers():
    loop = loop_of(who=None)
    with pytest.raises(InputError, match="no oracle"):
        loop.step()
    with pytest.raises(InputError, match="rounds must be"):
        loop.run(0)
    asked = loop.ask().array
    with pytest.raises(InputError, match="two rows for one pending"):
        loop.tell([asked[0], asked[0]])
    with pytest.raises(InputError, match="y must have one answer per comparison, 5"):
        loop.tell([1, -1])
    assert len(loop.pending) == 5
    short = loop_of(who=lambda asked: oracle(asked)[:2])
    with pytest.raises(InputError, match=r"must answer every question, 5 of them; got 2 answers"):
        short.step()
    assert len(short.pending) == 0
    stray = loop_of(who=lambda asked: np.roll(oracle(asked), 1, axis=1))
    with pytest.raises(
        InputError, match=r"row 0 .* oracle's answers.* a comparison that was not asked"
    ):
        stray.step()
    assert len(stray.pending) == 0
    assert len(stray.triplets) == 80


def test_answers_to_other_questions_are_taken_too():
    """Random questions, mixed in."""
    loop = loop_of(who=None)
    asked = loop.ask().array
    others = suggest(N, 4, "random", triplets=loop.triplets, pending=asked, random_state=1).array
    loop.tell(oracle(np.concatenate([others, asked[:2]])))
    assert_array_equal(loop.triplets.array[80:], oracle(np.concatenate([others, asked[:2]])))
    assert_array_equal(loop.pending, asked[2:])
    loop.tell(oracle(others))  # whoever asked them may ask them again
    assert len(loop.triplets) == 90
    loop.tell(np.ones(3))  # signs are about what waits
    assert len(loop.triplets) == 93
    assert loop.ensemble_.n_objects == N
    assert loop.curve[-1].n_answers == 93


def test_answers_sent_twice_are_not_counted_twice():
    loop = loop_of(who=None)
    asked = loop.ask().array
    loop.tell(oracle(asked))
    new = EVERY[0] if number_rows(EVERY[:1], N)[0] not in number_rows(asked, N) else EVERY[1]
    with pytest.raises(InputError, match=r"row 1 .* already answered.*repeats=True"):
        loop.tell([new, oracle(asked)[0]])
    assert len(loop.triplets) == 85
    again = loop_of(who=None, repeats=True)
    asked = again.ask().array
    for _ in range(2):
        again.tell(oracle(asked))
    assert len(again.triplets) == 90
    late = loop_of(who=None)
    asked = late.ask().array
    late.withdraw()
    late.tell(oracle(asked))  # came after all
    assert len(late.triplets) == 85


# --- the picture ----------------------------------------------------------------------------------


def test_the_learning_curve_is_drawn():
    from matplotlib import pyplot

    from tercet.plots.learning import learning, plot_learning

    loops = {s: [loop_of(s, score=TRUTH, random_state=r).run(2) for r in range(2)]
             for s in ("random", "uncertainty")}  # fmt: skip
    curves = {label: [loop.curve for loop in own] for label, own in loops.items()}
    shown = learning(curves["random"])
    assert_array_equal(shown.answers, [80, 85, 90])
    both = np.array([[r.score for r in curve] for curve in curves["random"]])
    assert_allclose(shown.mean, both.mean(axis=0))
    assert (shown.low <= shown.mean).all()
    assert (shown.high >= shown.mean).all()
    ax = plot_learning({**curves, "$5": loops["random"]})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "random", "uncertainty", r"\$5"
    ]  # fmt: skip
    assert ax.get_xlabel() == "answers"
    with pytest.raises(InputError, match="no learning curves"):
        plot_learning({})
    with pytest.raises(InputError, match="'random' has no curve"):
        plot_learning({"random": []})
    for single in (loops["random"][0], curves["random"][0]):
        with pytest.raises(InputError, match="put a single one in brackets"):
            plot_learning({"random": single})
    with pytest.raises(InputError, match="rounds without a score"):
        plot_learning({"random": [loop_of("random").run(1)]})
    pyplot.close("all")


def test_curves_of_different_rounds_are_laid_over_each_other():
    from tercet.plots.learning import learning
    from tercet.uses.active.loop import Record

    def curve(*points):
        return [Record(i, n, s, np.nan, np.nan, 0.0) for i, (n, s) in enumerate(points)]

    shown = learning([curve((10, 0.5), (30, 0.7)), curve((20, 0.6), (40, 0.8))])
    assert_array_equal(shown.answers, [20, 30])
    assert_allclose(shown.mean, [0.6, 0.7])
    with pytest.raises(InputError, match="no number of answers in common"):
        learning([curve((10, 0.5), (20, 0.6)), curve((30, 0.6), (40, 0.7))])

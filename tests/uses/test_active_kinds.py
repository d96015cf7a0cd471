"""Questions of every kind: their information by enumeration, and what may be asked."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import tercet as tc
from tercet import Choices, Ensemble, InputError, Triplets
from tercet.models import CKLModel, ShepardModel, SOEModel, STEModel
from tercet.uses.active import suggest
from tercet.uses.active.pool import cover
from tercet.uses.active.question_kinds import KINDS, Kind, number_alike

N, S = 7, 9
NAMES = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu")
MODELS = {
    "STE": (STEModel(), {}),
    "CKL, all": (
        CKLModel(),
        {
            "exponent": np.linspace(0.5, 3, S),
            "mu": np.linspace(0.01, 1, S),
            "lapse": np.linspace(0.0, 0.3, S),
        },
    ),
    "Shepard, lapse": (ShepardModel(), {"lapse": np.full(S, 0.1)}),
}
OTHERS = KINDS[1:]
SHOWN = {"nearest": 4}


def ensemble(model="STE", n=N, seed=0, spread=1.0, **options):
    rng = np.random.default_rng(seed)
    draws = spread * (rng.normal(size=(1, n, 2)) + 0.4 * rng.normal(size=(S, n, 2)))
    kind, parameters = MODELS[model]
    return Ensemble(draws, model=kind, parameters=parameters, **options)


def form(kind):
    return Kind(kind, SHOWN.get(kind, 2))


def ask(ens, k, strategy=None, kind="odd_one_out", **options):
    return suggest(ens, k, strategy, kind=kind, n_shown=SHOWN.get(kind), **options)


def every_question(kind, n=N):
    """All questions, in plain Python."""
    objects = range(n)
    if kind == "odd_one_out":
        return list(combinations(objects, 3))
    if kind == "quadruplet":
        pairs = list(combinations(objects, 2))
        return [(*p, *q) for p, q in combinations(pairs, 2) if not set(p) & set(q)]
    size = 2 if kind == "triplet" else SHOWN[kind]
    return [(a, *rest) for a in objects
            for rest in combinations([i for i in objects if i != a], size)]  # fmt: skip


def alternatives(kind, row):
    if kind == "odd_one_out":
        return list(combinations(row, 2))
    if kind == "quadruplet":
        return [row[:2], row[2:]]
    return [(row[0], other) for other in row[1:]]


def slow_information(ens, kind, row):
    """Enumerates the outcomes: H of the mean distribution less the mean H, in bits."""
    table = []
    for s, x in enumerate(ens.draws):
        own = {k: v[s] for k, v in ens.parameters.items() if k != "lapse"}
        model = type(ens.model)(**{**vars(ens.model), **own})
        squared = [np.sum((x[i] - x[j]) ** 2) for i, j in alternatives(kind, row)]
        odds = np.exp([model.log_similarity(d, 2)[0] for d in squared])
        lapse = ens.parameters["lapse"][s] if "lapse" in ens.parameters else 0.0
        table.append((1 - lapse) * odds / odds.sum() + lapse / len(odds))
    table = np.array(table)

    def entropy(p):
        return -np.sum(p * np.log2(p), axis=-1)

    return entropy(table.mean(axis=0)) - entropy(table).mean()


# --- scores against enumeration ------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_information_is_that_of_all_outcomes(kind, model):
    ens, rows = ensemble(model), every_question(kind)
    found = ask(ens, len(rows), "mutual_information", kind)
    assert sorted(map(tuple, found.array.tolist())) == sorted(rows)
    assert_allclose(found.scores, [slow_information(ens, kind, row) for row in found.array],
                    atol=1e-12)  # fmt: skip
    assert (np.diff(found.scores) <= 0).all()


def test_information_is_that_of_choices_and_their_probabilities():
    """The same from `Ensemble.choice_probability`, which shares no code with it."""
    ens = ensemble("CKL, all")
    found = ask(ens, 10)
    table = np.array(
        [
            [ens.choice_probability(Choices.odd_one_out([turned], n_objects=N), by_draw=True)[:, 0]
             for turned in ((a, b, c), (a, c, b), (b, c, a))]
            for a, b, c in found.array
        ]
    )  # fmt: skip
    assert_allclose(table.sum(axis=1), 1.0)
    mean = table.mean(axis=2)
    bits = -np.sum(mean * np.log2(mean), axis=1)
    bits += np.mean(np.sum(table * np.log2(table), axis=1), axis=1)
    assert_allclose(found.scores, bits, atol=1e-12)


def test_an_answer_tells_at_most_the_logarithm_of_its_outcomes():
    """Far apart, so that similarities underflow: every draw is certain, and draws disagree."""
    ens = ensemble(spread=200.0)
    for kind, outcomes in (("odd_one_out", 3), ("quadruplet", 2), ("nearest", 4)):
        best = ask(ens, 1, "mutual_information", kind).scores[0]
        assert 0.5 < best <= np.log2(outcomes)


@pytest.mark.parametrize("kind", OTHERS)
def test_uncertainty_counts_draws_that_dissent(kind):
    for ens in (ensemble(), Ensemble(ensemble().draws, model=SOEModel())):
        found = ask(ens, 20, "uncertainty", kind)
        for row, score in zip(found.array.tolist(), found.scores, strict=True):
            pairs = np.array(alternatives(kind, row))
            nearest = ens.distances(pairs).argmin(axis=1)
            assert score == pytest.approx(1 - np.bincount(nearest).max() / S)
    assert ask(Ensemble(ens.draws, model=SOEModel()), 3, kind=kind).strategy == "uncertainty"


def test_lapses_are_any_of_the_outcomes():
    lost = Ensemble(ensemble().draws, model=STEModel(), parameters={"lapse": np.ones(S)})
    for kind in OTHERS:
        assert_allclose(ask(lost, 5, "mutual_information", kind).scores, 0.0, atol=1e-12)


def test_a_large_table_is_not_kept(monkeypatch):
    from tercet.uses.active import scores

    expected = ask(ensemble(), 20)
    monkeypatch.setattr(scores, "LARGEST_TABLE", 0)
    found = ask(ensemble(), 20)
    assert_array_equal(found.array, expected.array)
    assert_array_equal(found.scores, expected.scores)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(OTHERS))
def test_renaming_the_objects_renames_the_questions(seed, kind):
    ens = ensemble(seed=seed)
    order = np.random.default_rng(seed).permutation(N)
    turned = Ensemble(ens.draws[:, order], model=ens.model)
    first, second = (ask(each, 8, "mutual_information", kind) for each in (ens, turned))
    assert_allclose(first.scores, second.scores, atol=1e-11)
    back = {tuple(row) for row in form(kind).usual(order[second.array]).tolist()}
    clear = first.scores > first.scores[-1] + 1e-9
    assert {tuple(row) for row in first.array[clear].tolist()} <= back


# --- which may be asked ---------------------------------------------------------------------------


def answers_of(kind, rows, **options):
    rows = np.asarray(rows)
    if kind == "odd_one_out":
        return Choices.odd_one_out(rows[:, [2, 0, 1]], n_objects=N, **options)
    if kind == "nearest":
        return Choices.nearest(rows[:, 0], rows[:, 1:], rows[:, 2:4], n_objects=N, **options)
    return Triplets(rows, n_objects=N, **options)


@pytest.mark.parametrize("strategy", ["mutual_information", "uncertainty", "random"])
@pytest.mark.parametrize("kind", OTHERS)
def test_answered_and_pending_questions_are_left_out(kind, strategy):
    rows = every_question(kind)
    answered, pending = rows[::3], rows[1::3]
    given = answers_of(kind, answered)
    found = ask(
        ensemble(), len(rows[2::3]), strategy, kind, triplets=given, pending=np.array(pending)
    )
    assert sorted(map(tuple, found.array.tolist())) == sorted(rows[2::3])
    again = ask(ensemble(), len(rows) - len(pending), strategy, kind, triplets=given,
                pending=np.array(pending), repeats=True)  # fmt: skip
    assert set(map(tuple, again.array.tolist())) == set(rows) - set(pending)
    with pytest.raises(InputError, match=r"neither answered nor pending.*repeats=True"):
        ask(ensemble(), len(rows), strategy, kind, triplets=given)


@pytest.mark.parametrize("kind", OTHERS)
def test_candidates_in_any_order_count_once(kind):
    some = np.array(every_question(kind)[::4])
    turned = some[:, ::-1] if kind in ("odd_one_out", "quadruplet") else some[:, [0, 2, 1, 4, 3]]
    found = ask(ensemble(), len(some), None, kind, candidates=np.concatenate([some, turned]))
    assert_array_equal(np.unique(found.array, axis=0), np.unique(some, axis=0))
    with pytest.raises(InputError, match=f"of {len(some)} offered only {len(some)}"):
        ask(ensemble(), len(some) + 1, None, kind, candidates=turned)


def test_no_object_is_asked_more_often_than_the_limit():
    ens = ensemble(seed=3)
    found = ask(ens, 7, per_object=3)
    assert np.bincount(found.array.ravel()).max() == 3
    used, expected = np.zeros(N, dtype=int), []
    for row in ask(ens, 35, per_object=35).array:  # the best first, as long as there is room
        if (used[row] < 3).all() and len(expected) < 7:
            used[row] += 1
            expected.append(row)
    assert_array_equal(found.array, expected)
    assert np.bincount(ask(ens, 7).array.ravel()).max() <= 6  # twice an even share
    free = ask(ens, 7, per_object=7)
    assert free.scores.sum() >= ask(ens, 7).scores.sum() >= found.scores.sum()
    with pytest.raises(InputError, match="per_object=1 allows only 2"):
        ask(ens, 7, per_object=1)
    anchors = ask(ens, 14, kind="nearest", per_anchor=2).array[:, 0]
    assert (np.bincount(anchors) == 2).all()
    lopsided = [(0, 1, i) for i in range(2, N)]  # room is made where candidates need it
    assert len(ask(ens, 5, candidates=lopsided)) == 5


@pytest.mark.parametrize("strategy", ["mutual_information", "random"])
@pytest.mark.parametrize("kind", OTHERS)
def test_threads_change_nothing_and_seeds_do(kind, strategy):
    ens = ensemble(n=14)
    found = [
        suggest(ens, 30, strategy, kind=kind, n_shown=SHOWN.get(kind), pool=20_000,
                random_state=seed, n_jobs=jobs)
        for seed, jobs in ((4, 1), (4, 2), (5, 1))
    ]  # fmt: skip
    assert_array_equal(found[0].array, found[1].array)
    assert_array_equal(found[0].scores, found[1].scores)
    if strategy == "random":
        assert (found[0].array != found[2].array).any()


def test_of_many_questions_some_are_drawn():
    n, ens = 30, ensemble(n=30)
    for kind in OTHERS:
        some = suggest(ens, 40, kind=kind, pool=1000, random_state=0)
        assert len(np.unique(some.array, axis=0)) == 40
        assert_array_equal(some.array, Kind(kind, 8).usual(some.array))
    every = np.array(every_question("odd_one_out", 12))
    answered = np.delete(every, np.arange(0, len(every), 20), axis=0)  # draw until one is left
    found = suggest(12, 5, "random", kind="odd_one_out", triplets=answered, pool=10)
    assert len(found) == 5
    with pytest.raises(InputError, match="of all triples only 11"):
        suggest(12, 12, "random", kind="odd_one_out", triplets=answered, pool=10)
    drawn = Kind("odd_one_out").draw(n, 30_000, np.random.default_rng(0))
    counts = np.bincount(drawn.ravel(), minlength=n)
    assert np.abs(counts - 3000).max() < 5 * np.sqrt(3000)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_can_be_counted_drawn_and_read_back(kind):
    what = form(kind)
    rows = np.array(every_question(kind))
    assert what.count(N) == len(rows)
    assert_array_equal(np.unique(what.every(N), axis=0), np.unique(rows, axis=0))
    drawn = what.draw(N, 2000, np.random.default_rng(0))
    assert {tuple(row) for row in drawn.tolist()} <= {tuple(row) for row in rows.tolist()}
    back, at = what.questions_of(what.read(Triplets([[0, 1, 2]], n_objects=N), rows, "rows"))
    assert_array_equal(back, rows)
    assert_array_equal(at, np.arange(len(rows)))


def test_only_questions_of_the_kind_are_found_among_answers():
    both = Choices.concatenate(
        [
            Choices.odd_one_out([[2, 0, 1]], n_objects=N),
            Triplets([[3, 4, 5]], n_objects=N),
            Triplets([[1, 2, 3, 4]], n_objects=N),
            Choices.nearest([6], [[0, 1, 2, 3]], [[2, 1]], n_objects=N),
            Choices([[[0, 1], [2, 3], [4, 5]]], [0], n_objects=N),
        ]
    )
    expected = {"odd_one_out": [[0, 1, 2]], "nearest": [[6, 0, 1, 2, 3]], "triplet": [[3, 4, 5]]}
    for kind, rows in expected.items():
        assert form(kind).questions_of(both)[0].tolist() == rows
    assert form("quadruplet").questions_of(both)[0].tolist() == [[3, 4, 3, 5], [1, 2, 3, 4]]


def test_rows_too_long_for_a_number_are_told_apart():
    rows = np.array([[0, 5, 6, 7, 8, 9], [0, 5, 6, 7, 8, 10], [0, 5, 6, 7, 8, 9]])
    one, other = number_alike(10**6, rows, rows[::-1])
    assert one[0] == one[2] == other[0] == other[2] != one[1]


# --- what comes back, and wrong input -------------------------------------------------------------


@pytest.mark.parametrize("kind", OTHERS)
def test_suggestions_of_a_kind_can_be_read(kind):
    found = ask(ensemble(names=NAMES), 3, kind=kind)
    assert found.kind == kind
    assert list(found) == found.names
    assert found.names == [tuple(NAMES[i] for i in row) for row in found.array]
    lines = str(found).splitlines()
    assert lines[0].split()[: len(found.columns)] == list(found.columns)
    assert "bits about the map" in lines[0]
    assert not found.random.any()
    unsure = ask(ensemble(), 1, "uncertainty", kind)
    assert "draws that dissent" in str(unsure)
    assert ask(ensemble(names=NAMES), 1, kind=kind, candidates=found.names[:1]).names == [
        found.names[0]
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "pair"}, "kind must be one of 'triplet', 'odd_one_out'"),
        ({"kind": "odd_one_out", "n_shown": 3}, "n_shown is for kind='nearest'"),
        ({"kind": "nearest", "n_shown": 1}, "n_shown must be a whole number from 2"),
        ({"kind": "nearest", "n_shown": 8}, "shows 9 objects, and there are only 7"),
        ({"per_object": 2}, "'triplet' has an anchor: use per_anchor, not per_object"),
        ({"kind": "odd_one_out", "per_anchor": 2}, "no anchor: use per_object, not per_anchor"),
        ({"kind": "odd_one_out", "strategy": "information_gain"}, "about the anchor of a triplet"),
        ({"kind": "odd_one_out", "method": "vote"}, "method is for triplets"),
        ({"kind": "quadruplet", "candidates": [[0, 1, 2]]}, "two pairs, four columns, not 3"),
        ({"kind": "odd_one_out", "candidates": [[0, 1, 1]]}, "candidates: row 0"),
        ({"kind": "odd_one_out", "pending": [[0, 1, 99]]}, "pending: row 0"),
        ({"kind": "nearest", "n_shown": 3, "pending": [[0, 1, 2]]}, "4 columns, the anchor and"),
    ],
)
def test_wrong_input_is_an_error(options, message):
    with pytest.raises(InputError, match=message):
        suggest(ensemble(), 3, **options)


def test_information_needs_probabilities():
    loss = Ensemble(ensemble().draws, model=SOEModel())
    with pytest.raises(InputError, match=r"SOE is a loss.*'uncertainty' works"):
        ask(loss, 3, "mutual_information")


# --- the first questions --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_first_questions_are_about_all_objects(kind):
    what, n = Kind(kind, 4 if kind == "nearest" else 2), 20
    nothing = np.empty((0, what.width), dtype=np.int64)
    rng = np.random.default_rng(0)
    rows = cover(what, np.zeros(n, dtype=int), 3, 60, nothing, None, rng)
    counts = np.bincount(rows.ravel(), minlength=n)
    assert counts.min() >= 3
    assert len(rows) <= 1.5 * 3 * n / what.width  # not many more than there must be
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert_array_equal(rows, what.usual(rows))


def test_questions_about_a_new_object_are_with_known_ones():
    seen = np.full(20, 9)
    seen[19] = 0
    what, rng = Kind("odd_one_out"), np.random.default_rng(0)
    nothing = np.empty((0, 3), dtype=np.int64)
    rows = cover(what, seen, 3, 10, nothing, None, rng)
    assert len(rows) == 3
    assert (rows == 19).sum() == 3
    offered = np.array([[0, 1, 2], [3, 4, 19], [5, 6, 19]])
    some = cover(what, seen, 3, 10, offered[1:2], offered, rng)
    assert some.tolist() == [[5, 6, 19]]  # the other was taken, and there is no more


def test_random_questions_of_every_kind_need_no_map():
    for kind in OTHERS:
        expected = ask(ensemble(names=NAMES), 12, "random", kind, random_state=3)
        found = ask(list(NAMES), 12, "random", kind, random_state=3)
        assert found.names == expected.names
        assert found.random.all()
    odd = Choices.odd_one_out([["ant", "bee", "cat"]], names=NAMES)
    assert len(ask(odd, 34, "random")) == 34
    assert tc.suggest([[0, 1, 2], [4, 5, 6]], 33, "random", kind="odd_one_out").array.max() == 6

"""Loops of every kind: without a start, people who withdraw, more objects, chains that go on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tercet as tc
from tercet import ActiveLoop, Choices, InputError, Triplets
from tercet.uses.active import fitting
from tercet.uses.active.question_kinds import KINDS

N = 9
NAMES = tuple("abcdefghi")
POINTS = np.random.default_rng(8).normal(size=(N + 3, 2))
LAPLACE = tc.Posterior(tc.CKL(2), n_samples=100, n_chains=1, sampler="laplace", n_jobs=1)
MODEL = tc.CKL(2).model()


def people(kind, n=N, seed=0, chosen=1):
    """Somebody who answers questions of a kind, with the noise of a model."""
    rng = np.random.default_rng(seed)

    def answer(asked):
        asked = np.asarray(asked)
        if kind == "odd_one_out":
            questions = Choices.odd_one_out(asked, n_objects=n)
        elif kind == "nearest":
            questions = Choices.nearest(
                asked[:, 0], asked[:, 1:], asked[:, 1 : chosen + 1], n_objects=n
            )
        else:
            return tc.simulate.answers_from_model(MODEL, POINTS[:n], asked, random_state=rng)
        return tc.simulate.choices_from_model(MODEL, POINTS[:n], questions, random_state=rng)

    return answer


def loop_of(kind="odd_one_out", maker=LAPLACE, who=None, **options):
    shown = {"n_shown": 4, "n_chosen": 2} if kind == "nearest" else {}
    settings = {"n_objects": N, "k": 5, "random_state": 0, "kind": kind} | shown
    return ActiveLoop(maker, who, **(settings | options))


def start(m=40, kind="odd_one_out", **options):
    asked = tc.suggest(N, m, "random", kind=kind, random_state=1).array
    answers = people(kind, seed=1)(asked)
    if kind == "odd_one_out" and options:
        return Choices.odd_one_out(odd_rows(answers), n_objects=N, **options)
    return answers


def odd_rows(choices):
    """Rows (similar1, similar2, odd) of odd ones out."""
    pairs = choices.pairs.reshape(-1, 3, 2)
    odd = pairs.reshape(-1, 6).sum(axis=1) // 2 - pairs[:, 0].sum(axis=1)
    return np.column_stack([pairs[:, 0], odd])


# --- every kind -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_of_every_kind_starts_from_nothing(kind):
    chosen = 2 if kind == "nearest" else 1
    loop = loop_of(kind, who=people(kind, chosen=chosen), k=9, score=None)
    assert loop.step() is None
    assert loop.curve == []
    first = loop.triplets.array
    assert set(first.ravel().tolist()) == set(range(N))  # all objects
    while loop.step() is None:
        pass
    assert loop.curve[0].n_answers == 27  # three answers per object
    asked = loop.ask()
    assert asked.kind == kind
    assert not asked.random.all()
    assert len(loop.answers) == 27
    if kind == "nearest":
        assert (loop.answers.n_chosen == 2).all()


@pytest.mark.parametrize("kind", KINDS)
def test_ask_and_tell_are_the_two_halves_of_a_step(kind):
    given = {"start": None} if kind == "nearest" else {"start": start(40, kind)}
    loop, whole = (loop_of(kind, who=who, **given) for who in (None, people(kind, chosen=2)))
    asked = loop.ask()
    assert_array_equal(loop.pending, asked.array)
    loop.tell(people(kind, chosen=2)(asked.array)[::-1])
    assert len(loop.pending) == 0
    whole.step()
    assert len(whole.answers) == len(loop.answers)
    assert_array_equal(
        np.sort(loop._form.questions_of(loop.answers)[0], axis=0),
        np.sort(whole._form.questions_of(whole.answers)[0], axis=0),
    )


def test_answers_come_as_rows_names_or_choices():
    loops = [loop_of(names=NAMES, n_objects=None) for _ in range(4)]
    asked, *_ = [loop.ask() for loop in loops]
    assert asked.names == [tuple(NAMES[i] for i in row) for row in asked.array]
    rows = odd_rows(people("odd_one_out")(asked.array))
    loops[0].tell(rows)
    loops[1].tell([[NAMES[i] for i in row] for row in rows])
    loops[2].tell(Choices.odd_one_out(rows, names=NAMES))
    loops[3].tell(Choices.odd_one_out(rows, n_objects=N))  # by number
    for loop in loops[1:]:
        assert loop.answers == loops[0].answers
    assert loops[0].answers.names == NAMES
    with pytest.raises(InputError, match=r"rows or tc\.Choices"):
        loops[0].tell([1, -1])
    quads = loop_of("quadruplet")
    asked = quads.ask().array
    quads.tell([1, 1, -1, 1, 1])
    assert_array_equal(quads.answers.array[2], asked[2][[2, 3, 0, 1]])


def test_other_kinds_of_answers_are_taken_too():
    loop = loop_of("triplet", start=start(40, "triplet"))
    loop.tell(Choices.odd_one_out([[0, 1, 2]], n_objects=N))
    loop.tell(Triplets([[0, 1, 2, 3]], n_objects=N))
    assert isinstance(loop.answers, Choices)
    assert loop.answers.in_words == "1 of 2, 1 of 3"
    assert len(loop.answers) == 42
    assert len(loop.ask()) == 5


def test_the_score_may_be_choices():
    held = start(60)
    loop = loop_of(start=start(), score=held, who=people("odd_one_out"))
    loop.run(1)
    last = loop.curve[-1]
    probability = loop.ensemble_.choice_probability(held)
    assert last.log_loss == pytest.approx(-np.log(probability).mean())
    assert 1 / 3 < last.score <= 1
    loss = tc.Bootstrap(tc.SOE(2), n_samples=5, n_jobs=1, random_state=0)
    with pytest.warns(tc.DataWarning, match="not valid for actively"):
        other = loop_of(maker=loss, start=start(), score=held)
    other.ask()
    assert np.isnan(other.curve[0].log_loss)
    assert other.curve[0].score > 0.2


# --- what is asked --------------------------------------------------------------------------------


def test_random_questions_are_mixed_in():
    loop = loop_of(start=start(), random_share=0.25, strategy="uncertainty")
    shares = [int(loop.ask(k).random.sum()) for k in (4, 2, 2, 1, 3)]
    assert shares == [1, 0, 1, 0, 1]  # a quarter of all so far
    asked = loop.ask(4)
    assert asked.random.tolist() == [False, False, False, True]
    assert "at random" in str(asked).splitlines()[-1]
    assert len(np.unique(loop.pending, axis=0)) == 16
    never = loop_of(start=start(), random_share=0.0)
    assert not never.ask(20).random.any()
    always = loop_of(start=start(), random_share=1.0)
    assert always.ask(6).random.all()


def test_objects_without_answers_come_first():
    rows = odd_rows(start())
    loop = loop_of(start=rows[(rows < N - 1).all(axis=1)])
    asked = loop.ask(3)
    assert (asked.array == N - 1).any(axis=1).all()
    assert loop.curve == []  # which needs no map
    with pytest.warns(tc.DataWarning, match="never mentioned"):
        assert not loop.ask(5).random.any()
    loop.tell(odd_rows(people("odd_one_out")(asked.array)))
    loop.ask(5)


def test_candidates_limit_all_questions():
    offered = tc.suggest(N, 20, "random", kind="odd_one_out", random_state=5).array
    loop = loop_of(candidates=offered, who=people("odd_one_out"), random_share=0.5)
    loop.run(4)
    questions = loop._form.questions_of(loop.answers)[0]
    assert_array_equal(np.unique(questions, axis=0), np.unique(offered, axis=0))
    with pytest.raises(InputError, match="neither answered nor pending"):
        loop.step()


# --- people ---------------------------------------------------------------------------------------


def test_observers_and_times_are_kept():
    loop = loop_of(start=start(6, observers=[1, 1, 2, 2, 3, 3]))
    rows = odd_rows(start(11))[6:]
    loop.tell(Choices.odd_one_out(rows[:2], n_objects=N, observers=[7, 8],
                                  response_times=[0.5, 0.7]))  # fmt: skip
    loop.tell(rows[2:4], observer="eve")
    loop.tell(rows[4:])
    assert loop.answers.observers.tolist() == [
        *"112233", "7", "8", "eve", "eve", "unknown"
    ]  # fmt: skip
    assert_allclose(loop.answers.response_times[6:8], [0.5, 0.7])
    assert np.isnan(loop.answers.response_times[8:]).all()
    triplets = loop_of("triplet", start=Triplets(start(20, "triplet"), observers=[0] * 20))
    triplets.tell(triplets.ask().array, observer=1)
    assert triplets.answers.observers.tolist() == ["0"] * 20 + ["1"] * 5


def test_a_person_can_withdraw():
    loop = loop_of(start=start(30, observers=["old"] * 30))
    for who in ("ann", "bob"):
        asked = loop.ask(observer=who)
        loop.tell(odd_rows(people("odd_one_out")(asked.array[:3])), observer=who)
    assert len(loop.answers) == 36
    assert len(loop.pending) == 4
    before = loop.ensemble_
    loop.withdraw(observer="ann")
    assert len(loop.answers) == 33
    assert "ann" not in loop.answers.observers
    assert len(loop.pending) == 2
    assert loop.ensemble_ is not before
    expected = loop_of(start=loop.answers, random_state=0).ensemble_
    assert len(expected) == len(loop.ensemble_)
    loop.withdraw()
    assert len(loop.pending) == 0
    with pytest.raises(InputError, match="no observer 'ann' in this loop; there are 'bob', 'old'"):
        loop.withdraw(observer="ann")


def test_what_a_person_answered_may_be_asked_again():
    every = tc.suggest(5, 10, "random", kind="odd_one_out", random_state=0).array
    loop = loop_of(n_objects=5, k=10, random_share=0.0, strategy="random")
    assert len(loop.ask(observer=1)) == 10
    loop.tell(every, observer=1)
    with pytest.raises(InputError, match="of all triples only 0"):
        loop.ask(1)
    with pytest.raises(InputError, match="already answered"):
        loop.tell(every[:1], observer=2)
    loop.withdraw(observer=1)
    assert len(loop.answers) == 0
    assert len(loop.ask(10, observer=2)) == 10
    loop.tell(every, observer=2)
    assert len(loop.answers) == 10


# --- more objects ---------------------------------------------------------------------------------


def test_objects_can_be_added():
    loop = loop_of(start=start(), who=people("odd_one_out", N + 2))
    loop.ask()
    loop.withdraw()
    loop.add_objects(2)
    assert loop.answers.n_objects == N + 2
    asked = loop.ask(6)
    new = (asked.array >= N).any(axis=1)
    assert new.sum() >= 3
    assert (asked.array[new] < N).any(axis=1).all()  # with objects that are known
    assert loop.ensemble_.n_objects == N + 2
    named = loop_of(names=NAMES, n_objects=None)
    named.add_objects(["new"])
    assert named.answers.names == (*NAMES, "new")
    with pytest.raises(InputError, match="give a list of the names"):
        named.add_objects(2)
    with pytest.raises(InputError, match="'new'"):
        named.add_objects(["new"])
    with pytest.raises(InputError, match="give how many"):
        loop.add_objects(["x"])


# --- chains that go on ----------------------------------------------------------------------------


MAKER = tc.Posterior(tc.CKL(2), n_samples=300, n_chains=2, warmup=200, n_jobs=1, progress=False)


def warm_loop(**options):
    return loop_of("triplet", MAKER, start=start(200, "triplet"), **options)


@pytest.mark.slow
@pytest.mark.parametrize("by_weight", [True, False])
def test_the_posterior_after_a_few_answers_is_that_of_new_chains(by_weight, monkeypatch):
    if not by_weight:
        monkeypatch.setattr(fitting, "EFFECTIVE", np.inf)
    loop = warm_loop(random_state=3)
    loop.tell(loop.ask(2).array)
    assert len(loop.ensemble_) == (600 if by_weight else fitting.DRAWS)
    if not by_weight:
        assert loop._fitted.chains.plan.warmup == fitting.WARMUP
    cold = warm_loop(random_state=3, warm=False)
    cold.tell(cold.ask(2).array)
    assert len(cold.ensemble_) == 600
    assert_array_equal(loop.triplets.array, cold.triplets.array)
    # The same posterior: distances agree within their Monte Carlo error.
    far, near = (each.ensemble_.distances() for each in (loop, cold))
    error = np.sqrt(near.var(axis=0) * (4 / len(far) + 4 / len(near)))
    gap = (far.mean(axis=0) - near.mean(axis=0)) / error
    assert np.abs(gap).max() < 5
    assert np.mean(gap**2) < 2.5
    assert 0.7 < np.median(far.std(axis=0) / near.std(axis=0)) < 1.4


@pytest.mark.slow
def test_draws_are_weighted_by_the_answers_since():
    loop = warm_loop(random_state=2)
    before = loop.ensemble_
    new = start(200, "triplet")[:3]
    loop.tell(new)
    weight = np.exp(before.log_likelihood(new).sum(axis=1))
    weight /= weight.sum()
    found = loop.ensemble_
    expected = weight @ before.distances()
    error = before.distances().std(axis=0) / np.sqrt(len(before))
    assert (np.abs(found.distances().mean(axis=0) - expected) < error).all()
    times = (found.draws[:, None] == before.draws).all(axis=(2, 3)).sum(axis=0)
    assert np.abs(times - len(before) * weight).max() <= 1.0
    loop.tell(new)  # from the same draws, with all answers since
    weight = weight**2 / np.sum(weight**2)
    times = (loop.ensemble_.draws[:, None] == before.draws).all(axis=(2, 3)).sum(axis=0)
    assert np.abs(times - len(before) * weight).max() <= 1.0


@pytest.mark.slow
def test_a_tie_that_is_new_needs_new_chains():
    loop = loop_of("odd_one_out", MAKER, start=start(60, "odd_one_out"), random_state=2)
    before = len(loop.answers)
    assert "tie" not in loop.ensemble_.parameters
    loop.tell(
        tc.Choices.odd_one_out([[0, 1, 2], [1, 2, 4]], n_objects=N, cannot_tell=[True, False])
    )
    assert len(loop.answers) == before + 2
    assert (loop.ensemble_.parameters["tie"] > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("by_weight", [True, False])
def test_warm_loops_choose_as_well(by_weight, monkeypatch):
    """By the information, under a long run, of what is chosen; random questions tell less."""
    if not by_weight:
        monkeypatch.setattr(fitting, "EFFECTIVE", np.inf)
    loop = warm_loop(random_state=4, random_share=0.0)
    loop.tell(loop.ask(3).array)
    warm = loop.ask(10).array
    long = tc.Posterior(tc.CKL(2), n_samples=1000, n_chains=2, n_jobs=1, random_state=9)
    truth = long.fit(loop.triplets).ensemble_
    best = tc.suggest(truth, 10, triplets=loop.triplets, n_draws=1000, random_state=0)
    blind = tc.suggest(truth, 10, "random", triplets=loop.triplets, random_state=0).array

    def told(rows):
        return tc.suggest(truth, 10, candidates=rows, per_anchor=10, n_draws=1000).scores.mean()

    assert told(warm) > 0.9 * best.scores.mean()
    assert told(warm) > 1.2 * told(blind)


@pytest.mark.slow
@pytest.mark.parametrize("effective", [0.5, np.inf])
def test_updates_have_the_same_bits_and_go_on_alike(effective, monkeypatch):
    monkeypatch.setattr(fitting, "EFFECTIVE", effective)
    loops = [warm_loop(random_state=5, who=people("triplet"), k=4) for _ in range(2)]
    loops[0].run(3)
    for _ in range(3):
        loops[1].run(1)
    assert_array_equal(loops[0].triplets.array, loops[1].triplets.array)
    assert_array_equal(loops[0].ensemble_.draws, loops[1].ensemble_.draws)
    other = warm_loop(random_state=5, who=people("triplet"), k=4)
    other.maker = tc.Posterior(**(MAKER.get_params(deep=False) | {"n_jobs": 2}))
    assert_array_equal(other.run(3).ensemble_.draws, loops[0].ensemble_.draws)


@pytest.mark.slow
def test_chains_start_anew_when_much_has_changed(monkeypatch):
    monkeypatch.setattr(fitting, "EFFECTIVE", np.inf)
    loop = warm_loop(random_state=6)
    assert len(loop.ensemble_) == 600
    loop.tell(start(200, "triplet")[:10])
    assert len(loop.ensemble_) == 200
    loop.tell(start(200, "triplet")[:60])  # more than a quarter more
    assert len(loop.ensemble_) == 600
    monkeypatch.setattr(fitting, "DISAGREE", 1.0)  # no chains agree so well
    loop.tell(start(200, "triplet")[:1])
    assert len(loop.ensemble_) == 600


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "pairs"}, "kind must be one of"),
        ({"n_chosen": 2}, "n_chosen must be 1 at most"),
        ({"kind": "nearest", "n_chosen": 4}, "n_chosen must be 3 at most"),
        ({"names": ["a", "b"]}, "there are 2 names, but n_objects is 9"),
        ({"n_objects": None}, "give start, names or n_objects"),
        ({"per_anchor": 2}, "no anchor: use per_object"),
        ({"kind": "nearest", "start": [[0, 1, 2, 3, 4]]}, r"starts from tc\.Choices"),
    ],
)
def test_a_loop_checks_what_it_is_given(options, message):
    with pytest.raises(InputError, match=message):
        loop_of(**options)


def test_there_is_no_map_without_answers():
    with pytest.raises(InputError, match="no answers yet"):
        _ = loop_of().ensemble_

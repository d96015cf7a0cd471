"""Scores of given embeddings: against published figures, by hand, and on known worlds."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tercet as tc
from tercet.errors import InputError

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(12, 3))


def shown(m, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(12, 3, replace=False) for _ in range(m)])


def odd_ones_out(points, rows, temperature, seed=0, **about):
    """Choices of people whose log-strengths are inner products over a temperature."""
    pairs = rows[:, [[0, 1], [0, 2], [1, 2]]]
    u = np.einsum("rpd,rpd->rp", points[pairs[..., 0]], points[pairs[..., 1]]) / temperature
    chosen = (u + np.random.default_rng(seed).gumbel(size=u.shape)).argmax(axis=1)
    order = np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])[chosen]
    kept = np.take_along_axis(rows, order, axis=1)
    return tc.Choices.odd_one_out(kept, n_objects=len(points), **about)


ODD = odd_ones_out(POINTS, shown(400), 0.8, observers=np.repeat(np.arange(20), 20))


# --- published figures -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "accuracy", "log_loss"),
    [("spose49.npy", 0.6405, 0.8138), ("vice42.npy", 0.6357, 0.8257)],
)
def test_published_embeddings_of_things(file, accuracy, log_loss, data_folder):
    """By the published formula: the softmax of inner products over the three pairs."""
    answers = tc.datasets.load_things().triplets
    features = np.load(data_folder / "exports" / "things" / file)
    found = tc.score_embedding(features, answers, similarity="dot", temperature=1.0)
    assert round(found.accuracy, 4) == accuracy
    assert round(found.log_loss, 4) == log_loss
    assert found.chance == pytest.approx(1 / 3)
    assert 0.64 < found.ceiling.accuracy < 0.73
    assert found.n_answers == 50_000


@pytest.mark.parametrize(("file", "same"), [("GPT_4", 0.457), ("ChatGPT_3.5", 0.347)])
def test_machines_and_people(file, same, data_folder):
    folder = data_folder / "exports" / "things"
    people, machine = (
        tc.Choices.odd_one_out(np.loadtxt(folder / f"llm_2171trials_{name}.txt", dtype=int))
        for name in ("humans", file)
    )
    found = tc.agreement(people, machine)
    assert round(found.share, 3) == same
    assert found.n_questions == 2171
    low, high = found.interval
    assert low < same < high < low + 0.06
    assert found.ceiling == "no screen was shown more than once"
    assert "unknown: no screen" in str(found)


# --- by hand -----------------------------------------------------------------------------------


def by_hand(similarity, choices, temperature):
    rows = choices.pairs.reshape(len(choices), -1, 2)
    a, b = POINTS[rows[..., 0]], POINTS[rows[..., 1]]
    value = np.sum(a * b, axis=-1)
    if similarity == "distance":
        value = -np.linalg.norm(a - b, axis=-1)
    elif similarity == "cosine":
        value = value / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))
    odds = np.exp(value / temperature)
    return value.argmax(axis=1) == 0, odds[:, 0] / odds.sum(axis=1)


@pytest.mark.parametrize("similarity", ["distance", "dot", "cosine"])
def test_odd_ones_out_by_the_formula(similarity):
    found = tc.score_embedding(POINTS, ODD, similarity=similarity, temperature=0.7)
    right, p = by_hand(similarity, ODD, 0.7)
    assert found.accuracy == pytest.approx(right.mean())
    assert found.log_loss == pytest.approx(-np.log(p).mean(), rel=1e-12)
    assert_allclose(found.probability, p, rtol=1e-12)
    assert (found.temperature, found.how) == (0.7, "as given")


@pytest.mark.parametrize(
    "answers",
    [
        tc.Triplets([[0, 1, 2], [3, 4, 5]], n_objects=12, weights=[3, 1]),
        tc.Triplets([[0, 1, 2, 3]], n_objects=12),
        tc.Choices.most_central(shown(8), n_objects=12),
        tc.Choices.nearest([0], [[1, 2, 3, 4]], [[4, 2]], n_objects=12),
        tc.Choices.ranking([5], [[4, 0, 1, 2]], n_objects=12),
        tc.Choices.best_worst([1], [[0, 2, 3]], [0], [3], n_objects=12),
    ],
    ids=["triplets", "quadruplets", "central", "nearest", "ranking", "best and worst"],
)
def test_every_kind_of_answer_has_the_likelihood_of_the_model(answers):
    """−d is the log-similarity of Shepard's law, but for the rounding at zero distance."""
    found = tc.score_embedding(POINTS, answers, temperature=1.0)
    expected = tc.log_likelihood(POINTS, answers, tc.Shepard(gamma=1.0))
    weights = np.ones(len(answers)) if answers.weights is None else answers.weights
    assert found.log_loss == pytest.approx(-expected.sum() / weights.sum(), rel=1e-3)
    satisfied = tc.metrics.satisfied(POINTS, answers)
    assert found.accuracy == pytest.approx(np.average(satisfied, weights=weights))


def test_weights_count_and_screens_are_choices():
    weights = RNG.integers(1, 4, len(ODD)).astype(float)
    weighted = tc.Choices.odd_one_out(_rows(ODD), n_objects=12, weights=weights)
    repeated = ODD[np.repeat(np.arange(len(ODD)), weights.astype(int))]
    one, other = (
        tc.score_embedding(POINTS, answers, temperature=1.0) for answers in (weighted, repeated)
    )
    assert one.accuracy == pytest.approx(other.accuracy)
    assert one.log_loss == pytest.approx(other.log_loss)
    assert one.n_answers == other.n_answers == weights.sum()
    split = tc.score_embedding(POINTS, ODD.triplets(), temperature=1.0)
    assert split.accuracy == tc.score_embedding(POINTS, ODD, temperature=1.0).accuracy


def _rows(choices):
    """Odd ones out as rows (similar1, similar2, odd)."""
    pairs = choices.pairs.reshape(-1, 3, 2)
    odd = pairs.sum(axis=(1, 2)) // 2 - pairs[:, 0].sum(axis=1)
    return np.column_stack([pairs[:, 0], odd])


# --- the temperature ---------------------------------------------------------------------------


@pytest.mark.slow
def test_the_temperature_is_found():
    answers = odd_ones_out(POINTS, shown(3000, 1), 0.8, seed=2)
    found = tc.score_embedding(POINTS, answers, similarity="dot")
    assert found.temperature == pytest.approx(0.8, rel=0.1)
    assert found.how == "from the other of 5 folds of screens"
    scaled = tc.score_embedding(1e4 * POINTS, answers, similarity="dot")
    assert scaled.temperature == pytest.approx(1e8 * found.temperature, rel=0.01)
    assert scaled.log_loss == pytest.approx(found.log_loss, rel=1e-5)
    assert scaled.accuracy == found.accuracy
    best = min(
        tc.score_embedding(POINTS, answers, similarity="dot", temperature=t).log_loss
        for t in found.temperature * np.array([0.97, 1.0, 1.03])
    )
    fitted = tc.score_embedding(
        POINTS, answers, similarity="dot", temperature=found.temperature
    ).log_loss
    assert fitted == pytest.approx(best, abs=1e-6)
    assert fitted <= found.log_loss < fitted + 1e-3


def test_features_without_meaning_are_at_chance():
    """Negative control: a cross-validated temperature cannot gain from noise."""
    noise = np.random.default_rng(5).normal(size=(12, 4))
    answers = odd_ones_out(POINTS, shown(1500, 1), 0.8, seed=2)
    shuffled = tc.Choices.odd_one_out(RNG.permuted(_rows(answers), axis=1), n_objects=12)
    found = tc.score_embedding(noise, shuffled)
    assert abs(found.accuracy - 1 / 3) < 0.05
    assert math.log(3.0) - 0.003 < found.log_loss < math.log(3.0) + 0.02
    same = tc.score_embedding(np.ones((12, 2)), answers)
    assert same.accuracy == pytest.approx(1 / 3)
    assert same.log_loss == pytest.approx(math.log(3.0))


# --- intervals ---------------------------------------------------------------------------------


def test_observers_are_resampled_where_they_are_known():
    found = tc.score_embedding(POINTS, ODD, similarity="dot", temperature=0.8)
    assert (found.unit, found.n_units) == ("observer", 20)
    assert "from resampling 20 observers" in str(found)
    few = tc.score_embedding(POINTS, ODD[:60], temperature=1.0)
    assert few.unit == "screen"
    assert tc.score_embedding(POINTS, ODD, temperature=1.0, unit="answer").n_units == 400
    triplets = tc.Triplets(ODD.triplets().array, n_objects=12)
    assert tc.score_embedding(POINTS, triplets, temperature=1.0).unit == "comparison"


def test_people_who_differ_widen_the_interval():
    rows = shown(1000, 3)
    right, wrong = odd_ones_out(POINTS, rows, 0.01), odd_ones_out(POINTS[::-1], rows, 0.01)
    half = np.repeat(np.arange(10), 100)
    mixed = tc.Choices.concatenate([right[half < 5], wrong[half >= 5]])
    people = tc.Choices.odd_one_out(_rows(mixed), n_objects=12, observers=half)
    by_person, by_question = (
        np.ptp(
            tc.score_embedding(
                POINTS, people, similarity="dot", temperature=1.0, unit=unit
            ).accuracy_interval
        )
        for unit in ("observer", "screen")
    )
    assert by_person > 3.0 * by_question


def test_many_units_have_the_interval_of_resampling(monkeypatch):
    one = tc.score_embedding(POINTS, ODD, temperature=1.0, unit="answer")
    monkeypatch.setattr("tercet.uses.score.resample.MANY", 10)
    other = tc.score_embedding(POINTS, ODD, temperature=1.0, unit="answer")
    assert_allclose(one.accuracy_interval, other.accuracy_interval, atol=0.01)
    assert_allclose(one.log_loss_interval, other.log_loss_interval, atol=0.02)


# --- rows and objects --------------------------------------------------------------------------


def test_rows_are_matched_by_name():
    names = [f"thing {i}" for i in range(12)]
    answers = tc.Choices.odd_one_out(np.array(names)[_rows(ODD)], names=names)
    order = RNG.permutation(12)
    expected = tc.score_embedding(POINTS, ODD, temperature=1.0)
    found = tc.score_embedding(
        POINTS[order], answers, temperature=1.0, names=np.array(names)[order]
    )
    assert found.log_loss == pytest.approx(expected.log_loss)
    more = np.vstack([np.zeros(3), POINTS])
    found = tc.score_embedding(more, answers, temperature=1.0, names=["another", *names])
    assert found.log_loss == pytest.approx(expected.log_loss)
    with pytest.raises(InputError, match=r"no row for 'thing 3' .*mean 'thing 33'"):
        tc.score_embedding(POINTS, answers, names=[*names[:3], "thing 33", *names[4:]])
    with pytest.raises(InputError, match="13 rows, and the answers are about 12 objects"):
        tc.score_embedding(more, answers)


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (POINTS[:11], {}, "11 rows, and the answers are about 12 objects"),
        (POINTS[:, 0], {}, r"got shape \(12,\)"),
        (np.where(np.eye(12, 3) == 1, np.nan, POINTS), {}, r"row 0 .* value nan in column 0 \(3"),
        ([["a"]] * 12, {}, "a table of numbers"),
        (POINTS, {"similarity": "euclid"}, "similarity must be one of 'distance', 'dot'"),
        (POINTS, {"temperature": 0.0}, "temperature must be a positive number"),
        (POINTS, {"names": ["a"]}, "1 names for 12 rows"),
        (POINTS, {"names": ["a"] * 12}, "'a' occurs twice"),
        (POINTS, {"level": 95}, "level must lie between 0 and 1"),
        (POINTS, {"folds": 1}, "too few to fit a temperature in 1 folds"),
        (0.0 * POINTS, {"similarity": "cosine"}, "row 0 .* is zero"),
        (1e200 * POINTS, {"similarity": "dot"}, "too large"),
    ],
)
def test_what_is_refused(X, settings, message):
    with pytest.raises(InputError, match=message):
        tc.score_embedding(X, ODD, **settings)


# --- agreement ---------------------------------------------------------------------------------


def test_agreement_counts_every_question_once():
    people = tc.Choices.odd_one_out(
        [[0, 1, 2], [1, 0, 2], [0, 2, 1], [3, 4, 5], [0, 1, 5]], observers=list("abcab")
    )
    machine = tc.Choices.odd_one_out([[3, 5, 4], [0, 1, 2], [6, 7, 8]])
    found = tc.agreement(people, machine)
    assert_allclose(sorted(found.same), [0.0, 2 / 3])
    assert found.share == pytest.approx(1 / 3)
    assert (found.n_questions, found.n_left_out) == (2, 2)
    assert found.chance == pytest.approx(1 / 3)
    weighted = tc.Choices.odd_one_out([[0, 1, 2], [0, 2, 1], [3, 4, 5]], weights=[2, 1, 1])
    assert tc.agreement(weighted, machine).share == pytest.approx(1 / 3)


def test_agreement_of_triplets_and_of_names():
    rows = tc.simulate.random_comparisons(8, 60, random_state=0)
    turned = np.arange(60) % 4 == 0
    others = np.where(turned[:, None], rows[:, [0, 2, 1]], rows)[::-1]
    assert tc.agreement(rows, others).share == pytest.approx(0.75)
    assert tc.agreement(rows, others).chance == 0.5
    names = list("abcdefgh")
    named, mixed = (tc.Triplets(np.array(names)[each], names=names) for each in (rows, others))
    assert tc.agreement(named, mixed).share == pytest.approx(0.75)
    assert tc.agreement(named, others).share == pytest.approx(0.75)
    assert tc.agreement(rows, mixed).share == pytest.approx(0.75)


def test_the_ceiling_comes_from_repeats():
    """People whose probabilities are those of a symmetric Dirichlet distribution, a = 1."""
    rng = np.random.default_rng(0)
    rows = np.unique(np.sort(shown(1500, 4), axis=1), axis=0)
    p = rng.dirichlet(np.ones(3), len(rows))
    order = np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])
    votes = [np.array([rng.choice(3, p=each) for each in p]) for _ in range(4)]
    answers = [
        tc.Choices.odd_one_out(np.take_along_axis(rows, order[vote], axis=1)) for vote in votes
    ]
    people = tc.Choices.concatenate(answers[:3])
    found = tc.agreement(people, answers[3])
    assert found.between_people == pytest.approx(0.5, abs=0.05)  # (a + 1) / (3 a + 1)
    assert found.share == pytest.approx(0.5, abs=0.08)
    assert found.ceiling.accuracy == pytest.approx(11 / 18, abs=0.05)
    assert "Two people agree in" in str(found)
    again = tc.agreement(answers[0], answers[3], repeats=people)
    assert again.ceiling.accuracy == found.ceiling.accuracy
    assert tc.agreement(answers[0], answers[3]).between_people is None


def test_repeats_of_one_person_are_not_agreement_between_people():
    rows = np.unique(np.sort(shown(400, 4), axis=1), axis=0)
    order = np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])
    rng = np.random.default_rng(0)
    own = [np.take_along_axis(rows, order[rng.integers(3, size=len(rows))], axis=1) for _ in "ab"]
    who = np.repeat(["a", "b", "a", "b"], len(rows))
    answers = tc.Choices.odd_one_out(np.concatenate([*own, *own]), observers=who)
    found = tc.agreement(answers, answers[: len(rows)])
    assert found.between_people == pytest.approx(1 / 3, abs=0.08)
    alone = answers[who == "a"]
    assert tc.agreement(alone, alone).between_people > 0.99


def test_no_common_question_is_an_error():
    with pytest.raises(InputError, match="no question is in both"):
        tc.agreement([[0, 1, 2]], [[3, 4, 5]])


def test_cannot_tell_is_left_out_or_compared():
    told = np.arange(len(ODD)) % 4 > 0
    some = tc.Choices.odd_one_out(_rows(ODD), n_objects=12, cannot_tell=~told)
    found = tc.score_embedding(POINTS, some, temperature=1.0)
    expected = tc.score_embedding(POINTS, ODD[told], temperature=1.0)
    assert found.log_loss == pytest.approx(expected.log_loss)
    assert (found.n_cannot_tell, found.n_answers) == (100, 300)
    assert "100 times “cannot tell”" in str(found)
    with pytest.raises(InputError, match="could not tell in any of the 100"):
        tc.score_embedding(POINTS, some[~told])
    asked = np.unique(np.sort(shown(300, 4), axis=1), axis=0)
    one = tc.Choices.odd_one_out(asked, cannot_tell=np.arange(len(asked)) % 2 == 0)
    other = tc.Choices.odd_one_out(asked, cannot_tell=np.arange(len(asked)) % 4 == 0)
    assert tc.agreement(one, other).share == pytest.approx(0.75, abs=0.01)
    assert tc.agreement(one, other).chance == 0.25
    plain = tc.Choices.odd_one_out(asked)
    assert tc.agreement(one, plain).share == 1.0
    assert tc.agreement(one, plain).n_questions == pytest.approx(len(asked) / 2, abs=1)

"""From a file to findings, in words, in tables and as JSON."""

import csv
import dataclasses
import importlib
import io
import json
import re
import warnings

import numpy as np
import pytest

from tercet import simulate
from tercet.errors import InputError
from tercet.io import Reading, Skipped
from tercet.metrics import expected_calibration_error, reliability_table
from tercet.report import Settings, analyse, as_json, summary
from tercet.report.makers import (
    calibration_limit,
    choose_kind,
    count_screens_once,
    foretell,
    make_maker,
)
from tercet.report.methods import citations, methods
from tercet.report.sureness import measure_sureness
from tercet.report.tables import tables
from tercet.triplets import Triplets
from tercet.uses.compare.misfit import LackOfFit
from tercet.uses.dimension import estimate
from tercet.uses.quality import check_answers

pytestmark = pytest.mark.slow

N = 12
analysis = importlib.import_module("tercet.report.analyse")  # the package's name is its function


def points():
    return simulate.gaussian_mixture(N, random_state=3)[0]


def asked(m, seed=0, **settings):
    rows = simulate.random_comparisons(N, m, replace=True, random_state=seed)
    return simulate.answer(points(), rows, noise=0.3, random_state=seed, **settings)


def reading(triplets, **changes):
    given = {"path": "folder/answers.csv", "format": "tidy", "title": "a tidy table"}
    return Reading(triplets, rows=len(triplets), **(given | changes))


def quick(**settings):
    return Settings(**({"seed": 1, "progress": False} | settings))


@pytest.fixture(scope="module")
def found():
    """A map of twelve objects, the dimension estimated; observers and repeats are there."""
    m = 600
    triplets = Triplets(
        asked(m),
        names=[f"object {i}" for i in range(N)],
        observers=[f"P{i % 5}" for i in range(m)],
    )
    return analyse(reading(triplets), quick())


@pytest.fixture(scope="module")
def of_pairs():
    """A map of quadruplets, bootstrapped, in one dimension."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(N)[:4] for _ in range(300)])
    answers = simulate.answer(points()[:, :1], rows, noise=0.3, random_state=0)
    return analyse(reading(Triplets(answers)), quick(dimension=1, uncertainty="bootstrap"))


@pytest.fixture(scope="module")
def of_stimuli():
    """A file of difference scaling."""
    rng = np.random.default_rng(0)
    rows = np.sort(np.array([rng.permutation(8)[:4] for _ in range(400)]), axis=1)
    perceived = np.linspace(0, 1, 8)[:, None] ** 2
    answers = simulate.answer(perceived, rows, noise=0.4, random_state=0)
    triplets = Triplets(answers, names=[f"{0.1 * k:.1f}" for k in range(8)])
    return analyse(reading(triplets, format="mlds-quads"), quick())


def test_the_dimension_is_found_and_the_map_is_right(found):
    assert found.dimension.dimension == found.n_components == 2
    assert found.kind == "posterior"
    truth = simulate.true_triplets(points())
    p = found.ensemble.triplet_probability(truth)
    assert np.mean(p > 0.5) > 0.85
    assert found.sureness.counted == N * (N - 1) * (N - 2) // 2
    assert found.sureness.expected_error == pytest.approx(np.minimum(p, 1 - p).mean(), abs=0.01)


def test_claims_say_what_was_answered(found):
    rows = found.triplets.array.tolist()
    for claim in (*found.sureness.most, *found.sureness.least, *found.sureness.contested):
        agreed = rows.count([claim.anchor, claim.near, claim.far])
        against = rows.count([claim.anchor, claim.far, claim.near])
        assert (claim.agreed, claim.answers) == (agreed, agreed + against)
        assert claim.probability >= 0.5
    for claims in (found.sureness.most, found.sureness.least):
        assert len({claim.anchor for claim in claims}) == len(claims) == 10
    assert min(c.probability for c in found.sureness.most) > 0.99
    assert max(c.probability for c in found.sureness.least) < 0.6
    assert all(2 * c.agreed < c.answers for c in found.sureness.contested)


def test_objects_have_their_neighbours(found):
    table = found.ensemble.distances()
    pairs = np.stack(np.triu_indices(N, 1), axis=1)
    for each in found.objects:
        own = [k for k, pair in enumerate(pairs.tolist()) if each.number in pair]
        nearest = own[int(np.argmin(table[:, own].mean(axis=0)))]
        assert each.neighbours[0].object in pairs[nearest]
        low, high = each.interval.T
        assert (low < each.position).all()
        assert (each.position < high).all()
    assert sum(each.answers for each in found.objects) == 3 * len(found.triplets)


def test_axes_are_principal_and_point_upwards(found):
    mean = found.ensemble.point_mean()
    spread = (mean - mean.mean(axis=0)).std(axis=0)
    assert spread[0] > spread[1]
    assert (np.arange(N) @ (mean - mean.mean(axis=0)) >= -1e-9).all()
    off = np.cov(mean.T)[0, 1]
    assert abs(off) < 0.05 * spread[0] * spread[1]


def test_answers_are_foretold_by_maps_that_have_not_seen_them(found):
    assert 0.75 < found.foretold.accuracy < 0.95
    assert found.foretold.calibration_error < 0.08
    assert found.foretold.curve.risk[-1] == pytest.approx(1 - found.foretold.accuracy)
    seen = found.ensemble.answer_probability(found.triplets)
    assert -np.log(seen).mean() < found.foretold.log_loss


def test_observers_are_judged_as_by_check(found):
    """Of the same answers and seed, `tercet check` and the report must not say different things."""
    again = check_answers(found.triplets, random_state=1)
    assert found.check.as_dict() == again.as_dict()


def test_stimuli_in_another_order_do_not_change_the_check():
    rng = np.random.default_rng(0)
    rows = np.sort(np.array([rng.permutation(5)[:4] for _ in range(300)]), axis=1)
    answers = simulate.answer(np.linspace(0, 1, 5)[:, None], rows, noise=0.5, random_state=0)
    names = ["-0.5", "-1", "0", "0.5", "1"]  # the first two are out of order
    turned = Triplets(answers, names=names, observers=np.arange(300) % 6)
    told = analyse(reading(turned), quick(uncertainty="scale"))
    assert told.names != turned.names
    assert told.check.as_dict() == check_answers(turned, random_state=1).as_dict()
    assert told.scale.made.unit == "observer"
    assert "bootstrap samples of observers" in methods(told)
    assert "whole observers resampled" in methods(told)
    assert any("from 6 observers resampled" in warning for warning in told.warnings)


def test_few_observers_are_not_people_in_general(found, of_pairs):
    """The box says whom the intervals are about, where nobody else does."""
    few = Triplets(found.triplets, observers=np.arange(600) // 120)
    told = analyse(reading(few), quick(dimension=2, uncertainty="bootstrap"))
    (said,) = (warning for warning in told.warnings if "people in general" in warning)
    assert "by 5 observers, pooled" in said
    assert "pooled into one map and taken as independent given the map" in methods(told)
    alone = Triplets(found.triplets, observers=["me"] * 600)
    one = analyse(reading(alone), quick(dimension=2, uncertainty="bootstrap"))
    assert any("the map is of this observer" in warning for warning in one.warnings)
    assert "All answers are by one observer" in methods(one)
    assert not any("observer" in warning for warning in of_pairs.warnings)
    assert "Who gave each answer was not known" in methods(of_pairs)


def test_observers_who_differ_are_in_the_box():
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(6):
        own = points() + 0.5 * points().std() * rng.normal(size=(N, 2))
        asked_ = simulate.random_comparisons(N, 200, replace=True, random_state=rng)
        parts.append(simulate.answer(own, asked_, noise=0.3, random_state=rng))
    triplets = Triplets(np.concatenate(parts), observers=np.repeat(np.arange(6), 200))
    told = analyse(reading(triplets), quick(dimension=2, uncertainty="bootstrap"))
    (said,) = (warning for warning in told.warnings if "people" in warning)
    assert "of these 6 people: for other people intervals are wider" in said
    assert "A permutation test of differences between observers gave p" in methods(told)


def test_the_same_seed_gives_the_same_bits(found):
    again = analyse(found.reading, Settings(seed=1, n_jobs=1, progress=False))
    assert np.array_equal(again.ensemble.draws, found.ensemble.draws)
    assert json.dumps(as_json(again)) == json.dumps(as_json(found))


def test_a_bootstrap_of_quadruplets(of_pairs):
    assert of_pairs.kind == "bootstrap"
    assert of_pairs.dimension is None
    assert of_pairs.suggestions is None
    assert of_pairs.diagnostics is None
    assert of_pairs.foretold.how == "in 5 folds of comparisons"
    assert of_pairs.foretold.accuracy > 0.75
    assert not of_pairs.sureness.contested
    assert max(each.answers for each in of_pairs.objects) <= len(of_pairs.triplets)
    assert "penalised maximum likelihood" in methods(of_pairs)


def test_difference_scaling_gets_its_scale(of_stimuli):
    assert of_stimuli.kind == "scale"
    assert of_stimuli.scale.stimuli.tolist() == pytest.approx(np.arange(8) * 0.1)
    perceived = np.linspace(0, 1, 8) ** 2
    np.testing.assert_allclose(of_stimuli.ensemble.point_mean()[:, 0], perceived, atol=0.15)
    assert of_stimuli.goodness.deviance_p > 0.01
    assert "difference scaling" in methods(of_stimuli)
    assert "scale" in tables(of_stimuli)


def test_several_answers_of_a_screen_count_as_one():
    screens = [0, 0, 1, 2, 2, 2]
    triplets = Triplets(asked(6), screens=screens, weights=[1, 1, 2, 3, 3, 3])
    assert count_screens_once(triplets).weights.tolist() == [0.5, 0.5, 2, 1, 1, 1]
    single = Triplets(asked(6), screens=range(6))
    assert count_screens_once(single) is single


def test_the_kind_suits_the_file():
    few = reading(Triplets(asked(50)))
    assert choose_kind(few, Settings())[0] == "posterior"
    assert choose_kind(few, Settings(uncertainty="bootstrap")) == ("bootstrap", "as asked for")
    wide = reading(Triplets(asked(50), n_objects=301))
    assert choose_kind(wide, Settings())[0] == "bootstrap"
    scaling = reading(Triplets(asked(50)), format="mlds-triads")
    assert choose_kind(scaling, Settings())[0] == "scale"
    assert choose_kind(scaling, Settings(dimension=2))[0] == "posterior"
    with pytest.raises(InputError, match="uncertainty must be one of"):
        choose_kind(few, Settings(uncertainty="guess"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dimension": 0}, "lies between 1 and 10"),
        ({"dimension": 11}, "lies between 1 and 10"),
        ({"level": 1.0}, "level must lie between"),
        ({"dimension": 2, "dimensions": (1, 2)}, "but not both"),
        ({"dimensions": (1, 12)}, "12 dimensions are more than the answers can carry"),
        ({"dimensions": (2, 1)}, "in rising order"),
        ({"dimensions": (1, 2), "uncertainty": "scale"}, "a scale has one dimension"),
        ({"samples": 10}, "samples must be 20 or more"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(InputError, match=message):
        analyse(reading(Triplets(asked(50))), Settings(**settings))


def test_three_objects_are_no_map():
    with pytest.raises(InputError, match="a map needs 4"):
        analyse(reading(Triplets([[0, 1, 2], [1, 2, 0]])))


def test_few_answers_are_warned_about():
    triplets = Triplets(asked(8), n_objects=N)
    found = analyse(reading(triplets), quick())
    assert found.dimension is None
    assert "could not be estimated" in found.dimension_note
    assert any("too few" in warning for warning in found.warnings)
    assert found.foretold is None
    assert summary(found)


# --- words, tables, JSON ----------------------------------------------------------------------


def test_the_summary_tells_what_was_found(found):
    text = " ".join(summary(found))
    assert "600 answers of 5 observers about 12 objects" in text
    assert "a map of 2 dimensions" in text
    assert f"{100 * found.sureness.share:.3g} % of all comparisons" in text
    assert f"foretell {100 * found.foretold.accuracy:.3g} % of the answers" in text
    anchor = found.names[found.suggestions.array[0, 0]]
    assert f"is {anchor} closer to" in text
    assert "nan" not in text


def test_the_methods_can_be_printed(found):
    text = methods(found)
    for part in ("tercet ", "seed 1", "R-hat", "NumPy", "conditional on the model", "600 answers"):
        assert part in text
    assert any("Lohaus" in work for work in citations(found))


def test_rows_left_out_are_in_the_methods(found):
    skipped = (Skipped("without an answer", 1, "line 3"),)
    again = analyse(
        reading(found.triplets, skipped=skipped), quick(dimension=2, uncertainty="bootstrap")
    )
    assert "1 row of the file without an answer was left out" in methods(again)


def test_tables_hold_everything(found):
    made = tables(found)
    assert set(made) == {
        "objects",
        "comparisons",
        "observers",
        "dimensions",
        "calibration",
        "coverage",
        "questions",
    }
    for table in made.values():
        rows = list(csv.reader(io.StringIO(table.csv())))
        assert rows[0] == table.header
        assert len(rows) == len(table.rows) + 1
        assert {len(row) for row in rows} == {len(table.header)}
    assert [row[0] for row in made["objects"].rows] == list(found.names)
    assert sum(row[2] for row in made["calibration"].rows) == len(found.triplets)


def test_json_has_no_path_and_no_nan(found, of_pairs, of_stimuli):
    for each in (found, of_pairs, of_stimuli):
        text = json.dumps(as_json(each), allow_nan=False)
        assert "folder" not in text
        assert json.loads(text)["file"] == "answers.csv"
    assert as_json(found)["dimension"]["used"] == 2
    assert len(as_json(found)["tables"]["objects"]) == N


def test_every_cited_work_is_named_in_the_methods(found, of_pairs, of_stimuli):
    for each in (found, of_pairs, of_stimuli):
        text = methods(each)
        works = citations(each)
        for work in works:
            assert re.split(r"[ ,]", work)[0] in text, work
        assert ("Künstle" in text) == (each.dimension is not None)


# --- what was found wrong once ----------------------------------------------------------------


def test_losses_and_calibration_are_of_single_answers(found):
    p = found.foretold.probability
    assert found.foretold.log_loss == pytest.approx(-np.log(p).mean())
    assert found.foretold.accuracy == pytest.approx(np.mean(p > 0.5))


def test_votes_on_shared_screens_are_counted_one_by_one():
    votes = np.arange(120) % 3 + 1
    triplets = Triplets(asked(120), screens=np.arange(120) // 2, weights=votes)
    maker = make_maker("posterior", triplets, 2, quick())
    maker.set_params(n_samples=50, n_chains=2, warmup=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = foretell(maker.fit(count_screens_once(triplets)), triplets, quick())
    assert len(told.probability) == votes.sum()
    assert told.curve.risk[-1] == pytest.approx(1 - told.accuracy)


def test_the_limit_of_calibration_is_exceeded_by_chance_once_in_20_times():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1.0, size=300)
    limit = calibration_limit(reliability_table(confidence))
    errors = [
        expected_calibration_error(confidence, rng.random(300) < confidence) for _ in range(1000)
    ]
    assert 0.025 < np.mean(np.array(errors) > limit) < 0.085


def test_as_many_questions_are_suggested_as_are_left():
    rows = simulate.all_comparisons(5)
    for left in (3, 0):
        answers = simulate.answer(points()[:5], rows[left:], noise=0.3, random_state=0)
        found = analyse(reading(Triplets(answers)), quick(dimension=1, uncertainty="bootstrap"))
        if left:
            assert sorted(map(sorted, found.suggestions.array.tolist())) == sorted(
                map(sorted, rows[:left].tolist())
            )
        else:
            assert found.suggestions is None


def test_a_dimension_that_nobody_chose_is_not_said_to_be_chosen():
    few = analyse(reading(Triplets(asked(8), n_objects=N)), quick())
    assert "in advance" not in methods(few)
    assert "could not be estimated" in methods(few)
    assert "unit=" not in " ".join(summary(few))


def test_the_ends_of_a_scale_are_not_called_known_best(of_stimuli):
    (told,) = (said for said in summary(of_stimuli) if "known best" in said)
    assert 1.0 <= float(re.search(r"\(([0-9.]+) times", told)[1]) < 20.0
    assert "of 0.0 is" not in told
    assert "of 0.7 is" not in told


def test_stimuli_are_ordered_by_their_values():
    rng = np.random.default_rng(0)
    rows = np.sort(np.array([rng.permutation(5)[:4] for _ in range(300)]), axis=1)
    answers = simulate.answer(np.linspace(0, 1, 5)[:, None], rows, noise=0.5, random_state=0)
    place = [1, 0, 2, 3, 4]  # as text, -0.5 comes before -1
    turned = Triplets(np.argsort(place)[answers], names=["-0.5", "-1", "0", "0.5", "1"])
    found = analyse(reading(turned), quick(uncertainty="scale"))
    assert found.names == ("-1", "-0.5", "0", "0.5", "1")
    np.testing.assert_allclose(found.ensemble.point_mean()[:, 0], np.linspace(0, 1, 5), atol=0.2)
    assert not any("in this order" in warning for warning in found.warnings)
    named = analyse(reading(Triplets(answers, names=list("abcde"))), quick(uncertainty="scale"))
    assert any("'a', 'b', 'c', 'd', 'e'" in warning for warning in named.warnings)
    with pytest.raises(InputError, match="a scale has one dimension"):
        analyse(reading(turned), quick(uncertainty="scale", dimension=2))


def test_what_quadruplets_do_not_tell_is_left_open(of_pairs):
    assert all(row[-2:] == [None, None] for row in tables(of_pairs)["comparisons"].rows)


def test_what_is_called_least_certain_is_not_sure(of_stimuli, found):
    assert found.sureness.least
    for each in (of_stimuli, found):
        assert all(claim.probability <= 0.95 for claim in each.sureness.least)


def test_the_level_is_among_the_shares(found):
    given = measure_sureness(found.ensemble, found.triplets, 0.85, 1, 1)
    assert dict(given.shares)[0.85] == given.share


def test_dimensions_to_try_are_tried_and_what_hangs_on_stuck_chains_is_not_stated(monkeypatch):
    monkeypatch.setattr(estimate, "R_HAT", 0.0)
    monkeypatch.setattr(analysis, "MOST_FOR_DIMENSION", 150)
    given = quick(dimensions=(1, 2, 3), uncertainty="bootstrap", samples=30)
    found = analyse(reading(Triplets(asked(200))), given)
    assert [row.dimension for row in found.dimension.rows] == [1, 2, 3]
    assert found.dimension.dimension is None
    assert found.is_provisional
    assert found.n_components == 2
    assert found.ensemble.n_samples == 30
    assert found.warnings[0].startswith("How many dimensions the answers need is not decided: the ")
    assert "150 of the 200 answers, drawn at random" in summary(found)[1]
    assert "from 30 bootstrap samples" in methods(found)


def test_the_report_s_own_chains_are_judged():
    found = analyse(reading(Triplets(asked(120))), quick(dimension=2, samples=20))
    assert not found.diagnostics.agree
    assert found.is_provisional
    assert found.warnings[0].startswith("The maps did not settle: the 4 chains disagree about ")
    assert "The map is provisional" in summary(found)[2]


def test_every_reason_for_care_is_in_the_box(found):
    fit = LackOfFit(200.0, 100.0, 0.001, 50, 200, 20, 30, found.check.ceiling)
    told = found.foretold._replace(calibration_error=0.0875, accuracy=0.55, accuracy_error=0.01)
    made = analysis._Made(found.ensemble, "", found.dimension, found.diagnostics, told, fit)
    reading = dataclasses.replace(found.reading, doubts=("Response times look like milliseconds.",))
    said = " ".join(analysis._be_careful(reading, found.check, (), made))
    assert "Response times look like milliseconds." in said
    assert "The model does not fit" in said
    assert "differs from them by 8.75 % on average" in said
    assert "The map predicts 55 % of the answers it has not seen" in said


def test_a_part_of_votes_is_counted_in_answers(monkeypatch):
    monkeypatch.setattr(analysis, "MOST_FOR_DIMENSION", 10)
    answers = Triplets(asked(40), weights=np.full(40, 3))
    part, note = analysis._part(answers, quick())
    assert 10 <= len(part) < 40
    assert f"from {3 * len(part)} of the 120 answers" in note

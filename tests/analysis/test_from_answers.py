"""From answers to an analysis: in words, in tables, as JSON, on a card and in files."""

import csv
import dataclasses
import doctest
import io
import json
import re

import numpy as np
import pytest

import tercet as tc
from tercet import (
    held_out as predict,
)
from tercet import simulate
from tercet.analysis import Settings, analyse, from_answers
from tercet.analysis.numbers import tables
from tercet.analysis.words import summary
from tercet.answers import diagnosis
from tercet.answers.choices import as_answers
from tercet.answers.triplets import Triplets
from tercet.cli.main import main
from tercet.errors import InputError
from tercet.io import Reading, Skipped
from tercet.posterior.diagnostics import Diagnostics
from tercet.uses import certainty
from tercet.uses.compare.comparison import LackOfFit
from tercet.uses.dimension import estimate
from tercet.uses.dimension import tried as settings_of_dimension
from tercet.uses.quality import check_answers

pytestmark = pytest.mark.slow

N = 12
HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "</div>&amp;")


def points():
    return simulate.gaussian_mixture(N, random_state=3)[0]


def asked(m, seed=0, **settings):
    rows = simulate.random_comparisons(N, m, replace=True, random_state=seed)
    return simulate.answer(points(), rows, noise=0.3, random_state=seed, **settings)


def reading(triplets, **changes):
    given = {"path": "folder/answers.csv", "format": "tidy", "title": "a tidy table"}
    return Reading(triplets, rows=len(triplets), **(given | changes))


def quick(answers, **settings):
    """An analysis with the seed 1."""
    return analyse(answers, **({"random_state": 1, "progress": False} | settings))


def settings(**changes):
    """The record of an analysis with the seed 1."""
    usual = dict.fromkeys(field.name for field in dataclasses.fields(Settings))
    return Settings(**(usual | {"seed": 1} | changes))


@pytest.fixture
def two_folds(monkeypatch):
    """For bootstraps whose held-out answers are not looked at: every fold estimates the model."""
    monkeypatch.setattr(from_answers, "FOLDS", 2)


@pytest.fixture(scope="module")
def found():
    """A map of twelve objects, the dimension estimated; observers and repeats are there."""
    m = 600
    triplets = Triplets(
        asked(m),
        names=[f"object {i}" for i in range(N)],
        observers=[f"P{i % 5}" for i in range(m)],
    )
    return quick(reading(triplets))


@pytest.fixture(scope="module")
def of_pairs():
    """A map of quadruplets, bootstrapped, in one dimension."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(N)[:4] for _ in range(300)])
    answers = simulate.answer(points()[:, :1], rows, noise=0.3, random_state=0)
    return quick(reading(Triplets(answers)), dimension=1, uncertainty="bootstrap", samples=20)


@pytest.fixture(scope="module")
def of_stimuli():
    """A file of difference scaling."""
    rng = np.random.default_rng(0)
    rows = np.sort(np.array([rng.permutation(8)[:4] for _ in range(400)]), axis=1)
    perceived = np.linspace(0, 1, 8)[:, None] ** 2
    answers = simulate.answer(perceived, rows, noise=0.4, random_state=0)
    triplets = Triplets(answers, names=[f"{0.1 * k:.1f}" for k in range(8)])
    return quick(reading(triplets, format="mlds-quads"))


def test_the_dimension_is_found_and_the_map_is_right(found):
    assert found.dimension.dimension == found.n_components == 2
    assert found.kind == "posterior"
    truth = simulate.true_triplets(points())
    p = found.ensemble.triplet_probability(truth)
    assert np.mean(p > 0.5) > 0.85
    assert found.certainty.counted == N * (N - 1) * (N - 2) // 2
    assert found.certainty.expected_error == pytest.approx(np.minimum(p, 1 - p).mean(), abs=0.01)


def test_claims_say_what_was_answered(found):
    rows = found.triplets.array.tolist()
    for claim in (*found.certainty.most, *found.certainty.least, *found.certainty.contested):
        agreed = rows.count([claim.anchor, claim.near, claim.far])
        against = rows.count([claim.anchor, claim.far, claim.near])
        assert (claim.agreed, claim.answers) == (agreed, agreed + against)
        assert claim.probability >= 0.5
    for claims in (found.certainty.most, found.certainty.least):
        assert len({claim.anchor for claim in claims}) == len(claims) == 10
    assert min(c.probability for c in found.certainty.most) > 0.99
    assert max(c.probability for c in found.certainty.least) < 0.6
    assert all(2 * c.agreed < c.answers for c in found.certainty.contested)


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


def test_answers_are_predicted_by_maps_that_have_not_seen_them(found):
    assert 0.75 < found.held_out.accuracy < 0.95
    assert found.held_out.calibration_error < 0.08
    assert found.held_out.curve.risk[-1] == pytest.approx(1 - found.held_out.accuracy)
    seen = found.ensemble.answer_probability(found.triplets)
    assert -np.log(seen).mean() < found.held_out.log_loss


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
    told = quick(reading(turned), uncertainty="scale")
    assert told.names != turned.names
    assert told.check.as_dict() == check_answers(turned, random_state=1).as_dict()
    assert told.scale.made.unit == "observer"
    assert "bootstrap samples of observers" in told.methods
    assert "resampling whole observers" in told.methods
    assert any("(6 observers resampled)" in caution for caution in told.cautions)


def test_few_observers_are_not_people_in_general(found, of_pairs, two_folds):
    """The box says whom the intervals are about, where nobody else does."""
    few = Triplets(found.triplets, observers=np.arange(600) // 120)
    told = quick(reading(few), dimension=2, uncertainty="bootstrap", samples=20)
    (said,) = (caution for caution in told.cautions if "people in general" in caution)
    assert "by 5 observers, pooled" in said
    assert "pooled into one map and treated as independent given the map" in told.methods
    alone = Triplets(found.triplets, observers=["me"] * 600)
    one = quick(reading(alone), dimension=2, uncertainty="bootstrap", samples=20)
    assert any("the map is that of this observer" in caution for caution in one.cautions)
    assert "All answers were given by one observer" in one.methods
    assert not any("observer" in caution for caution in of_pairs.cautions)
    assert "It was not known who gave each answer" in of_pairs.methods


def test_observers_who_differ_are_in_the_box(two_folds):
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(6):
        own = points() + 0.5 * points().std() * rng.normal(size=(N, 2))
        asked_ = simulate.random_comparisons(N, 200, replace=True, random_state=rng)
        parts.append(simulate.answer(own, asked_, noise=0.3, random_state=rng))
    triplets = Triplets(np.concatenate(parts), observers=np.repeat(np.arange(6), 200))
    told = quick(reading(triplets), dimension=2, uncertainty="bootstrap", samples=20)
    (said,) = (caution for caution in told.cautions if "people" in caution)
    assert "apply to these 6 people; for people in general, resample whole observers" in said
    assert "A permutation test of differences between observers gave p" in told.methods


def test_the_same_seed_gives_the_same_bits(found):
    again = quick(found.reading, n_jobs=1)
    assert np.array_equal(again.ensemble.draws, found.ensemble.draws)
    assert json.dumps(again.to_dict()) == json.dumps(found.to_dict())


def test_a_bootstrap_of_quadruplets(of_pairs):
    assert of_pairs.kind == "bootstrap"
    assert of_pairs.dimension is None
    assert of_pairs.suggestions is None
    assert of_pairs.diagnostics is None
    assert of_pairs.held_out.how == "in 5 folds of comparisons"
    assert of_pairs.held_out.accuracy > 0.75
    assert not of_pairs.certainty.contested
    assert max(each.answers for each in of_pairs.objects) <= len(of_pairs.triplets)
    assert "maxima a posteriori" in of_pairs.methods


def test_difference_scaling_gets_its_scale(of_stimuli):
    assert of_stimuli.kind == "scale"
    assert of_stimuli.scale.stimuli.tolist() == pytest.approx(np.arange(8) * 0.1)
    perceived = np.linspace(0, 1, 8) ** 2
    np.testing.assert_allclose(of_stimuli.ensemble.point_mean()[:, 0], perceived, atol=0.15)
    assert of_stimuli.goodness.deviance_p > 0.01
    assert "difference scaling" in of_stimuli.methods
    assert "scale" in tables(of_stimuli)


def test_the_kind_suits_the_file():
    def kind(reading, **changes):
        return from_answers.choose_kind(reading, settings(**changes))

    few = reading(Triplets(asked(50)))
    assert kind(few)[0] == "posterior"
    assert kind(few, uncertainty="bootstrap") == ("bootstrap", "as requested")
    assert kind(reading(Triplets(asked(50), n_objects=301)))[0] == "bootstrap"
    scaling = reading(Triplets(asked(50)), format="mlds-triads")
    assert kind(scaling)[0] == "scale"
    assert kind(scaling, dimension=2)[0] == "posterior"
    with pytest.raises(InputError, match="uncertainty must be one of"):
        kind(few, uncertainty="guess")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dimension": 0}, "must be between 1 and 10"),
        ({"dimension": 11}, "must be between 1 and 10"),
        ({"level": 1.0}, "level must be between"),
        ({"dimension": 2, "dimensions": (1, 2)}, ", not both"),
        ({"dimensions": (1, 12)}, "12 dimensions are more than the answers support"),
        ({"dimensions": (2, 1)}, "in increasing order"),
        ({"dimensions": (1, 2), "uncertainty": "scale"}, "a scale has one dimension"),
        ({"samples": 10}, "samples must be at least 20"),
        ({"uncertainty": "guess"}, "uncertainty must be one of 'posterior', 'bootstrap', 'scale'"),
        ({"random_state": -1}, "random_state must be None, a whole number"),
    ],
)
def test_settings_that_cannot_be(given, message):
    with pytest.raises(InputError, match=message):
        analyse(Triplets(asked(50)), **given)


def test_three_objects_are_no_map():
    with pytest.raises(InputError, match="a map needs at least 4"):
        analyse(reading(Triplets([[0, 1, 2], [1, 2, 0]])))


def test_few_answers_are_warned_about():
    triplets = Triplets(asked(8), n_objects=N)
    found = quick(reading(triplets))
    assert found.dimension is None
    assert "could not be estimated" in found.dimension_note
    assert any("too few" in caution for caution in found.cautions)
    assert found.held_out is None
    assert summary(found)


# --- words, tables, JSON ----------------------------------------------------------------------


def test_the_summary_tells_what_was_found(found):
    text = " ".join(summary(found))
    assert "600 answers by 5 observers about 12 objects" in text
    assert "Two dimensions: fewer predict held-out answers worse" in text
    assert f"{100 * found.certainty.share:.3g} % of all comparisons" in text
    assert f"{100 * found.held_out.accuracy:.3g} % of held-out answers are predicted corr" in text
    anchor = found.names[found.suggestions.array[0, 0]]
    assert f"Most informative next question: is {anchor} closer to" in text
    assert "nan" not in text


def test_the_methods_can_be_printed(found):
    text = found.methods
    for part in ("tercet ", "seed 1", "R-hat", "NumPy", "conditional on the model", "600 answers"):
        assert part in text
    assert any("Lohaus" in work for work in found.citations)


def test_rows_left_out_are_in_the_methods(found, two_folds):
    skipped = (Skipped("without an answer", 1, "line 3"),)
    again = quick(
        reading(found.triplets, skipped=skipped), dimension=2, uncertainty="bootstrap", samples=20
    )
    assert "1 row of the file without an answer was left out" in again.methods


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
        text = json.dumps(each.to_dict(), allow_nan=False)
        assert "folder" not in text
        assert json.loads(text)["file"] == "answers.csv"
    assert found.to_dict()["dimension"]["used"] == 2
    assert len(found.to_dict()["tables"]["objects"]) == N


def test_every_cited_work_is_named_in_the_methods(found, of_pairs, of_stimuli):
    for each in (found, of_pairs, of_stimuli):
        text = each.methods
        works = each.citations
        for work in works:
            assert re.split(r"[ ,.]", work)[0] in text, work
        assert ("Künstle" in text) == (each.dimension is not None)


# --- what was found wrong once ----------------------------------------------------------------


def test_losses_and_calibration_are_of_single_answers(found):
    p = found.held_out.probability
    assert found.held_out.log_loss == pytest.approx(-np.log(p).mean())
    assert found.held_out.accuracy == pytest.approx(np.mean(p > 0.5))


def test_as_many_questions_are_suggested_as_are_left(two_folds):
    rows = simulate.all_comparisons(5)
    for left in (3, 0):
        answers = simulate.answer(points()[:5], rows[left:], noise=0.3, random_state=0)
        found = quick(reading(Triplets(answers)), dimension=1, uncertainty="bootstrap", samples=20)
        if left:
            assert sorted(map(sorted, found.suggestions.array.tolist())) == sorted(
                map(sorted, rows[:left].tolist())
            )
        else:
            assert found.suggestions is None


def test_a_dimension_that_nobody_chose_is_not_said_to_be_chosen():
    few = quick(reading(Triplets(asked(8), n_objects=N)))
    assert "was set to" not in few.methods
    assert "could not be estimated" in few.methods
    assert "unit=" not in " ".join(summary(few))


def test_the_ends_of_a_scale_are_not_called_most_certain(of_stimuli):
    (told,) = (said for said in summary(of_stimuli) if "is the most certain" in said)
    assert 1.0 <= float(re.search(r"\(([0-9.]+) times", told)[1]) < 20.0
    assert "of 0.0 is" not in told
    assert "of 0.7 is" not in told


def test_stimuli_are_ordered_by_their_values():
    rng = np.random.default_rng(0)
    rows = np.sort(np.array([rng.permutation(5)[:4] for _ in range(300)]), axis=1)
    answers = simulate.answer(np.linspace(0, 1, 5)[:, None], rows, noise=0.5, random_state=0)
    place = [1, 0, 2, 3, 4]  # as text, -0.5 comes before -1
    turned = Triplets(np.argsort(place)[answers], names=["-0.5", "-1", "0", "0.5", "1"])
    found = quick(reading(turned), uncertainty="scale")
    assert found.names == ("-1", "-0.5", "0", "0.5", "1")
    np.testing.assert_allclose(found.ensemble.point_mean()[:, 0], np.linspace(0, 1, 5), atol=0.2)
    assert not any("in this order" in caution for caution in found.cautions)
    named = quick(reading(Triplets(answers, names=list("abcde"))), uncertainty="scale")
    assert any("'a', 'b', 'c', 'd', 'e'" in caution for caution in named.cautions)
    with pytest.raises(InputError, match="a scale has one dimension"):
        quick(reading(turned), uncertainty="scale", dimension=2)


def test_what_quadruplets_do_not_tell_is_left_open(of_pairs):
    assert all(row[-2:] == [None, None] for row in tables(of_pairs)["comparisons"].rows)


def test_what_is_called_least_certain_is_not_sure(of_stimuli, found):
    assert found.certainty.least
    for each in (of_stimuli, found):
        assert all(claim.probability <= 0.95 for claim in each.certainty.least)


def test_dimensions_to_try_are_tried_and_what_depends_on_stuck_chains_is_not_stated(monkeypatch):
    monkeypatch.setattr(estimate, "R_HAT", 0.0)
    how = {"dimensions": (2, 3, 4), "uncertainty": "bootstrap", "samples": 30}
    found = quick(Triplets(asked(200)), **how)
    assert [row.dimension for row in found.dimension.rows] == [2, 3, 4]
    assert found.dimension.dimension is None
    assert found.is_provisional
    assert found.n_components == 2
    assert found.ensemble.n_samples == 30
    assert found.cautions[0].startswith("The number of dimensions is undecided: the ")
    assert found.dimension.n_answers == 200
    assert found.results.endswith("The map is provisional: the number of dimensions is undecided.")
    assert "from 30 bootstrap samples" in found.methods


def test_the_report_s_own_chains_are_judged():
    found = quick(reading(Triplets(asked(120))), dimension=2, samples=20)
    assert not found.diagnostics.agree
    assert found.is_provisional
    assert found.cautions[0].startswith("The chains did not converge: the 4 chains disagree about ")
    assert "The map is provisional" in summary(found)[2]


def careful(found, *, doubts=(), **changes):
    """The cautions of an analysis of which some parts are changed."""
    made = from_answers._Made(
        **{
            "ensemble": found.ensemble,
            "note": "",
            "dimension": found.dimension,
            "diagnostics": found.diagnostics,
            "held_out": found.held_out,
            "fit": found.lack_of_fit,
        }
        | changes
    )
    read = dataclasses.replace(found.reading, doubts=doubts)
    return from_answers._be_careful(read, found.answers, found.check, found.ceiling, made)


def test_what_is_fine_is_not_in_the_box(found):
    assert careful(found) == found.cautions
    assert not any(
        word in " ".join(found.cautions)
        for word in (
            "does not fit",
            "did not converge",
            "different maps",
            "To save time",
            "misses something",
        )
    )


def test_lack_of_fit_is_in_the_box(found):
    fit = LackOfFit(200.0, 100.0, 0.001, 50, 200, 20, 30, found.check.ceiling)
    assert "The model does not fit" in " ".join(careful(found, fit=fit))


def test_poor_calibration_is_in_the_box(found):
    poor = found.held_out._replace(calibration_error=0.0875)
    assert "observed frequencies by 8.75 % on average" in " ".join(careful(found, held_out=poor))


def test_accuracy_far_below_the_ceiling_is_in_the_box(found):
    low = found.held_out._replace(accuracy=0.55, accuracy_error=0.01)
    said = " ".join(careful(found, held_out=low))
    assert "55 % of held-out answers are predicted correctly, but" in said


def test_chains_that_did_not_converge_are_in_the_box(found):
    stuck = Diagnostics(2.9, 10.0, 10.0, "distances", 0, 4, 1000)
    assert careful(found, diagnostics=stuck)[0].startswith("The chains did not converge")


def test_chains_that_chose_the_dimension_are_in_the_box(found):
    """Also where the choice does not hang on them."""
    rows = [row._replace(agrees=row.dimension != 2) for row in found.dimension.rows]
    rough = dataclasses.replace(found.dimension, rows=tuple(rows))
    assert rough.dimension == 2
    (caution,) = set(careful(found, dimension=rough)) - set(found.cautions)
    assert "In 2 dimensions, the chains with which the number of dimensions was chosen" in caution


def test_doubts_about_the_file_are_in_the_box(found):
    doubt = "Response times look like milliseconds."
    assert doubt in careful(found, doubts=(doubt,))


def test_many_objects_are_judged_by_cross_validation_of_all_answers(monkeypatch):
    """A part of the answers about many objects would be too sparse to show any dimension."""
    monkeypatch.setattr(settings_of_dimension, "MOST_OBJECTS", N - 1)
    found = quick(Triplets(asked(200)), max_dimension=2, uncertainty="bootstrap", samples=30)
    assert [row.dimension for row in found.dimension.rows] == [1, 2]
    assert (found.dimension.by_chains, found.dimension.n_answers) == (False, 200)
    assert all(np.isnan(row.r_hat) for row in found.dimension.rows)
    assert "tried, by cross-validation alone)" in summary(found)[1]
    assert "followed by one of cross-validated log-loss" in found.methods
    told = found.to_dict()
    assert told["dimension"]["by_chains"] is False
    assert told["settings"]["max_dimension"] == 2


# --- the result -------------------------------------------------------------------------------


def test_an_analysis_cannot_be_changed(found):
    for field in dataclasses.fields(found):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(found, field.name, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.settings.level = 0.5
    with pytest.raises(ValueError, match="read-only"):
        found.ensemble.draws[0] = 0.0


def test_answers_come_as_tables_triplets_files_or_readings(tmp_path, two_folds):
    rows = asked(80)
    path = tmp_path / "answers.csv"
    tc.write_triplets(rows, path)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(rows, columns=["anchor", "near", "far"])
    how = {"dimension": 2, "uncertainty": "bootstrap", "samples": 20}
    first, *others = (
        quick(given, **how)
        for given in (path, str(path), tc.read_file(path), Triplets(rows), rows, table)
    )
    for each in others:
        assert np.array_equal(each.ensemble.draws, first.ensemble.draws)
    assert first.to_dict()["file"] == "answers.csv"
    assert others[-1].to_dict()["file"] is None
    assert "read from a table in memory" in others[-1].summary()


def test_everything_survives_json(found, of_stimuli):
    for each in (found, of_stimuli):
        told = each.to_dict()
        assert json.loads(json.dumps(told, allow_nan=False)) == told
    told = found.to_dict()
    assert told["cautions"] == list(found.cautions)
    assert told["held_out"]["accuracy"] == found.held_out.accuracy
    assert told["certainty"]["share"] == found.certainty.share
    assert told["methods"] == found.methods
    assert told["results"] == found.results
    assert told["settings"] == {
        "dimension": None,
        "dimensions": None,
        "max_dimension": None,
        "uncertainty": None,
        "level": 0.95,
        "questions": 10,
        "samples": None,
        "warmup": None,
        "seed": 1,
    }


def test_results_are_what_was_found(found, of_stimuli):
    for number in (
        f"was {found.held_out.accuracy:.3f} (SE",
        f"log-loss {found.held_out.log_loss:.3f}",
        f"{100 * found.certainty.share:.3g} % had a probability above 95 %",
        f"was {found.check.ceiling.accuracy:.3f} (95 %",
    ):
        assert number in found.results
    assert f"Deviance accounted for was {of_stimuli.goodness.daf:.3f}" in of_stimuli.results
    assert f"{found.held_out.accuracy:.3f}" not in found.methods


def test_the_level_reaches_text_numbers_and_picture(found, two_folds):
    again = quick(found.reading, dimension=2, uncertainty="bootstrap", samples=20, level=0.8)
    share = again.certainty.share
    assert again.certainty.level == again.to_dict()["certainty"]["level"] == 0.8
    assert (
        f"{100 * share:.3g} % of all comparisons (is x closer to y or to z?) are more than 80 %"
        in " ".join(summary(again))
    )
    assert f"{100 * share:.3g} % had a probability above 80 %" in again.results
    ax = tc.plots.plot_uncertainty(again.certainty)
    (text,) = (text.get_text() for text in ax.get_legend().get_texts())
    assert text == f"all 660 comparisons: {share:.0%} more than 80% certain"


def test_a_card_shows_names_as_text(found):
    hostile = [*HOSTILE, *(f"object {i}" for i in range(len(HOSTILE), N))]
    triplets = Triplets(
        found.triplets.array, names=hostile, observers=[f"<b>{i % 5}" for i in range(600)]
    )
    told = quick(triplets, dimension=2, uncertainty="bootstrap", samples=20)
    told = dataclasses.replace(told, cautions=(*told.cautions, *HOSTILE, "<b>0"))
    card = told._repr_html_()
    assert not any(name in card for name in (*HOSTILE, "<b>0"))
    assert "&lt;script&gt;alert(1)" in card
    assert re.findall(r"<(\w+)", card).count("img") == 1
    assert set(re.findall(r"<(\w+)", card)) == {"div", "b", "br", "ul", "li", "img"}
    assert f"{100 * told.certainty.share:.3g} %" in card
    assert "600" in card
    assert 'src="data:image/svg+xml;base64,' in card


def test_a_calm_card_has_no_box(of_pairs):
    calm = dataclasses.replace(of_pairs, cautions=())
    assert "careful" not in calm._repr_html_()
    assert "careful" in dataclasses.replace(calm, cautions=("Beware.",))._repr_html_()


def test_it_prints_its_summary(found):
    assert str(found) == found.summary()
    assert found.summary().startswith("- 600 answers by 5 observers about 12 objects")
    for caution in found.cautions:
        assert f"! {caution}"[:40] in found.summary()
    assert repr(found) == "Analysis(600 answers, 12 objects: posterior in 2 dimensions)"


def test_the_command_writes_what_analyse_finds(tmp_path, capsys):
    path, out = tmp_path / "answers.csv", tmp_path / "results"
    tc.write_triplets(Triplets(asked(120), names=[f"object {i}" for i in range(N)]), path)
    how = ["--dim", "2", "--uncertainty", "bootstrap", "--samples", "20", "--seed", "3"]
    assert main(["report", str(path), *how, "--level", "0.9", "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    found = analyse(
        path, dimension=2, uncertainty="bootstrap", samples=20, level=0.9, random_state=3
    )
    assert printed.startswith(found.summary())
    assert json.loads((out / "report.json").read_text("utf-8")) == found.to_dict()
    written = found.write(tmp_path / "again")
    assert written[0] == tmp_path / "again" / "report.html"
    for each in written:
        if each.suffix != ".npz":  # which holds the time it was written
            assert each.read_bytes() == (out / each.name).read_bytes(), each.name
    kept = tc.Ensemble.load(out / "map.npz")
    assert np.array_equal(kept.draws, found.ensemble.draws)
    assert found.write(tmp_path / "page.html") == [tmp_path / "page.html"]
    assert main(["report", str(path), *how, "--level", "0.9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found.to_dict()


@pytest.mark.parametrize("module", [from_answers, certainty, predict])
def test_examples_run(module):
    ran = doctest.testmod(module)
    assert ran.attempted
    assert not ran.failed


def test_the_report_draws_as_the_posterior_does_from_a_file_of_screens(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = ["similar1,similar2,odd"]
    for _ in range(120):
        three = rng.permutation(N)[:3]
        apart = [np.linalg.norm(points()[three[i]] - points()[three[i - 1]]) for i in range(3)]
        two = {int(np.argmin(apart)), int(np.argmin(apart)) - 1 if np.argmin(apart) else 2}
        odd = ({0, 1, 2} - two).pop()
        lines.append(",".join(f"tone {three[i]}" for i in (*two, odd)))
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    how = ["--seed", "4", "--dim", "2", "--samples", "30", "--quiet"]
    assert main(["posterior", "odd.csv", *how, "-o", "drawn.npz"]) == 0
    assert main(["report", "odd.csv", *how, "-o", "report"]) == 0
    drawn, shown = (tc.Ensemble.load(name) for name in ("drawn.npz", "report/map.npz"))
    same = drawn.realigned("scale").in_principal_axes()
    np.testing.assert_array_equal(same.draws, shown.draws)
    for name in ("gamma", "tail", "lapse", "variance"):
        np.testing.assert_array_equal(drawn.parameters[name], shown.parameters[name])
    found = analyse("odd.csv", dimensions=(1, 2, 3), samples=300, random_state=4)
    d, answers = found.dimension.dimension, tc.read_triplets("odd.csv")
    assert found.dimension.rows[d - 1].agrees is not None  # its chains chose the dimension
    alone = tc.Posterior(d, n_samples=300, random_state=4)._fit_quietly(as_answers(answers))
    same = alone.ensemble_.realigned("scale").in_principal_axes()
    np.testing.assert_array_equal(same.draws, found.ensemble.draws)
    for name, column in alone.ensemble_.parameters.items():
        np.testing.assert_array_equal(column, found.ensemble.parameters[name])
    assert alone.diagnostics_.describe() == found.diagnostics.describe()
    assert same.provenance["settings"]["n_samples"] == 300
    assert found.ensemble.provenance["diagnostics"] == same.provenance["diagnostics"]
    fewer = analyse("odd.csv", dimensions=(1, 2, 3), samples=30, random_state=4)
    assert str(fewer.dimension) == str(found.dimension)  # chosen by the same chains
    boot = tc.Bootstrap(2, 30, random_state=4).fit(answers).ensemble_
    also = analyse("odd.csv", dimension=2, uncertainty="bootstrap", samples=30, random_state=4)
    again = boot.realigned("scale").in_principal_axes()
    np.testing.assert_array_equal(again.draws, also.ensemble.draws)


def test_answers_are_diagnosed_by_the_check_and_for_the_cautions_alone(monkeypatch):
    seen = []
    original = diagnosis.diagnose

    def diagnose(*args, **kwargs):
        seen.append(args)
        return original(*args, **kwargs)

    for place in ("tercet.answers.diagnosis", "tercet.uses.quality.check", from_answers.__name__):
        monkeypatch.setattr(f"{place}.diagnose", diagnose)
    quick(reading(Triplets(asked(150))), dimensions=(1, 2), samples=20)
    assert len(seen) == 2

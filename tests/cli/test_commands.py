"""The commands say and write what the Python functions find."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import tercet as tc
from tercet.cli import main
from tercet.errors import ConvergenceWarning
from tercet.io import FORMATS, read_file

OBJECTS = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("commands")
    size = ["--objects", str(OBJECTS), "--answers", "160", "--observers", "4"]
    assert main(["simulate", "-o", str(here / "answers.csv"), *size, "--quiet"]) == 0
    answers = tc.read_triplets(here / "answers.csv")
    named = tc.Triplets(answers, names=[f"tone {i}" for i in range(OBJECTS)])
    tc.write_triplets(named, here / "named.csv")
    post = tc.Posterior(tc.STE(2), sampler="laplace", n_samples=200, random_state=0).fit(named)
    post.ensemble_.save(here / "map.npz")
    return here


@pytest.fixture
def tercet(folder, monkeypatch, tercet):
    """Run a command in the folder."""
    monkeypatch.chdir(folder)
    return tercet


@pytest.fixture
def answers(folder):
    return tc.read_triplets(folder / "answers.csv")


@pytest.fixture
def ensemble(folder):
    return tc.Ensemble.load(folder / "map.npz")


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


# --- files ------------------------------------------------------------------------------------


def test_what_was_recognised_is_said_unless_quiet(tercet):
    _, out, err = tercet("fit", "answers.csv")
    assert err == "Read as a tidy table: 160 answers from 160 rows.\n"
    assert tercet("fit", "answers.csv", "--quiet") == (0, out, "")


def test_rows_that_are_left_out_are_told_even_if_quiet(tercet, folder):
    rows = ["head,left,right,winner,loser"]
    rows += [f"{i},{(i + 1) % 5},{(i + 2) % 5},{(i + 1) % 5},{(i + 2) % 5}" for i in range(5)] * 5
    rows += ["0,1,2,,"]
    (folder / "salmon.csv").write_text("\n".join(rows) + "\n")
    skipped = read_file(folder / "salmon.csv").skipped
    assert sum(each.count for each in skipped) == 1
    _, _, err = tercet("fit", "salmon.csv", "--quiet", "--penalty", "1")
    assert err.startswith("tercet fit: warning: salmon.csv: ")
    assert "left out" in err
    assert "line 27" in err
    _, _, err = tercet("fit", "salmon.csv", "--penalty", "1")
    assert "warning" not in err
    assert "line 27" in err


def test_columns_format_and_names(tercet, folder):
    (folder / "mine.csv").write_text("probe,chosen,other\nb,a,c\na,c,b\n")
    (folder / "names.txt").write_text("c\n\nb\n a\nd\n")
    told = ["--columns", "anchor=probe,near=chosen,far=other", "--format", "tidy"]
    code, out, _ = tercet("fit", "mine.csv", *told, "--names", "names.txt", "--csv")
    assert code == 0
    assert [row["name"] for row in table(out)] == ["c", "b", "a", "d"]


def test_convert(tercet, folder, answers):
    code, out, err = tercet("convert", "answers.csv", "answers.npz")
    assert (code, out) == (0, "")
    assert "Written: 160 answers to answers.npz." in err
    np.testing.assert_array_equal(tc.read_triplets(folder / "answers.npz").array, answers.array)
    assert tercet("convert", "answers.csv", "plain.txt", "--to", "tidy")[0] == 0
    assert (folder / "plain.txt").read_text() == (folder / "answers.csv").read_text()


def test_the_formats_are_listed(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["convert", "--formats"])
    assert not stop.value.code
    text = capsys.readouterr().out
    assert all(f"\n{each.name} " in text for each in FORMATS)


def test_simulate_is_the_same_for_the_same_seed(tercet, folder):
    for name, seed in (("one.csv", 3), ("same.csv", 3), ("other.csv", 4)):
        points = ["--points", f"points_{name}"]
        assert tercet("simulate", "-o", name, "--seed", seed, "--objects", 12, *points)[0] == 0
    one, same, other = ((folder / f"{name}.csv").read_text() for name in ("one", "same", "other"))
    assert one == same != other
    simulated = tc.read_triplets(folder / "one.csv")
    assert (len(simulated), simulated.n_objects) == (1000, 12)
    assert np.unique(simulated.observers, return_counts=True)[1].tolist() == [100] * 10
    points = [[float(row["x1"]), float(row["x2"])] for row in table_of(folder / "points_one.csv")]
    assert 0.02 < tc.metrics.triplet_error(points, simulated) < 0.25  # noise of 0.3


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        (["--kind", "odd-one-out"], "1 of 3"),
        (["--kind", "3of9"], "3 of 9"),
        (["--kind", "nearest", "--shown", 5, "--chosen", 2, "--ranked"], "ranked 2 of 5"),
        (["--kind", "ranking"], "ranking of 4"),
        (["--kind", "most-central"], "farthest of 3"),
        (["--kind", "best-worst"], "nearest and farthest of 4"),
        (["--kind", "quadruplet"], "1 of 2"),
    ],
)
def test_simulated_screens_are_read_as_they_were_answered(tercet, folder, kind, form):
    exact = ["--noise", 0, "--answers", 40, "--observers", 4, "--points", "world.csv"]
    assert tercet("simulate", "-o", "screens.csv", *kind, *exact, "--quiet") == (0, "", "")
    found = tc.read_answers(folder / "screens.csv", n_objects=20)
    found = found if isinstance(found, tc.Choices) else tc.Choices.from_triplets(found)
    assert (len(found), found.in_words) == (40, form)
    assert np.unique(found.observers, return_counts=True)[1].tolist() == [10] * 4
    points = [[float(row["x1"]), float(row["x2"])] for row in table_of(folder / "world.csv")]
    assert tc.metrics.satisfied(points, found).all()


@pytest.mark.slow
def test_simulated_people_agree_as_told(tercet, folder):
    code, _, said = tercet("simulate", "-o", "agree.csv", "--agreement", "74%", "--points", "w.csv")
    assert code == 0
    sigma = float(re.search(r"σ = ([\d.]+), at which two people agree in 74 %", said)[1])
    points = [[float(row["x1"]), float(row["x2"])] for row in table_of(folder / "w.csv")]
    assert tc.simulate.expected_agreement(points, noise=sigma) == pytest.approx(0.74, abs=0.01)


def table_of(path):
    return table(path.read_text())


@pytest.mark.parametrize(("shape", "dimension"), [("normal", 3), ("mixture", 2), ("line", 1)])
def test_shapes_of_simulated_worlds(tercet, folder, shape, dimension):
    shaped = ["--shape", shape, "--dim", dimension, "--noise", 0, "--points", "world.csv"]
    assert tercet("simulate", "-o", "shape.csv", *shaped, "--quiet") == (0, "", "")
    rows = [list(row.values())[1:] for row in table_of(folder / "world.csv")]
    points = np.array(rows, dtype=float)
    assert points.shape == (20, dimension)
    wrong = 1.0 - tc.metrics.satisfied(points, tc.read_triplets(folder / "shape.csv")).mean()
    assert wrong < (0.06 if shape == "line" else 1e-9)  # ties on a line are coins


# --- maps -------------------------------------------------------------------------------------


def test_fit_writes_the_points(tercet, folder, answers):
    expected = tc.STE(2, penalty=1 / 30, random_state=5).fit(answers)
    code, out, _ = tercet("fit", "answers.csv", "-o", "points.csv", "--seed", 5, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["loss"] == expected.loss_
    assert found["training_error"] == pytest.approx(1 - expected.score(answers))
    points = [[row["x1"], row["x2"]] for row in found["points"]]
    np.testing.assert_array_equal(points, expected.embedding_)
    written = table_of(folder / "points.csv")
    assert list(written[0]) == ["name", "x1", "x2"]
    assert [[float(row["x1"]), float(row["x2"])] for row in written] == points


@pytest.mark.parametrize("model", ["ste", "tste", "ckl", "gnmds", "soe"])
def test_fit_knows_every_model(tercet, model):
    code, out, _ = tercet("fit", "named.csv", "--model", model, "--dim", 1)
    assert code == 0
    assert out.startswith(f"{model.upper()} in 1 dimension: loss ")
    assert "\ntone 7 " in out


def test_bootstrap_is_the_library_s(tercet, folder, answers):
    estimator = tc.STE(2, penalty=1 / 30)
    expected = tc.Bootstrap(estimator, n_samples=10, fraction=0.5, unit="observer", random_state=0)
    ensemble = expected.fit(answers).ensemble_
    how = ["--samples", 10, "--fraction", 0.5, "--unit", "observer", "-o", "boot.npz"]
    code, out, err = tercet("bootstrap", "answers.csv", "--model", "ste", *how)
    assert code == 0
    assert "Written: boot.npz" in err
    assert f"Average uncertainty {ensemble.average_uncertainty():.4f}" in out
    assert "name" not in out  # it is in the file
    written = tc.Ensemble.load(folder / "boot.npz")
    np.testing.assert_array_equal(written.draws, ensemble.draws)


def test_without_a_model_both_makers_are_the_recommended_ones(tercet, folder, answers):
    small = ["--samples", 5, "--quiet", "--json"]
    code, out, _ = tercet("bootstrap", "answers.csv", *small, "-o", "boot.npz")
    assert code == 0
    expected = tc.Bootstrap(2, n_samples=5, random_state=0).fit(answers).ensemble_
    np.testing.assert_array_equal(tc.Ensemble.load(folder / "boot.npz").draws, expected.draws)
    assert json.loads(out)["penalty"] == expected.provenance["settings"]["estimator"]["penalty"]
    code, out, _ = tercet("posterior", "answers.csv", *small, "--chains", 1, "-o", "post.npz")
    assert code == 0
    with pytest.warns(ConvergenceWarning):
        expected = tc.Posterior(2, n_samples=5, n_chains=1, random_state=0).fit(answers).ensemble_
    np.testing.assert_array_equal(tc.Ensemble.load(folder / "post.npz").draws, expected.draws)
    assert set(json.loads(out)["parameters"]) == {"gamma", "tail", "lapse", "variance"}


def test_the_paper_s_settings(tercet, folder, answers):
    assert tercet("bootstrap", "answers.csv", "--paper", "-o", "paper.npz", "--quiet")[0] == 0
    with pytest.warns(ConvergenceWarning):
        expected = tc.Bootstrap.paper(tc.STE(2), random_state=0).fit(answers).ensemble_
    found = tc.Ensemble.load(folder / "paper.npz")
    np.testing.assert_array_equal(found.draws, expected.draws)
    code, out, err = tercet("posterior", "answers.csv", "--paper", "--quiet", "--json")
    assert code == 0
    assert "tercet posterior: warning: not converged" in err
    assert json.loads(out)["n_draws"] == 500


def test_posterior_is_the_recommended_model(tercet, folder, answers):
    short = ["--samples", 100, "--warmup", 100, "--chains", 2]
    code, out, _ = tercet("posterior", "answers.csv", *short, "-o", "post.npz", "--json")
    assert code == 0
    learn = ("gamma", "tail", "lapse")
    settings = {"n_samples": 100, "warmup": 100, "n_chains": 2, "random_state": 0}
    expected = tc.Posterior(tc.Shepard(2), learn=learn, **settings)
    with pytest.warns(ConvergenceWarning):
        expected.fit(answers)
    found = json.loads(out)
    written = tc.Ensemble.load(folder / "post.npz")
    np.testing.assert_array_equal(written.draws, expected.ensemble_.draws)
    assert found["parameters"]["lapse"]["mean"] == pytest.approx(written.parameters["lapse"].mean())
    assert found["diagnostics"]["r_hat"] == pytest.approx(expected.diagnostics_.r_hat)
    low, high = written.point_interval(0.95)[3, 1]
    assert found["points"][3]["x2_low"] == pytest.approx(low)
    assert found["points"][3]["x2_high"] == pytest.approx(high)


def test_a_map_of_chains_that_have_not_converged_says_so_wherever_it_is_used(tercet):
    short = ["--samples", 10, "--warmup", 0, "--chains", 2, "-o", "short.npz"]
    code, out, err = tercet("posterior", "named.csv", *short)
    assert code == 0
    assert "Chains have not converged" in out
    assert "wrong, but the chains have not converged." in out
    assert "if they keep disagreeing with four times as many draws" in err
    assert "random_state" not in err
    for command in (["predict", "short.npz", "named.csv"], ["suggest", "short.npz", "-k", 3]):
        code, out, err = tercet(*command)
        assert code == 0
        assert out.startswith("Provisional: the chains have not converged (the ")
        assert "warning: short.npz comes from chains that have not converged" in err
        assert json.loads(tercet(*command, "--json")[1])["problems"]
        _, out, err = tercet(*command, "--csv", "--quiet")
        assert "Provisional" not in out  # it is a table
        assert "provisional" in err
    good = json.loads(tercet("predict", "map.npz", "named.csv", "--json")[1])
    assert good["problems"] == []
    line = ["scale", "answers.csv", "--model", "ste", "--samples", 10]
    _, out, err = tercet(*line)
    assert out.startswith("Provisional: the chains have not converged (")
    assert "not converged" in err


def test_jobs_do_not_change_the_result(tercet):
    how = ["posterior", "answers.csv", "--samples", 60, "--chains", 2, "--csv", "--quiet"]
    assert tercet(*how, "--jobs", 1)[1] == tercet(*how, "--jobs", 2)[1]


def test_of_many_objects_some_comparisons_are_looked_at(ensemble, monkeypatch):
    from tercet.cli import output as maps
    from tercet.ensemble import averages

    exact, words = maps.expected_error(ensemble, 0)
    assert words == "all comparisons"
    monkeypatch.setattr(averages, "EXACT_OBJECTS", OBJECTS - 1)
    assert maps.expected_error(ensemble, 0) == (exact, "all comparisons")  # there are no more
    monkeypatch.setattr(averages, "SAMPLE", 10 * OBJECTS)
    sampled, words = maps.expected_error(ensemble, 0)
    assert words == f"{10 * OBJECTS} random comparisons"
    assert sampled == pytest.approx(exact, abs=4 * sampled.error)


# --- uses -------------------------------------------------------------------------------------


def test_check_counts(tercet):
    code, out, _ = tercet("check", "answers.csv", "--json")
    assert code == 0
    assert json.loads(out)["counts"]["answers"] == 160
    assert len(table(tercet("check", "answers.csv", "--csv")[1])) == 4
    assert tercet("check", "answers.csv")[1].startswith("160 answers")


@pytest.mark.slow
def test_dimension(tercet, folder, answers):
    how = ["--dimensions", "1-2", "--quick", "--folds", 3, "--repeats", 2]
    code, out, _ = tercet("dimension", "answers.csv", *how, "--json", "-o", "dimension.csv")
    assert code == 0
    expected = tc.estimate_dimension(
        answers, [1, 2], folds=3, repeats=2, thorough=False, random_state=0
    )
    found = json.loads(out)
    assert (found["dimension"], found["verdict"]) == (expected.dimension, expected.verdict)
    assert found["dimensions"][1]["accuracy"] == expected.rows[1].accuracy.value
    assert found["dimensions"][0]["p_value"] is None  # NaN
    assert len(table_of(folder / "dimension.csv")) == 2


def test_compare(tercet, answers):
    how = ["--models", "soe,gnmds", "--folds", 2, "--dim", 1]
    code, out, _ = tercet("compare", "answers.csv", *how, "--json")
    assert code == 0
    expected = tc.compare_models(answers, [tc.SOE(1), tc.GNMDS(1)], folds=2, random_state=0)
    found = json.loads(out)
    assert found["best"] == expected.best
    assert found["models"][0]["accuracy"] == expected.scores[0].accuracy
    assert found["models"][0]["log_loss"] is None


def test_models_are_named_with_what_they_learn():
    from tercet.cli.common import make_model

    model = make_model("ckl+exponent+mu", 3)
    assert isinstance(model, tc.Posterior)
    assert model.learn == ("exponent", "mu")
    assert model.estimator.n_components == 3
    assert isinstance(make_model("soe", 2), tc.SOE)


def test_scale_by_numbers_names_and_a_file(tercet, folder):
    line = ["--shape", "line", "--objects", OBJECTS, "--answers", 400, "--quiet"]
    assert tercet("simulate", "-o", "line.csv", *line)[0] == 0
    answers = tc.read_triplets(folder / "line.csv")
    expected = tc.perceptual_scale(answers, n_samples=20, random_state=0)

    def scale(*arguments):
        code, out, _ = tercet("scale", *arguments, "--samples", 20, "--csv")
        assert code == 0
        rows = table(out)
        values = [[float(row[title]) for title in ("scale", "low", "high")] for row in rows]
        wanted = np.column_stack([expected.estimate, expected.interval()])
        np.testing.assert_allclose(values, wanted, atol=1e-9)
        return rows

    numbers = [float(i) for i in range(OBJECTS)]
    assert [float(row["stimulus"]) for row in scale("line.csv")] == numbers
    values = [(i - 3) / 2 for i in range(OBJECTS)]
    by_value = tc.Triplets(answers, names=[str(value) for value in values])
    tc.write_triplets(by_value, folder / "values.csv")
    assert [float(row["stimulus"]) for row in scale("values.csv")] == values
    letters = "hgfedcba"  # sorted by name, they would come the other way round
    tc.write_triplets(tc.Triplets(answers, names=list(letters)), folder / "letters.csv")
    for head in ("name,value\n", ""):
        pairs = "".join(f"{letter},{i}\n" for i, letter in enumerate(letters))
        (folder / "stimuli.csv").write_text(head + pairs)
        rows = scale("letters.csv", "--stimuli", "stimuli.csv")
        assert [row["name"] for row in rows] == list(letters)


@pytest.mark.parametrize(
    ("arguments", "model", "kind"),
    [
        (["--model", "ste"], "STE in one dimension", "posterior"),
        (["--model", "soe"], "SOE in one dimension", "bootstrap"),
        (
            ["--model", "ste", "--unit", "observer", "--uncertainty", "bootstrap"],
            "STE",
            "bootstrap",
        ),
        (["--uncertainty", "parametric", "--lapse"], "signed differences", "parametric"),
    ],
)
def test_kinds_of_scales(tercet, arguments, model, kind):
    code, out, _ = tercet("scale", "answers.csv", "--samples", 40, *arguments, "--json", "--quiet")
    assert code == 0
    found = json.loads(out)
    assert found["model"].startswith(model)
    assert found["uncertainty"] == kind


def test_a_scale_resamples_five_observers_and_says_so(tercet, folder):
    answers = tc.read_triplets(folder / "line.csv")
    many = len(answers)
    for people, unit, about in ((5, "observer", "people in general"), (4, "answer", "these 4 obs")):
        known = tc.Triplets(answers, observers=[f"P{k % people}" for k in range(many)])
        tc.write_triplets(known, folder / "people.csv")
        code, out, _ = tercet("scale", "people.csv", "--samples", 10, "--json")
        found = json.loads(out)
        assert (code, found["unit"], found["observers"]) == (0, unit, people)
        assert about in found["intervals"]
        assert about in tercet("scale", "people.csv", "--samples", 10)[1]
    out = tercet("scale", "people.csv", "--samples", 10, "--unit", "observer", "--json")[1]
    assert json.loads(out)["unit"] == "observer"


def test_predict(tercet, folder, ensemble):
    (folder / "asked.csv").write_text(
        "anchor,near,far\ntone 0,tone 1,tone 2\ntone 3,tone 4,tone 5\n"
    )
    rows = [["tone 0", "tone 1", "tone 2"], ["tone 3", "tone 4", "tone 5"]]
    code, out, _ = tercet("predict", "map.npz", "asked.csv", "--threshold", 0.6, "--json")
    assert code == 0
    found = json.loads(out)["comparisons"]
    assert [row["probability"] for row in found] == ensemble.triplet_probability(rows).tolist()
    assert [row["answer_probability"] for row in found] == pytest.approx(
        ensemble.answer_probability(rows)
    )
    words = {1: "near", -1: "far", 0: "abstains"}
    expected = [words[sign] for sign in ensemble.predict(rows, 0.6).tolist()]
    assert [row["prediction"] for row in found] == expected
    assert "tone 3  tone 4  tone 5" in tercet("predict", "map.npz", "asked.csv")[1]


def test_a_map_without_probabilities_of_answers(tercet, folder):
    how = ["--model", "soe", "--samples", 5, "-o", "soe.npz", "--quiet"]
    assert tercet("bootstrap", "named.csv", *how)[0] == 0
    _, out, _ = tercet("predict", "soe.npz", "named.csv", "--csv")
    assert {row["answer_probability"] for row in table(out)} == {""}
    _, out, _ = tercet("suggest", "soe.npz", "--json")
    assert json.loads(out)["strategy"] == "uncertainty"


def test_suggest_writes_what_predict_and_pending_read(tercet, folder, ensemble):
    how = ["--answers", "named.csv", "-k", 4, "--seed", 2]
    code, out, _ = tercet("suggest", "map.npz", *how, "-o", "next.csv")
    assert code == 0
    named = tc.read_triplets(folder / "named.csv", names=ensemble.names)
    expected = tc.suggest(ensemble, 4, "mutual_information", triplets=named, random_state=2)
    assert out.strip() == str(expected)
    first = [tuple(list(row.values())[:3]) for row in table_of(folder / "next.csv")]
    assert first == expected.names
    assert tercet("predict", "map.npz", "next.csv")[0] == 0
    more = tercet("suggest", "map.npz", *how, "--pending", "next.csv", "--csv")[1]
    second = [tuple(list(row.values())[:3]) for row in table(more)]
    assert not set(first) & set(second)


@pytest.mark.parametrize(
    ("kind", "more"), [("odd_one_out", []), ("quadruplet", []), ("nearest", ["--shown", 3])]
)
def test_suggest_asks_every_kind_of_question(tercet, folder, ensemble, kind, more):
    how = ["suggest", "map.npz", "--kind", kind, *more, "-k", 4, "--seed", 2]
    code, out, _ = tercet(*how, "-o", "kind.csv")
    assert code == 0
    shown = 3 if more else None
    expected = tc.suggest(ensemble, 4, kind=kind, n_shown=shown, random_state=2)
    assert out.strip() == str(expected)
    rows = [tuple(list(row.values())[:-1]) for row in table_of(folder / "kind.csv")]
    assert rows == expected.names
    again = table(tercet(*how, "--pending", "kind.csv", "--csv")[1])
    assert not set(rows) & {tuple(list(row.values())[:-1]) for row in again}


def test_random_questions_need_no_map(tercet, folder):
    how = ["suggest", "--strategy", "random", "-k", 6, "--seed", 3]
    names = [f"tone {i}" for i in range(OBJECTS)]
    (folder / "tones.txt").write_text("\n".join(names))
    named = tc.read_triplets(folder / "named.csv")
    for given, source in (
        (["--objects", OBJECTS], OBJECTS),
        (["--names", "tones.txt"], names),
        (["--answers", "named.csv"], named),
        (["--answers", "answers.csv", "--objects", 30], tc.Triplets(named.array, n_objects=30)),
    ):
        code, out, _ = tercet(*how, *given, "-o", "random.csv")
        assert code == 0
        expected = tc.suggest(source, 6, "random", random_state=3)
        assert out.strip() == str(expected)
        first = {tuple(list(row.values())[:3]) for row in table_of(folder / "random.csv")}
        more = table(tercet(*how, *given, "--pending", "random.csv", "--csv")[1])
        assert not first & {tuple(list(row.values())[:3]) for row in more}


def test_observers_are_left_out_of_what_maps_are_asked_about(tercet, folder, ensemble):
    left = ["--leave-out", "2,3"]
    _, out, err = tercet("predict", "map.npz", "named.csv", "--csv", *left)
    assert len(table(out)) == 80
    assert "Left out: 80 rows by observers '2', '3'." in err
    code, out, err = tercet("suggest", "map.npz", "--answers", "named.csv", "-k", 90, *left)
    assert code == 0
    assert "Left out: 80 rows by observers '2', '3'." in err
    kept = tc.read_triplets(folder / "named.csv", names=ensemble.names)
    kept = kept[~np.isin(kept.observers.astype(str), ["2", "3"])]
    assert out.strip() == str(tc.suggest(ensemble, 90, triplets=kept, random_state=0))


def test_observers_are_left_out_of_the_answers_that_are_held_out(tercet, folder):
    rows = (folder / "answers.csv").read_text().splitlines()
    (folder / "held.csv").write_text("\n".join(rows[:1] + rows[-60:]) + "\n")
    (folder / "nobody.csv").write_text("\n".join(row.rpartition(",")[0] for row in rows[:40]))
    how = ["compare", "answers.csv", "--models", "soe", "--dim", 1, "--leave-out", "1,4"]
    _, _, err = tercet(*how, "--holdout", "held.csv")
    assert "Left out: 80 rows by observers '1', '4'." in err
    assert "Left out: 40 rows by observer '4'." in err  # 1 is not among them
    code, _, err = tercet(*how, "--holdout", "nobody.csv")
    assert (code, err.count("Left out")) == (0, 1)


def test_datasets(tercet, folder):
    _, out, _ = tercet("datasets", "--csv")
    assert [row["name"] for row in table(out)] == [
        each.name for each in tc.datasets.list_datasets()
    ]
    code, out, _ = tercet("datasets", "breast_cancer", "-o", "cells.csv")
    assert code == 0
    assert "UCI" in out
    rows = table_of(folder / "cells.csv")
    features = tc.datasets.load_breast_cancer().features
    assert len(rows) == len(features)
    assert [float(value) for value in list(rows[7].values())[1:]] == features[7].tolist()


# --- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "none.csv"], "there is no file none.csv"),
        (["fit", "."], "is a folder"),
        (["fit", "answers.csv", "-o", "answers.csv"], "answers.csv would be overwritten"),
        (["fit", "answers.csv", "-o", "none/map.csv"], "there is no folder none"),
        (["fit", "answers.csv", "--format", "spss"], "there is no format 'spss'"),
        (["fit", "answers.csv", "--columns", "anchor=probe"], "no column 'probe'"),
        (["fit", "answers.csv", "--names", "none.txt"], "there is no file none.txt"),
        (["fit", "answers.csv", "--names", "empty.txt"], "empty.txt is empty"),
        (["fit", "answers.csv", "--model", "gnmds", "--penalty", 1], "gnmds has no penalty"),
        (["convert", "answers.csv", "x.csv", "--to", "next"], "can only be read"),
        (["bootstrap", "answers.csv", "--paper", "--samples", 9], "--paper sets --samples"),
        (["bootstrap", "alone.csv", "--unit", "observer"], "which observer"),
        (["bootstrap", "answers.csv", "--fraction", 0], "above 0"),
        (["bootstrap", "answers.csv", "--penalty", 1], "--penalty needs --model"),
        (
            ["posterior", "answers.csv", "--paper", "--chains", 2],
            "--paper sets --samples, --warmup,",
        ),
        (["posterior", "answers.csv", "--learn", "speed"], "got 'speed'"),
        (["dimension", "answers.csv", "--dimensions", "3,1"], "increasing order"),
        (["compare", "answers.csv", "--models", "ste,abc"], "there is no model 'abc'"),
        (["compare", "answers.csv", "--models", "soe+lapse"], "no posterior"),
        (["compare", "answers.csv", "--models", "none"], "--models is empty"),
        (["scale", "named.csv"], "--stimuli FILE"),
        (["scale", "answers.csv", "--stimuli", "answers.csv"], "columns, expected two"),
        (["scale", "answers.csv", "--stimuli", "few.csv"], "value of object 1 is missing"),
        (["scale", "answers.csv", "--stimuli", "twice.csv"], "'0' occurs twice"),
        (["scale", "answers.csv", "--model", "ste", "--lapse"], "need --model difference"),
        (
            ["scale", "answers.csv", "--model", "ste", "--unit", "answer"],
            "--unit needs --uncertainty bootstrap",
        ),
        (["predict", "none.npz", "answers.csv"], "'tercet posterior"),
        (["predict", ".", "answers.csv"], "is a folder"),
        (["predict", "answers.csv", "answers.csv"], "answers.csv is not a map"),
        (["predict", "map.npz", "answers.csv"], "not one of the 8 names"),
        (["suggest", "map.npz", "-k", 10**6], "only 168"),
        (["suggest", "map.npz", "--strategy", "information_gain"], "--answers FILE"),
        (["suggest", "map.npz", "--leave-out", "2"], "give --answers FILE"),
        (["suggest", "map.npz", "--shown", 3], "--shown is for --kind nearest"),
        (["suggest", "map.npz", "--per-object", 2], "use --per-anchor, not --per-object"),
        (["suggest", "map.npz", "--objects", 9], "--objects is for questions without a map"),
        (["suggest", "map.npz", "--names", "few.csv"], "--names is for questions without a map"),
        (["suggest", "--answers", "answers.csv"], "informative questions need a map"),
        (["suggest", "--strategy", "random"], "--answers FILE, --names FILE or --objects N"),
        (["suggest", "--strategy", "random", "--objects", 2], "there are 2"),
        (["suggest", "--strategy", "random", "--objects", 9, "--names", "few.csv"], "leave --ob"),
        (
            ["suggest", "--strategy", "random", "--objects", 9, "--answers", "named.csv"],
            "give all of them with --names FILE",
        ),
        (
            ["suggest", "--strategy", "random", "--objects", 3, "--answers", "answers.csv"],
            "the answers have 8 objects",
        ),
        (["predict", "map.npz", "named.csv", "--leave-out", "eve"], "no observer 'eve'"),
        (["simulate", "-o", "x.csv", "--objects", 2], "at least 3 objects"),
        (["simulate", "-o", "x.csv", "--shape", "line", "--dim", 2], "has 1 dimension"),
        (["simulate", "-o", "."], "is a folder"),
        (["simulate", "-o", "x.csv", "--kind", "odd"], "kind must be one of"),
        (["simulate", "-o", "x.csv", "--kind", "3of9", "--objects", 9], "is about 10 objects"),
        (["simulate", "-o", "x.csv", "--noise", 1, "--agreement", ".7"], "either --noise or"),
        (["simulate", "-o", "x.csv", "--agreement", ".4"], "must be above 0.5"),
        (["datasets", "nope"], "there is no data set 'nope'"),
        (["datasets", "-o", "x.csv"], "give the NAME of a data set"),
        (["datasets", "breast_cancer", "--which", "test"], "has only one part"),
        (["datasets", "breast_cancer", "--stimuli", "x.csv"], "no physical values"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else None,
)
def test_bad_input_is_told_in_a_line(tercet, folder, arguments, words):
    (folder / "empty.txt").write_text("\n")
    (folder / "few.csv").write_text("name,value\n0,1\n")
    (folder / "twice.csv").write_text("name,value\n0,1\n0,2\n")
    write_without_observers(folder)
    code, out, err = tercet(*arguments)
    assert (code, out) == (2, "")
    told = [line for line in err.splitlines() if not line.startswith("Read as")]
    assert len(told) == 1
    assert told[0].startswith(f"tercet {arguments[0]}: ")
    assert words in told[0]
    assert not (folder / "x.csv").exists()


def write_without_observers(folder):
    answers = tc.read_triplets(folder / "answers.csv")
    tc.write_triplets(tc.Triplets(answers.array), folder / "alone.csv")


PYTHON_WORDS = re.compile(r"`|\w\(|\b(?!--)\w+=|\btc\.|\b[a-z]+_[a-z]+\b|in Python")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["scale", "answers.csv", "--uncertainty", "posterior"], "--uncertainty bootstrap, or an"),
        (
            ["bootstrap", "alone.csv", "--unit", "observer"],
            "add a column observer, or use --unit",
        ),
        (["dimension", "answers.csv", "--unit", "screen"], "add a column screen"),
        (["compare", "answers.csv", "--unit", "screen"], "add a column screen"),
        (
            ["compare", "answers.csv", "--models", "soe+lapse"],
            "or a bootstrap, which works with any model",
        ),
        (["dimension", "answers.csv", "--dimensions", "3"], "such as 1, 2 and 3, got [3]"),
        (["dimension", "answers.csv", "--max-dim", 1], "--max-dim must be a whole number of at"),
        (["report", "answers.csv", "--max-dim", 1], "--max-dim must be a whole number of at"),
        (["fit", "map.npz"], "is a map, not answers; give the answers it was made from."),
        (["plan", "--objects", 3], "--objects must be a whole number from 4"),
        (["plan", "--objects", 5, "--dim", 4], "--dim must be a whole number from 1 to 3"),
        (
            ["scale", "odd.csv", "--samples", 3, "--uncertainty", "parametric"],
            "use --uncertainty bootstrap.",
        ),
        (["fit", "easy.csv", "--penalty", 0], "add a penalty (--penalty 1/30)"),
        (["check", "guesses.csv"], "more that need attention (--csv prints all)"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else None,
)
def test_messages_have_no_python(tercet, folder, arguments, words):
    write_without_observers(folder)
    (folder / "odd.csv").write_text("similar1,similar2,odd\n1,2,4\n2,3,1\n1,3,2\n2,4,1\n3,4,1\n")
    (folder / "easy.csv").write_text("anchor,near,far\na,b,c\nc,b,a\nb,a,d\nd,a,c\n")
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(9)[:3] for _ in range(2000)])
    given = np.sign(abs(rows[:, 0] - rows[:, 2]) - abs(rows[:, 0] - rows[:, 1]))
    given[:1000] = rng.choice([-1, 1], 1000)  # the first 25 of 50 observers guess
    rows = np.where(given[:, None] < 0, rows[:, [0, 2, 1]], rows)
    guesses = tc.Triplets(rows, observers=np.repeat(np.arange(50), 40))
    tc.write_triplets(guesses, folder / "guesses.csv")
    _, out, err = tercet(*arguments)
    assert words in out + err
    told = [line for line in (out + err).splitlines() if not line.startswith("Read as")]
    assert not PYTHON_WORDS.findall("\n".join(told))


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["plan", "--pilot", "in", "-o", "out"], "--pilot"),
        (["plan", "--pilot", "in", "--plot", "out.png"], "--pilot"),
        (["fit", "answers.csv", "--names", "in", "-o", "out"], "--names"),
        (["fit", "in", "-o", "out"], "FILE"),
        (["convert", "in", "out"], "FILE"),
        (["convert", "answers.csv", "--names", "in", "out"], "--names"),
        (["posterior", "in", "-o", "new.npz", "--checkpoint", "out"], "FILE"),
        (["bootstrap", "answers.csv", "--names", "in", "-o", "out"], "--names"),
        (["dimension", "answers.csv", "--names", "in", "-o", "out"], "--names"),
        (["compare", "answers.csv", "--holdout", "in", "-o", "out"], "--holdout"),
        (["scale", "answers.csv", "--stimuli", "in", "-o", "out"], "--stimuli"),
        (["predict", "in", "answers.csv", "-o", "out"], "MAP"),
        (["suggest", "map.npz", "--pending", "in", "-o", "out"], "--pending"),
        (["plan", "--objects", 8, "-o", "out.png", "--plot", "in"], "-o and --plot"),
        (["posterior", "answers.csv", "-o", "out", "--checkpoint", "in"], "-o and --checkpoint"),
        (["simulate", "-o", "in", "--points", "out"], "-o and --points"),
        (["datasets", "breast_cancer", "-o", "in", "--stimuli", "out"], "-o and --stimuli"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else None,
)
@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "folder"])
def test_no_output_is_an_input_or_another_output(tercet, folder, tmp_path, arguments, option, link):
    kept = tmp_path / "in.png"  # as the pictures of a plan must be called
    kept.write_text("precious")
    other = tmp_path / "out.png"
    if link == "same":
        other = kept
    elif link == "symbolic":
        other.symlink_to(kept)
    elif link == "hard":
        other.hardlink_to(kept)
    else:
        other.symlink_to(tmp_path)
        other = other / kept.name
    before = sorted(path.name for path in folder.iterdir())
    meant = {"in": kept, "out": other, "out.png": other}
    code, out, err = tercet(*(meant.get(word, word) for word in arguments))
    assert (code, out) == (2, "")
    assert "would be overwritten" in err
    assert f"{option} write" in err if " and " in option else f"read as {option}" in err
    assert err.count("\n") == 1
    assert kept.read_text() == "precious"
    assert sorted(path.name for path in folder.iterdir()) == before


def test_pipes_and_devices_may_be_given_twice(tercet):
    code, _, err = tercet("convert", "/dev/null", "/dev/null")
    assert code == 2
    assert "overwritten" not in err


def test_a_data_set_does_not_replace_its_own_files(tercet, tmp_path, monkeypatch):
    monkeypatch.setenv("TERCET_DATA", str(tmp_path))
    (tmp_path / "answers.csv").write_text("precious")
    code, _, err = tercet("datasets", "breast_cancer", "-o", tmp_path / "answers.csv")
    assert code == 2
    assert "TERCET_DATA" in err
    assert (tmp_path / "answers.csv").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "package", "words"),
    [
        (["convert", "none.csv", "x.parquet"], "pyarrow", "pip install 'tercet[parquet]'"),
        (["convert", "none.csv", "x", "--to", "parquet"], "pyarrow", "tercet[parquet]"),
        (["compare", "none.csv", "--holdout", "x.parquet"], "pyarrow", "tercet[parquet]"),
        (["fit", "none.csv", "--device", "gpu"], "jax", "pip install 'tercet[gpu]'"),
        (["plan", "--pilot", "none.csv", "--plot", "x.png"], "matplotlib", "install matplotlib"),
        (["report", "none.csv", "-o", "x.html"], "matplotlib", "install matplotlib"),
        (["demo", "-o", "x"], "matplotlib", "install matplotlib"),
        (["reproduce", "1", "--out", "x"], "matplotlib", "install matplotlib"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_package_that_is_missing_is_missed_before_the_work(
    tercet, folder, monkeypatch, arguments, package, words
):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.parquet", None)
    code, out, err = tercet(*arguments)
    assert code in (1, 2)
    assert out == ""
    assert words in err  # and not that there is no file none.csv
    assert err.count("\n") == 1
    assert not list(folder.glob("x*/*"))


def test_a_folder_that_is_write_protected(tercet, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # for root may write everywhere
    code, _, err = tercet("fit", "answers.csv", "-o", tmp_path / "map.csv")
    assert code == 2
    assert "write-protected" in err


def test_names_that_a_terminal_would_obey(tercet, folder):
    evil = "\x1b]0;owned\x07"
    rows = [["a", "b", evil], ["b", evil, "a"], [evil, "a", "b"], ["a", evil, "b"]] * 5
    tc.write_triplets(tc.Triplets(rows), folder / "evil.csv")
    (folder / "evil_values.csv").write_text(f'a,1\nb,2\n"{evil}",3\n')
    short = ["--samples", 50, "--chains", 1]
    for command in (
        ["check", "evil.csv"],
        ["fit", "evil.csv"],
        ["posterior", "evil.csv", *short, "-o", "evil.npz"],
        ["posterior", "evil.csv", *short],
        ["predict", "evil.npz", "evil.csv"],
        ["suggest", "evil.npz", "-k", 2],
        ["scale", "evil.csv", "--stimuli", "evil_values.csv", "--samples", 5],
        ["scale", "evil.csv"],
        ["fit", "evil.csv", "--json"],
    ):
        _, out, err = tercet(*command)
        assert "\x1b" not in out + err, command
        assert "\x07" not in out + err, command


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_nothing_half_written(folder, sent):
    long = ["posterior", "answers.csv", "--samples", "1000000", "-o", "never.npz"]
    command = [sys.executable, "-m", "tercet", *long]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # A shell's background jobs ignore interruptions, and so would the command.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with subprocess.Popen(command, cwd=folder, **pipe) as process:
            assert "Read as" in process.stderr.readline()
            process.send_signal(sent)
            said = process.stderr.read()
            assert process.wait() == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert "interrupted" in said
    assert "Traceback" not in said
    assert not [path for path in folder.iterdir() if "never" in path.name]

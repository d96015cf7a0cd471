import contextlib
import io
import re

import numpy as np
import pytest
from tests.pages import REMAKE, ROOT, compare, remake, same_machine, steps

from tercet.cli import main
from tercet.demo import GUESSER, N_OBSERVERS, N_SHARED, draw_both, look, make_world
from tercet.ensemble import Ensemble
from tercet.io import read_triplets
from tercet.metrics import satisfied
from tercet.uses.quality import check_answers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world():
    return make_world(0)


@pytest.fixture(scope="module")
def ran(computed_once, tmp_path_factory):
    """The folder that the demonstration leaves, and what it printed."""
    place, printed = tmp_path_factory.mktemp("demo"), io.StringIO()
    with contextlib.chdir(place), contextlib.redirect_stdout(printed):
        assert main(["demo", "--out", "new/demo"]) == 0
    return place / "new" / "demo", printed.getvalue()


def test_the_demonstration_leaves_a_report_and_says_where(ran):
    folder, printed = ran
    page = (folder / "report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "heron" in page
    assert printed.splitlines()[-1] == "The report: new/demo/report.html"
    assert (folder / "truth.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in folder.iterdir()) == [
        "answers.csv",
        "report.html",
        "truth.png",
    ]


def test_the_readme_shows_what_it_prints(ran):
    readme, printed = ROOT / "README.md", ran[1].replace("new/demo/", "demo/")
    (step,) = (each for each in steps(readme.read_text("utf-8")) if each.code == "make demo")
    if REMAKE:
        remake(readme, [(step, printed)])
    else:
        compare(step, printed, exactly=same_machine())


def test_what_it_prints_is_true(ran, world):
    _, printed = ran
    assert "Two dimensions: fewer predict held-out answers worse, more do not help" in printed
    assert "'P17'" in printed  # the guesser is found
    inside, of = re.search(r"(\d+) of (\d+) animals are inside", printed).groups()
    assert int(inside) >= 26
    assert int(of) == 30
    right = float(re.search(r"certain comparisons, ([\d.]+)% are right", printed).group(1))
    assert right > 98
    expected, wrong = map(
        float, re.findall(r"([\d.]+)% are (?:expected to be )?wrong", printed)[-2:]
    )
    assert 0.5 < expected / wrong < 2.0


def test_the_answers_are_a_file_like_any_other(ran, world):
    folder, _ = ran
    assert read_triplets(folder / "answers.csv", names=world.answers.names) == world.answers


def test_one_observer_guesses(world):
    right = satisfied(world.positions, world.answers)
    who = world.answers.observers
    shares = {name: right[who == name].mean() for name in np.unique(who)}
    assert min(shares, key=shares.get) == f"P{GUESSER + 1:02d}"
    assert len(shares) == N_OBSERVERS
    check = check_answers(world.answers, random_state=0)
    assert check.repeats.comparisons >= N_SHARED
    flagged = [each.observer for each in check.observers if each.flags]
    assert flagged == [f"P{GUESSER + 1:02d}"]


def test_looking_counts_what_is_right(world):
    rng = np.random.default_rng(0)
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    noise = 0.05 * rng.normal(size=(50, 30, 2))
    ensemble = Ensemble(3.0 * ((world.positions + noise) @ turn) + 1.0, names=world.truth.names)
    truth = look(world, ensemble, 0.95)
    assert np.abs(truth.aligned.point_mean() - world.positions).max() < 0.05
    assert truth.inside >= 26
    assert truth.error < 0.02
    assert truth.certain_right > 0.99
    away = ensemble.draws + np.array([5.0, 0.0])
    moved = Ensemble(away, names=world.truth.names, alignment="none")
    shuffled = Ensemble(ensemble.draws[:, rng.permutation(30)], names=world.truth.names)
    assert look(world, moved, 0.95).inside == truth.inside
    assert look(world, shuffled, 0.95).inside < 10
    assert draw_both(world, truth).startswith(b"\x89PNG")


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "cannot write to" in capsys.readouterr().err

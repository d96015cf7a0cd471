import html
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from tercet import demo
from tercet.demo import page, pictures, sureness
from tercet.demo.sureness import Sureness, Trial
from tercet.demo.world import embed_world, make_world
from tercet.ensemble import Ensemble
from tercet.posterior.diagnostics import Diagnostics
from tercet.triplets import Triplets

FINE = Diagnostics(1.004, 900.0, 800.0, "distances", 0, 4, 1000)
TRIAL = Trial(sureness.CANDIDATES[0], 500, 0.35, 0.85, 29)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder that the demonstration leaves."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    assert demo.main(["--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def world():
    return make_world(0)


def words(text):
    """A page as a person reads it."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", text)))


def sure_of(probability, ensemble=None, diagnostics=FINE):
    return Sureness("STE", ensemble, diagnostics, np.asarray(probability), 28)


def test_the_demonstration_leaves_a_map_and_a_page(ran):
    assert (ran / "map.png").read_bytes().startswith(b"\x89PNG")
    text = words((ran / "report.html").read_text("utf-8"))
    for sentence in (
        "animals truly are inside their ellipses",
        "its average uncertainty",
        "They agree: R-hat",
        "if people answer as the model says",
        "training error",
    ):
        assert sentence in text
    assert "nan" not in text


def test_the_page_needs_nothing_from_outside(ran):
    text = (ran / "report.html").read_text("utf-8")
    sources = re.findall(r'(?:src|href)="([^"]{0,30})', text)
    assert len(sources) == 2
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "<script" not in text
    HTMLParser().feed(text)


def test_maps_beat_their_answers(world):
    for result in embed_world(world, 0):
        assert result.true_error < 0.6 * result.training_error, result.name


def test_the_map_is_worth_its_word(world):
    """STE's, which is not how these answers arise: sure comparisons are right all the same."""
    sure = sureness.draw_maps(world, sureness.CANDIDATES[0], 0)
    assert sure.share_right > 0.95
    assert sure.share_right_of_others < sure.share_right
    assert 0.5 < sure.expected_error / sure.error < 2.0


def test_shares_are_counted():
    sure = sure_of([0.99, 0.98, 0.01, 0.7, 0.4])
    assert sure.sure.tolist() == [True, True, True, False, False]
    assert sure.share_sure == pytest.approx(0.6)
    assert sure.share_right == pytest.approx(2 / 3)
    assert sure.share_right_of_others == pytest.approx(0.5)
    assert sure.error == pytest.approx(0.4)
    assert sure.expected_error == pytest.approx((0.01 + 0.02 + 0.01 + 0.3 + 0.4) / 5)


def test_the_model_that_new_answers_surprise_least_is_best():
    better = TRIAL._replace(log_loss=0.3, foretold=0.1, inside=0)
    assert sureness.best_of([TRIAL, better]) is better


def test_draws_are_laid_on_the_world(world):
    rng = np.random.default_rng(0)
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    sizes = rng.uniform(0.5, 2, size=(50, 1, 1))
    noise = 0.1 * rng.normal(size=(50, 30, 2))
    ensemble = Ensemble(sizes * ((world.positions + noise) @ turn + 3.0), names=world.truth.names)
    laid = sureness.lay_on(ensemble, world.positions)
    assert laid.names == world.truth.names
    assert np.abs(laid.point_mean() - world.positions).max() < 0.1
    assert laid.samples.std(axis=0).mean() == pytest.approx(0.1, rel=0.1)


def test_ellipses_hold_what_is_inside():
    rng = np.random.default_rng(0)
    ensemble = Ensemble(rng.normal(size=(20000, 3, 2)) * [1.0, 2.0], alignment="none")
    radius = np.sqrt(-2 * np.log(0.05))  # of the 95 % circle of a standard normal
    for factor, expected in ((0.95, True), (1.05, False)):
        positions = factor * radius * np.array([[1.0, 0.0], [0.0, 2.0], [0.6, 1.6]])
        assert sureness.holds(ensemble, positions).tolist() == [expected] * 3


def test_the_most_doubtful_comparisons_have_an_anchor_each(world):
    p = np.linspace(0.5, 1.0, len(world.truth))
    p[7] = 0.4999999
    rows = sureness.doubtful(world, p, count=4)
    assert rows[0] == 0
    anchors = world.truth.array[rows, 0]
    assert len(set(anchors.tolist())) == len(rows) == 4
    for row in rows:  # the first, and so the least sure, of their anchors
        assert row == np.flatnonzero(world.truth.array[:, 0] == world.truth.array[row, 0])[0]


@pytest.mark.parametrize(
    ("wrong", "verdict"), [(10, "about as many"), (30, "too sure of itself"), (2, "too cautious")]
)
def test_the_verdict_follows_the_numbers(wrong, verdict):
    p = np.full(100, 0.9)
    p[:wrong] = 0.1
    assert verdict in page.tell_error(sure_of(p))


def test_a_boldest_mistake_needs_a_mistake(world):
    p = np.full(len(world.truth), 0.9)
    assert page.tell_mistake(world, p) == "It has no comparison wrong."
    p[3] = 0.0001
    anchor, near, far = (world.truth.names[i] for i in world.truth.array[3])
    said = words(page.tell_mistake(world, p))
    assert f"{anchor} closer to {far} than to {near}" in said
    assert "more than 99.9%" in said


def test_chains_that_disagree_are_not_called_agreeing():
    stuck = Diagnostics(1.7, 5.0, 4.0, "distances", 0, 4, 1000)
    assert "They agree" in page.tell_chains(FINE)
    said = page.tell_chains(stuck)
    assert "They agree" not in said
    assert "have not converged" in said
    assert "R-hat 1.70" in said


def test_names_are_escaped_everywhere(world):
    names = [f"<i>{i}&" for i in range(30)]
    strange = world._replace(
        answers=Triplets(world.answers.array, names=names),
        truth=Triplets(world.truth.array, names=names),
    )
    p = np.random.default_rng(0).uniform(size=len(world.truth))
    results = [embed_world(world, 0)[0]._replace(name="<b>&", reason="a < b")]
    text = page.write_report(strange, results, [TRIAL], sure_of(p), b"", b"")
    assert "&lt;i&gt;" in text
    assert "a &lt; b" in text
    for tag in re.findall(r"<i>[^<]*", text):
        assert tag == "<i>if"


def test_both_sides_of_the_picture_have_one_scale(world, monkeypatch):
    shown = []
    monkeypatch.setattr(pictures, "_png", lambda figure: shown.append(figure) or b"")
    rng = np.random.default_rng(0)
    draws = 2.0 * world.positions + rng.normal(size=(20, 30, 2))
    ensemble = Ensemble(draws, names=world.truth.names, alignment="none")
    pictures.draw_map(world, sure_of([0.5], ensemble))
    left, right = shown[0].axes
    shown[0].draw_without_rendering()
    np.testing.assert_allclose(left.get_xlim(), right.get_xlim(), rtol=0.05)
    assert len(right.patches) == 30
    assert not left.patches


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as stopped:
        demo.main(["--out", str(tmp_path / "file")])
    assert stopped.value.code == 2
    assert "cannot write to" in capsys.readouterr().err

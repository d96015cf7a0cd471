import json

import numpy as np
import pytest

import tercet as tc
from tercet import simulate
from tercet.metrics import brier_score, satisfied
from tercet.paper.drawing import style
from tercet.paper.experiments import Measurements
from tercet.paper.figure2 import training_set
from tercet.paper.methods import METHOD, mixture, stream
from tercet.paper.settings import FULL
from tercet.paper.vote import FIGURE, compare_rules, share_of_draws

SMALL = {"points": 12, "noise": 0.5, "fraction": 0.2, "grids": ["noise"], "repeat": 0}
pytestmark = pytest.mark.filterwarnings("ignore::tercet.errors.ConvergenceWarning")


def boot():
    maker = tc.Bootstrap.paper(tc.STE(2), random_state=stream(0, METHOD), progress=False)
    return maker.fit(training_set(12, 0.5, 0.2, 0)).ensemble_


def test_the_vote_counts_embeddings():
    ensemble = boot()
    true = simulate.true_triplets(mixture(12)[0])
    counted = np.mean([satisfied(X, true) for X in ensemble.draws], axis=0)
    share = share_of_draws(ensemble, true)
    assert len(ensemble) == 20
    assert np.array_equal(share, counted)
    assert share.min() == 0.0 or share.max() == 1.0  # a plain vote does claim certainty


def test_a_tie_is_half_a_vote():
    points = np.array([[0.0], [1.0], [-1.0], [3.0]])
    ensemble = tc.Ensemble(np.stack([points, points]))
    triplets = np.array([[0, 1, 2], [0, 1, 3], [0, 3, 2]])
    assert share_of_draws(ensemble, triplets).tolist() == [0.5, 1.0, 0.0]


def test_a_cell_is_what_the_three_rules_say():
    ensemble = boot()
    true = simulate.true_triplets(mixture(12)[0])
    paper, joint, vote = compare_rules("bootstrap", **SMALL)["rows"]
    assert [row["rule"] for row in (paper, joint, vote)] == ["paper", "joint", "vote"]
    for row, pi in (
        (paper, ensemble.triplet_probability(true, method="paper")),
        (joint, ensemble.triplet_probability(true, method="joint")),
        (vote, share_of_draws(ensemble, true)),
    ):
        assert row["brier"] == pytest.approx(brier_score(pi))
        assert row["log-loss"] == pytest.approx(-np.log(np.clip(pi, 1 / 40, 39 / 40)).mean())
        assert row["uncertainty"] == pytest.approx(np.mean(1 - pi))
    assert paper["error"] == joint["error"]  # both go by the mean distances
    assert compare_rules("bootstrap", **SMALL)["rows"] == [paper, joint, vote]


def test_a_cell_of_two_grids_is_computed_once_and_listed_twice():
    once = compare_rules("bootstrap", **SMALL)["rows"]
    twice = compare_rules("bootstrap", **(SMALL | {"grids": ["noise", "fraction"]}))["rows"]
    assert [r for r in twice if r["grid"] == "noise"] == once
    assert [r | {"grid": "noise"} for r in twice if r["grid"] == "fraction"] == once


def test_the_grids_are_those_of_figures_2b_and_2c():
    cells = FIGURE.cells(FULL)
    settings = [cell.settings for cell in cells]
    noisy = {(s["noise"], s["fraction"]) for s in settings if "noise" in s["grids"]}
    clean = {(s["noise"], s["fraction"]) for s in settings if "fraction" in s["grids"]}
    assert noisy == {(noise, 0.01) for noise in FULL.noises}
    assert clean == {(0.0, fraction) for fraction in FULL.fractions}
    assert len(cells) == 2 * 5 * len(noisy | clean)
    assert {s["ensemble"] for s in settings} == {"bootstrap", "Bayes"}
    assert json.loads(json.dumps(settings)) == settings


def test_pictures_have_a_line_for_every_rule():
    table = Measurements(
        {"ensemble": e, "noise": noise, "fraction": f, "repeat": repeat, "grid": grid}
        | {"rule": rule, "error": height, "brier": height, "calibration error": height}
        for e in ("bootstrap", "Bayes")
        for noise, f, grid in (
            (0.0, 0.01, "noise"),
            (1.0, 0.01, "noise"),
            (0.0, 0.01, "fraction"),
            (0.0, 0.1, "fraction"),
        )
        for repeat in range(2)
        for rule, height in (("paper", 0.1), ("joint", 0.2), ("vote", 0.3))
    )
    with style():
        pictures = FIGURE.draw(table)
    assert list(pictures) == ["vote", "vote_bayes"]
    for picture, title in zip(pictures.values(), ("STE bootstrap", "Bayesian STE"), strict=True):
        assert len(picture.axes) == 6
        assert picture.axes[0].get_title(loc="left") == f"(a) {title}, 1% of all triplets"
        labels = [ax.get_xlabel() for ax in picture.axes[::3]]
        assert labels == ["noise σ", "share of all triplets (%)"]
        for ax in picture.axes:
            assert [line.get_ydata()[0] for line in ax.lines] == pytest.approx([0.1, 0.2, 0.3])
        labels = [text.get_text() for text in picture.legends[0].get_texts()]
        assert labels == ["π of the paper", "π, joint", "majority vote"]

import json

import numpy as np
import pytest

import tercet as tc
from tercet import simulate
from tercet.paper.drawing import style
from tercet.paper.experiments import Measurements, collect_results, measurements_of
from tercet.paper.figure2 import training_set
from tercet.paper.figure3 import FIGURE, predict, predict_or_abstain
from tercet.paper.methods import METHOD, mixture, stream
from tercet.paper.settings import FULL, TINY

SMALL = {"points": 12, "fraction": 0.1, "repeat": 1, "thresholds": [0.5, 0.7, 0.9]}
pytestmark = pytest.mark.filterwarnings("ignore::tercet.errors.ConvergenceWarning")


def test_what_a_threshold_does_by_hand():
    row = predict_or_abstain(np.array([0.95, 0.8, 0.75, 0.5, 0.25, 0.1]), 0.75)
    assert row["predicted"] == 3  # 0.75 and 0.25 lie in [1 − t, t]
    assert row["wrong"] == 1
    assert row["error"] == pytest.approx(1 / 3)
    assert row["error over all"] == pytest.approx(1 / 6)
    assert row["abstention"] == pytest.approx(0.5)


def test_where_nothing_is_predicted_there_is_no_error():
    row = predict_or_abstain(np.array([0.5, 0.6, 0.4]), 0.9)
    assert "error" not in row
    assert row["abstention"] == 1.0
    assert row["error over all"] == 0.0


def test_a_cell_is_what_the_ensemble_predicts():
    triplets = training_set(12, 0.0, 0.1, 1)
    maker = tc.Bootstrap.paper(tc.STE(2), random_state=stream(1, METHOD), progress=False)
    ensemble = maker.fit(triplets).ensemble_
    true = simulate.true_triplets(mixture(12)[0])
    curve = tc.risk_coverage(ensemble.triplet_probability(true, method="paper"))
    rows = predict("bootstrap", **SMALL)["rows"]
    assert [row["threshold"] for row in rows] == SMALL["thresholds"]
    for row in rows:
        said = ensemble.predict(true, row["threshold"], method="paper")
        assert row["wrong"] == np.sum(said == -1)
        assert row["predicted"] == np.sum(said != 0)
        coverage, risk = curve.at(row["threshold"])
        assert row["abstention"] == pytest.approx(1.0 - coverage)
        assert row.get("error", np.nan) == pytest.approx(risk, nan_ok=True)
    assert predict("bootstrap", **SMALL)["rows"] == rows


def test_the_settings_are_the_papers():
    cells = FIGURE.cells(FULL)
    settings = [cell.settings for cell in cells]
    assert {s["method"] for s in settings} == {"bootstrap", "Bayes", "recommended"}
    assert {s["points"] for s in settings} == {50}
    assert {s["repeat"] for s in settings} == set(range(5))
    assert sorted({s["fraction"] for s in settings}) == [0.005, 0.01, 0.02, 0.05, 0.1, 0.15]
    assert settings[0]["thresholds"][0] == 0.5
    assert settings[0]["thresholds"][-1] == 0.95
    assert len(cells) == 3 * 6 * 5
    assert json.loads(json.dumps(settings)) == settings


def made_up(thresholds, silent=()):
    return Measurements(
        {
            "method": method,
            "fraction": fraction,
            "repeat": repeat,
            "threshold": t,
            "abstention": t / 2,
        }
        | ({} if (t, fraction) in silent else {"error": 0.1 * (1 - t) * repeat})
        for method in ("bootstrap", "Bayes", "recommended")
        for fraction in (0.01, 0.1)
        for repeat in range(2)
        for t in thresholds
    )


def test_pictures_have_a_line_for_every_threshold_shown():
    with style():
        pictures = FIGURE.draw(made_up(FULL.thresholds))
    assert list(pictures) == ["figure_3", "figure_3_supplement", "figure_3_recommended"]
    for picture, title in zip(
        pictures.values(), ("STE bootstrap", "Bayesian STE", "recommended default"), strict=True
    ):
        error, abstention = picture.axes
        assert error.get_title(loc="left") == f"(a) prediction error, {title}"
        assert error.get_ylabel() == "wrong among predicted triplets"
        assert abstention.get_ylabel() == "abstention rate"
        labels = [text.get_text() for text in picture.legends[0].get_texts()]
        assert labels == ["t = 0.5", "t = 0.65", "t = 0.8", "t = 0.95"]
        assert [line.get_ydata()[0] for line in abstention.lines] == [0.25, 0.325, 0.4, 0.475]
        assert [tick.get_text() for tick in error.get_xticklabels()] == ["1", "10"]


def test_where_a_repeat_predicts_nothing_the_error_is_not_drawn():
    with style():
        picture = FIGURE.draw(made_up((0.5, 0.9), silent={(0.9, 0.01)}))["figure_3"]
        nothing = FIGURE.draw(made_up((0.5, 0.9), silent={(0.9, 0.01), (0.9, 0.1)}))["figure_3"]
    whole, part = picture.axes[0].lines
    assert list(whole.get_xdata()) == [0.01, 0.1]
    assert list(part.get_xdata()) == [0.1]
    assert len(nothing.axes[0].lines) == 1
    assert len(nothing.axes[1].lines) == len(nothing.legends[0].get_texts()) == 2


def test_the_recommended_default_runs_too(tmp_path):
    cells = [c for c in FIGURE.cells(TINY) if c.settings["repeat"] == 0][-1:]
    (result,) = collect_results(cells, tmp_path, 1, show=False)
    rows = measurements_of([result]).rows
    assert [row["threshold"] for row in rows] == list(TINY.thresholds)
    assert rows[0]["error"] < 0.25
    assert rows[0]["abstention"] < rows[1]["abstention"]

"""An analysis of choices says what is true of choices: counts, chance, and the ceiling."""

import math

import numpy as np
import pytest
from tests.worlds import ste_choices

from tercet.analysis import analyse
from tercet.analysis.words import summary
from tercet.report import page
from tercet.report.appearance import Appearance
from tercet.report.frame import opening
from tercet.report.sections import sections

pytestmark = pytest.mark.slow


def made(**world):
    choices, _ = ste_choices(size=1.5, **world)
    how = {"dimension": 2, "uncertainty": "bootstrap", "samples": 30, "random_state": 1}
    return analyse(choices, **how, n_jobs=1, progress=False)


@pytest.fixture(scope="module")
def odd():
    """Odd ones out, each screen shown three times."""
    return made(m=40, repeats=3, observers=np.arange(120) % 7)


@pytest.fixture(scope="module")
def nearest():
    """The three nearest of six, never shown again."""
    return made(n=20, m=60, kind="set")


def rows_of(analysis, key, table):
    found = {section.key: section for section in sections(analysis, Appearance())}[key]
    return {row[0]: row[1:] for row in found.context[table].rows}


def test_answers_are_choices_and_comparisons_are_within(odd):
    lead = summary(odd)[0]
    assert lead.startswith("120 answers by 7 observers about 8 objects")
    assert "one choice among pairs of objects on a screen (1 of 3)" in lead
    assert "exact likelihood; together the answers contain 240 comparisons." in lead
    assert "Analysis(120 answers" in repr(odd)
    assert opening(odd).figures[0] == ("120", "answers, each one choice (1 of 3)")
    checked = rows_of(odd, "data", "checked")
    assert checked["answers"] == ["120"]
    assert checked["comparisons within these choices"] == ["240"]
    assert "comparisons per object" in checked
    assert "We analysed 120 choices by 7 observers among pairs of 8 objects (1 of 3; 240" in (
        odd.methods
    )
    assert any(work.startswith("Luce.") for work in odd.citations)
    mentioned = np.zeros(8, dtype=int)
    for choice in odd.answers:
        mentioned[np.unique(choice.pairs)] += 1
    assert [each.answers for each in odd.objects] == mentioned.tolist()


def test_chance_is_a_third_and_the_ceiling_is_that_of_screens(odd):
    assert odd.held_out.chance == pytest.approx(1 / 3)
    assert odd.held_out.chance_log_loss == pytest.approx(math.log(3.0))
    assert odd.ceiling.n_outcomes == 3
    assert odd.ceiling.accuracy < odd.check.ceiling.accuracy
    told = " ".join(summary(odd))
    assert "33.3 % by guessing" in told
    assert "for screens like the repeated ones" in told
    assert "Of the comparisons within them" not in told
    fit = rows_of(odd, "trust", "fit")
    assert fit["held-out answers predicted correctly"][1].startswith("Chance is 33.3 %. The noise")
    assert "1.099 by chance" in fit["log-loss of held-out answers"][1]
    assert "chance 0.333" in odd.results
    assert f"The noise ceiling ({odd.ceiling.n_questions} repeated screens)" in odd.results
    assert "Dirichlet-multinomial model of repeated screens" in odd.methods
    assert odd.to_dict()["noise_ceiling"]["n_outcomes"] == 3
    assert "noise ceiling for repeated screens" in " ".join(
        what for _, what in opening(odd).figures
    )


def test_a_ceiling_of_comparisons_is_not_put_beside_choices(nearest):
    assert nearest.ceiling is None
    assert nearest.no_ceiling == "no screen was shown more than once"
    told = " ".join(summary(nearest))
    assert "noise ceiling" not in told
    assert "noise ceiling" not in nearest.results
    fit = rows_of(nearest, "trust", "fit")
    assert (
        "The noise ceiling is unknown: no screen was shown more than once."
        in (fit["held-out answers predicted correctly"][1])
    )


def test_where_whole_answers_are_rarely_right_comparisons_are_told(nearest):
    found = nearest.held_out
    assert found.chance == pytest.approx(1 / 20)
    within = f"Of the comparisons within them, {100 * found.in_order:.3g} % are predicted correctly"
    assert within in " ".join(summary(nearest))
    assert within in str(found)
    assert "comparisons within held-out answers predicted correctly" in (
        rows_of(nearest, "trust", "fit")
    )
    assert "If every answer is predicted as a whole" in page(nearest).replace("\u00a0", " ")


def test_a_file_says_where_things_were_shown_and_who_could_not_tell(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(7, 2))
    rows = ["anchor,left,right,response,observer"]
    for i in range(150):
        anchor, left, right = rng.permutation(7)[:3]
        near, far = np.linalg.norm(points[[left, right]] - points[anchor], axis=1)
        said = "cannot tell" if abs(near - far) < 0.3 else "left" if near < far else "right"
        rows.append(f"o{anchor},o{left},o{right},{said},p{i % 3}")
    path = tmp_path / "sides.csv"
    path.write_text("\n".join(rows) + "\n")
    how = {"dimension": 2, "uncertainty": "bootstrap", "samples": 20, "random_state": 0}
    found = analyse(path, **how, n_jobs=1, progress=False)
    ties = sum("cannot tell" in row for row in rows)
    assert found.answers.tied.sum() == ties > 10
    assert len(found.triplets) == 150 - ties
    assert found.check.side_bias.answers == 150 - ties
    checked = rows_of(found, "data", "checked")
    assert "side bias" in checked["positions on the screen"][0].lower()
    assert any(f"{ties} more answers say" in each for each in found.reading.sentences())

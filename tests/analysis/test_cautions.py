"""What an analysis says to be careful about, and when."""

import dataclasses
import inspect
import re

import numpy as np
import pytest

from tercet.analysis import cautions
from tercet.answers.repeats import NoiseCeiling
from tercet.cli.main import build_parser
from tercet.held_out import HeldOut
from tercet.posterior.diagnostics import Diagnostics
from tercet.uses.compare.comparison import LackOfFit
from tercet.uses.dimension.evidence import NOTHING, DimensionEstimate, DimensionRow, Measured


def chains(r_hat=1.01, worth=900.0):
    return Diagnostics(r_hat, worth, worth, "distances", 0, 4, 1000)


def predicted(accuracy=0.8, error=0.01, rough=0.0, off=0.01, stated=0.8):
    right = np.ones(100)
    right[: round(100 * (1 - accuracy))] = 0.0
    p = np.where(right, stated, 1 - stated)
    return HeldOut(
        probability=p,
        confidence=np.full(100, stated),
        right=right,
        how="in turn",
        accuracy=accuracy,
        accuracy_error=error,
        chance=0.5,
        in_order=accuracy,
        log_loss=0.5,
        log_loss_error=0.01,
        rough=rough,
        calibration_error=off,
        calibration_limit=0.02,
        curve=None,
    )


def ceiling(accuracy=0.82, outcomes=2):
    return NoiseCeiling(
        accuracy, (accuracy - 0.02, accuracy + 0.02), 0.4, (0.3, 0.5), accuracy, 1.0, 50, outcomes
    )


def estimate(dimension, verdict, undecided_at=None, tried=(1, 2, 3), most=9):
    rows = tuple(
        DimensionRow(
            dimension=d,
            training_loss=NOTHING,
            accuracy=Measured(0.6 + 0.05 * d, 0.01),
            log_loss=NOTHING,
            p_value=0.5,
            left_out=NOTHING,
            gain=NOTHING,
            bootstrap=NOTHING,
            posterior=NOTHING,
            r_hat=2.9 if d == undecided_at else 1.0,
            k_hat=0.0,
            agrees=d != undecided_at,
        )
        for d in tried
    )
    found = DimensionEstimate(dimension, verdict, "Because.", rows, "comparison", 100, undecided_at)
    return dataclasses.replace(found, supported=most)


def test_options_in_cautions_are_those_of_the_report():
    commands = next(a for a in build_parser()[0]._actions if isinstance(a.choices, dict))
    known = set(commands.choices["report"]._option_string_actions)
    named = set(re.findall(r"--[a-z][a-z-]*", inspect.getsource(cautions)))
    assert {"--samples", "--warmup", "--dim", "--max-dim"} <= named <= known


def test_chains_that_disagree_are_a_reason_and_the_cures_exist():
    assert cautions.about_chains(None) == cautions.about_chains(chains()) == ""
    stuck = cautions.about_chains(chains(r_hat=2.9))
    assert "The chains did not converge: the 4 chains disagree about distances (R-hat 2.90" in stuck
    assert "provisional; do not report them" in stuck
    for option in ("--samples 4000", "--warmup 2000", "--dim"):
        assert option in stuck
    assert "lower" not in stuck
    rough = cautions.about_chains(chains(worth=68.0))
    assert "imprecise: the effective sample size of the 4000 draws is only 68" in rough
    assert "provisional" not in rough


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, ""),
        (estimate(2, "decided"), ""),
        (estimate(3, "at least"), "(1 to 3): at least 3 are needed, and more were not tried."),
        (estimate(3, "at least"), "--max-dim 6 tries more"),
        (estimate(3, "at least", most=4), "--max-dim 4 tries more"),
        (estimate(3, "at least", most=3), "support no more; collect more"),
        (estimate(1, "at least"), "Whether 2 dimensions predict better than 1 is unclear"),
        (
            estimate(2, "at least", 3),
            "Whether 3 dimensions predict better than 2 is undecided, because the chains",
        ),
        (estimate(None, "not decided", 2), "the chains ended in different maps in 2 dimensions"),
        (estimate(None, "not decided", 2), "The map has 2 by default"),
        (estimate(None, "cannot tell"), "held-out answers are predicted at chance level"),
    ],
)
def test_a_dimension_that_is_not_decided(found, said):
    told = cautions.about_dimension(found, 2)
    assert said in told
    assert bool(told) == bool(said)


def test_lack_of_fit():
    def fit(p):
        return LackOfFit(120.0, 100.0, p, 50, 200, 20, 30, ceiling())

    assert cautions.about_fit(fit(0.2), None, True) == cautions.about_fit(None, None, True) == ""
    assert "1.20 times as much as noise explains (p = 0.010)" in cautions.about_fit(
        fit(0.01), None, True
    )
    assert cautions.about_fit(fit(0.01), None, False) == ""  # the chains say nothing of it


def test_poor_calibration():
    assert cautions.about_calibration(None) == cautions.about_calibration(predicted()) == ""
    bold = cautions.about_calibration(predicted(accuracy=0.7, off=0.0875))
    assert "observed frequencies by 8.75 % on average, more than chance allows (2 %)" in bold
    assert bold.endswith("are overconfident.")
    assert cautions.about_calibration(predicted(accuracy=0.9, off=0.0875)).endswith(
        "are underconfident."
    )


def test_a_large_gap_to_the_noise_ceiling():
    assert cautions.about_ceiling(predicted(), None) == ""
    assert cautions.about_ceiling(predicted(0.8), ceiling(0.82)) == ""
    assert cautions.about_ceiling(predicted(0.76), ceiling(0.8)) == ""  # 4 %
    assert cautions.about_ceiling(predicted(0.7, error=0.05), ceiling(0.8)) == ""  # chance
    said = cautions.about_ceiling(predicted(0.7), ceiling(0.8))
    assert said.startswith("70 % of held-out answers are predicted correctly, but")
    assert "80 % (78 % to 82 %) for comparisons like the repeated ones" in said
    assert "for screens like the" in cautions.about_ceiling(predicted(0.7), ceiling(0.8, 3))


def test_rough_guesses():
    assert cautions.about_influential(predicted(rough=0.1)) == ""
    assert "unreliable for 25 % of the answers" in cautions.about_influential(predicted(rough=0.25))


def test_maps_of_a_bootstrap_that_are_no_good():
    fine = {"replicates": 200, "failed": 0, "not_converged": 0, "separable": 100}
    assert cautions.about_replicates({"counts": fine}) == cautions.about_replicates({}) == ""
    poor = fine | {"failed": 3, "not_converged": 5, "separable": 101}
    said = cautions.about_replicates({"counts": poor})
    for part in ("3 of 200 maps could not", "5 of 200 maps were kept", "101 of 200 maps satisfy"):
        assert part in said
    assert "max_iter" not in said


def test_chains_that_disagree_on_which_nothing_depends():
    assert cautions.about_dimension_chains(None) == ""
    assert cautions.about_dimension_chains(estimate(2, "decided")) == ""
    assert cautions.about_dimension_chains(estimate(2, "at least", 3)) == ""  # told elsewhere

    def disagree(*dimensions, chosen=2):
        found = estimate(chosen, "decided", tried=(1, 2, 3, 4))
        rows = [row._replace(agrees=row.dimension not in dimensions) for row in found.rows]
        return cautions.about_dimension_chains(dataclasses.replace(found, rows=tuple(rows)))

    assert "In 2 dimensions, the chains" in disagree(2)
    assert "In 2 and 3 dimensions, the chains" in disagree(1, 2, 3)
    assert "In 1 dimension, the chains" in disagree(1, chosen=1)
    assert disagree(1) == disagree(1, 4) == ""  # neither the chosen one nor the next
    assert disagree(2, chosen=None) == ""  # nothing was chosen

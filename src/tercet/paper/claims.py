"""What the paper claims: one entry each, with the checks that judge it."""

from __future__ import annotations

from tercet.paper.checks import calibration, uses
from tercet.paper.methods import BAYES, BOOTSTRAP
from tercet.paper.verdicts import Claim

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "N1",
        ("2b",),
        "mixture, 1 % of all triplets: the Procrustes error of STE (best scale) rises with σ",
        lambda t: calibration.error_rises(t["2b"], "STE"),
    ),
    Claim(
        "N2",
        ("2b",),
        "the average uncertainty of bootstrap and Bayes rises with σ and tends to ½",
        lambda t: calibration.uncertainty_rises(t["2b"], "STE", (BOOTSTRAP, BAYES)),
    ),
    Claim(
        "N3",
        ("2b",),
        "the bootstrap is more conservative: its uncertainty over the σ grid is higher",
        calibration.conservative,
    ),
    Claim(
        "N4",
        ("2b",),
        "N1 and N2 for t-STE (bootstrap, Bayes) and GNMDS (bootstrap)",
        calibration.other_models_noise,
    ),
    Claim(
        "T1",
        ("2c",),
        "no noise, more triplets: Procrustes error (best scale) and uncertainty fall together",
        lambda t: calibration.fall_together(t["2c"], "STE", (BOOTSTRAP, BAYES)),
    ),
    Claim(
        "T2",
        ("2c",),
        "near 10·d·n·log n triplets the uncertainty is close to 0",
        calibration.close_to_zero,
    ),
    Claim("T3", ("2c",), "T1 for t-STE and GNMDS", calibration.other_models_triplets),
    Claim(
        "P1",
        ("3",),
        "the prediction error falls with the threshold and with the number of triplets",
        uses.error_falls,
    ),
    Claim(
        "P2",
        ("3",),
        "abstention rises with the threshold and falls with the number of triplets",
        uses.abstention,
    ),
    Claim(
        "P3",
        ("3",),
        "Bayesian STE: abstention falls faster with triplets, its error is high when they are few",
        uses.bayes_predicts,
    ),
    Claim(
        "D1",
        ("2a",),
        "the STE cost keeps falling with the dimension",
        lambda t: uses.cost_falls(t["2a"], uses.first_dimension(t)),
    ),
    Claim(
        "D2",
        ("2a",),
        "the bootstrap's uncertainty is smallest at the true dimension, within one sd",
        lambda t: uses.bootstrap_is_least(t["2a"], uses.first_dimension(t)),
    ),
    Claim(
        "D3",
        ("2a",),
        "the Bayesian uncertainty drops until the true dimension and stays level",
        lambda t: uses.bayes_stays_level(t["2a"], uses.first_dimension(t)),
    ),
    Claim("D4", ("2a",), "D1 to D3 for 2, 4 and 5 components", uses.other_dimensions),
    Claim(
        "S1",
        ("4",),
        "the mean embedding departs more from the mean function as the lengthscale falls",
        lambda t: uses.grows_as_lengthscale_falls(t, "departure", "departure"),
    ),
    Claim(
        "S2",
        ("4",),
        "the standard deviations of the points rise as the lengthscale falls",
        lambda t: uses.grows_as_lengthscale_falls(t, "spread", "mean standard deviation"),
    ),
    Claim(
        "S3",
        ("4",),
        "the Gaussian process: pinned at both ends, wider for shorter lengthscales",
        uses.gaussian_process,
    ),
    Claim(
        "A1",
        ("5",),
        "Satellite, STE: both active strategies err visibly, not overwhelmingly, less than random",
        lambda t: uses.margin(t["5"], "Satellite", "STE"),
    ),
    Claim(
        "A2",
        ("5",),
        "Satellite, STE: no effect on the kNN error and on the adjusted Rand index",
        lambda t: uses.no_effect(t["5"], "Satellite", "STE"),
    ),
    Claim("A3", ("5",), "A1 and A2 for MNIST, Breast Cancer and for t-STE", uses.other_panels),
    Claim("A4", ("5",), "the information gain is not competitive", uses.gain_is_behind),
    Claim(
        "V1",
        ("vote",),
        "a majority vote over the embeddings is worse than π",
        calibration.vote_is_worse,
    ),
    Claim(
        "G1",
        ("distances",),
        "the prior over distance matrices gives symmetric draws and an unsatisfactory posterior",
        calibration.matrices,
    ),
)

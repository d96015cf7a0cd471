"""Simulation-based calibration (Talts, Betancourt, Simpson, Vehtari & Gelman 2018).

Truths drawn from the prior and answers drawn from the model make a truth one more draw from its own
posterior: its rank among draws of a right sampler is uniform, whatever is looked at. Here these are
distances, the sum of squares, the variance of the prior, other learned parameters, the centre and
the log-likelihood, which sees what functions of the points alone cannot (Modrák et al. 2023).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tercet.answers.choices import Choices
from tercet.answers.either import Answers, asked_with_ties
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.models import CKLModel, Model
from tercet.models.base import BIAS
from tercet.posterior.draw import Drawn, Plan, draw
from tercet.posterior.priors import Learn, NormalPrior, check_learn, learn_from
from tercet.simulate import answers_from_model, choices_from_model, random_comparisons
from tercet.uncertainty import choice_probability

Ranks = dict[str, NDArray[np.int64]]

VARIANCE, SPREAD = 1.0, 1.0
WARMUP = {"hmc": 150, "elliptical_slice": 300}
THIN = {"hmc": 6, "elliptical_slice": 60}
KEPT = 49  # thinned draws: fifty ranks


def run(
    model: Model,
    learned: bool,
    n: int,
    d: int,
    answers: int,
    repeats: int,
    seed: int,
    *,
    learn: Any = (),
    sampler: str = "hmc",
    wrong: float = 1.0,
    ask: Callable[[np.random.Generator], Choices] | None = None,
    sample: Callable[[Plan, Answers, int, int], Drawn] = draw,
) -> Ranks:
    """Ranks (repeats,), from 0 to ``KEPT``, of true quantities among draws, by name.

    Parameters
    ----------
    model, learned, n, d
        The model, whether the variance of the prior is learned, the objects, the dimension.
    answers : int
        Answers of each simulated world, to random comparisons.
    repeats : int
        Simulated worlds.
    learn : sequence of str, or dict
        What else is learned, as in ``Posterior``.
    sampler : {"hmc", "elliptical_slice"}
    wrong : float
        The sampler is told a prior variance so many times the true one.
    ask : callable
        Draws choices to be answered instead of comparisons.
    sample : callable
        What draws; another than ours to see it fail.
    """
    priors = check_learn(learn, model)
    if ask is not None:
        some = ask(np.random.default_rng(seed))
        priors = learn_from(priors, asked_with_ties(some, allowed="tie" in priors))
    prior = NormalPrior(VARIANCE, learned=learned, spread=SPREAD)
    told = replace(prior, variance=wrong * VARIANCE)
    count = KEPT * THIN[sampler]
    plan = Plan(model, d, told, priors, sampler, count, 1, WARMUP[sampler], "mode")

    def one(k: int) -> dict[str, int]:
        rng = np.random.default_rng([seed, k])
        truth, parameters = draw_truth(prior, priors, n, d, rng)
        known, lapse = with_parameters(model, parameters)
        given: Answers
        if ask is None:
            questions = random_comparisons(n, answers, replace=True, random_state=rng)
            rows = answers_from_model(known, truth, questions, lapse=lapse, random_state=rng)
            given = Triplets(rows, n_objects=n)
        else:
            sides = [b for name, b in parameters.items() if name.startswith(BIAS)]
            given = choices_from_model(
                known,
                truth,
                ask(rng),
                lapse=lapse,
                tie=parameters.get("tie", 0.0),
                bias=sides or None,
                random_state=rng,
            )
        drawn = sample(plan, given, int(rng.integers(2**60)), 1)
        thin = slice(THIN[sampler] - 1, None, THIN[sampler])
        several = {name: values[thin] for name, values in drawn.parameters.items()}
        ours = quantities(model, drawn.draws[thin], several, given)
        own = {name: np.array([value]) for name, value in parameters.items()}
        theirs = quantities(model, truth[None], own, given)
        return {name: int(np.sum(values < theirs[name])) for name, values in ours.items()}

    with ThreadPoolExecutor() as pool:
        ranks = list(pool.map(one, range(repeats)))
    return {name: np.array([rank[name] for rank in ranks]) for name in ranks[0]}


def draw_truth(
    prior: NormalPrior, priors: Learn, n: int, d: int, rng: np.random.Generator
) -> tuple[Floats, dict[str, float]]:
    """Points (n, d) and parameters from their priors."""
    spread = prior.spread if prior.learned else 0.0
    parameters = {"variance": float(prior.variance * np.exp(spread * rng.standard_normal()))}
    for name, (a, b) in priors.items():
        drawn = rng.beta(a, b) if name == "lapse" else a * np.exp(b * rng.standard_normal())
        parameters[name] = float(drawn)
    sides = [name for name in priors if name.startswith(BIAS)]
    mean = np.mean([np.log(parameters[name]) for name in sides]) if sides else 0.0
    parameters |= {name: float(np.log(parameters[name]) - mean) for name in sides}
    return np.sqrt(parameters["variance"]) * rng.standard_normal((n, d)), parameters


def with_parameters(model: Model, parameters: dict[str, float]) -> tuple[Model, float]:
    """The model with its own parameters set, and the lapse rate."""
    if isinstance(model, CKLModel):
        own = {name: parameters[name] for name in ("mu", "exponent") if name in parameters}
        model = replace(model, **own)
    return model, parameters.get("lapse", 0.0)


def quantities(
    model: Model, points: Floats, parameters: dict[str, Floats], answers: Answers
) -> dict[str, Floats]:
    """What is ranked, (S,) each, of points (S, n, d) and their parameters."""
    centre = points.mean(axis=1)
    found = {
        "first distance": np.linalg.norm(points[:, 0] - points[:, 1], axis=1),
        "last distance": np.linalg.norm(points[:, -2] - points[:, -1], axis=1),
        "sum of squares": np.sum((points - centre[:, None]) ** 2, axis=(1, 2)),
        "centre": np.sum(centre**2, axis=1),
        "log-likelihood": log_likelihoods(model, points, parameters, answers),
    }
    return found | parameters


def log_likelihoods(
    model: Model, points: Floats, parameters: dict[str, Floats], answers: Answers
) -> Floats:
    """Of points (S, n, d) and their parameters, (S,)."""
    d = points.shape[2]
    if isinstance(answers, Choices):
        apart = points[:, answers.pairs[:, 0]] - points[:, answers.pairs[:, 1]]
        squared, places = np.sum(apart**2, axis=2), np.arange(len(answers.pairs))
        p, _ = choice_probability(squared, places, answers, model, d, parameters)
        return np.asarray(np.sum(np.log(p), axis=0))
    i, j, l = (points[:, answers.array[:, k]] for k in range(3))
    near, far = np.sum((i - j) ** 2, axis=2), np.sum((i - l) ** 2, axis=2)
    likelihoods = np.empty(len(points))
    for s in range(len(points)):
        known, lapse = with_parameters(model, {name: v[s] for name, v in parameters.items()})
        p = (1.0 - lapse) * known.probability(near[s], far[s], d) + 0.5 * lapse
        likelihoods[s] = np.sum(np.log(p))
    return likelihoods


def p_values(ranks: Ranks, bins: int = 10) -> dict[str, float]:
    """The chance that uniform ranks are as uneven: chi-squared over bins of equal size."""
    found = {}
    for name, rank in ranks.items():
        counts = np.bincount(rank * bins // (KEPT + 1), minlength=bins)
        found[name] = float(stats.chisquare(counts).pvalue)
    return found

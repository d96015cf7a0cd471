"""The experiment to plan: settings, checked before the work starts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tercet.answers.choices import Choices, as_answers
from tercet.answers.either import Answers
from tercet.bootstrap import Bootstrap
from tercet.embedder import is_count, is_number
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.makers import QUICK
from tercet.posterior import DistancePrior, Posterior
from tercet.running.memory import need_memory
from tercet.simulate.agreement import how_many_questions, noise_for_agreement
from tercet.simulate.questions import Question, question_of, settle_question
from tercet.uses.plan.curve import fewest_worlds
from tercet.uses.plan.worlds import SHAPES, TRIPLET, points_of

__all__ = ["Asked", "Setting", "bits_of", "check_steps", "settle"]

NOISE, LAPSE, SHAPE, DIMENSION = 0.3, 0.0, SHAPES[0], 2  # defaults
WORLDS = 10
LIMIT, LIMIT_OF_PILOT = 50, 8  # times n log2 n, and times the pilot's answers


class Asked(NamedTuple):
    """What is asked, not yet checked."""

    kind: Any = None
    shown: int | None = None
    chosen: int | None = None
    ranked: bool = False


class Setting(NamedTuple):
    """The experiment to plan."""

    n_objects: int
    n_components: int
    question: Question
    noise: float | None  # None where a pilot says it
    lapse: float | None
    shape: str
    like: Answers | Ensemble | None
    base: int  # answers of the pilot
    assurance: float
    repeats: int
    limit: int  # of all answers, the pilot's among them
    maker: Posterior | Bootstrap


def settle(
    n_objects: int | None,
    n_components: int | None,
    asked: Asked,
    noise: float | None,
    agreement: float | None,
    lapse: float | None,
    shape: str | None,
    like: Any,
    assurance: float,
    repeats: int | None,
    limit: int | None,
    maker: Posterior | Bootstrap | None,
) -> Setting:
    """Check all settings, and fill in the defaults."""
    if like is not None:
        like = _read_pilot(like)
        told = {"noise": noise, "agreement": agreement, "lapse": lapse, "shape": shape}
        n, d = _of_pilot(like, n_objects, n_components, told)
        question = _settle_asked(asked, like)
    else:
        d = DIMENSION if n_components is None else n_components
        if noise is not None and agreement is not None:
            raise InputError("give either noise or agreement: each says how people answer.")
        noise, lapse = NOISE if noise is None else noise, LAPSE if lapse is None else lapse
        shape = SHAPE if shape is None else shape
        n = _check_world(n_objects, d, noise, lapse, shape)
        question = _settle_asked(asked, None)
        if agreement is not None:
            noise = _noise_of(agreement, question, d, shape, lapse)
    if question.n_objects > n:
        raise InputError(
            f"a question of the kind {question.name!r} is about {question.n_objects} objects, and "
            f"there are only {n}. Show fewer."
        )
    need_memory(
        6 * n**2,
        f"All comparisons of one anchor among {n} objects, which a plan uses,",
        "plan for fewer objects",
    )
    if not (is_number(assurance) and 0.0 < assurance < 1.0):
        raise InputError(f"assurance must lie between 0 and 1, such as 0.5, got {assurance!r}.")
    fewest = fewest_worlds(assurance)
    repeats = max(WORLDS, fewest) if repeats is None else repeats
    if not is_count(repeats) or repeats < fewest:
        raise InputError(
            f"repeats must be at least {fewest}: fewer simulated experiments cannot show what "
            f"{100 * assurance:.3g} % of experiments reach; got {repeats!r}."
        )
    base = 0 if like is None or isinstance(like, Ensemble) else like.n_answers
    bits = bits_of(question)
    fewest = math.ceil(n / bits)
    if limit is None:
        limit = max(math.ceil(LIMIT * n * math.log2(n) / bits), LIMIT_OF_PILOT * base)
    elif not is_count(limit) or limit < fewest:
        why = ", one answer per object" if fewest == n else ""
        raise InputError(f"limit must be a whole number of at least {fewest}{why}, got {limit!r}.")
    return Setting(
        int(n),
        int(d),
        question,
        noise,
        lapse,
        shape or SHAPE,
        like,
        base,
        float(assurance),
        int(repeats),
        base + int(limit),
        _check_maker(maker),
    )


def bits_of(question: Question) -> float:
    """The most that an answer can tell, in bits: 1 for a triplet, log2 3 for an odd one out."""
    return math.log2(question.n_outcomes)


def _settle_asked(asked: Asked, like: Answers | Ensemble | None) -> Question:
    """What is asked: by default as in the pilot, or triplets."""
    if asked.kind is not None:
        return settle_question(*asked)
    if isinstance(like, Ensemble) or like is None or asked != Asked():
        return settle_question("triplet", *asked[1:])
    return (
        question_of(like if isinstance(like, Choices) else Choices.from_triplets(like)) or TRIPLET
    )


def _noise_of(agreement: float, question: Question, d: int, shape: str, lapse: float) -> float:
    """The noise at which two people agree that often: each question is about a world of its own."""
    m, rng = how_many_questions(question), np.random.default_rng(0)
    points = points_of(shape, m * question.n_objects, d, rng)
    worlds = points.reshape(m, question.n_objects, points.shape[1])
    return noise_for_agreement(agreement, worlds, question, lapse=lapse)


def check_steps(answers: Sequence[int], base: int) -> list[int]:
    """The steps, as totals with the pilot's answers."""
    steps = list(answers) if isinstance(answers, Iterable) else []
    valid = all(is_count(m) or (base > 0 and m == 0) for m in steps)
    if len(steps) < 2 or not valid or sorted(set(steps)) != steps:
        raise InputError(
            "answers must be two or more increasing whole numbers, such as [500, 1000, 2000], got "
            f"{answers!r}."
        )
    return [base + int(m) for m in steps]


def _read_pilot(like: Any) -> Answers | Ensemble:
    """The ensemble, or the answers of a pilot."""
    if isinstance(like, Ensemble):
        return like
    try:
        return as_answers(like)
    except InputError as error:
        raise InputError(
            f"like must be the answers of a pilot, or an Ensemble made of them: {error}"
        ) from error


def _of_pilot(
    like: Answers | Ensemble,
    n_objects: int | None,
    n_components: int | None,
    told: dict[str, Any],
) -> tuple[int, int]:
    """The number of objects and of dimensions of a pilot."""
    for name, value in told.items():
        if value is not None:
            raise InputError(f"{name} is estimated from the pilot in like; leave {name} out.")
    if n_objects not in (None, like.n_objects):
        raise InputError(
            f"the pilot in like has {like.n_objects} objects, and n_objects is {n_objects!r}; "
            "leave n_objects out."
        )
    if not isinstance(like, Ensemble):
        d = DIMENSION if n_components is None else n_components
        _check_dimension(d, like.n_objects)
        return like.n_objects, d
    if like.kind != "points" or like.model is None or not like.model.is_probability:
        raise InputError(
            "like must be an ensemble of points from a probabilistic model, such as that of "
            "Posterior(CKL(2)); this one cannot simulate answers."
        )
    if n_components not in (None, like.n_components):
        raise InputError(
            f"the ensemble in like has {like.n_components} dimensions, and n_components is "
            f"{n_components!r}; leave n_components out."
        )
    return like.n_objects, like.n_components


def _check_world(n: int | None, d: int, noise: float, lapse: float, shape: str) -> int:
    """The number of objects, if the settings of the simulation are valid."""
    if n is None or not is_count(n) or n < 4:
        raise InputError(f"n_objects must be a whole number from 4, got {n!r}.")
    _check_dimension(d, n)
    if not is_number(noise) or noise < 0.0:
        raise InputError(f"noise must be a standard deviation of at least 0, got {noise!r}.")
    if not is_number(lapse) or not 0.0 <= lapse < 1.0:
        raise InputError(f"lapse must be a share of at least 0 and below 1, got {lapse!r}.")
    if shape not in SHAPES:
        raise InputError(f"shape must be one of {', '.join(map(repr, SHAPES))}, got {shape!r}.")
    if shape == "mixture" and d != 2:
        raise InputError(f"shape='mixture' has two dimensions, as in the paper; got {d}.")
    return n


def _check_dimension(d: int, n: int) -> None:
    if not is_count(d) or d > n - 2:
        raise InputError(
            f"n_components must be a whole number from 1 to {n - 2}, two fewer than the objects, "
            f"got {d!r}."
        )


def _check_maker(maker: Posterior | Bootstrap | None) -> Posterior | Bootstrap:
    if maker is None:
        return Posterior(2, **QUICK)
    if not isinstance(maker, Posterior | Bootstrap):
        raise InputError(
            "maker must be an unfitted Posterior or Bootstrap, such as Posterior(STE()); got "
            f"{type(maker).__name__}."
        )
    if isinstance(maker, Posterior) and isinstance(maker.prior, DistancePrior):
        raise InputError("maker draws distances, which have no dimension; use a NormalPrior.")
    return maker

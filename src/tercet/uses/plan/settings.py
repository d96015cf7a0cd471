"""What the user may choose, checked before the work starts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tercet.bootstrap import Bootstrap
from tercet.embedder import is_count, is_number
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.memory import need_memory
from tercet.posterior import DistancePrior, Posterior
from tercet.recommended import QUICK
from tercet.triplets import Triplets, as_triplets
from tercet.uses.plan.needed import fewest_worlds
from tercet.uses.plan.worlds import SHAPES

__all__ = ["Setting", "check_steps", "settle"]

NOISE, LAPSE, SHAPE, DIMENSION = 0.3, 0.0, SHAPES[0], 2  # unless told otherwise
WORLDS = 10
LIMIT, LIMIT_OF_PILOT = 50, 8  # times n log2 n, and times the answers that there are


class Setting(NamedTuple):
    """The experiment to plan."""

    n_objects: int
    n_components: int
    noise: float | None  # None where a pilot says it
    lapse: float | None
    shape: str
    like: Triplets | Ensemble | None
    base: int  # answers of the pilot
    assurance: float
    repeats: int
    limit: int  # of all answers, the pilot's among them
    maker: Posterior | Bootstrap


def settle(
    n_objects: int | None,
    n_components: int | None,
    noise: float | None,
    lapse: float | None,
    shape: str | None,
    like: Any,
    assurance: float,
    repeats: int | None,
    limit: int | None,
    maker: Posterior | Bootstrap | None,
) -> Setting:
    """Check everything, and settle what is left open."""
    if like is not None:
        like = _read_pilot(like)
        n, d = _of_pilot(like, n_objects, n_components, noise, lapse, shape)
    else:
        d = DIMENSION if n_components is None else n_components
        noise, lapse = NOISE if noise is None else noise, LAPSE if lapse is None else lapse
        shape = SHAPE if shape is None else shape
        n = _check_world(n_objects, d, noise, lapse, shape)
    need_memory(
        6 * n**2,
        f"All comparisons of one anchor among {n} objects, which a plan looks at,",
        "plan for fewer objects",
    )
    if not (is_number(assurance) and 0.0 < assurance < 1.0):
        raise InputError(f"assurance must lie between 0 and 1, such as 0.5, got {assurance!r}.")
    fewest = fewest_worlds(assurance)
    repeats = max(WORLDS, fewest) if repeats is None else repeats
    if not is_count(repeats) or repeats < fewest:
        raise InputError(
            f"repeats must be a whole number from {fewest}: with fewer worlds nothing can be said "
            f"about what {100 * assurance:.3g} % of experiments reach; got {repeats!r}."
        )
    base = like.n_answers if isinstance(like, Triplets) else 0
    if limit is None:
        limit = max(math.ceil(LIMIT * n * math.log2(n)), LIMIT_OF_PILOT * base)
    elif not is_count(limit) or limit < n:
        raise InputError(
            f"limit must be a whole number of at least {n}, an answer for every object, got "
            f"{limit!r}."
        )
    return Setting(
        int(n),
        int(d),
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


def check_steps(answers: Sequence[int], base: int) -> list[int]:
    """The steps, as totals with the pilot's answers."""
    steps = list(answers) if isinstance(answers, Iterable) else []
    valid = all(is_count(m) or (base > 0 and m == 0) for m in steps)
    if len(steps) < 2 or not valid or sorted(set(steps)) != steps:
        raise InputError(
            "answers must be two or more whole numbers in rising order, such as [500, 1000, 2000], "
            f"got {answers!r}."
        )
    return [base + int(m) for m in steps]


def _read_pilot(like: Any) -> Triplets | Ensemble:
    """The ensemble, or the answers of a pilot as Triplets."""
    if isinstance(like, Ensemble):
        return like
    try:
        return as_triplets(like)
    except InputError as error:
        raise InputError(
            f"like must be the answers of a pilot, or an Ensemble made of them: {error}"
        ) from error


def _of_pilot(
    like: Triplets | Ensemble,
    n_objects: int | None,
    n_components: int | None,
    noise: float | None,
    lapse: float | None,
    shape: str | None,
) -> tuple[int, int]:
    """The number of objects and of dimensions of a pilot."""
    for name, value in (("noise", noise), ("lapse", lapse), ("shape", shape)):
        if value is not None:
            raise InputError(f"the pilot in like says how people answer; leave {name} out.")
    if n_objects not in (None, like.n_objects):
        raise InputError(
            f"the pilot in like has {like.n_objects} objects, and n_objects is {n_objects!r}; "
            "leave n_objects out."
        )
    if isinstance(like, Triplets):
        if like.is_quadruplets:
            raise InputError("a plan asks about triplets, and the pilot in like has quadruplets.")
        d = DIMENSION if n_components is None else n_components
        _check_dimension(d, like.n_objects)
        return like.n_objects, d
    if like.kind != "points" or like.model is None or not like.model.is_probability:
        raise InputError(
            "like must be an ensemble of points whose model is a probability of answers, such as "
            "that of Posterior(CKL(2)); this one cannot say how people would answer."
        )
    if n_components not in (None, like.n_components):
        raise InputError(
            f"the ensemble in like has {like.n_components} dimensions, and n_components is "
            f"{n_components!r}; leave n_components out."
        )
    return like.n_objects, like.n_components


def _check_world(n: int | None, d: int, noise: float, lapse: float, shape: str) -> int:
    """The number of objects, if such a world can be."""
    if n is None or not is_count(n) or n < 4:
        raise InputError(f"n_objects must be a whole number from 4, got {n!r}.")
    _check_dimension(d, n)
    if not is_number(noise) or noise < 0.0:
        raise InputError(f"noise must be a standard deviation of at least 0, got {noise!r}.")
    if not is_number(lapse) or not 0.0 <= lapse < 1.0:
        raise InputError(f"lapse is a share from 0 and below 1, got {lapse!r}.")
    if shape not in SHAPES:
        raise InputError(f"shape must be one of {', '.join(map(repr, SHAPES))}, got {shape!r}.")
    if shape == "mixture" and d != 2:
        raise InputError(f"shape='mixture' is the paper's, in the plane; n_components is {d}.")
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
            "maker must be a Posterior or a Bootstrap that is not fitted, such as "
            f"Posterior(STE()); got {type(maker).__name__}."
        )
    if isinstance(maker, Posterior) and isinstance(maker.prior, DistancePrior):
        raise InputError("maker draws distances, which have no dimension; give it a NormalPrior.")
    return maker

"""What `suggest` and `ActiveLoop` are given: read, and checked before work starts."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.bootstrap import Bootstrap
from tercet.embedder import is_count
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.models import Model
from tercet.posterior import Posterior
from tercet.triplets import Triplets, as_triplets
from tercet.uncertainty import check_method
from tercet.uses.active.questions import Candidates

Index = NDArray[np.int64]

STRATEGIES = {  # and what their scores are
    "uncertainty": "min(π, 1 − π)",
    "information_gain": "bits about the anchor",
    "mutual_information": "bits about the map",
    "random": "no score",
}
MOST_OBJECTS = 2**21 - 1  # whose comparisons can be numbered in 64 bits, as (a·n + j)·n + l
IN_BITS = ("information_gain", "mutual_information")  # need a model that is a probability


def default_strategy(model: Model | None, method: str | None) -> str:
    """Mutual information where the model is a probability of answers, else uncertainty.

    A method of π is for uncertainty alone, so it chooses that.
    """
    known = model is not None and model.is_probability and method is None
    return "mutual_information" if known else "uncertainty"


def check_options(k: int, strategy: str, per_anchor: int | None, method: str | None) -> None:
    """Raise unless `suggest` can work with these."""
    if strategy not in STRATEGIES:
        known = ", ".join(map(repr, STRATEGIES))
        raise InputError(f"strategy must be one of {known}, got {strategy!r}.")
    check_count("k", k)
    if per_anchor is not None:
        check_count("per_anchor", per_anchor)
    if method is not None:
        check_method(method)
        if strategy != "uncertainty":
            raise InputError(f"method is for strategy='uncertainty'; {strategy!r} has none.")


def check_count(name: str, value: int) -> None:
    """Raise unless it is a positive whole number."""
    if not is_count(value):
        raise InputError(f"{name} must be a positive whole number, got {value!r}.")


def read_objects(given: Any, strategy: str | None) -> Triplets:
    """The answers, none perhaps, of the objects that questions are about.

    The objects are those of an ensemble; for random questions also those of answers, or names, or
    a number of them.
    """
    if isinstance(given, Ensemble):
        return without_answers(given.n_objects, given.names)
    if strategy != "random":
        raise InputError(
            "suggest needs an Ensemble, such as the ensemble_ of a fitted Posterior or Bootstrap; "
            f"got {type(given).__name__}. Only strategy='random' does without: it takes answers, "
            "names, or the number of objects, too."
        )
    if is_count(given):
        return without_answers(int(given), None)
    if isinstance(given, Sequence) and all(isinstance(each, str) for each in given):
        return without_answers(len(given), given)
    return given if isinstance(given, Triplets) else as_triplets(given)


def without_answers(count: int, names: Sequence[str] | None) -> Triplets:
    """The objects, and no answers about them."""
    if not 3 <= count <= MOST_OBJECTS:
        raise InputError(
            f"questions are about 3 objects or more, up to {MOST_OBJECTS}; there are {count}."
        )
    nothing: Triplets = Triplets([[0, 1, 2]], n_objects=count, names=names)[:0]
    return nothing


def check_ensemble(ensemble: Ensemble, strategy: str) -> None:
    """Raise unless the ensemble knows what the strategy asks of it."""
    if strategy in IN_BITS:
        try:
            ensemble.answer_probability([[0, 1, 2]])
        except InputError as error:
            raise InputError(
                f"strategy={strategy!r} asks how people will answer: {error} "
                "strategy='uncertainty' works with any ensemble."
            ) from error


def read_comparisons(objects: Triplets, given: Any, what: str) -> Index:
    """Comparisons (m, 3) of the objects, by number or by name."""
    if given is None or (isinstance(given, Sized) and len(given) == 0):
        return np.empty((0, 3), dtype=np.int64)
    try:
        rows = objects.encode(given)
    except InputError as error:
        raise InputError(f"{what}: {error}") from error
    if rows.shape[1] != 3:
        raise InputError(
            f"{what} must be comparisons of one anchor with two others, three columns; suggest "
            "knows no questions about four objects."
        )
    return rows


def check_left(questions: Candidates, k: int, per_anchor: int | None, repeats: bool) -> None:
    """Raise unless there are k comparisons left to choose from."""
    left = questions.left
    free = int(left.sum())
    if k > free:
        of = "all comparisons" if questions.offered is None else f"{len(questions.offered)} offered"
        raise InputError(
            f"{k} comparisons were wanted, but of {of} only {free} are "
            + ("not " if repeats else "neither answered nor ")
            + "waiting for an answer; ask for fewer"
            + (", or offer others." if repeats else ", offer others, or use repeats=True.")
        )
    if per_anchor is not None and k > (most := int(np.minimum(left, per_anchor).sum())):
        raise InputError(
            f"{k} comparisons were wanted, but per_anchor={per_anchor} leaves room for {most}; "
            "raise it, or ask for fewer."
        )


def settle_strategy(maker: Posterior | Bootstrap, strategy: str | None, method: str | None) -> str:
    """The strategy, or the default; raise unless the maker's ensembles know what it asks."""
    if not isinstance(maker, Posterior | Bootstrap):
        raise InputError(
            "maker must be a Posterior or a Bootstrap that is not fitted, such as "
            f"Posterior(STE(2)); got {type(maker).__name__}."
        )
    model = maker.embedder.model()
    strategy = default_strategy(model, method) if strategy is None else strategy
    if strategy in IN_BITS and not model.is_probability:
        raise InputError(
            f"strategy={strategy!r} needs a model that is a probability, and "
            f"{type(maker.embedder).__name__} is none; use STE, TSTE or CKL, or "
            "strategy='uncertainty'."
        )
    return strategy


def check_start(start: Any, n_objects: int | None) -> Triplets:
    """The answers that a loop starts from; an error where it cannot go on from them."""
    triplets = as_triplets(start, n_objects)
    if triplets.is_quadruplets:
        raise InputError("an ActiveLoop asks about triplets, and start has quadruplets.")
    if triplets.shares_screens:
        raise InputError(
            "start has screens with several answers, which are one choice, and new answers have "
            "no screens; keep one answer of each screen."
        )
    return triplets

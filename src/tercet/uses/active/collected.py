"""The answers of a running study: joined to others, without a person, about more objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.answers import choices as of_choices
from tercet.answers import triplets as of_triplets
from tercet.answers.checks import check_names
from tercet.answers.choices import Choices
from tercet.answers.either import Answers, split_of, weights_of
from tercet.answers.triplets import Triplets
from tercet.arrays import Bools, Index
from tercet.embedder import is_count
from tercet.errors import InputError
from tercet.text import listed
from tercet.uses.active.candidates import without_answers

UNKNOWN = "unknown"  # who gave an answer, if others have names


def first_objects(names: Any, n_objects: int | None) -> Triplets:
    """The objects of a study without answers."""
    if names is not None:
        known = check_names(names)
        if n_objects not in (None, len(known)):
            raise InputError(
                f"there are {len(known)} names, but n_objects is {n_objects}; leave it out."
            )
        return without_answers(len(known), known)
    if not is_count(n_objects):
        raise InputError(
            "without answers to start from, the objects are unknown: give start, names or "
            "n_objects."
        )
    assert n_objects is not None
    return without_answers(int(n_objects), None)


def by(answers: Answers, observer: Any) -> Answers:
    """The same answers, given by this person."""
    return _replaced(answers, observers=np.full(len(answers), observer))


def joined(before: Answers, new: Answers) -> Answers:
    """All answers, about the same objects; as triplets if they are.

    If some observers are known, the others are "unknown".
    """
    if not len(before):
        return new
    if not len(new):
        return before
    parts = [before, new]
    if any(part.observers is not None for part in parts):
        parts = [_labelled(part) for part in parts]
    triplets = [part for part in parts if isinstance(part, Triplets)]
    if len(triplets) == 2 and len({part.array.shape[1] for part in triplets}) == 1:
        return _joined_triplets(triplets)
    return Choices.concatenate(parts)


def _labelled(answers: Answers) -> Answers:
    if answers.observers is None:
        return by(answers, UNKNOWN)
    return _replaced(answers, observers=answers.observers.astype(str))


def _joined_triplets(parts: Sequence[Triplets]) -> Triplets:
    fields = [part._fields for part in parts]
    timed = any(each.response_times is not None for each in fields)
    weighted = any(each.weights is not None for each in fields)

    def together(name: str) -> Any:
        columns = [getattr(each, name) for each in fields]
        return None if any(column is None for column in columns) else np.concatenate(columns)

    times = [
        np.full(len(part), np.nan) if part.response_times is None else part.response_times
        for part in parts
    ]
    whole = fields[0]._replace(
        array=together("array"),
        observers=together("observers"),
        screens=together("screens"),
        weights=np.concatenate([weights_of(part) for part in parts]) if weighted else None,
        response_times=np.concatenate(times) if timed else None,
    )
    return of_triplets.restore(whole)


def given_by(answers: Answers, observer: Any) -> Bools:
    """Which answers this person gave, (m,)."""
    known = answers.observers
    if known is None:
        raise InputError(
            f"nobody is known to be {observer!r}: the answers have no observers; give them to tell."
        )
    return np.asarray(known.astype(str) == str(observer))


def check_somebody(answers: Answers, observer: Any, waits: bool) -> None:
    """Raise unless the person answered or was asked something."""
    known = answers.observers
    people = set() if known is None else set(known.astype(str).tolist())
    if str(observer) not in people and not waits:
        names = listed(sorted(people)) if people else "none"
        raise InputError(f"there is no observer {observer!r} in this loop; there are {names}.")


def with_objects(answers: Answers, added: Any) -> Answers:
    """The same answers about more objects: a number of them, or names if the others have names."""
    n, names = answers.n_objects, answers.names
    if names is None:
        if not is_count(added):
            raise InputError(
                f"the objects have no names, so give how many are added, got {added!r}."
            )
        return _replaced(answers, n_objects=n + int(added))
    if isinstance(added, str) or is_count(added):
        raise InputError("the objects have names, so give a list of the names that are added.")
    every = check_names([*names, *added])
    return _replaced(answers, n_objects=len(every), names=every)


def count_seen(answers: Answers, asked: Index) -> Index:
    """How many answers and questions asked each object is in, (n,)."""
    n = answers.n_objects
    seen = np.bincount(np.ravel(asked), minlength=n)
    if not len(answers):
        return seen
    if isinstance(answers, Choices):
        row = np.repeat(np.arange(len(answers)), 2 * answers.n_alternatives)
        both = np.unique(row * n + answers.pairs.ravel())
        return seen + np.bincount(both % n, minlength=n)
    return seen + np.bincount(split_of(answers).array.ravel(), minlength=n)


def _replaced(answers: Answers, **changes: Any) -> Answers:
    if isinstance(answers, Choices):
        return of_choices.restore(answers._fields._replace(**changes))
    return of_triplets.restore(answers._fields._replace(**changes))

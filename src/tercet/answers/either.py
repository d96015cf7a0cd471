"""Answers in either form, `Triplets` or `Choices`: what both can be asked for.

A row is one answer in both: a comparison of two pairs, or a choice among several.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from tercet.answers import choices as of_choices
from tercet.answers import triplets as of_triplets
from tercet.answers.choices import Choices
from tercet.answers.grouping import join
from tercet.answers.making import allow_ties, forbid_ties
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats, Index
from tercet.errors import InputError
from tercet.text import closest

__all__ = [
    "Answers",
    "about_choices",
    "as_ties",
    "asked_with_ties",
    "chance_of",
    "join_ties",
    "match_objects",
    "rearranged",
    "split_of",
    "told",
    "weights_of",
    "with_weights",
]

Answers: TypeAlias = Triplets | Choices


def split_of(answers: Answers) -> Triplets:
    """The comparisons within the answers; those of one choice share a screen."""
    return answers.triplets() if isinstance(answers, Choices) else answers


def weights_of(answers: Answers) -> Floats:
    """Weight of each row, (m,)."""
    return np.ones(len(answers)) if answers.weights is None else answers.weights


def about_choices(answers: Answers) -> dict[str, str]:
    """What was chosen, for a provenance; nothing for comparisons."""
    return {"choices": answers.in_words} if isinstance(answers, Choices) else {}


def chance_of(answers: Answers) -> Floats:
    """Probability (m,) of each answer if all outcomes are equally likely."""
    if isinstance(answers, Choices):
        return 1.0 / answers.n_outcomes
    return np.full(len(answers), 0.5)


def with_weights(answers: Answers, weights: Floats | None) -> Answers:
    """The same answers with other weights (m,); each counts once without."""
    if isinstance(answers, Choices):
        return of_choices.restore(answers._fields._replace(weights=weights))
    return of_triplets.restore(answers._fields._replace(weights=weights))


def told(answers: Answers) -> Answers:
    """The answers in which the observer could tell."""
    ties = isinstance(answers, Choices) and bool(answers.may_tie.any())
    return answers.without_ties() if ties and isinstance(answers, Choices) else answers


def asked_with_ties(choices: Choices, *, allowed: bool) -> Choices:
    """The same questions, whether or not "cannot tell" is an answer to those of one alternative.

    What was chosen means nothing where the observer could not tell.
    """
    chosen, kinds = np.maximum(choices.n_chosen, 1), forbid_ties(choices.kinds)
    kinds = allow_ties(kinds, chosen) if allowed else kinds
    return of_choices.restore(choices._fields._replace(kinds=kinds, n_chosen=chosen))


def as_ties(choices: Choices) -> Choices:
    """The same choices of one alternative, if the observer could not tell in any of them."""
    nothing = np.zeros(len(choices), dtype=np.int64)
    kinds = allow_ties(choices.kinds, choices.n_chosen)
    return of_choices.restore(choices._fields._replace(kinds=kinds, n_chosen=nothing))


def join_ties(told: Choices, ties: Choices) -> Choices:
    """All choices; "cannot tell" was an answer to all of one alternative."""
    fields = join([told._fields, ties._fields])
    kinds = allow_ties(fields.kinds, fields.n_chosen)
    return of_choices.restore(fields._replace(kinds=kinds))


def rearranged(choices: Choices, order: Index, chosen: Index) -> Choices:
    """The same choices with other outcomes.

    Parameters
    ----------
    choices : Choices
    order : (A,) integer array
        For each choice the places of its alternatives, from 0, those that are chosen now first.
    chosen : (m,) integer array
        How many are chosen now; none, if the observer cannot tell.
    """
    places = np.repeat(choices.cuts[:-1], choices.n_alternatives) + order
    positions = None if choices.positions is None else choices.positions[places]
    return of_choices.restore(
        choices._fields._replace(pairs=choices.pairs[places], positions=positions, n_chosen=chosen)
    )


def match_objects(choices: Choices, n_objects: int, names: tuple[str, ...] | None) -> Choices:
    """The choices with objects numbered as in a list of names, if both have names."""
    fields = choices._fields
    if choices.names is None or names is None or choices.names == names:
        if len(fields.pairs) and (largest := int(fields.pairs.max())) >= n_objects:
            raise InputError(
                f"the choices are about object {largest}, but there are only {n_objects} objects, "
                f"numbered 0 to {n_objects - 1}."
            )
        return choices
    place = {name: number for number, name in enumerate(names)}
    used = np.unique(fields.pairs)
    if unknown := [choices.names[i] for i in used if choices.names[i] not in place]:
        meant = closest(unknown[0], names)
        cure = "" if meant is None else f" Did you mean {meant!r}?"
        raise InputError(f"the choices are about {unknown[0]!r}, which is not in the map.{cure}")
    numbers = np.array([place.get(name, -1) for name in choices.names], dtype=np.int64)
    return of_choices.restore(
        fields._replace(pairs=numbers[fields.pairs], n_objects=n_objects, names=names)
    )

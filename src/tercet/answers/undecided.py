"""Choices in which the observer could not tell, apart from the others and together with them."""

from __future__ import annotations

import numpy as np

from tercet.answers.choices import Choices, restore
from tercet.answers.grouping import join
from tercet.answers.making import allow_ties

__all__ = ["as_ties", "join_ties"]


def as_ties(choices: Choices) -> Choices:
    """The same choices of one alternative, if the observer could not tell in any of them."""
    nothing = np.zeros(len(choices), dtype=np.int64)
    kinds = allow_ties(choices.kinds, choices.n_chosen)
    return restore(choices._fields._replace(kinds=kinds, n_chosen=nothing))


def join_ties(told: Choices, ties: Choices) -> Choices:
    """All choices; "cannot tell" was an answer to all of one alternative."""
    fields = join([told._fields, ties._fields])
    return restore(fields._replace(kinds=allow_ties(fields.kinds, fields.n_chosen)))

"""Luce's choice rule from its definition, for numbers of any type."""

import math
from itertools import combinations, permutations

from tercet.answers.choices import FARTHEST, ORDERED, UNORDERED


def outcomes(kind, k, m):
    """All outcomes: the places of the alternatives, the chosen ones first."""
    chosen = combinations(range(m), k) if kind == UNORDERED else permutations(range(m), k)
    return [[*some, *(j for j in range(m) if j not in some)] for some in chosen]


def in_this_order(k, s):
    """Choices without replacement: each among those that are left."""
    return math.prod(s[r] / sum(s[r:]) for r in range(k))


def in_any_order(k, s):
    """The sum over all orders of the chosen ones."""
    rest = list(s[k:])
    return sum(in_this_order(k, [*order, *rest]) for order in permutations(s[:k]))


def by_definition(kind, k, s):
    """The probability of a choice, from strengths s of any number type."""
    if kind == ORDERED:
        return in_this_order(k, s)
    if kind == UNORDERED:
        return in_any_order(k, s)
    inverse = [1 / strength for strength in s]
    if kind == FARTHEST:
        return inverse[0] / sum(inverse)
    return s[0] / sum(s) * inverse[1] / sum(inverse[1:])

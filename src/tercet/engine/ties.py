"""The odds of "cannot tell" that go with a single map: both maximise the likelihood."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from tercet.engine.kernels import add_edges, code_of
from tercet.engine.problem import Problem
from tercet.engine.search import Fit, Objective
from tercet.models.base import Array
from tercet.models.luce import TIE, allows_tie

MOST = 20.0  # largest logarithm of the odds, either way
ROUNDS = 20  # of a map given the odds and the odds given the map
SETTLED = 1e-4  # change of the logarithm at which they end


def has_ties(problem: Problem) -> bool:
    """Whether "cannot tell" is a possible answer to some of the choices."""
    return any(allows_tie(int(kind)) for kind in np.unique(problem.lists.kinds))


def with_tie(problem: Problem, log_odds: float) -> Problem:
    """The problem at these odds of "cannot tell"."""
    bonus = problem.lists.bonus.copy()
    bonus[TIE] = log_odds
    return problem._replace(lists=problem.lists._replace(bonus=bonus))


def tie_of(problem: Problem) -> float:
    """The odds of "cannot tell" in a problem."""
    return math.exp(problem.lists.bonus[TIE])


def best_tie(objective: Objective, problem: Problem, X: Array) -> float:
    """Logarithm of the most likely odds of "cannot tell" given the map X (n, d).

    The loss is convex in it, so that its slope has one root.
    """
    code, (p, q) = code_of(objective.model), objective.model.constants(X.shape[1])
    unused = np.empty_like(X)

    def slope(log_odds: float) -> float:
        bonus = with_tie(problem, log_odds).lists.bonus
        unused[:] = 0.0
        return float(add_edges(code, float(p), float(q), 0.0, bonus, problem, X, unused)[4][TIE])

    if slope(-MOST) >= 0.0:
        return -MOST
    if slope(MOST) <= 0.0:
        return MOST
    return float(brentq(slope, -MOST, MOST, xtol=1e-9))


def settle_ties(
    objective: Objective,
    problem: Problem,
    solve: Callable[[Problem, Array | None], Fit],
) -> tuple[Fit, Problem]:
    """The map, and the problem at its odds of "cannot tell": each is the best given the other.

    Parameters
    ----------
    objective : Objective
    problem : Problem
    solve : callable
        Finds a map of a problem, from its own starts or from a map (n, d).
    """
    fit = solve(problem, None)
    for _ in range(ROUNDS):
        problem = with_tie(problem, best_tie(objective, problem, fit.embedding))
        fit = solve(problem, fit.embedding)
        change = best_tie(objective, problem, fit.embedding) - problem.lists.bonus[TIE]
        if abs(change) < SETTLED:
            break
    return fit, problem

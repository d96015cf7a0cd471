"""How often two people agree, and the noise at which they agree that often.

Two people agree if they give the same answer to the same question: of three nearest of nine, all
three are the same. Both see the same map and answer independently of each other.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import bisect

from tercet.answers.choices import Choices
from tercet.arrays import Floats
from tercet.errors import InputError
from tercet.kinds import UNORDERED
from tercet.models.base import Model
from tercet.simulate.people import People, people_who, squared_lengths
from tercet.simulate.questions import Question, random_questions, settle_question

__all__ = [
    "check_agreement",
    "expected_agreement",
    "how_many_questions",
    "noise_for_agreement",
    "scale_for_agreement",
]

PEOPLE = 8  # who answer each question: 28 pairs
PERCEIVED = 2**18  # alternatives of all questions and people
SEED = 20_261_116  # of questions and answers: the same settings have the same agreement
LEAST, MOST = 1e-3, 1e3  # noise, or size of a map, that is tried
PRECISION = 1e-4  # of the logarithm of the noise found


def expected_agreement(
    points: ArrayLike,
    kind: str | Question = "triplet",
    *,
    shown: int | None = None,
    chosen: int | None = None,
    ranked: bool = False,
    noise: float = 0.0,
    model: Model | None = None,
    lapse: float = 0.0,
) -> float:
    """Share of random questions to which two people give the same answer.

    Simulated with fixed random numbers, to about .003.

    Parameters
    ----------
    points : (n, d) array, or (k, n, d) array
        Positions; of several maps, each question is about one of them.
    kind, shown, chosen, ranked, noise, model, lapse
        As in `choices`.
    """
    asked = _ask(points, settle_question(kind, shown, chosen, ranked))
    return asked.agreement(people_who(noise, model, lapse))


def noise_for_agreement(
    agreement: float,
    points: ArrayLike,
    kind: str | Question = "triplet",
    *,
    shown: int | None = None,
    chosen: int | None = None,
    ranked: bool = False,
    lapse: float = 0.0,
) -> float:
    """The noise σ at which two people agree that often on random questions.

    Parameters
    ----------
    agreement : float
        Such as 0.74: two people give the same answer in 74 % of the questions.
    points, kind, shown, chosen, ranked, lapse
        As in `expected_agreement`.

    Examples
    --------
    >>> import numpy as np, tercet as tc
    >>> points = np.random.default_rng(0).standard_normal((20, 2))
    >>> sigma = tc.simulate.noise_for_agreement(0.74, points, "odd_one_out")
    >>> f"{tc.simulate.expected_agreement(points, 'odd_one_out', noise=sigma):.2f}"
    '0.74'
    """
    question = settle_question(kind, shown, chosen, ranked)
    quiet = people_who(0.0, None, lapse)
    check_agreement(agreement, question)
    asked = _ask(points, question)
    _check_possible(agreement, asked.agreement(quiet), lapse, "Without noise")
    return _solve(agreement, lambda noise: asked.agreement(quiet._replace(noise=noise)))


def scale_for_agreement(
    agreement: float,
    points: ArrayLike,
    model: Model,
    kind: str | Question = "triplet",
    *,
    shown: int | None = None,
    chosen: int | None = None,
    ranked: bool = False,
    lapse: float = 0.0,
) -> float:
    """The factor for the points at which two people who answer by a model agree that often.

    The larger a map, the surer are answers by STE, t-STE or Shepard's law.

    Parameters
    ----------
    agreement : float
        Such as 0.74: two people give the same answer in 74 % of the questions.
    points, kind, shown, chosen, ranked, model, lapse
        As in `expected_agreement`.
    """
    question = settle_question(kind, shown, chosen, ranked)
    people = people_who(0.0, model, lapse)
    check_agreement(agreement, question)
    asked = _ask(points, question)
    least, most = (asked.agreement(people, scale) for scale in (LEAST, MOST))
    if most - least < 0.01:
        raise InputError(
            "the answers of this model do not depend on the size of the map, so agreement cannot "
            "set it; give noise, or a model with the noise that you want."
        )
    _check_possible(agreement, most, lapse, "In a map as large as that")
    return 1.0 / _solve(agreement, lambda shrunk: asked.agreement(people, 1.0 / shrunk))


# --- inside -------------------------------------------------------------------------------------


class _Asked(NamedTuple):
    """Random questions, and the distances that they are about."""

    questions: Choices
    squared: Floats  # (A,)
    n_components: int

    def agreement(self, people: People, scale: float = 1.0) -> float:
        """Share of pairs of people, with maps of that scale, who answer the same."""
        asked, rng = self.questions, np.random.default_rng(SEED)
        m, k = len(asked), int(asked.n_chosen[0])
        given = []
        for _ in range(PEOPLE):
            answered = people.choose(asked, scale**2 * self.squared, self.n_components, rng)
            pairs = answered.pairs @ np.array([asked.n_objects, 1])
            said = pairs.reshape(m, -1)[:, :k]
            given.append(np.sort(said, axis=1) if asked.kinds[0] == UNORDERED else said)
        same = [(one == other).all(axis=1).mean() for one, other in combinations(given, 2)]
        return float(np.mean(same))


def how_many_questions(question: Question) -> int:
    """How many questions an agreement is simulated with."""
    return PERCEIVED // (PEOPLE * question.n_alternatives)


def _ask(points: ArrayLike, question: Question) -> _Asked:
    """Random questions about the points."""
    positions = np.asarray(points, dtype=np.float64)
    if positions.ndim not in (2, 3):
        raise InputError(f"points must have shape (objects, dimensions), got {positions.shape}.")
    m = how_many_questions(question)
    rng = np.random.default_rng(SEED)
    asked = random_questions(positions.shape[-2], m, question, random_state=rng)
    maps = None
    if positions.ndim == 3:
        maps = np.repeat(np.arange(m) % len(positions), asked.n_alternatives)
    squared = squared_lengths(positions, asked.pairs, maps)
    return _Asked(asked, squared, positions.shape[-1])


def check_agreement(agreement: Any, question: Question) -> None:
    """Raise unless two people who do not just guess could agree that often."""
    number = isinstance(agreement, int | float | np.number) and not isinstance(agreement, bool)
    if not number or not 0.0 < agreement < 1.0:
        raise InputError(
            "agreement is the share of questions to which two people give the same answer, such as "
            f"0.74, and lies between that of guessing and 1, got {agreement!r}."
        )
    chance = 1.0 / question.n_outcomes
    if agreement <= chance:
        raise InputError(
            f"agreement must be above {chance:.3g}, how often two people who guess agree in a "
            f"question of the kind {question.name!r}, got {agreement!r}."
        )


def _check_possible(agreement: float, most: float, lapse: float, where: str) -> None:
    if agreement < most:
        return
    why = f" with a lapse of {lapse:g}" if lapse > 0.0 else ""
    raise InputError(
        f"agreement cannot be {agreement:g}. {where}, two people{why} agree in only "
        f"{100 * most:.3g} % of such questions. Give a lower agreement or lapse."
    )


def _solve(agreement: float, at: Callable[[float], float]) -> float:
    """The noise at which people agree that often; agreement falls with noise."""
    low, high = np.log([LEAST, MOST])
    if at(LEAST) <= agreement:
        return LEAST
    if (least := at(MOST)) >= agreement:
        raise InputError(
            f"agreement of {agreement:g} is too close to guessing: with as much noise as that, two "
            f"people still agree in {100 * least:.3g} % of such questions."
        )
    found = bisect(lambda log: at(float(np.exp(log))) - agreement, low, high, xtol=PRECISION)
    return float(np.exp(found))

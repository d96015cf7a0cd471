"""Answers of simulated people to screens of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.answers.choices import Choices, restore
from tercet.answers.either import match_objects
from tercet.arrays import Floats, Index
from tercet.errors import InputError
from tercet.models.base import Model
from tercet.running.provenance import Seed, as_generator
from tercet.simulate.agreement import noise_for_agreement, scale_for_agreement
from tercet.simulate.people import People, people_who, squared_lengths
from tercet.simulate.questions import Question, random_questions, settle_question

__all__ = ["answered", "check_distances", "choices", "choices_from_model"]


def choices(
    points: ArrayLike,
    m: int,
    kind: str | Question = "odd_one_out",
    *,
    shown: int | None = None,
    chosen: int | None = None,
    ranked: bool = False,
    noise: float | None = None,
    agreement: float | None = None,
    model: Model | None = None,
    lapse: float = 0.0,
    tie: float = 0.0,
    bias: ArrayLike | None = None,
    observers: Any = None,
    random_state: Seed = None,
) -> Choices:
    """Answers of simulated people to m random questions of a kind.

    Parameters
    ----------
    points : (n, d) array, or (k, n, d) array
        Positions of the objects, or those that each of k observers perceives.
    m : int
        Number of questions, drawn with replacement; each is one screen.
    kind : str
        "triplet": which of two objects is nearer to an anchor. "quadruplet": which of two pairs is
        the nearer one. "odd_one_out" and "most_central": which of three objects is it. "nearest":
        the k of m objects that are nearest to an anchor; "3 of 9" says it in short. "ranking": all
        objects shown, by nearness to the anchor. "best_worst": the nearest and the farthest one.
    shown : int, optional
        Objects shown with an anchor: by default 9 for "nearest", else 4.
    chosen : int, optional
        How many of them are chosen, for "nearest"; by default 3.
    ranked : bool
        Whether the nearest are chosen in their order.
    noise : float, optional
        The paper's σ, the standard deviation of perceived log-distances; 0 by default. The
        distances of all alternatives are perceived independently, as the two of `answer` are.
    agreement : float, optional
        Instead of noise, how often two people agree, such as 0.74 for 74 % of the questions: σ is
        that of `noise_for_agreement`. With a model, the points are multiplied by
        `scale_for_agreement`.
    model : Model, optional
        Answers are drawn from a similarity, such as ``tc.STE(2).model()``, as in
        `choices_from_model`, instead of with noise.
    lapse : float
        Share of answers that are any of the outcomes, all equally likely.
    tie, bias : optional
        With a model, how often people cannot tell, and which positions on the screen they prefer,
        as in `choices_from_model`. An agreement is that of people without either.
    observers : int or array-like of shape (m,), optional
        How many observers there are, who get equal shares of the questions and do not differ if
        there is one map; or who answers each question.

    Returns
    -------
    Choices
        With the positions on the screen, which are random.

    Examples
    --------
    >>> import numpy as np, tercet as tc
    >>> points = np.random.default_rng(0).standard_normal((12, 2))
    >>> tc.simulate.choices(points, 100, "odd_one_out", noise=0.3, random_state=0)
    Choices(100 choices of 12 objects, 1 of 3)
    >>> tc.simulate.choices(points, 40, "3 of 9", agreement=0.3, observers=4, random_state=0)
    Choices(40 choices of 12 objects by 4 observers, 3 of 9)
    """
    question = settle_question(kind, shown, chosen, ranked)
    positions = np.asarray(points, dtype=np.float64)
    if positions.ndim not in (2, 3):
        raise InputError(f"points must have shape (objects, dimensions), got {positions.shape}.")
    if noise is not None and (agreement is not None or model is not None):
        other = "agreement" if agreement is not None else "model"
        raise InputError(f"give either noise or {other}: each says how people answer.")
    people = people_who(0.0 if noise is None else noise, model, lapse, tie, bias)
    if agreement is not None:
        positions, people = _agreeing(agreement, positions, question, people)
    rng = as_generator(random_state)
    asked = random_questions(positions.shape[-2], m, question, random_state=rng)
    labels, maps = _observers(observers, m, len(positions) if positions.ndim == 3 else None)
    of_pair = None if maps is None else np.repeat(maps, asked.n_alternatives)
    squared = squared_lengths(positions, asked.pairs, of_pair)
    given = people.choose(asked, squared, positions.shape[-1], rng)
    return restore(given._fields._replace(observers=labels))


def _agreeing(
    agreement: float, points: Floats, question: Question, people: People
) -> tuple[Floats, People]:
    """The points and the people, such that two of them agree that often."""
    if points.ndim == 3:
        raise InputError("agreement is for people who share one map; for several, give noise.")
    if people.model is None:
        sigma = noise_for_agreement(agreement, points, question, lapse=people.lapse)
        return points, people._replace(noise=sigma)
    found = scale_for_agreement(agreement, points, people.model, question, lapse=people.lapse)
    return found * points, people


def _observers(observers: Any, m: int, maps: int | None) -> tuple[Any, Index | None]:
    """The label of who answers each question (m,), and the number of her map if there are many."""
    if observers is None:
        observers = maps
    if observers is None:
        return None, None
    labels = np.asarray(observers)
    if labels.ndim == 0:
        if labels.dtype.kind not in "iu" or labels < 1:
            raise InputError(f"observers must be a whole number from 1, got {observers!r}.")
        if maps not in (None, int(labels)):
            raise InputError(f"points has {maps} maps, one per observer, got observers={labels}.")
        labels = np.sort(np.arange(m) % int(labels))
    if labels.shape != (m,):
        raise InputError(f"observers must be {m} labels, one per question, got {labels.shape}.")
    if maps is None:
        return labels, None
    known, number = np.unique(labels, return_inverse=True)
    if len(known) > maps:
        raise InputError(f"points has {maps} maps, one per observer, got {len(known)} observers.")
    return labels, number


def answered(
    points: ArrayLike, asked: Choices, people: People, precomputed: bool, random_state: Seed
) -> Choices:
    """Given questions with other answers, about points or a matrix of distances."""
    positions = np.asarray(points, dtype=np.float64)
    known = match_objects(asked, len(positions), None)
    one, other = known.pairs.T
    if precomputed:
        check_distances(positions)
        squared = positions[one, other] ** 2
    else:
        squared = squared_lengths(positions, known.pairs)
    return people.choose(asked, squared, positions.shape[1], as_generator(random_state))


def check_distances(matrix: Floats) -> None:
    """Raise unless this is a matrix of distances."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"precomputed distances must be a square matrix, got {matrix.shape}.")
    if not (matrix >= 0.0).all():
        raise InputError("precomputed distances must be numbers of at least 0.")


def choices_from_model(
    model: Model,
    points: ArrayLike,
    choices: Choices,
    *,
    lapse: float = 0.0,
    tie: float = 0.0,
    bias: ArrayLike | None = None,
    random_state: Seed = None,
) -> Choices:
    """The same questions with answers drawn from a model: the odds of a pair ∝ its similarity.

    Parameters
    ----------
    model : Model
        A similarity, such as ``CKL(2).model()``.
    points : (n, d) array
    choices : Choices
        What was chosen has no effect.
    lapse : float
        Share of answers that are any of the outcomes, all equally likely.
    tie : float
        Odds of "cannot tell" against the geometric mean of the alternatives', as an answer to
        choices of one; never, if 0.
    bias : (positions,) array, optional
        Log-odds by which the alternative at each position is preferred.
    """
    return answered(points, choices, people_who(0.0, model, lapse, tie, bias), False, random_state)

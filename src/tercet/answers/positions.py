"""Positions on the screen: whether answers depend on them (side bias, serial dependence).

Where positions are random, an answer that depends on the objects alone falls on each of the
positions offered with the same probability, whatever the objects and the noise. Both tests use
nothing else.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import false_discovery_control, norm

from tercet.answers.alternatives import take
from tercet.answers.checks import label_observers
from tercet.answers.choices import UNORDERED, Choices, number_choices
from tercet.answers.either import Answers
from tercet.answers.shares import LEVEL, at_least, at_most, interval
from tercet.answers.table import need_votes
from tercet.arrays import Bools, Floats, Index

__all__ = [
    "ObserverSide",
    "PositionShare",
    "SerialDependence",
    "SideBias",
    "serial_dependence",
    "side_bias",
]

FEWEST = 6  # units: fewer cannot be significant at 5 %
SHUFFLES, MOST_SHUFFLED = 199, 2_000  # of positions, in a part of the choices
FAR = 5.0  # standard deviations of the shuffles: positions sorted in 60 choices are 8 or more away
MANY = 10_000  # answers above which serial dependence is tested by the normal distribution
ORDERS = 999  # of the answers, below that
SHARE = 4_000_000  # numbers to shuffle at once

_UNKNOWN = "it is not known where the alternatives were shown"
_CONFOUNDED = (
    "positions were not random: some objects were shown in some positions more often than chance "
    "explains, so that position and content cannot be told apart"
)
_FEW = (
    "the same question was always shown in the same arrangement, and with so few questions "
    "position and content cannot be told apart"
)


class PositionShare(NamedTuple):
    """How often a position was chosen.

    Attributes
    ----------
    position : int
        From 0, which is the left one where there are two sides.
    offered, chosen : int
        Answers to choices that had an alternative there, and answers that chose it.
    expected : float
        The share chosen if positions do not matter.
    interval : (low, high)
        95 % interval of ``share``.
    log_odds : float
        b, the logarithm of the factor by which the position multiplies the odds of its
        alternative, as if the alternatives were otherwise alike; their sum is 0. Where objects
        matter too, the factor is larger than that.
    """

    position: int
    offered: int
    chosen: int
    expected: float
    interval: tuple[float, float]
    log_odds: float

    @property
    def share(self) -> float:
        """The share chosen."""
        return self.chosen / self.offered


class ObserverSide(NamedTuple):
    """The position that one observer chose too often, or too seldom.

    Attributes
    ----------
    observer : str
    answers : int
        Answers whose positions are known.
    position : int
        The one that deviates most.
    share, expected : float
        How often it was chosen, and would be if positions do not matter.
    p_value : float
    found : bool
        Whether it is significant at a false discovery rate of 5 % over observers.
    """

    observer: str
    answers: int
    position: int
    share: float
    expected: float
    p_value: float
    found: bool


class SideBias(NamedTuple):
    """A test of side bias; see `side_bias`.

    Attributes
    ----------
    answers : int
        Answers whose positions are known, without those of "cannot tell".
    positions : tuple of PositionShare
    p_value : float
        Of all positions together; NaN if the test is impossible.
    by_question : bool
        Whether the same question was shown in the same arrangement more often than by chance. Then
        questions are counted instead of answers, each with the positions chosen more often than
        the average.
    observers : tuple of ObserverSide
        In the order of their names; empty if they are unknown.
    unknown : str
        Why the test is impossible; otherwise empty.
    """

    answers: int
    positions: tuple[PositionShare, ...]
    p_value: float
    by_question: bool
    observers: tuple[ObserverSide, ...]
    unknown: str = ""

    @property
    def found(self) -> bool:
        """Whether positions affect the answers, p ≤ 5 %."""
        return self.p_value <= LEVEL


class SerialDependence(NamedTuple):
    """A test of whether answers depend on the position of the last one; see `serial_dependence`.

    Attributes
    ----------
    answers : int
        Pairs of successive answers of one observer.
    share : float
        How many of them have the same position.
    expected : float
        The same if each observer's answers came in any other order.
    interval : (low, high)
        95 % interval of ``share``.
    p_value : float
        Two-sided; NaN if the test is impossible.
    unknown : str
        Why the test is impossible; otherwise empty.
    """

    answers: int
    share: float
    expected: float
    interval: tuple[float, float]
    p_value: float
    unknown: str = ""

    @property
    def found(self) -> bool:
        """Whether answers depend on the position of the last one, p ≤ 5 %."""
        return self.p_value <= LEVEL


# --- side bias --------------------------------------------------------------------------------


def side_bias(answers: Answers) -> SideBias:
    """Test whether some positions are chosen more often than others, without any map.

    If positions were random, the number of choices that fall on a position is binomial: its
    probability is k/a where k of a alternatives are chosen (of rankings, the first; if it varies,
    the binomial distribution with its mean has the longer tails, Hoeffding 1956). The p-value is
    that of the most deviating position, times their number if there are more than two. Where the
    same question is shown in the same arrangement more often than by chance, arrangements belong to
    questions, and these are counted.

    Parameters
    ----------
    answers : Choices or Triplets
        Whole-number weights count answers; other weights are not used. Triplets do not know
        positions.

    Returns
    -------
    SideBias

    Examples
    --------
    >>> import numpy as np
    >>> from tercet.answers.choices import Choices
    >>> pairs = [[[0, 1], [0, 2]]] * 40 + [[[0, 2], [0, 1]]] * 40
    >>> left_first = [[0, 1]] * 80
    >>> side_bias(Choices(pairs, np.zeros(80, int), positions=left_first)).found
    True
    >>> side_bias(Choices(pairs, np.arange(80) % 2, positions=left_first)).found
    False
    """
    shown = _find_shown(answers) if isinstance(answers, Choices) else None
    if shown is None:
        return SideBias(0, (), math.nan, False, (), _UNKNOWN)
    together = np.zeros(len(shown.question), dtype=np.int64)
    every = _count(_as_answers(shown, together), 1, shown.positions)
    by_question = _keeps_arrangement(shown)
    units = _as_questions(shown, together) if by_question else _as_answers(shown, together)
    test = _count(units, 1, shown.positions)
    unknown = ""
    if by_question and len(units.group) < FEWEST:
        unknown = _FEW
    elif _depends_on_objects(shown, by_question):
        unknown = _CONFOUNDED
    return SideBias(
        len(together),
        _shares(every, test),
        math.nan if unknown else float(test.p_value[0]),
        by_question,
        () if unknown else _observers(shown, by_question),
        unknown,
    )


class _Shown(NamedTuple):
    """Single answers whose positions are known; their alternatives one after the other."""

    cuts: Index  # (v + 1,)
    place: Index  # (A,) into positions
    hit: Bools  # (A,) whether it was chosen
    objects: Index  # (A, 2)
    probability: Floats  # (v,) that a given alternative is hit, if positions do not matter
    question: Index  # (v,) from 0, with the same positions offered
    arrangement: Index  # (v,) from 0, of the alternatives of the question
    observer: Index | None  # (v,) from 0
    labels: tuple[str, ...]  # of the observers
    positions: Index  # (P,) in use
    alone: bool  # whether a row is one answer, so that their order means something

    @property
    def answer(self) -> Index:
        """The answer of each alternative, (A,)."""
        return np.repeat(np.arange(len(self.cuts) - 1), np.diff(self.cuts))


def _find_shown(choices: Choices) -> _Shown | None:
    """The answers whose positions are known; None if there are none."""
    if choices.positions is None or not len(choices):
        return None
    need_votes(choices)
    sizes, first = choices.n_alternatives, choices.cuts[:-1]
    row = np.repeat(np.arange(len(choices)), sizes)
    ordered = choices.positions[np.lexsort((choices.positions, row))]
    same = np.zeros(len(row), dtype=np.bool_)
    same[1:] = (np.diff(ordered) == 0) & (np.diff(row) == 0)
    known = (np.add.reduceat(same, first) == 0) & (ordered[first] >= 0) & (choices.n_chosen > 0)
    rows = np.flatnonzero(known)
    if not len(rows):
        return None
    votes = choices.votes
    rows = rows if votes is None else np.repeat(rows, votes[rows])
    at, cuts = take(choices.cuts, rows)
    positions, place = np.unique(choices.positions[at], return_inverse=True)
    count = np.where(choices.kinds == UNORDERED, choices.n_chosen, 1)[rows]
    answer = np.repeat(np.arange(len(rows)), np.diff(cuts))
    pairs = choices.pairs[at]
    offered = _sort_rows(place.reshape(-1), answer, len(positions))
    question = _number(number_choices(choices)[rows], offered, cuts)
    in_order = np.lexsort((pairs[:, 1], pairs[:, 0], answer))
    labels, observer = (
        ((), None)
        if choices.observers is None
        else np.unique(choices.observers[rows], return_inverse=True)
    )
    return _Shown(
        cuts,
        place.reshape(-1).astype(np.int64),
        np.arange(len(at)) - cuts[answer] < count[answer],
        pairs,
        count / np.diff(cuts),
        question,
        _number(question, place.reshape(-1)[in_order], cuts),
        None if observer is None else observer.reshape(-1).astype(np.int64),
        tuple(label_observers(labels)),
        positions,
        votes is None or len(rows) == np.count_nonzero(known),
    )


def _sort_rows(place: Index, answer: Index, many: int) -> Index:
    """The places (A,), below ``many``, in increasing order within each answer."""
    return np.sort(answer * many + place) % many


def _number(start: Index, values: Index, cuts: Index) -> Index:
    """Number rows (v,) that are equal in ``start``, (v,), and in all their values, (A,)."""
    sizes, low = np.diff(cuts), int(values.min())
    number, base = start, int(values.max()) - low + 2
    for place in range(int(sizes.max())):
        longer = np.flatnonzero(sizes > place)
        wide = number * base
        wide[longer] += 1 + values[cuts[longer] + place] - low
        number = np.unique(wide, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return number


def _keeps_arrangement(shown: _Shown) -> bool:
    """Whether two answers to a question had the same arrangement more often than by chance.

    Of random arrangements, any two answers have the same with probability 1/a!, independently.
    """
    asked, first = np.unique(shown.question, return_index=True)
    count = np.bincount(shown.question, minlength=len(asked))
    pairs = count * (count - 1) / 2.0
    chance = np.exp(-np.cumsum(np.log(np.arange(1, 171))))  # 1/a!, for a from 1
    p = chance[np.minimum(np.diff(shown.cuts)[first], 170) - 1]
    alike = np.bincount(shown.arrangement)
    excess = float((alike * (alike - 1)).sum() / 2.0 - pairs @ p)
    return bool(excess > norm.ppf(1.0 - LEVEL) * math.sqrt(float(pairs @ (p * (1.0 - p)))))


def _depends_on_objects(shown: _Shown, by_question: bool) -> bool:
    """Whether some objects had some positions much more often than after shuffles of positions."""
    rng = np.random.default_rng(0)
    unit = np.unique(shown.question, return_index=True)[1] if by_question else None
    rows = np.arange(len(shown.cuts) - 1) if unit is None else unit
    if len(rows) > MOST_SHUFFLED:
        rows = np.sort(rng.choice(rows, MOST_SHUFFLED, replace=False))
    at, cuts = take(shown.cuts, rows)
    answer = np.repeat(np.arange(len(rows)), np.diff(cuts))
    many = max(1, SHARE // len(at))  # at once
    labels, number = np.unique(shown.objects[at], return_inverse=True)
    cells = number.reshape(-1, 2) * len(shown.positions)
    size = len(labels) * len(shown.positions)
    counts = [_where(shown.place[at][None], cells, size)]
    for begin in range(0, SHUFFLES, many):
        keys = answer + rng.random((min(many, SHUFFLES - begin), len(at)))
        counts += [_where(shown.place[at][np.argsort(keys, axis=1)], cells, size)]
    table = np.concatenate(counts)
    uneven = np.square(table - table.mean(axis=0)).sum(axis=1)
    return bool(uneven[0] > uneven[1:].mean() + FAR * uneven[1:].std() + 1e-9)


def _where(place: Index, cells: Index, size: int) -> Floats:
    """How often each object was in each position, (B, size), for positions (B, A)."""
    many = len(place)
    at = np.arange(many)[:, None, None] * size + cells[None] + place[:, :, None]
    return np.bincount(at.reshape(-1), minlength=many * size).reshape(many, size).astype(np.float64)


# --- counts and their tails -------------------------------------------------------------------


class _Units(NamedTuple):
    """What is counted: answers, or questions; their alternatives one after the other."""

    unit: Index  # (A,)
    place: Index  # (A,) into positions
    hit: Bools  # (A,)
    probability: Floats  # (u,) that a given alternative is hit, if positions do not matter
    group: Index  # (u,) from 0, such as the observer


def _as_answers(shown: _Shown, group: Index) -> _Units:
    """Every answer, in groups (v,)."""
    return _Units(shown.answer, shown.place, shown.hit, shown.probability, group)


def _as_questions(shown: _Shown, group: Index) -> _Units:
    """Every question of a group, with the positions that were chosen more often than the average.

    Whatever the answers, a random arrangement of a question makes any as many of its positions
    equally likely.
    """
    size, many = int(shown.question.max()) + 1, len(shown.positions)
    _, first, unit = np.unique(
        group * size + shown.question, return_index=True, return_inverse=True
    )
    counts = np.bincount(
        unit.reshape(-1)[shown.answer] * many + shown.place, shown.hit, len(first) * many
    )
    at, cuts = take(shown.cuts, first)
    of = np.repeat(np.arange(len(first)), np.diff(cuts))
    chosen = counts[of * many + shown.place[at]]
    mean = np.add.reduceat(chosen, cuts[:-1]) / np.diff(cuts)
    hit = chosen > mean[of] + 1e-9
    number = np.add.reduceat(hit.astype(np.int64), cuts[:-1])
    clear = number > 0
    kept = clear[of]
    return _Units(
        (np.cumsum(clear) - 1)[of][kept],
        shown.place[at][kept],
        hit[kept],
        (number / np.diff(cuts))[clear],
        group[first][clear],
    )


class _Counts(NamedTuple):
    """Hits of each position in each group."""

    positions: Index  # (P,)
    offered: Index  # (K, P)
    hits: Index  # (K, P)
    expected: Floats  # (K, P) share of hits, if positions do not matter
    p: Floats  # (K, P) two-sided
    p_value: Floats  # (K,) corrected for the number of positions


def _count(units: _Units, size: int, positions: Index) -> _Counts:
    """Count hits in ``size`` groups."""
    cell = units.group[units.unit] * len(positions) + units.place
    shape = size, len(positions)
    total = size * len(positions)
    offered = np.bincount(cell, minlength=total).reshape(shape)
    hits = np.bincount(cell, units.hit, total).reshape(shape).astype(np.float64)
    chance = np.bincount(cell, units.probability[units.unit], total).reshape(shape)
    expected = chance / np.maximum(offered, 1)
    n = offered.astype(np.float64)
    p = 2.0 * np.minimum(at_most(hits, n, expected), at_least(hits, n, expected))
    p = np.minimum(np.where(offered > 0, p, 1.0), 1.0)
    several = np.count_nonzero(offered, axis=1)
    p_value = np.minimum(p.min(axis=1) * np.where(several > 2, several, 1), 1.0)
    return _Counts(positions, offered, hits.astype(np.int64), expected, p, p_value)


def _shares(every: _Counts, test: _Counts) -> tuple[PositionShare, ...]:
    """The positions, with intervals that have the number of units tested."""
    offered, hits = every.offered[0], every.hits[0]
    low, high = interval(hits / offered * test.offered[0], test.offered[0])
    log_odds = np.log((hits + 0.5) / (offered * every.expected[0] + 0.5))
    log_odds -= log_odds.mean()
    return tuple(
        PositionShare(
            int(position),
            int(offered[i]),
            int(hits[i]),
            float(every.expected[0, i]),
            (float(low[i]), float(high[i])),
            float(log_odds[i]),
        )
        for i, position in enumerate(every.positions)
    )


def _observers(shown: _Shown, by_question: bool) -> tuple[ObserverSide, ...]:
    """Each observer; none if they are unknown."""
    if shown.observer is None:
        return ()
    size = len(shown.labels)
    every = _count(_as_answers(shown, shown.observer), size, shown.positions)
    units = (_as_questions if by_question else _as_answers)(shown, shown.observer)
    test = _count(units, size, shown.positions)
    found = false_discovery_control(test.p_value) <= LEVEL
    worst = test.p.argmin(axis=1)
    answers = np.bincount(shown.observer, minlength=size)
    return tuple(
        ObserverSide(
            label,
            int(answers[k]),
            int(shown.positions[worst[k]]),
            float(every.hits[k, worst[k]] / every.offered[k, worst[k]]),
            float(every.expected[k, worst[k]]),
            float(test.p_value[k]),
            bool(found[k]),
        )
        for k, label in enumerate(shown.labels)
    )


# --- serial dependence ------------------------------------------------------------------------


def serial_dependence(answers: Answers) -> SerialDependence:
    """Test whether observers repeat, or avoid, the position of their last answer.

    Rows are taken to be in the order of time within each observer. The number of successive
    answers with the same position is compared with that of random orders of each observer's
    answers, which keep a side bias; above 10 000 answers by the normal distribution, with the
    variance of Barton and David (1957) for runs of several kinds.

    Parameters
    ----------
    answers : Choices or Triplets
        Used are choices of one alternative (of rankings, the first) among the positions that were
        offered most often.

    Returns
    -------
    SerialDependence
    """
    shown = _find_shown(answers) if isinstance(answers, Choices) else None
    if shown is None:
        return _untested(_UNKNOWN)
    if shown.observer is None:
        return _untested("it is not known who gave each answer")
    if not shown.alone:
        return _untested("rows count several answers, so that their order is unknown")
    place, observer = _sequence(shown, shown.observer)
    runs = _expect_repeats(place, observer)
    pairs = len(place) - len(runs.size)
    if not pairs or not runs.variance > 0.0:
        return _untested("there are too few answers of the same observer")
    repeats = _repeats(place[None], observer)[0]
    off, sd = abs(repeats - runs.mean), math.sqrt(runs.variance)
    if len(place) > MANY:
        p_value = float(2.0 * norm.sf(off / sd))
    else:
        rng = np.random.default_rng(0)
        reached, many = 0, max(1, SHARE // len(place))
        for begin in range(0, ORDERS, many):
            keys = observer + rng.random((min(many, ORDERS - begin), len(place)))
            ordered = _repeats(place[np.argsort(keys, axis=1)], observer)
            reached += int(np.count_nonzero(np.abs(ordered - runs.mean) >= off - 1e-9))
        p_value = (1 + reached) / (1 + ORDERS)
    share, half = repeats / pairs, norm.ppf(1.0 - LEVEL / 2.0) * sd / pairs
    return SerialDependence(
        pairs,
        float(share),
        float(runs.mean / pairs),
        (float(max(share - half, 0.0)), float(min(share + half, 1.0))),
        p_value,
    )


def _untested(why: str) -> SerialDependence:
    return SerialDependence(0, math.nan, math.nan, (math.nan, math.nan), math.nan, why)


def _sequence(shown: _Shown, observer: Index) -> tuple[Index, Index]:
    """The position of each answer in the order of rows, observer by observer, and the observers."""
    sizes, one = np.diff(shown.cuts), np.add.reduceat(shown.hit, shown.cuts[:-1]) == 1
    form = _number(sizes, _sort_rows(shown.place, shown.answer, len(shown.positions)), shown.cuts)
    used = one & (form == np.bincount(form[one], minlength=1).argmax()) if one.any() else one
    place = shown.place[shown.hit & used[shown.answer]]
    order = np.argsort(observer[used], kind="stable")
    return place[order], np.unique(observer[used][order], return_inverse=True)[1].reshape(-1)


def _repeats(place: Index, observer: Index) -> Index:
    """How many successive answers (B,) of one observer have the same position, (B, n)."""
    same = (np.diff(place, axis=1) == 0) & (np.diff(observer) == 0)
    return np.asarray(np.count_nonzero(same, axis=1), dtype=np.int64)


class _Repeats(NamedTuple):
    """Successive answers with the same position, over random orders of each observer's answers."""

    size: Index  # (K,) answers of each observer
    mean: float
    variance: float


def _expect_repeats(place: Index, observer: Index) -> _Repeats:
    """Mean and variance: n answers have n − 1 − (runs − 1) repeats (Barton & David 1957)."""
    if not len(place):
        return _Repeats(np.zeros(0, dtype=np.int64), 0.0, 0.0)
    many, size = int(place.max()) + 1, int(observer.max()) + 1
    counts = np.bincount(observer * many + place, minlength=size * many).reshape(size, many)
    n = counts.sum(axis=1).astype(np.float64)
    two, three = (np.power(counts, power).sum(axis=1).astype(np.float64) for power in (2, 3))
    more = n > 1
    variance = (two * (two + n * (n + 1.0)) - 2.0 * n * three - n**3)[more]
    return _Repeats(
        n.astype(np.int64),
        float(((two - n) / n).sum()),
        float((variance / (n**2 * (n - 1.0))[more]).sum()),
    )

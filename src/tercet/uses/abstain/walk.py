"""Learn then test: walk down a list of thresholds until one fails; functions on arrays.

See `tercet.uses.abstain.choose_threshold` for the rule and why it holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
Bools = NDArray[np.bool_]

SHARES = np.arange(1, 100) / 100  # of random comparisons, that the candidates predict


class TestedThresholds(NamedTuple):
    """The thresholds that were tested, from the strictest down; the last may have failed."""

    threshold: Floats
    predicted: Index  # units with a predicted answer, of which one is drawn
    wrong: Index  # how many of these are wrong
    p_value: Floats  # of so few wrong, were the risk as large as the error


class HeldOutAnswers(NamedTuple):
    """Hold-out answers, unit after unit, in random order within each: see `shuffle`."""

    confidence: Floats  # (m,)
    wrong: Bools  # (m,): whether the surer answer was not the one given
    unit: Index  # (m,)

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return len(np.unique(self.unit))

    def drawn(self, threshold: float) -> Bools:
        """Of every unit, whether its first answer above the threshold is wrong."""
        sure = self.confidence > threshold
        unit = self.unit[sure]
        return self.wrong[sure][np.diff(unit, prepend=-1) > 0]


def shuffle(
    confidence: Floats, wrong: Bools, unit: Index, rng: np.random.Generator
) -> HeldOutAnswers:
    """Put the answers of every unit, numbered from 0, into random order."""
    order = rng.permutation(len(unit))
    order = order[np.argsort(unit[order], kind="stable")]
    return HeldOutAnswers(confidence[order], wrong[order], unit[order])


def walk_down(
    held: HeldOutAnswers, candidates: Floats, error: float, delta: float
) -> TestedThresholds:
    """Test descending thresholds, from the first that could pass to the first that fails.

    Thresholds that too few units reach to ever pass are left out. That looks at how sure the
    hold-out predictions are, not at whether they are right, and is of no consequence where the
    surest are not the ones that are wrong most often.
    """
    least = fewest(error, delta)
    steps: list[tuple[float, int, int, float]] = []
    for threshold in candidates:
        drawn = held.drawn(threshold)
        if len(drawn) < least:
            continue
        wrong = int(np.count_nonzero(drawn))
        steps.append((float(threshold), len(drawn), wrong, float(bdtr(wrong, len(drawn), error))))
        if steps[-1][-1] > delta:
            break
    thresholds, counts, errors, p_values = np.reshape(np.array(steps, dtype=np.float64), (-1, 4)).T
    return TestedThresholds(thresholds, counts.astype(np.int64), errors.astype(np.int64), p_values)


def last_passed(walk: TestedThresholds, delta: float) -> int | None:
    """The step of the walk that is chosen, if any."""
    passed = int(np.count_nonzero(walk.p_value <= delta))
    return passed - 1 if passed else None


def fewest(error: float, delta: float) -> int:
    """The smallest n with which a threshold can pass: (1 − error)^n ≤ delta."""
    n = int(np.ceil(np.log(delta) / np.log1p(-error)))
    return n if bdtr(0, n, error) <= delta else n + 1


def lay_candidates(
    pilots: Floats, held: HeldOutAnswers, unit: str, error: float, delta: float
) -> Floats:
    """Descending thresholds, from quantiles of the pilots' confidence; no answer is looked at.

    A walk that began with the fewest units that can pass would allow none of them to be wrong, and
    stop there too often. It begins where four times as many are expected, or a tenth of all.

    How many answers each observer gave is taken as fixed by the experiment; the confidence of the
    hold-out answers plays no part.
    """
    sizes = np.unique(held.unit, return_counts=True)[1]
    least = fewest(error, delta)
    wanted = np.clip(len(sizes) / 2, least, max(4 * least, len(sizes) / 10))
    # An observer's answers are to different questions; others' confidences go together.
    answers = sizes if unit == "observer" else np.ones_like(sizes)
    expected = np.array([np.sum(1.0 - (1.0 - share) ** answers) for share in SHARES])
    # In round numbers a threshold can be written down, and no confidence sits on it.
    quantiles = np.quantile(pilots, 1.0 - SHARES[expected >= wanted]).round(4)
    laid = np.unique(np.append(quantiles[(quantiles > 0.5) & (quantiles < 1.0)], 0.5))
    return np.asarray(laid[::-1])


def name_ending(walk: TestedThresholds, error: float, delta: float) -> str:
    """How the walk ended: "promised", "too few", "impossible" or "undecided"."""
    if last_passed(walk, delta) is not None:
        return "promised"
    if not len(walk.threshold):
        return "too few"
    n, wrong = int(walk.predicted[0]), int(walk.wrong[0])
    # Where so many wrong would hardly happen at a risk of ``error``, the risk is larger.
    return "impossible" if wrong and bdtrc(wrong - 1, n, error) <= delta else "undecided"

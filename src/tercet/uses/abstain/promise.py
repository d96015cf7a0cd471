"""Promise: a threshold on the answer probability, and in words what it promises and costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.ensemble import Ensemble
from tercet.tables import Table
from tercet.text import percent, were, wrap
from tercet.uses.abstain.walk import Bools, Floats, Index, TestedThresholds, fewest, last_passed

__all__ = ["Promise"]

DECIMALS = 12  # of a confidence: a question turned around must not be predicted otherwise


@dataclass(frozen=True, eq=False)
class Promise:
    """A threshold on the answer probability, and what can be said of it; see `choose_threshold`.

    Attributes
    ----------
    threshold : float or None
        Predict where the probability of either answer is above it; None: nothing is promised.
    error, delta : float
        At most the share ``error`` of predicted answers is wrong; a hold-out leads to a promise
        that is false with probability ``delta`` at most.
    coverage : float
        Share of the hold-out answers that is predicted.
    observed_error : float
        Share of the drawn, predicted hold-out answers that was wrong; NaN without a threshold.
    unit : str
        What was taken as independent: "answer", "comparison", "screen" or "observer".
    n_answers, n_units : int
        How many there were in the hold-out.
    outcome : {"promised", "too few", "impossible", "undecided"}
    smallest_error : float or None
        Where nothing is promised although there were enough answers: the smallest whole per cent
        that would have been. To promise that needs a hold-out that was not looked at.
    walk : TestedThresholds
        The thresholds tested.
    """

    threshold: float | None
    error: float
    delta: float
    coverage: float
    observed_error: float
    unit: str
    n_answers: int
    n_units: int
    outcome: str
    smallest_error: float | None
    walk: TestedThresholds = field(repr=False)
    ensemble: Ensemble = field(repr=False)

    @property
    def reason(self) -> str:
        """What is promised and what it costs, or why nothing is, in words."""
        return _WORDS[self.outcome](self)

    def predict(self, Q: Any) -> Index:
        """+1 where near will be answered, −1 where far will, 0 where the promise wants silence.

        Without a threshold everything is 0.

        Parameters
        ----------
        Q : Triplets, or (m, 3) or (m, 4) array of numbers or names
        """
        confidence, near = likelier_answers(self.ensemble, Q)
        sure = confidence > (1.0 if self.threshold is None else self.threshold)
        return np.where(sure, np.where(near, 1, -1), 0)

    def table(self) -> str:
        """The thresholds that were tested, one a line."""
        rows = [
            (f"{threshold:.4f}", str(n), str(wrong), f"{p:.2g}")
            for threshold, n, wrong, p in zip(*self.walk, strict=True)
        ]
        return Table("", ("threshold", "predicted", "wrong", "p-value"), rows).text(right=True)

    def __str__(self) -> str:
        return wrap(self.reason)


def likelier_answers(ensemble: Ensemble, Q: Any) -> tuple[Floats, Bools]:
    """How probable the likelier answer is (m,), rounded, and whether it is "near" (m,)."""
    p = ensemble.answer_probability(Q)
    return np.asarray(np.maximum(p, 1.0 - p).round(DECIMALS)), p > 0.5


# ---- words


def _promised(found: Promise) -> str:
    assert found.threshold is not None
    return (
        f"Predict where the answer probability is above {found.threshold:.6g} (or below "
        f"{1.0 - found.threshold:.6g}): at most {percent(found.error)} of predicted answers will "
        f"be wrong (a hold-out leads to a false promise with probability {percent(found.delta)} at "
        f"most), at the cost of abstaining on {percent(1.0 - found.coverage)} of the questions. "
        f"Of {_wrong(found, last_passed(found.walk, found.delta))}. {_scope(found)}"
    )


def _too_few(found: Promise) -> str:
    least = fewest(found.error, found.delta)
    cure = (
        " For other answers of these same observers, use unit='comparison'."
        if found.unit == "observer"
        else ""
    )
    return (
        f"Too few hold-out answers to promise at most {percent(found.error)} wrong: at least "
        f"{least} {found.unit}s with a predicted answer are needed even if none is wrong, and the "
        f"hold-out has {found.n_units} {found.unit}s.{cure}"
    )


def _impossible(found: Promise) -> str:
    return (
        f"At most {percent(found.error)} wrong cannot be promised: people disagree more than that, "
        f"with each other or with the map. Of the surest {_wrong(found, 0)}, too many to be chance "
        f"(delta = {found.delta:g}). {_smallest(found)}"
    )


def _undecided(found: Promise) -> str:
    return (
        f"Undecided whether at most {percent(found.error)} wrong can be promised. "
        f"Of the surest {_wrong(found, 0)}: too many to promise it, too few to rule it out. More "
        f"hold-out answers would tell. {_smallest(found)}"
    )


def _wrong(found: Promise, step: int | None) -> str:
    n, wrong = found.walk.predicted[step or 0], found.walk.wrong[step or 0]
    each = "" if found.unit == "answer" else f", one of each {found.unit},"
    return f"{n} predicted hold-out answers{each} {wrong} {were(wrong)} wrong"


def _smallest(found: Promise) -> str:
    if found.smallest_error is None:
        return "No error below 50 % could have been promised."
    return (
        f"The smallest error that could have been promised is {percent(found.smallest_error)}; to "
        "promise it now needs fresh hold-out answers."
    )


def _scope(found: Promise) -> str:
    new = {
        "observer": "a predicted answer, drawn at random, of a new observer like these",
        "screen": "a predicted answer, drawn at random, of a new screen like these, by the same "
        "people",
        "comparison": "an answer to a new question drawn like these, by the same people",
        "answer": "a new answer, its question and person drawn like these",
    }
    return (
        f"The promise is about {new[found.unit]}, whether or not the model is right, if the "
        "ensemble never saw the hold-out."
    )


_WORDS = {
    "promised": _promised,
    "too few": _too_few,
    "impossible": _impossible,
    "undecided": _undecided,
}

"""What can be said of the answers before anything is embedded."""

from tercet.answers.repeats import Disagreement, Repeats
from tercet.uses.quality.check import check_answers
from tercet.uses.quality.counts import Counts, Spread
from tercet.uses.quality.differences import ObserverDifferences
from tercet.uses.quality.observers import ObserverCheck
from tercet.uses.quality.result import AnswerCheck

__all__ = [
    "AnswerCheck",
    "Counts",
    "Disagreement",
    "ObserverCheck",
    "ObserverDifferences",
    "Repeats",
    "Spread",
    "check_answers",
]

"""Checks of the answers, before any map is interpreted."""

from tercet.answers.positions import ObserverSide, PositionShare, SerialDependence, SideBias
from tercet.answers.repeats import Disagreement, Repeats
from tercet.uses.quality.check import AnswerCheck, check_answers
from tercet.uses.quality.counts import Counts, ObserverDifferences, Spread
from tercet.uses.quality.observers import ObserverCheck

__all__ = [
    "AnswerCheck",
    "Counts",
    "Disagreement",
    "ObserverCheck",
    "ObserverDifferences",
    "ObserverSide",
    "PositionShare",
    "Repeats",
    "SerialDependence",
    "SideBias",
    "Spread",
    "check_answers",
]

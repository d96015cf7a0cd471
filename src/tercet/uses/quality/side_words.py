"""Side bias and serial dependence in words."""

from __future__ import annotations

from tercet.answers.positions import ObserverSide, SerialDependence, SideBias
from tercet.text import counted, listing, percent

__all__ = ["about_positions", "name_position", "warn_about_positions"]


def about_positions(bias: SideBias, serial: SerialDependence) -> list[str]:
    """The findings, one sentence each; none if positions are unknown."""
    if not bias.answers:
        return []
    said = [_about_bias(bias)]
    if bias.by_question and not bias.unknown:
        said.append(
            "The same question was shown in the same arrangement more often than by chance, so "
            "questions were counted for this test, not answers."
        )
    if not serial.unknown:
        what = "No dependence on the position of the last answer was found"
        if serial.found:
            more = "more" if serial.share > serial.expected else "less"
            what = f"Observers choose the position of their last answer {more} often than by chance"
        said.append(
            f"{what}: it was chosen again {percent(serial.share)} of {serial.answers} times, "
            f"{percent(serial.expected)} expected ({_p(serial.p_value)})."
        )
    return said


def warn_about_positions(bias: SideBias, serial: SerialDependence) -> list[str]:
    """What needs attention, and what to do about it."""
    said = []
    if bias.found:
        said.append(
            f"Side bias: {_chosen(bias)}. A posterior of the recommended model learns it with the "
            "map; with another model, add bias to what is learned. If positions were not random, "
            "it may be the objects that were shown there."
        )
    if named := [each for each in bias.observers if each.found]:
        who = listing([each.observer for each in named], range(len(named)))
        first = " by the first of them" if len(named) > 1 else ""
        said.append(
            f"Side bias of {counted(len(named), 'observer')} ({who}): "
            f"{_of_observer(named[0], bias)}{first}. Make the map with and without them, and "
            "report both."
        )
    if serial.found:
        said.append(
            "Answers depend on the position of the last one, if rows are in the order of time: "
            f"it was chosen again {percent(serial.share)} of times, {percent(serial.expected)} "
            "expected. Answers carry less information than it seems; randomise positions and the "
            "order of questions."
        )
    return said


def name_position(position: int, many: int) -> str:
    """A position in words: left and right if there are two."""
    if many == 2 and position < 2:
        return ("the left (first) position", "the right (second) position")[position]
    return f"position {position} (counting from 0)"


def _about_bias(bias: SideBias) -> str:
    if bias.unknown:
        return f"Whether positions affect the answers is unknown: {bias.unknown}."
    what = "Side bias" if bias.found else "No side bias was found"
    return f"{what}: {_chosen(bias)} ({_p(bias.p_value)})."


def _chosen(bias: SideBias) -> str:
    """The position to speak of: the left one of two, or the one that deviates most."""
    many = len(bias.positions)
    one = bias.positions[0]
    if many > 2:
        one = max(bias.positions, key=lambda each: abs(each.log_odds))
    low, high = one.interval
    return (
        f"{name_position(one.position, many)} was chosen in {percent(one.share)} of "
        f"{counted(one.offered, 'answer')} (95 % interval {percent(low)} to {percent(high)}), "
        f"{percent(one.expected)} expected"
    )


def _of_observer(one: ObserverSide, bias: SideBias) -> str:
    where = name_position(one.position, len(bias.positions))
    return f"{where} was chosen in {percent(one.share)} of {counted(one.answers, 'answer')}"


def _p(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"

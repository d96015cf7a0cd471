"""The map, and what hovering over it tells."""

from __future__ import annotations

from typing import Any

from tercet.analysis.result import Analysis, Object
from tercet.analysis.words import provisional
from tercet.report.markup import Section, as_data, prose
from tercet.report.parts import Parts
from tercet.text import counted, percent

__all__ = ["map_section"]


def map_section(parts: Parts) -> Section:
    """The picture, how to read it, and the numbers behind it."""
    analysis = parts.analysis
    title = "The scale" if analysis.n_components == 1 else "The map"
    data = as_data([_tip(each, analysis) for each in analysis.objects])
    banner = ""
    if analysis.is_provisional:
        more = (
            "Maps with other numbers of dimensions look different."
            if analysis.chains_agree
            else "Places and their uncertainty mix several different maps."
        )
        why = f"Provisional: {provisional(analysis)}. {more}"
        banner = f'<p class="provisional">{prose(why)}</p>'
    body = (
        f"{banner}{parts.picture('map', _reading(analysis), behind=('objects', 'scale'))}"
        f'<script type="application/json" id="map-data">{data}</script>'
    )
    return Section("map", title, body)


def _reading(analysis: Analysis) -> str:
    """How to read the picture, as plain text."""
    level = percent(analysis.settings.level)
    d, draws = analysis.n_components, f"{analysis.ensemble.n_samples} maps that fit the answers"
    if analysis.kind != "posterior":
        draws = f"{analysis.ensemble.n_samples} maps, each of answers drawn anew"
    held = f"where it may be {_given(analysis)}"
    if not analysis.chains_agree:
        held = "the draws, which do not agree"
    if analysis.scale is not None:
        return (
            "How far apart stimuli look: the perceived value of each, with a line that holds "
            f"{level} of {analysis.ensemble.n_samples} scales, each of answers drawn anew. The "
            "first stimulus is 0 and the last is 1."
        )
    if d == 1:
        return (
            f"A point is where an object lies on average over {draws}; its line holds {level} of "
            f"{held}. Only the order and the ratios of distances mean something: the scale may be "
            "turned around, moved and stretched."
        )
    certain = "" if analysis.is_provisional else ": which comparisons are certain is told below"
    seen = "Each panel shows two of the dimensions, the widest first. " if d > 2 else ""
    return (
        f"{seen}A point is where an object lies on average over {draws}; its ellipse holds {level} "
        f"of {held}. Whether two ellipses overlap is no test{certain}. What is near on the map was "
        "judged alike. The map may be turned, mirrored, moved and stretched: its axes have no "
        "names, and no units."
    )


def _given(analysis: Analysis) -> str:
    """What an ellipse takes for granted."""
    many = analysis.check.counts.observers
    whose = "the pooled map of these observers" if many != 1 else "the map of this observer"
    return f"on {whose}, if the model and the number of dimensions are right"


def _tip(each: Object, analysis: Analysis) -> dict[str, Any]:
    """What is shown of an object, in words and numbers that need no more work."""
    level = percent(analysis.settings.level)
    places = [
        f"{_number(at)} ({_number(low)} to {_number(high)})"
        for at, (low, high) in zip(each.position.tolist(), each.interval.tolist(), strict=True)
    ]
    count = counted(each.answers, "answer")
    return {
        "name": each.name,
        "facts": [
            *(["provisional"] if analysis.is_provisional else []),
            f"in {count}",
            f"position {', '.join(places)}; in brackets {level} intervals",
            f"give or take {each.radius:.2f}",
        ],
        "neighbours": [
            {
                "object": other.object,
                "name": analysis.objects[other.object].name,
                "distance": f"{other.distance:.2f}",
                "probability": _chance(other.probability),
            }
            for other in each.neighbours
        ],
    }


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _chance(share: float) -> str:
    return f"{100.0 * share:.0f} %" if share < 0.995 or share == 1.0 else "over 99 %"

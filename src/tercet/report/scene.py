"""The data from which the page's script draws the map: numbers and plain text only."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from tercet.analysis.analysis import Analysis, Object
from tercet.arrays import Floats
from tercet.plots.axes import COLOURS
from tercet.plots.maps import expected_distances, read_space
from tercet.report.appearance import Appearance
from tercet.report.sections import CROWD, format_probability
from tercet.text import counted, percent

__all__ = ["has_heat", "scene"]

HEAT_FROM = 3  # dimensions, from which the map does not show all distances at once
MOST_HEATED = 1000  # objects; above, a heat map has more cells than a screen has pixels


def scene(analysis: Analysis, looks: Appearance) -> dict[str, Any]:
    """The objects with their positions and tooltips, and all expected distances."""
    d = analysis.n_components
    objects = [_tip(each, analysis) for each in analysis.objects]
    if looks.groups:
        for each, group in zip(objects, looks.groups, strict=True):
            each["group"] = looks.group_names.index(group)
    found: dict[str, Any] = {
        "dimensions": d,
        "groups": list(looks.group_names),
        "colours": list(COLOURS),
        "crowded": len(objects) > CROWD,
        "objects": objects,
    }
    if d > 1:
        found |= _places(analysis, objects)
    if has_heat(analysis):
        found["heat"] = _heat(analysis)
    return found


def has_heat(analysis: Analysis) -> bool:
    """Whether all expected distances are shown beside the map."""
    return analysis.n_components >= HEAT_FROM and len(analysis.objects) <= MOST_HEATED


def _places(analysis: Analysis, objects: list[dict[str, Any]]) -> dict[str, Any]:
    """Add positions and covariances to the objects; return what ellipses and axes need."""
    level = analysis.settings.level
    space = read_space(analysis.ensemble, None, level)
    assert space.covariance is not None
    half = np.triu_indices(space.n_components)
    for each, at, covariance in zip(objects, space.points, space.covariance, strict=True):
        each["at"] = _short(at)
        each["covariance"] = _short(covariance[half])  # its upper half, row by row
    variance = space.points.var(axis=0)
    share = variance / max(float(variance.sum()), float(np.finfo(float).tiny))
    return {
        "reach": math.sqrt(-2.0 * math.log1p(-level)),  # of an ellipse, in standard deviations
        "axes": [
            f"dimension {k} ({part:.0%} of the variance)".replace("%", " %")
            if len(share) > 2
            else ""
            for k, part in enumerate(share, start=1)
        ],
    }


def _heat(analysis: Analysis) -> dict[str, Any]:
    """Expected distances in 256 steps, and the order in which to show the objects."""
    mean, order = expected_distances(analysis.ensemble)
    largest = float(mean.max()) or 1.0
    steps = np.rint(255.0 * mean[np.triu_indices(len(mean), 1)] / largest).astype(np.uint8)
    coded = base64.b64encode(steps.tobytes()).decode("ascii")
    return {"order": order.tolist(), "largest": largest, "steps": coded}


def _tip(each: Object, analysis: Analysis) -> dict[str, Any]:
    """The tooltip of an object, as text."""
    level = percent(analysis.settings.level)
    places = [
        f"{_number(at)} ({_number(low)} to {_number(high)})"
        for at, (low, high) in zip(each.position.tolist(), each.interval.tolist(), strict=True)
    ]
    return {
        "name": each.name,
        "facts": [
            *(["provisional"] if analysis.is_provisional else []),
            f"in {counted(each.answers, 'answer')}",
            f"position {', '.join(places)}, with {level} intervals",
            f"uncertainty (root mean square) {each.radius:.2f}",
        ],
        "neighbours": [
            {
                "object": other.object,
                "distance": f"{other.distance:.2f}",
                "probability": format_probability(other.probability),
            }
            for other in each.neighbours
        ],
    }


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _short(values: Floats) -> list[float]:
    """Numbers with four digits, which is finer than a screen."""
    return [float(f"{value:.4g}") for value in values.tolist()]

"""The report as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tercet.analysis.analysis import Analysis
from tercet.analysis.numbers import tables
from tercet.report.appearance import Appearance
from tercet.report.frame import command, opening
from tercet.report.pictures import draw_pictures
from tercet.report.scene import scene
from tercet.report.sections import sections
from tercet.text import counted, percent, plural

__all__ = [
    "card",
    "page",
    "templates",
]

SCRIPTS = ("page.js", "map.js", "heat.js")  # in the order in which they run

# What a browser would not show, or show differently; line ends and tabs stay.
_UNSEEN = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if code not in (9, 10, 13)}
# What ends a script, or a line in some scripts.
_SCRIPT = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def page(analysis: Analysis, appearance: Appearance | None = None) -> str:
    """The report as HTML; the same analysis gives the same text.

    Names and everything else from the data are escaped by the template. A policy keeps the page
    from loading anything and from running any script but its own.

    Parameters
    ----------
    analysis : Analysis
    appearance : Appearance, optional
        Groups and pictures of the objects, from `read_appearance`.
    """
    looks = appearance or Appearance()
    style, script = _asset("page.css"), "".join(map(_asset, SCRIPTS))
    whole = (
        templates()
        .get_template("page.html")
        .render(
            opening=opening(analysis),
            sections=sections(analysis, looks),
            tables=tables(analysis),
            pictures=draw_pictures(analysis, looks),
            scene=as_data(scene(analysis, looks)),
            analysis=analysis,
            command=command(analysis, looks),
            style=Markup(style),
            script=Markup(script),
            digest=_digest(script),
        )
    )
    return whole + "\n"


@cache
def templates() -> Environment:
    """The templates of the report, with autoescape."""
    made = Environment(
        loader=PackageLoader("tercet.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=readable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"prose": prose, "number": format_number}
    return made


def readable(value: Any) -> Any:
    """Text of which a browser shows every character; markup stays as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return value.translate(_UNSEEN).encode("utf-8", "replace").decode()
    return value


def prose(sentence: str) -> str:
    """A sentence with no line break between a number and its percent sign."""
    return re.sub(r"(?<=\d) %", "\u00a0%", sentence)


def format_number(value: float) -> str:
    """A number in a table, with four digits."""
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    return shown.replace("-", "−")


def as_data(value: Any) -> Markup:
    """A value as JSON that is safe inside a script element."""
    return Markup(json.dumps(value, allow_nan=False, separators=(",", ":")).translate(_SCRIPT))


def _asset(file: str) -> str:
    return files("tercet.report").joinpath("assets", file).read_text("utf-8")


def _digest(script: str) -> str:
    """The script's hash as a Content-Security-Policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


# --- an analysis as a card in a notebook: key figures, cautions and the map ---------------------


def card(analysis: Analysis) -> str:
    """HTML without scripts; names and everything else from the data are escaped."""
    # An image of its own, so that ids of two cards do not clash.
    picture = draw_pictures(analysis)["map"]
    return (
        templates()
        .get_template("card.html")
        .render(
            figures=_figures(analysis),
            cautions=analysis.cautions,
            title=picture.title,
            drawn=base64.b64encode(picture.inline().encode()).decode("ascii"),
        )
    )


def _figures(analysis: Analysis) -> list[tuple[str, str]]:
    """The main numbers, and what they are."""
    counts, d = analysis.check.counts, analysis.n_components
    who = "" if counts.observers is None else f" by {counted(counts.observers, 'observer')}"
    shown = [
        (f"{counts.answers}", f"answers{who}"),
        (f"{counts.objects}", "objects"),
        (f"{d}", plural(d, "dimension")),
    ]
    if analysis.is_provisional:
        shown.append(("provisional", "see below"))
    else:
        certain = f"of comparisons are more than {percent(analysis.certainty.level)} certain"
        shown.append((percent(analysis.certainty.share), certain))
    if analysis.held_out is not None:
        shown.append(
            (percent(analysis.held_out.accuracy), "of held-out answers predicted correctly")
        )
    return shown

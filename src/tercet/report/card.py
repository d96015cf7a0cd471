"""An analysis as a card in a notebook: key figures, cautions and the map."""

from __future__ import annotations

import base64
from html import escape

from tercet.analysis.result import Analysis
from tercet.report.pictures import draw_pictures
from tercet.text import counted, percent, plural

__all__ = ["card"]

_BOX = "border:1px solid #ccc;border-radius:6px;padding:0.6em 1em;max-width:46em"
_CAREFUL = "border-left:4px solid #d55e00;padding-left:0.8em"


def card(analysis: Analysis) -> str:
    """HTML without scripts, in which names and all else that comes from data is escaped."""
    figures = "".join(
        f'<div style="margin-right:2em"><b style="font-size:1.4em">{escape(number)}</b><br>'
        f"{escape(what)}</div>"
        for number, what in _figures(analysis)
    )
    careful = ""
    if analysis.cautions:
        items = "".join(f"<li>{escape(caution)}</li>" for caution in analysis.cautions)
        careful = f'<div style="{_CAREFUL}"><b>What to be careful about</b><ul>{items}</ul></div>'
    return (
        f'<div style="{_BOX}"><div style="display:flex;flex-wrap:wrap">{figures}</div>'
        f"{careful}{_picture(analysis)}</div>"
    )


def _figures(analysis: Analysis) -> list[tuple[str, str]]:
    """The few numbers that matter most, and what they are."""
    counts, d = analysis.check.counts, analysis.n_components
    who = "" if counts.observers is None else f" of {counted(counts.observers, 'observer')}"
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
        shown.append((percent(analysis.held_out.accuracy), "of held-out answers predicted"))
    return shown


def _picture(analysis: Analysis) -> str:
    """The map, as an image of its own: cards of one notebook share nothing."""
    picture = draw_pictures(analysis)["map"]
    drawn = base64.b64encode(picture.inline().encode()).decode("ascii")
    return (
        f'<img alt="{escape(picture.title)}" style="width:100%;background:#fff" '
        f'src="data:image/svg+xml;base64,{drawn}">'
    )

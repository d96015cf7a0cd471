"""An analysis as a card in a notebook: key figures, cautions and the map."""

from __future__ import annotations

import base64

from tercet.analysis.result import Analysis
from tercet.report.page import templates
from tercet.report.pictures import draw_pictures
from tercet.text import counted, percent, plural

__all__ = ["card"]


def card(analysis: Analysis) -> str:
    """HTML without scripts; names and everything else from the data are escaped."""
    picture = draw_pictures(analysis)[
        "map"
    ]  # an image of its own, so that ids of two cards do not clash
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

"""How many dimensions, and what speaks for them."""

from __future__ import annotations

from tercet.report.markup import Section, paragraphs
from tercet.report.parts import Parts
from tercet.text import counted

__all__ = ["dimension_section"]


def dimension_section(parts: Parts) -> Section:
    """The evidence, or that the dimension was given."""
    analysis = parts.analysis
    found, d = analysis.dimension, analysis.n_components
    shown = f"The map has {counted(d, 'dimension')}."
    if found is None:
        body = paragraphs([shown, analysis.dimension_note])
        return Section("dimension", "How many dimensions", body)
    caption = (
        "Each dimension that is needed predicts held-out answers better; one too many predicts "
        "them no better, or worse. Bars are one standard error; the grey band is the recommended "
        "dimension."
    )
    if found.disagreeing:
        caption += (
            " A hollow point is from chains that ended in different maps: by itself it proves "
            "nothing."
        )
    if found.dimension is None:
        shown = f"The number of dimensions is not decided; the map shows {d}."
    body = paragraphs([shown, found.reason, analysis.dimension_note]) + parts.picture(
        "dimension", caption, behind=("dimensions",)
    )
    return Section("dimension", "How many dimensions", body)

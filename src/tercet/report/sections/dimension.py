"""How many dimensions, and what speaks for them."""

from __future__ import annotations

from tercet.report.markup import Section, paragraphs
from tercet.report.parts import Parts

__all__ = ["dimension_section"]


def dimension_section(parts: Parts) -> Section:
    """The evidence, or that the dimension was given."""
    findings = parts.findings
    found, d = findings.dimension, findings.n_components
    shown = f"The map has {d} dimension{'' if d == 1 else 's'}."
    if found is None:
        body = paragraphs([shown, findings.dimension_note])
        return Section("dimension", "How many dimensions", body)
    caption = (
        "Answers that were left out are foretold better with each dimension that is needed, and no "
        "better, or worse, with one too many. Bars are one standard error; the grey band is the "
        "recommended dimension."
    )
    if found.disagreeing:
        caption += (
            " A hollow point is from chains that ended in different maps: by itself it proves "
            "nothing."
        )
    if found.dimension is None:
        shown = f"The number of dimensions is not decided; the map shows {d}."
    body = paragraphs([shown, found.reason, findings.dimension_note]) + parts.picture(
        "dimension", caption, behind=("dimensions",)
    )
    return Section("dimension", "How many dimensions", body)

"""Which questions to ask next."""

from __future__ import annotations

from tercet.analysis.result import Analysis
from tercet.report.markup import Section, name, table, text
from tercet.report.parts import Parts

__all__ = ["questions_section"]

_WHY = {
    "mutual_information": "The answers to these would tell most about which of the maps is true.",
    "uncertainty": "Of these comparisons the map is least sure.",
}


def questions_section(parts: Parts) -> Section:
    """Comparisons whose answers would tell most."""
    found, names = parts.analysis.suggestions, parts.analysis.names
    if found is None:
        return Section("questions", "What to ask next", f"<p>{text(_none(parts.analysis))}</p>")
    why = _WHY.get(found.strategy, "")
    if parts.analysis.is_provisional:
        why = "The map is provisional, and these were chosen with it: others may tell more."
    body = [
        "<p>",
        text(why),
        " Ask them of several people, and shuffle on which side the two objects are shown.</p>",
    ]
    rows = []
    for row, score in zip(found.array.tolist(), found.scores.tolist(), strict=True):
        anchor, one, other = (f"<b>{name(names[i])}</b>" for i in row)
        rows.append(
            f"<tr><td>Is {anchor} closer to {one} or to {other}?</td>"
            f'<td class="number">{score:.3f}</td></tr>\n'
        )
    worth = "bits" if found.strategy == "mutual_information" else "score"
    listed = table(["question", worth], rows, "Questions to ask next, best first")
    body.append(f'<div class="claims">{listed}</div>')
    return Section("questions", "What to ask next", "".join(body))


def _none(analysis: Analysis) -> str:
    """Why nothing is suggested."""
    if analysis.kind == "scale":
        return "Questions are suggested for maps, and this is a scale."
    if analysis.triplets.is_quadruplets:
        return "Questions are suggested for answers about three objects; these are about four."
    return "No question was asked for, or none is left that was not answered."

"""Comparisons: those the map is surest of, those it cannot tell, and those it contradicts."""

from __future__ import annotations

from collections.abc import Sequence

from tercet.analysis.cautions import is_bold, is_calibrated
from tercet.analysis.result import Analysis
from tercet.analysis.words import provisional
from tercet.report.markup import Section, fold, name, paragraphs, prose, rows_of, table, text
from tercet.report.parts import Parts
from tercet.text import percent
from tercet.uses.certainty import Claim

__all__ = ["comparisons_section"]


def comparisons_section(parts: Parts) -> Section:
    """How sure the map is of all comparisons, and of some of them by name."""
    analysis = parts.analysis
    title = "Which comparisons are certain"
    if analysis.is_provisional:
        why = (
            f"This cannot be said, for {provisional(analysis)}. What is certain in one map may be "
            "wrong in another, so no comparisons are listed."
        )
        return Section("comparisons", title, paragraphs([why]))
    sure, level = analysis.certainty, percent(analysis.settings.level)
    which = f"all {sure.counted} comparisons of these objects"
    if sure.is_sample:
        which = f"{sure.counted} comparisons of these objects, drawn at random"
    intro = (
        f"Is x closer to y or to z? Of {which}, asked or not, the map is more "
        f"than {level} certain of {percent(sure.share)}. If it had to decide them all, it would "
        f"expect to have {percent(sure.expected_error)} wrong."
    )
    held_out = analysis.held_out
    if held_out is not None and not is_calibrated(held_out) and is_bold(held_out):
        intro += (
            " Take this with care: of answers that it had not seen, fewer came out right than its "
            "probabilities promised."
        )
    caption = (
        "How many comparisons the map is how sure of. 50 % is a coin toss. The higher the line "
        "stays to the right, the more the map knows."
    )
    body = [paragraphs([intro]), parts.picture("certainty", caption), _shares(analysis)]
    body += [
        _claims("Most certain", "One for each anchor, the clearest first.", sure.most, analysis)
    ]
    if sure.least:
        why = (
            "Here the map knows least, one for each anchor. The two distances may be equal, or too "
            "few were asked."
        )
        body.append(_claims("Least certain", why, sure.least, analysis))
    if sure.contested:
        why = (
            f"The map is more than {level} certain of these, and most of those who were asked said "
            "the contrary: slips, people who see it differently, or a map that is too simple."
        )
        body.append(_claims("Answered against the map", why, sure.contested, analysis))
    return Section("comparisons", title, "".join(body))


def _shares(analysis: Analysis) -> str:
    """The numbers behind the picture."""
    rows = rows_of([(percent(at), percent(share)) for at, share in analysis.certainty.shares])
    title = "Shares of comparisons"
    return fold(title, table(["surer than", "comparisons"], rows, title))


def _claims(title: str, why: str, claims: Sequence[Claim], analysis: Analysis) -> str:
    """Comparisons as claims of the map, or as questions where it does not know."""
    names, is_open = analysis.names, claims is analysis.certainty.least
    said, so = "{} is closer to {} than to {}", "so"
    if is_open:
        said, so = "Is {} closer to {} or to {}?", "the first"
    header = ["comparison", f"probability of {so}" if is_open else "probability"]
    votes = not analysis.triplets.is_quadruplets
    rows = []
    for claim in claims:
        shown = said.format(*(f"<b>{name(names[i])}</b>" for i in claim[:3]))
        asked = f"{claim.agreed} of {claim.answers} said {so}" if claim.answers else "never asked"
        cells = f"<td>{shown}</td><td>{_bar(claim.probability)}</td>"
        rows.append(f"<tr>{cells}{f'<td>{asked}</td>' if votes else ''}</tr>\n")
    listed = table([*header, *(["answers"] if votes else [])], rows, title)
    return f'<h3>{text(title)}</h3>{paragraphs([why])}<div class="claims">{listed}</div>'


def _bar(probability: float) -> str:
    """A probability from ½ to 1 in words and as a bar."""
    shown = "over 99.9 %" if probability > 0.999 else percent(probability)
    filled = 200.0 * (probability - 0.5)
    return f'<span class="bar"><i style="width:{filled:.0f}%"></i></span> {prose(shown)}'

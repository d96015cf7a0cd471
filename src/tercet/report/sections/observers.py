"""The observers: who follows the others, and who looks like guessing."""

from __future__ import annotations

import math

from tercet.report.markup import Section, paragraphs
from tercet.report.parts import Parts
from tercet.text import percent
from tercet.uses.quality.guessing import CANNOT_TELL

__all__ = ["observers_section"]


def observers_section(parts: Parts) -> Section:
    """Each observer beside the others, or why there is nothing to say."""
    check = parts.analysis.check
    if not check.observers:
        body = "<p>Who gave each answer is not known, so observers could not be checked.</p>"
        return Section("observers", "Observers", body)
    if len(check.observers) == 1:
        body = "<p>There is one observer, so there is nobody to compare with.</p>"
        return Section("observers", "Observers", body + parts.behind(("observers",)))
    flagged = [each for each in check.observers if each.flags]
    said = []
    if not math.isnan(check.typical):
        said.append(
            f"A map of the others' answers predicts {percent(check.typical)} of the typical "
            "observer's."
        )
    said += [f"{each.observer}: {', '.join(each.flags)}." for each in flagged[:8]]
    if len(flagged) > 8:
        said.append(f"{len(flagged) - 8} more need attention; see the table.")
    unknown = sum(each.verdict == CANNOT_TELL for each in check.observers)
    if unknown:
        whom = "any of them" if unknown == len(check.observers) else f"{unknown} of them"
        said.append(f"Whether {whom} guessed cannot be told.")
    elif not flagged:
        said.append("Nobody looks like guessing, or like answering the other way round.")
    if check.catch_trials:
        said.append(f"{check.catch_passed} of {check.catch_trials} catch trials were passed.")
    caption = (
        "How many of each observer's answers a map of the others' predicts, with 95 % intervals. "
        "At 50 %, the grey line, answers are like guesses. Those in orange need attention."
    )
    picture = parts.picture("observers", caption) + parts.behind(("observers",))
    return Section("observers", "Observers", paragraphs(said) + picture)

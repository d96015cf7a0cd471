"""What a check of answers found, in numbers and in plain words."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.checks import listing
from tercet.plain import plain
from tercet.uses.abstain.risk import percent
from tercet.uses.compare.misfit import NoiseCeiling
from tercet.uses.quality.counts import Counts, Repeats, Spread
from tercet.uses.quality.guessing import CANNOT_TELL, FOLLOWS, GUESSING, REVERSED
from tercet.uses.quality.observers import FAILED_CATCH, TOO_FAST, ObserverCheck
from tercet.uses.quality.table import tabulate

__all__ = ["AnswerCheck"]

WIDTH = 100
SHOWN = 10  # observers in the printed table
# Share of repeated answers that can be foretold where the task is close to guessing: the estimate,
# and what it may be at the most (few repeats do not tell).
HARDLY, AT_MOST = 0.6, 0.75


@dataclass(frozen=True)
class AnswerCheck:
    """What `check_answers` found; print it.

    Attributes
    ----------
    counts : Counts
        Answers, comparisons, objects, observers and screens.
    repeats : Repeats or None
        Contradictions, and the noise ceiling; None where nothing was asked twice.
    no_repeats : str
        Why there are none; else empty.
    gaps : tuple of str
        What the answers cannot tell, whatever the model; see `diagnose`.
    observers : tuple of ObserverCheck
        In the order of their names; empty where observers are unknown.
    typical : float
        Share of the typical observer's answers that a map of the others' foretells; NaN where it
        was not measured.
    answers_needed : float
        How many answers of an observer it takes to notice guessing with probability 80 %; ∞ where
        the typical observer does no better than a coin.
    catch_trials, catch_passed : int
        Over all observers.
    seed : int
        As ``random_state`` it gives the same result again.
    """

    counts: Counts
    repeats: Repeats | None
    no_repeats: str
    gaps: tuple[str, ...]
    observers: tuple[ObserverCheck, ...]
    typical: float
    answers_needed: float
    catch_trials: int
    catch_passed: int
    seed: int

    @property
    def ceiling(self) -> NoiseCeiling | None:
        """The noise ceiling, where something was asked twice."""
        return None if self.repeats is None else self.repeats.ceiling

    def sentences(self) -> list[str]:
        """What was found, in plain words."""
        return find_sentences(self)

    def warnings(self) -> list[str]:
        """What needs attention, and what to do about it; empty if nothing does."""
        return find_warnings(self)

    def table(self, limit: int | None = None) -> str:
        """The observers, for reading, those that need attention first.

        Parameters
        ----------
        limit : int, optional
            At most so many lines.
        """
        return tabulate(self.observers, limit)

    def records(self) -> list[dict[str, Any]]:
        """The observers as plain dicts, for example for ``pandas.DataFrame``."""
        rows = []
        for check in self.observers:
            row = check._asdict()
            row["low"], row["high"] = row.pop("interval")
            row["flags"] = "; ".join(check.flags)
            rows.append(row)
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it; None where a number is unknown or infinite."""
        found: dict[str, Any] = plain(self)
        found["seed"] = str(self.seed)  # may have more digits than JSON's readers keep
        return found | {"sentences": self.sentences(), "warnings": self.warnings()}

    def __str__(self) -> str:
        attention = [f"! {line}" for line in self.warnings()] or ["Nothing needs attention."]
        parts = ["\n".join(map(_fill, said)) for said in (self.sentences(), attention)]
        if flagged := sum(bool(check.flags) for check in self.observers):
            parts.append(self.table(limit=SHOWN))
            if flagged > SHOWN:
                parts[-1] += (
                    f"\n… and {flagged - SHOWN} more that need attention (in Python: table())"
                )
        return "\n\n".join(parts)


# --- findings ---------------------------------------------------------------------------------


def find_sentences(found: AnswerCheck) -> list[str]:
    """What was found, one statement after the other."""
    return [
        *_about_counts(found.counts),
        *_about_repeats(found),
        *_about_observers(found),
        *_about_care(found),
    ]


def _about_counts(counts: Counts) -> list[str]:
    who = "" if counts.observers is None else f" by {_count(counts.observers, 'observer')}"
    where = "" if counts.screens is None else f" on {_count(counts.screens, 'screen')}"
    said = [
        f"{_count(counts.answers, 'answer')} to {_count(counts.comparisons, 'comparison')} of "
        f"{_count(counts.objects, 'object')}{who}{where}.",
        f"An object is mentioned in {_range(counts.per_object)}{_rarest(counts)}.",
    ]
    if counts.per_observer is not None and counts.observers != 1:
        said.append(f"An observer gave {_range(counts.per_observer)}.")
    if counts.observers is None:
        said.append("Who gave each answer is not known, so observers could not be checked.")
    return said


def _about_repeats(found: AnswerCheck) -> list[str]:
    repeats = found.repeats
    if repeats is None:
        return [
            f"Contradictions and the noise ceiling cannot be told: {found.no_repeats}. Ask some "
            "comparisons again in the next study."
        ]
    said = [
        f"{_count(repeats.comparisons, 'comparison')} {_was(repeats.comparisons)} asked more than "
        f"once ({_count(repeats.answers, 'answer')}), and {repeats.contradicted} of them "
        f"{_was(repeats.contradicted)} answered both ways."
    ]
    kinds = (
        ("by one observer", repeats.within),
        ("by two observers", repeats.between),
        ("", repeats.overall if repeats.within is None else None),
    )
    rates = [f"{percent(kind.rate)} {who}".rstrip() for who, kind in kinds if kind and kind.pairs]
    said.append(
        f"Of two answers to the same comparison, {' and '.join(rates)} differ (50 % if everyone "
        "guessed, 0 % if all were sure and agreed)."
    )
    low, high = repeats.ceiling.accuracy_interval
    said.append(
        f"Noise ceiling: no model can foretell more than {percent(repeats.ceiling.accuracy)} of "
        f"answers to comparisons like these repeated ones (95 % interval {percent(low)} to "
        f"{percent(high)})."
    )
    return said


def _about_observers(found: AnswerCheck) -> list[str]:
    observers = found.observers
    if len(observers) == 1:
        return ["There is one observer, so there is nobody to compare with."]
    said = []
    if not math.isnan(found.typical):
        said.append(
            f"Foretold from the answers of others, {percent(found.typical)} of the typical "
            "observer's answers come out right (50 % of a guesser's)."
        )
        kinds = [
            (FOLLOWS, "above chance"),
            (GUESSING, "like guessing"),
            (REVERSED, "the other way round"),
            (CANNOT_TELL, "cannot tell"),
        ]
        counted = [(sum(o.verdict == kind for o in observers), word) for kind, word in kinds]
        said.append(
            f"Observers by their answers: {', '.join(f'{n} {word}' for n, word in counted if n)}."
        )
    if agreements := [o.agreement for o in observers if o.shared]:
        said.append(
            "On shared comparisons the typical observer agrees with the majority of the others in "
            f"{percent(float(np.median(agreements)))} of the answers."
        )
    return said


def _about_care(found: AnswerCheck) -> list[str]:
    said = []
    if times := [o.response_time for o in found.observers if not math.isnan(o.response_time)]:
        shown = Spread(min(times), float(np.median(times)), max(times))
        said.append(
            f"Mean response time of an observer: {shown.least:.3g} to {shown.most:.3g} s, median "
            f"{shown.median:.3g} s."
        )
    if found.catch_trials:
        said.append(
            f"{found.catch_passed} of {_count(found.catch_trials, 'catch trial')} "
            f"{_was(found.catch_passed)} passed."
        )
        if apart := found.catch_trials - sum(o.catch_trials for o in found.observers):
            said.append(f"{_count(apart, 'catch trial')} cannot be matched to an observer here.")
    return said


# --- what needs attention ---------------------------------------------------------------------


def find_warnings(found: AnswerCheck) -> list[str]:
    """What needs attention, and what to do about it."""
    said = [*found.gaps]
    ceiling = found.ceiling
    if ceiling and ceiling.accuracy < HARDLY and ceiling.accuracy_interval[1] < AT_MOST:
        said.append(
            "Answers to the same comparison hardly agree with each other: no model can foretell "
            f"more than {percent(ceiling.accuracy)} of them. Check that the question was "
            "understood and that the columns of the file are the right ones."
        )
    if not math.isnan(found.typical) and math.isinf(found.answers_needed):
        said.append(
            "The others' answers do not foretell those of the typical observer better than a coin: "
            "too few answers for a map, observers who have little in common, or guesses."
        )
    return said + _about_flags(found.observers) + _about_the_few(found)


def _about_flags(observers: Sequence[ObserverCheck]) -> list[str]:
    without = "Make the map with and without them, and say in the report what you left out."
    found = {
        GUESSING: "Answers that look like guessing, foretold no better than a coin would be and "
        f"clearly less than an ordinary observer's: {{who}}. {without}",
        REVERSED: "Answers that look the other way round, foretold wrongly more often than a coin "
        "would be: {who}. Check whether the question was misunderstood, or whether near and far "
        "are exchanged in the file.",
        FAILED_CATCH: f"More than 20 % of the catch trials failed: {{who}}. {without}",
        TOO_FAST: f"Less than 1 s an answer on average: {{who}}. {without}",
    }
    named = {flag: [o.observer for o in observers if flag in o.flags] for flag in found}
    return [text.format(who=_observers(named[flag])) for flag, text in found.items() if named[flag]]


def _about_the_few(found: AnswerCheck) -> list[str]:
    few = [o for o in found.observers if o.verdict == CANNOT_TELL]
    if not few or math.isnan(found.typical) or math.isinf(found.answers_needed):
        return []
    return [
        "Cannot tell whether these are guesses, foretold no better than a coin would be but not "
        f"clearly less than an ordinary observer's: {_observers([o.observer for o in few])}. It "
        f"takes about {found.answers_needed:.0f} answers or more, the more the more observers "
        "differ."
    ]


# --- words ------------------------------------------------------------------------------------


def _range(spread: Spread) -> str:
    if spread.least == spread.most:
        return _count(round(spread.most), "answer")
    return f"{spread.least:.0f} to {spread.most:.0f} answers (median {spread.median:g})"


def _rarest(counts: Counts) -> str:
    if counts.per_object.least == counts.per_object.most:
        return ""
    return f"; the fewest: {', '.join(map(repr, counts.rarest))}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _observers(named: Sequence[str]) -> str:
    return f"{_count(len(named), 'observer')} ({listing(named, range(len(named)))})"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _fill(text: str) -> str:
    """A paragraph that never begins a line with a % sign, nor breaks a name."""
    kept = textwrap.fill(
        text.replace(" %", "\N{NO-BREAK SPACE}%"),
        WIDTH,
        subsequent_indent="  ",
        break_on_hyphens=False,
    )
    return kept.replace("\N{NO-BREAK SPACE}", " ")

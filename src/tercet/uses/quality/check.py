"""check_answers: counts, repeats, gaps, sides and observers, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.answers.choices import Choices
from tercet.answers.diagnosis import diagnose
from tercet.answers.either import Answers
from tercet.answers.positions import SerialDependence, SideBias, serial_dependence, side_bias
from tercet.answers.repeats import NoiseCeiling, Repeats, find_repeats, prepare
from tercet.answers.shares import LEVEL
from tercet.answers.triplets import Triplets, as_triplets, restore
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.tables import Table, json_ready
from tercet.text import counted, listing, percent, were, wrap
from tercet.uses.quality.counts import (
    Counts,
    ObserverDifferences,
    Spread,
    compare_observers,
    count_answers,
    count_copies,
)
from tercet.uses.quality.observers import (
    CANNOT_TELL,
    FAILED_CATCH,
    FOLLOWS,
    GUESSING,
    REVERSED,
    TOO_FAST,
    ObserverCheck,
    check_catch,
    check_observers,
)
from tercet.uses.quality.side_words import about_positions, warn_about_positions

__all__ = [
    "AnswerCheck",
    "check_answers",
    "tabulate_observers",
]


def check_answers(
    triplets: Any,
    *,
    catch: Any = None,
    ensemble: Ensemble | None = None,
    random_state: Seed = None,
) -> AnswerCheck:
    """Check answers before making a map: counts, repeats, gaps, sides and observers.

    Choices on screens are checked by the comparisons within them. Where it is known in which
    position each alternative was shown, it is tested whether positions affect the answers; see
    `SideBias` and `SerialDependence`.

    Each observer's answers are predicted from those of others: observers are split into at most 10
    folds, and a map in the plane (penalised STE) of the other folds predicts each fold; the maps of
    nine such splits vote (three above 50 000 answers). Whether observers differ from each other is
    tested by permuting them within comparisons; see `ObserverDifferences`.

    Parameters
    ----------
    triplets : Triplets, Choices, array or data frame
        The answers. Whole-number weights are counts of answers.
    catch : object with ``passed`` (k,) and ``observers`` (k,) or None, optional
        Catch trials, such as those found in a file (`tercet.io.reading.Catch`).
    ensemble : Ensemble, optional
        From **other** answers about these objects, such as an earlier study: it predicts the
        answers instead of maps fitted here. One fitted to these answers would be overoptimistic.
    random_state : None, int or numpy.random.Generator
        For the folds of observers, the starts of the maps, and the permutation test.

    Returns
    -------
    AnswerCheck
        Print it.

    Examples
    --------
    >>> import tercet as tc
    >>> psi = tc.simulate.perception_functions(3, [0, 0.2, 0.5, 0.7, 1], lengthscale=2)
    >>> answers = tc.simulate.observers(psi, 20, noise=0.3, random_state=0)
    >>> check_answers(answers, random_state=0).counts.answers
    60
    """
    given = triplets if isinstance(triplets, Choices) else as_triplets(triplets)
    answers = _compared(given)
    check_catch(catch)
    entropy = entropy_of(random_state)
    prepared = prepare(answers)
    repeats = find_repeats(prepared)
    rng = np.random.default_rng(seed_for(entropy))
    observed = check_observers(prepared, catch, ensemble, rng)
    strange = [each.verdict in (GUESSING, REVERSED) for each in observed.checks]
    differences = compare_observers(
        prepared, np.array(strange, dtype=np.bool_), np.random.default_rng(seed_for(entropy, 0))
    )
    return AnswerCheck(
        counts=count_answers(prepared),
        copies=count_copies(answers),
        repeats=None if isinstance(repeats, str) else repeats,
        no_repeats=repeats if isinstance(repeats, str) else "",
        gaps=tuple(diagnose(answers)),
        observers=observed.checks,
        typical=observed.typical,
        answers_needed=observed.needed,
        differences=None if isinstance(differences, str) else differences,
        no_differences=differences if isinstance(differences, str) else "",
        catch_trials=0 if catch is None else len(catch.passed),
        catch_passed=0 if catch is None else int(np.sum(catch.passed)),
        side_bias=side_bias(given),
        serial_dependence=serial_dependence(given),
        seed=entropy,
    )


def _compared(answers: Answers) -> Triplets:
    """The comparisons; choices between two pairs are not on screens of their own."""
    if not isinstance(answers, Choices):
        return answers
    told = answers.without_ties()
    if not len(told):
        raise InputError("in none of the choices could the observer tell; nothing can be checked.")
    comparisons = told.triplets()
    if comparisons.shares_screens:
        return comparisons
    return restore(comparisons._fields._replace(screens=told.screens))


# --- the result ---------------------------------------------------------------------------------


SHOWN = 10  # observers in the printed table
SEEN = 0.01  # share of copies above which they are reported
# Noise ceiling below which the task is called close to guessing: its estimate, and the upper end of
# its interval (with few repeats the estimate alone says little).
HARDLY, AT_MOST = 0.6, 0.75
# Ratio of variances from which differences between observers are reported: a crowd with few answers
# each has less, and its intervals are right (docs/quality.md).
MATTERS = 1.1


@dataclass(frozen=True)
class AnswerCheck:
    """The result of `check_answers`; print it.

    Attributes
    ----------
    counts : Counts
        Answers, comparisons, objects, observers and screens.
    copies : int
        Rows that seem to be duplicates; see `count_copies`.
    repeats : Repeats or None
        Contradictions, and the noise ceiling; None if nothing was asked twice.
    no_repeats : str
        Why there are none; otherwise empty.
    gaps : tuple of str
        What the answers leave undetermined under any model; see `diagnose`.
    observers : tuple of ObserverCheck
        In the order of their names; empty if observers are unknown.
    typical : float
        Share of the typical observer's answers that a map of the others' answers predicts
        correctly; NaN if not measured.
    answers_needed : float
        How many answers of an observer it takes to detect guessing with probability 80 %; ∞ if
        the typical observer is predicted at chance level.
    differences : ObserverDifferences or None
        A test of whether observers differ from each other, without those who appear to guess or
        to reverse their answers; None if it is impossible.
    no_differences : str
        Why it is impossible; otherwise empty.
    catch_trials, catch_passed : int
        Over all observers.
    side_bias : SideBias
        A test of whether some positions are chosen more often than others.
    serial_dependence : SerialDependence
        A test of whether observers repeat, or avoid, the position of their last answer.
    seed : int
        Reproduces the result as ``random_state``.
    """

    counts: Counts
    copies: int
    repeats: Repeats | None
    no_repeats: str
    gaps: tuple[str, ...]
    observers: tuple[ObserverCheck, ...]
    typical: float
    answers_needed: float
    differences: ObserverDifferences | None
    no_differences: str
    catch_trials: int
    catch_passed: int
    side_bias: SideBias
    serial_dependence: SerialDependence
    seed: int

    @property
    def ceiling(self) -> NoiseCeiling | None:
        """Of comparisons, for models that do not know who answers; None with too few repeats."""
        return None if self.repeats is None else self.repeats.ceiling

    @property
    def observers_differ(self) -> bool:
        """Whether observers differ from each other enough to affect the intervals."""
        found = self.differences
        return found is not None and found.p_value <= LEVEL and found.ratio >= MATTERS

    def sentences(self) -> list[str]:
        """The findings, one sentence each."""
        return [
            *_about_counts(self.counts),
            *_about_repeats(self),
            *_about_observers(self),
            *_about_times_and_catch_trials(self),
            *about_positions(self.side_bias, self.serial_dependence),
        ]

    def warnings(self) -> list[str]:
        """What needs attention, and what to do about it; empty if nothing does."""
        return find_warnings(self)

    def table(self, limit: int | None = None) -> str:
        """The observers as a table, those that need attention first.

        Parameters
        ----------
        limit : int, optional
            Largest number of rows.
        """
        return tabulate_observers(self.observers, limit)

    def records(self) -> list[dict[str, Any]]:
        """The observers as dicts, for example for ``pandas.DataFrame``."""
        rows = []
        for check in self.observers:
            row = check._asdict()
            row["low"], row["high"] = row.pop("interval")
            row["flags"] = "; ".join(check.flags)
            rows.append(row)
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Everything, JSON-compatible; missing and infinite values are None."""
        found: dict[str, Any] = json_ready(self)
        found["seed"] = str(self.seed)  # may have more digits than JSON readers keep
        return found | {"sentences": self.sentences(), "warnings": self.warnings()}

    def __str__(self) -> str:
        attention = [f"! {line}" for line in self.warnings()] or ["Nothing needs attention."]
        parts = [
            "\n".join(wrap(each, indent="  ") for each in said)
            for said in (self.sentences(), attention)
        ]
        if flagged := sum(bool(check.flags) for check in self.observers):
            parts.append(self.table(limit=SHOWN))
            if flagged > SHOWN:
                parts[-1] += (
                    f"\n… and {flagged - SHOWN} more that need attention (in Python: table())"
                )
        return "\n\n".join(parts)


# --- findings ---------------------------------------------------------------------------------


def _about_counts(counts: Counts) -> list[str]:
    who = "" if counts.observers is None else f" by {counted(counts.observers, 'observer')}"
    where = "" if counts.screens is None else f" on {counted(counts.screens, 'screen')}"
    asked = f"{counted(counts.answers, 'answer')} to {counted(counts.comparisons, 'comparison')}"
    if counts.shares_screens and counts.screens is not None:
        where = f" within the choices on {counted(counts.screens, 'screen')}"
        asked = f"{counted(counts.answers, 'comparison')} ({counts.comparisons} different ones)"
    said = [
        f"{asked} of {counted(counts.objects, 'object')}{who}{where}.",
        f"Each object is mentioned in {_range(counts.per_object, counts.word)}{_rarest(counts)}.",
    ]
    if counts.per_observer is not None and counts.observers != 1:
        said.append(f"Each observer gave {_range(counts.per_observer, counts.word)}.")
    if counts.observers is None:
        said.append("It is not known who gave each answer, so observers could not be checked.")
    return said


def _about_repeats(found: AnswerCheck) -> list[str]:
    repeats = found.repeats
    if repeats is None:
        return [
            f"Contradictions and the noise ceiling are unknown: {found.no_repeats}. Ask some "
            "comparisons more than once in the next study."
        ]
    often = counted(repeats.answers, "answer")
    if found.counts.shares_screens:
        often = f"{repeats.answers} times in all"
    said = [
        f"{counted(repeats.comparisons, 'comparison')} {were(repeats.comparisons)} asked more than "
        f"once ({often}); {repeats.contradicted} of them {were(repeats.contradicted)} answered "
        "both ways."
    ]
    kinds = (
        ("within one observer", repeats.within),
        ("between observers", repeats.between),
        ("", repeats.overall if repeats.within is None else None),
    )
    asked = [(who, kind) for who, kind in kinds if kind and kind.pairs]
    rates = [
        f"{percent(kind.rate)} {who}".rstrip()
        + (f" ({counted(kind.comparisons, 'comparison')})" if len(asked) > 1 else "")
        for who, kind in asked
    ]
    said.append(
        f"Share of pairs of answers to the same comparison that differ: {' and '.join(rates)}; "
        "guessing would give 50 %."
    )
    same = repeats.between_same
    if repeats.own_ceiling is not None and same and same.pairs and same != repeats.between:
        said.append(
            "On comparisons that one observer answered more than once: "
            f"{percent(same.rate)} between observers."
        )
    return said + _about_ceilings(repeats, found.counts)


def _about_ceilings(repeats: Repeats, counts: Counts) -> list[str]:
    observers = counts.observers
    if repeats.ceiling is None:
        return [
            "These are too few to estimate the noise ceiling: ask more comparisons more than once."
        ]
    which = "of this observer" if observers == 1 else "that does not know who answers"
    said = [
        f"Noise ceiling: a model {which} can predict at most {_accuracy(repeats.ceiling)} of the "
        f"answers to {'single ' if counts.shares_screens else ''}comparisons like the repeated "
        "ones."
    ]
    if repeats.within is None or observers == 1:
        return said
    if repeats.own_ceiling is None:
        said.append(
            "The noise ceiling of a model that knows who answers is unknown: "
            f"{'hardly anyone' if repeats.within.pairs else 'nobody'} answered the same comparison "
            "twice."
        )
    else:
        asked = counted(repeats.within.comparisons, "comparison")
        said.append(
            f"On the {asked} that somebody answered more than once, a model that knows who "
            f"answers can predict at most {_accuracy(repeats.own_ceiling)}."
        )
    return said


def _about_observers(found: AnswerCheck) -> list[str]:
    observers = found.observers
    if len(observers) == 1:
        return ["There is one observer, and nobody to compare with."]
    said = []
    if not math.isnan(found.typical):
        said.append(
            f"For the typical observer, a map of the others' answers predicts "
            f"{percent(found.typical)} of the {found.counts.word}s correctly (50 % for guessing)."
        )
        if found.ceiling is not None and found.typical > found.ceiling.accuracy:
            said.append(
                "That is above the noise ceiling, which includes observers who guess, and is "
                "estimated from repeated comparisons alone."
            )
        kinds = [
            (FOLLOWS, "above chance"),
            (GUESSING, "possibly guessing"),
            (REVERSED, "reversed"),
            (CANNOT_TELL, "cannot tell"),
        ]
        counted = [(sum(o.verdict == kind for o in observers), word) for kind, word in kinds]
        said.append(f"Observers: {', '.join(f'{n} {word}' for n, word in counted if n)}.")
    if agreements := [o.agreement for o in observers if o.shared]:
        said.append(
            "On shared comparisons the typical observer agrees with the majority of the others in "
            f"{percent(float(np.median(agreements)))} of answers."
        )
    return said + _about_differences(found)


def _about_differences(found: AnswerCheck) -> list[str]:
    test = found.differences
    if test is None:
        return (
            [f"Whether observers differ from each other is unknown: {found.no_differences}."]
            if found.observers
            else []
        )
    seen = (
        f"{counted(test.answers, 'answer')} to {counted(test.comparisons, 'comparison')} on which "
        "they disagree"
    )
    if test.p_value > LEVEL:
        return [f"No difference between observers was found in {seen} ({_p(test)})."]
    little = "" if found.observers_differ else " a little"
    return [
        f"Observers differ from each other{little}: in {seen}, answers of the same observer are "
        f"more consistent than chance explains ({_p(test)})."
    ]


def _about_times_and_catch_trials(found: AnswerCheck) -> list[str]:
    said = []
    if times := [o.response_time for o in found.observers if not math.isnan(o.response_time)]:
        median = f"{float(np.median(times)):.3g} s"
        several = f"{min(times):.3g} to {max(times):.3g} s, median {median}"
        said.append(
            f"Mean response time per observer: {several}."
            if len(times) > 1
            else f"Mean response time: {median}."
        )
    if found.catch_trials:
        said.append(
            f"{found.catch_passed} of {counted(found.catch_trials, 'catch trial')} "
            f"{were(found.catch_passed)} passed."
        )
        if apart := found.catch_trials - sum(o.catch_trials for o in found.observers):
            said.append(f"{counted(apart, 'catch trial')} cannot be matched to an observer.")
    return said


# --- what needs attention ---------------------------------------------------------------------


def find_warnings(found: AnswerCheck) -> list[str]:
    """What needs attention, and what to do about it."""
    said = [*found.gaps]
    if found.copies > SEEN * found.counts.answers:
        said.append(
            f"{counted(found.copies, 'row')} {'repeats' if found.copies == 1 else 'repeat'} other "
            "rows in every cell, as if a file had been concatenated with itself. Duplicates make "
            "everything look too certain: remove them unless they are separate answers."
        )
    ceiling = found.ceiling
    if ceiling and ceiling.accuracy < HARDLY and ceiling.accuracy_interval[1] < AT_MOST:
        said.append(
            "Answers to the same comparison hardly agree with each other: a model that does not "
            f"know who answers can predict at most {percent(ceiling.accuracy)} of them. Check that "
            "the question was understood and that the columns of the file were read correctly."
        )
    if not math.isnan(found.typical) and math.isinf(found.answers_needed):
        said.append(
            "The typical observer's answers are predicted at chance level from those of the "
            "others: there are too few answers for a map, observers have little in common, or "
            "they guessed."
        )
    if found.observers_differ and found.differences is not None:
        said.append(
            "Observers differ from each other more than chance explains "
            f"({_p(found.differences)}). Results from all answers together apply to these "
            f"{found.counts.observers} people; for people in general, resample whole observers, "
            "which gives wider intervals."
        )
    said += warn_about_positions(found.side_bias, found.serial_dependence)
    return said + _about_flags(found.observers) + _about_the_unclear(found)


def _about_flags(observers: Sequence[ObserverCheck]) -> list[str]:
    without = "Make the map with and without them, and report both."
    found = {
        GUESSING: "Possible guessing: answers predicted at chance level, clearly below a typical "
        f"observer: {{who}}. {without}",
        REVERSED: "Reversed answers, predicted below chance level: {who}. Check whether the "
        "question was misunderstood, or whether near and far are swapped in the file.",
        FAILED_CATCH: f"More than 20 % of catch trials failed: {{who}}. {without}",
        TOO_FAST: f"Very fast, less than 1 s per answer on average: {{who}}. {without}",
    }
    named = {flag: [o.observer for o in observers if flag in o.flags] for flag in found}
    return [text.format(who=_observers(named[flag])) for flag, text in found.items() if named[flag]]


def _about_the_unclear(found: AnswerCheck) -> list[str]:
    """Observers who may or may not have guessed, by reason."""
    if math.isnan(found.typical) or math.isinf(found.answers_needed):
        return []
    unclear = [o for o in found.observers if o.verdict == CANNOT_TELL]
    needed = found.answers_needed
    alone = [o.observer for o in unclear if not o.predicted]
    few = [o.observer for o in unclear if 0 < o.predicted < needed]
    poor = [o.observer for o in unclear if o.predicted >= needed]
    reasons = (
        (alone, "nobody else was asked about the same objects"),
        (
            few,
            f"predicted at chance level, from too few {found.counts.word}s (about {needed:.0f} are "
            "needed)",
        ),
        (
            poor,
            "predicted at chance level, but not clearly below the range of typical observers. "
            "Asking some comparisons again shows whether they contradict themselves",
        ),
    )
    return [
        f"Cannot tell whether {_observers(who)} guessed: {reason}."
        for who, reason in reasons
        if who
    ]


# --- words ------------------------------------------------------------------------------------


def _range(spread: Spread, word: str) -> str:
    if spread.least == spread.most:
        return counted(round(spread.most), word)
    return f"{spread.least:.0f} to {spread.most:.0f} {word}s (median {spread.median:g})"


def _accuracy(ceiling: NoiseCeiling) -> str:
    low, high = ceiling.accuracy_interval
    return f"about {percent(ceiling.accuracy)} (95 % interval {percent(low)} to {percent(high)})"


def _p(test: ObserverDifferences) -> str:
    return f"p = {test.p_value:.3f}"


def _rarest(counts: Counts) -> str:
    if counts.per_object.least == counts.per_object.most:
        return ""
    return f"; fewest: {', '.join(map(repr, counts.rarest))}"


def _observers(named: Sequence[str]) -> str:
    return f"{counted(len(named), 'observer')} ({listing(named, range(len(named)))})"


# --- the observers as a table -------------------------------------------------------------------


def tabulate_observers(observers: Sequence[ObserverCheck], limit: int | None = None) -> str:
    """The observers as a text table, those that need attention first."""
    order = sorted(observers, key=lambda o: (-len(o.flags), _or(o.accuracy, 1.0)))
    columns: list[tuple[str, Callable[[ObserverCheck], str]]] = [
        ("observer", lambda o: o.observer if o.observer.isprintable() else repr(o.observer)),
        ("answers", lambda o: str(o.answers)),
        ("predicted correctly", lambda o: _share(o.accuracy, o.predicted)),
        ("95 % interval", _interval),
        ("agrees with majority", lambda o: _share(o.agreement, o.shared)),
        ("self-consistency", lambda o: _share(o.consistency, o.retests)),
        ("seconds", lambda o: "" if math.isnan(o.response_time) else f"{o.response_time:.2f}"),
        ("catch trials", lambda o: f"{o.catch_passed}/{o.catch_trials}" if o.catch_trials else ""),
        ("", lambda o: "; ".join(o.flags or (o.verdict,))),
    ]
    cells = [[head, *(cell(o) for o in order[:limit])] for head, cell in columns]
    used = [column for column in cells if any(column[1:])]
    header, *rows = zip(*used, strict=True)
    return Table("", header, rows).text()


def _interval(observer: ObserverCheck) -> str:
    low, high = observer.interval
    return "" if math.isnan(low) else f"{percent(low)} to {percent(high)}"


def _share(share: float, of: int) -> str:
    return f"{percent(share)} of {of}" if of else ""


def _or(value: float, instead: float) -> float:
    return instead if math.isnan(value) else value

"""What can be said of the answers before anything is embedded, in numbers and in plain words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.answers.diagnosis import diagnose
from tercet.answers.repeats import NoiseCeiling, Repeats, find_repeats, prepare
from tercet.answers.triplets import as_triplets
from tercet.ensemble import Ensemble
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
    LEVEL,
    REVERSED,
    TOO_FAST,
    ObserverCheck,
    check_catch,
    check_observers,
)

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
    """Say what can be said of answers before anything is embedded: gaps, repeats, observers.

    Observers are judged by answers predicted from those of others: the observers are dealt into at
    most 10 folds, a map in the plane (STE, penalised) is fitted without a fold, and predicts it;
    the maps of nine such deals vote (three, above 50 000 answers). Whether observers differ from
    each other is tested by shuffling them within comparisons; see `ObserverDifferences`.

    Parameters
    ----------
    triplets : Triplets, array or data frame
        The answers. Whole weights are votes.
    catch : object with ``passed`` (k,) and ``observers`` (k,) or None, optional
        Catch trials, such as a file's reader found (`tercet.io.reading.Catch`).
    ensemble : Ensemble, optional
        Made of **other** answers about these objects, such as an earlier study: it predicts the
        answers instead of maps fitted here. One that has seen these answers would flatter.
    random_state : None, int or numpy.random.Generator
        For the folds of observers, the starts of their maps, and the shuffling of observers.

    Returns
    -------
    AnswerCheck
        Prints as plain text.

    Examples
    --------
    >>> import tercet as tc
    >>> psi = tc.simulate.perception_functions(3, [0, 0.2, 0.5, 0.7, 1], lengthscale=2)
    >>> answers = tc.simulate.observers(psi, 20, noise=0.3, random_state=0)
    >>> check_answers(answers, random_state=0).counts.answers
    60
    """
    answers = as_triplets(triplets)
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
        seed=entropy,
    )


# --- what was found -----------------------------------------------------------------------------


SHOWN = 10  # observers in the printed table
SEEN = 0.01  # share of the answers that are copies, from which they are told
COIN = "predicted no better than a coin would be"
# Share of repeated answers that can be predicted where the task is close to guessing: the estimate,
# and what it may be at the most (few repeats do not tell).
HARDLY, AT_MOST = 0.6, 0.75
# Ratio of variances from which observers who differ are told of: a crowd that gave few answers each
# has less, and its intervals are right (docs/quality.md).
MATTERS = 1.1


@dataclass(frozen=True)
class AnswerCheck:
    """What `check_answers` found; print it.

    Attributes
    ----------
    counts : Counts
        Answers, comparisons, objects, observers and screens.
    copies : int
        Rows that seem to be there twice; see `count_copies`.
    repeats : Repeats or None
        Contradictions, and the noise ceiling; None where nothing was asked twice.
    no_repeats : str
        Why there are none; else empty.
    gaps : tuple of str
        What the answers cannot tell, whatever the model; see `diagnose`.
    observers : tuple of ObserverCheck
        In the order of their names; empty where observers are unknown.
    typical : float
        Share of the typical observer's answers that a map of the others' predicts; NaN where it
        was not measured.
    answers_needed : float
        How many answers of an observer it takes to notice guessing with probability 80 %; ∞ where
        the typical observer does no better than a coin.
    differences : ObserverDifferences or None
        A test of whether observers differ from each other, those aside who look like guessing or
        the other way round; None where there is nothing to test.
    no_differences : str
        Why there is nothing; else empty.
    catch_trials, catch_passed : int
        Over all observers.
    seed : int
        As ``random_state`` it gives the same result again.
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
    seed: int

    @property
    def ceiling(self) -> NoiseCeiling | None:
        """Of models that do not know who answers, where enough was asked twice."""
        return None if self.repeats is None else self.repeats.ceiling

    @property
    def observers_differ(self) -> bool:
        """Whether observers differ from each other so much that it matters for all of them."""
        found = self.differences
        return found is not None and found.p_value <= LEVEL and found.ratio >= MATTERS

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
        return tabulate_observers(self.observers, limit)

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
        found: dict[str, Any] = json_ready(self)
        found["seed"] = str(self.seed)  # may have more digits than JSON's readers keep
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


def find_sentences(found: AnswerCheck) -> list[str]:
    """What was found, one statement after the other."""
    return [
        *_about_counts(found.counts),
        *_about_repeats(found),
        *_about_observers(found),
        *_about_care(found),
    ]


def _about_counts(counts: Counts) -> list[str]:
    who = "" if counts.observers is None else f" by {counted(counts.observers, 'observer')}"
    where = "" if counts.screens is None else f" on {counted(counts.screens, 'screen')}"
    said = [
        f"{counted(counts.answers, 'answer')} to {counted(counts.comparisons, 'comparison')} of "
        f"{counted(counts.objects, 'object')}{who}{where}.",
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
        f"{counted(repeats.comparisons, 'comparison')} {were(repeats.comparisons)} asked more than "
        f"once ({counted(repeats.answers, 'answer')}), and {repeats.contradicted} of them "
        f"{were(repeats.contradicted)} answered both ways."
    ]
    kinds = (
        ("by one observer", repeats.within),
        ("by two observers", repeats.between),
        ("", repeats.overall if repeats.within is None else None),
    )
    asked = [(who, kind) for who, kind in kinds if kind and kind.pairs]
    rates = [
        f"{percent(kind.rate)} {who}".rstrip()
        + (f" ({counted(kind.comparisons, 'comparison')})" if len(asked) > 1 else "")
        for who, kind in asked
    ]
    said.append(
        f"Of two answers to the same comparison, {' and '.join(rates)} differ (50 % if everyone "
        "guessed, 0 % if all were sure and agreed)."
    )
    same = repeats.between_same
    if repeats.own_ceiling is not None and same and same.pairs and same != repeats.between:
        said.append(
            f"On the comparisons that one observer answered more than once, {percent(same.rate)} "
            "by two observers differ."
        )
    return said + _about_ceilings(repeats, found.counts.observers)


def _about_ceilings(repeats: Repeats, observers: int | None) -> list[str]:
    if repeats.ceiling is None:
        return ["The noise ceiling cannot be told from so few: ask more comparisons again."]
    which = "of this observer" if observers == 1 else "that does not know who answers"
    said = [
        f"Noise ceiling: a model {which} can predict at most {_accuracy(repeats.ceiling)} of the "
        "answers to comparisons like these repeated ones."
    ]
    if repeats.within is None or observers == 1:
        return said
    if repeats.own_ceiling is None:
        said.append(
            "What a model could predict that knows who answers is unknown: "
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
        return ["There is one observer, so there is nobody to compare with."]
    said = []
    if not math.isnan(found.typical):
        said.append(
            f"Predicted from the answers of others, {percent(found.typical)} of the typical "
            "observer's answers come out right (50 % of a guesser's)."
        )
        if found.ceiling is not None and found.typical > found.ceiling.accuracy:
            said.append(
                "That is above the noise ceiling, which is about all observers, guessers too, and "
                "about the repeated comparisons alone."
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
    return said + _about_differences(found)


def _about_differences(found: AnswerCheck) -> list[str]:
    test = found.differences
    if test is None:
        return (
            [f"Whether observers differ from each other cannot be told: {found.no_differences}."]
            if found.observers
            else []
        )
    seen = (
        f"{counted(test.answers, 'answer')} to {counted(test.comparisons, 'comparison')} on which "
        "they disagree"
    )
    if test.p_value > LEVEL:
        return [f"That observers differ from each other does not show in {seen} ({_p(test)})."]
    little = "" if found.observers_differ else " a little"
    return [
        f"Observers differ from each other{little}: in {seen}, those of one observer go together "
        f"more than by chance ({_p(test)})."
    ]


def _about_care(found: AnswerCheck) -> list[str]:
    said = []
    if times := [o.response_time for o in found.observers if not math.isnan(o.response_time)]:
        median = f"{float(np.median(times)):.3g} s"
        several = f"{min(times):.3g} to {max(times):.3g} s, median {median}"
        said.append(
            f"Mean response time of an observer: {several}."
            if len(times) > 1
            else f"Mean response time: {median}."
        )
    if found.catch_trials:
        said.append(
            f"{found.catch_passed} of {counted(found.catch_trials, 'catch trial')} "
            f"{were(found.catch_passed)} passed."
        )
        if apart := found.catch_trials - sum(o.catch_trials for o in found.observers):
            said.append(f"{counted(apart, 'catch trial')} cannot be matched to an observer here.")
    return said


# --- what needs attention ---------------------------------------------------------------------


def find_warnings(found: AnswerCheck) -> list[str]:
    """What needs attention, and what to do about it."""
    said = [*found.gaps]
    if found.copies > SEEN * found.counts.answers:
        said.append(
            f"{counted(found.copies, 'row')} {'repeats' if found.copies == 1 else 'repeat'} other "
            "rows in every cell, as where a file was joined with itself. Copies make everything "
            "look surer than it is: remove them if they are not answers of their own."
        )
    ceiling = found.ceiling
    if ceiling and ceiling.accuracy < HARDLY and ceiling.accuracy_interval[1] < AT_MOST:
        said.append(
            "Answers to the same comparison hardly agree with each other: a model that does not "
            f"know who answers can predict at most {percent(ceiling.accuracy)} of them. Check that "
            "the question was understood and that the columns of the file are the right ones."
        )
    if not math.isnan(found.typical) and math.isinf(found.answers_needed):
        said.append(
            "The others' answers do not predict those of the typical observer better than a coin: "
            "too few answers for a map, observers who have little in common, or guesses."
        )
    if found.observers_differ and found.differences is not None:
        said.append(
            f"Observers differ from each other more than by chance ({_p(found.differences)}). What "
            f"is made of all answers together is of these {found.counts.observers} people: for "
            "other people intervals are wider, unless whole observers are resampled."
        )
    return said + _about_flags(found.observers) + _about_the_unclear(found)


def _about_flags(observers: Sequence[ObserverCheck]) -> list[str]:
    without = "Make the map with and without them, and say in the report what you left out."
    found = {
        GUESSING: "Answers that look like guessing, predicted no better than a coin would be and "
        f"clearly less than an ordinary observer's: {{who}}. {without}",
        REVERSED: "Answers that look the other way round, predicted wrongly more often than a coin "
        "would be: {who}. Check whether the question was misunderstood, or whether near and far "
        "are exchanged in the file.",
        FAILED_CATCH: f"More than 20 % of the catch trials failed: {{who}}. {without}",
        TOO_FAST: f"Less than 1 s an answer on average: {{who}}. {without}",
    }
    named = {flag: [o.observer for o in observers if flag in o.flags] for flag in found}
    return [text.format(who=_observers(named[flag])) for flag, text in found.items() if named[flag]]


def _about_the_unclear(found: AnswerCheck) -> list[str]:
    """Of whom it cannot be told whether they guess, by the reason."""
    if math.isnan(found.typical) or math.isinf(found.answers_needed):
        return []
    unclear = [o for o in found.observers if o.verdict == CANNOT_TELL]
    needed = found.answers_needed
    alone = [o.observer for o in unclear if not o.predicted]
    few = [o.observer for o in unclear if 0 < o.predicted < needed]
    poor = [o.observer for o in unclear if o.predicted >= needed]
    reasons = (
        (alone, "nobody else was asked about the same objects"),
        (few, f"{COIN}, from too few answers: it takes about {needed:.0f} or more"),
        (
            poor,
            f"{COIN}, but not clearly less than the poorest of ordinary observers, who differ. "
            "Whether they contradict themselves when asked again would tell",
        ),
    )
    return [
        f"Cannot tell whether {_observers(who)} guessed: {reason}."
        for who, reason in reasons
        if who
    ]


# --- words ------------------------------------------------------------------------------------


def _range(spread: Spread) -> str:
    if spread.least == spread.most:
        return counted(round(spread.most), "answer")
    return f"{spread.least:.0f} to {spread.most:.0f} answers (median {spread.median:g})"


def _accuracy(ceiling: NoiseCeiling) -> str:
    low, high = ceiling.accuracy_interval
    return f"about {percent(ceiling.accuracy)} (95 % interval {percent(low)} to {percent(high)})"


def _p(test: ObserverDifferences) -> str:
    return f"p = {test.p_value:.3f}"


def _rarest(counts: Counts) -> str:
    if counts.per_object.least == counts.per_object.most:
        return ""
    return f"; the fewest: {', '.join(map(repr, counts.rarest))}"


def _observers(named: Sequence[str]) -> str:
    return f"{counted(len(named), 'observer')} ({listing(named, range(len(named)))})"


# --- the observers as a table -------------------------------------------------------------------


def tabulate_observers(observers: Sequence[ObserverCheck], limit: int | None = None) -> str:
    """The observers in aligned columns, those that need attention first."""
    order = sorted(observers, key=lambda o: (-len(o.flags), _or(o.accuracy, 1.0)))
    columns: list[tuple[str, Callable[[ObserverCheck], str]]] = [
        ("observer", lambda o: o.observer if o.observer.isprintable() else repr(o.observer)),
        ("answers", lambda o: str(o.answers)),
        ("predicted correctly", lambda o: _share(o.accuracy, o.predicted)),
        ("95 % interval", _interval),
        ("with majority", lambda o: _share(o.agreement, o.shared)),
        ("with self", lambda o: _share(o.consistency, o.retests)),
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

"""Repeated questions: how answers to them differ, and the noise ceiling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, digamma, gammainc

from tercet.answers.checks import label_observers
from tercet.answers.choices import UNORDERED, Choices
from tercet.answers.either import Answers
from tercet.answers.questions import find_questions, number_units
from tercet.answers.triplets import Triplets
from tercet.arrays import Bools, Floats, Index
from tercet.errors import InputError

__all__ = [
    "Disagreement",
    "NoiseCeiling",
    "Prepared",
    "RepeatedVotes",
    "Repeats",
    "answer_pairs",
    "are_votes",
    "by_observer",
    "ceiling_of",
    "ceiling_of_answers",
    "find_repeats",
    "noise_ceiling",
    "prepare",
    "repeated_rows",
    "repeated_votes",
    "tally",
]

ENOUGH = 20  # repeated questions for a noise ceiling
MOST_OUTCOMES = 12  # of a question; votes are spread too thinly over more
DROP = 1.9207  # of the log-likelihood at the ends of a 95 % interval: half the χ²₁ quantile
CONCENTRATION = np.exp(np.linspace(-8.0, 8.0, 3201))


class Prepared(NamedTuple):
    """The answers with numbered questions and observers."""

    triplets: Triplets
    votes: Index  # (m,) answers in a row; 1 if weights are not counts
    question: Index  # (m,) the comparison, whatever the answer
    first: NDArray[np.bool_]  # (m,) which of the two ways
    observer: Index | None  # (m,) from 0
    labels: tuple[str, ...]  # of the observers


def prepare(triplets: Triplets) -> Prepared:
    """Number questions and observers."""
    questions, votes = find_questions(triplets), triplets.votes
    known, observer = (
        ((), None)
        if triplets.observers is None
        else np.unique(triplets.observers, return_inverse=True)
    )
    return Prepared(
        triplets,
        np.ones(len(triplets), dtype=np.int64) if votes is None else votes,
        questions.number,
        questions.first,
        observer,
        tuple(label_observers(known)),
    )


def are_votes(answers: Answers) -> bool:
    """Whether rows, or their weights, count answers."""
    return answers.weights is None or answers.votes is not None


def _count_votes(prepared: Prepared) -> tuple[Index, Index]:
    """Answers to each comparison for its first pair, and in all; (Q,) each."""
    total = tally(prepared.question, prepared.votes)
    return tally(prepared.question, prepared.votes * prepared.first, len(total)), total


def tally(place: Index, amounts: NDArray[Any], size: int = 0) -> Index:
    """Sum whole amounts (m,) by place (m,)."""
    return np.bincount(place, amounts, size).astype(np.int64)


# --- the votes on repeated comparisons --------------------------------------------------------


class RepeatedVotes(NamedTuple):
    """Comparisons that were answered more than once, each in one orientation."""

    rows: Index  # (Q,) a row of the triplets that asks it
    near: Index  # (Q,) answers as in that row
    total: Index  # (Q,) answers in all, 2 or more


def repeated_votes(triplets: Triplets) -> RepeatedVotes | None:
    """The comparisons that were answered at least twice; None if there are none."""
    if not are_votes(triplets):
        return None
    prepared = prepare(triplets)
    near, total = _count_votes(prepared)
    again = total > 1
    rows = np.unique(prepared.question, return_index=True)[1][again]
    as_in_row = np.where(prepared.first[rows], near[again], (total - near)[again])
    return RepeatedVotes(rows, as_in_row, total[again]) if again.any() else None


def repeated_rows(answers: Answers) -> Bools:
    """Whether the question of each row (m,) was answered more than once."""
    question = number_units(answers)
    total = tally(question, np.ones(len(answers)) if answers.votes is None else answers.votes)
    return np.asarray(total[question] > 1)


# --- how often two answers differ -------------------------------------------------------------


class Disagreement(NamedTuple):
    """Pairs of answers to the same comparison.

    Attributes
    ----------
    comparisons, pairs : int
        Number of comparisons with such pairs, and of pairs.
    rate : float
        Share of a comparison's pairs that differ, averaged over comparisons, so that one that was
        asked often counts once. ½ for guessing; NaN if there is no pair.
    """

    comparisons: int
    pairs: int
    rate: float


class Repeats(NamedTuple):
    """Comparisons that were answered more than once.

    Attributes
    ----------
    comparisons, answers : int
        Their number, and the number of answers to them.
    contradicted : int
        Comparisons that were answered both ways.
    overall : Disagreement
        Of all answers to the same comparison.
    within, between : Disagreement or None
        Both answers from one observer, or from two; None if observers are unknown.
    between_same : Disagreement or None
        ``between``, on the comparisons of ``within``: these may be harder than the others.
    ceiling : NoiseCeiling or None
        The share of such answers that a model could predict without knowing who answers; None if
        fewer than 20 comparisons were repeated.
    own_ceiling : NoiseCeiling or None
        The same for a model that knows who answers, from comparisons that an observer answered
        more than once; None if there are fewer than 20, or observers are unknown.
    """

    comparisons: int
    answers: int
    contradicted: int
    overall: Disagreement
    within: Disagreement | None
    between: Disagreement | None
    between_same: Disagreement | None
    ceiling: NoiseCeiling | None
    own_ceiling: NoiseCeiling | None


def find_repeats(prepared: Prepared) -> Repeats | str:
    """The analysis of repeated comparisons, or why there is none."""
    if not are_votes(prepared.triplets):
        return "the weights are not whole numbers, so they do not count answers"
    near, total = _count_votes(prepared)
    again = total > 1
    if not again.any():
        return "no comparison was asked more than once"
    pairs, differing = answer_pairs(near, total)
    within = between = between_same = own_ceiling = None
    if prepared.observer is not None:
        place, own_near, own_total = by_observer(prepared)
        asked = np.empty(len(own_total), dtype=np.int64)
        asked[place] = prepared.question
        own_pairs, own_differing = (
            tally(asked, amounts, len(total)) for amounts in answer_pairs(own_near, own_total)
        )
        within = _disagreement(own_pairs, own_differing)
        between = _disagreement(pairs - own_pairs, differing - own_differing)
        same = own_pairs > 0
        between_same = _disagreement((pairs - own_pairs)[same], (differing - own_differing)[same])
        own_ceiling = ceiling_of(own_near, own_total)
    return Repeats(
        comparisons=int(again.sum()),
        answers=int(total[again].sum()),
        contradicted=int(((near > 0) & (near < total)).sum()),
        overall=_disagreement(pairs, differing),
        within=within,
        between=between,
        between_same=between_same,
        ceiling=ceiling_of(near, total),
        own_ceiling=own_ceiling,
    )


def ceiling_of(near: Index, total: Index) -> NoiseCeiling | None:
    """The noise ceiling, if enough comparisons were repeated."""
    again = total > 1
    enough = np.count_nonzero(again) >= ENOUGH
    return noise_ceiling(near[again], total[again]) if enough else None


def by_observer(prepared: Prepared) -> tuple[Index, Index, Index]:
    """Each observer's answers to each comparison.

    Returns
    -------
    place : (m,) integer array
        The index into the next two at which a row is counted.
    near, total : (P,) integer array
        Answers for the first pair, and in all.
    """
    assert prepared.observer is not None
    keys = prepared.observer * (prepared.question.max() + 1) + prepared.question
    place = np.unique(keys, return_inverse=True)[1]
    total = tally(place, prepared.votes)
    return place, tally(place, prepared.votes * prepared.first, len(total)), total


def answer_pairs(near: Index, total: Index) -> tuple[Index, Index]:
    """Pairs among ``total`` answers, of which ``near`` agree, and differing pairs; (Q,) each."""
    return total * (total - 1) // 2, near * (total - near)


def _disagreement(pairs: Index, differing: Index) -> Disagreement:
    some = pairs > 0
    rate = float(np.mean(differing[some] / pairs[some])) if some.any() else math.nan
    return Disagreement(int(some.sum()), int(pairs.sum()), rate)


# --- the noise ceiling ------------------------------------------------------------------------


@dataclass(frozen=True)
class NoiseCeiling:
    """The best that a model can do on questions like those that were repeated.

    With the votes of several observers on each question, it is the ceiling of models that do not
    know who answers; with votes of one observer each, of models that do.

    Over questions, the probabilities p of the M outcomes, such as which of three objects is the
    odd one out, are assumed to be distributed as Dirichlet(a, …, a), symmetric because the order of
    the outcomes has no meaning; for a comparison, M = 2, this is Beta(a, a). a is fitted to the
    votes (Dirichlet-multinomial); intervals are those of a 95 % likelihood-ratio test.

    Attributes
    ----------
    accuracy : float
        E max p: the share of answers that can be predicted; ½ + 4⁻ᵃ / (a B(a, a)) for M = 2.
    log_loss : float
        E[−Σ p log p] = ψ(Ma + 1) − ψ(a + 1) nats per answer.
    accuracy_interval, log_loss_interval : (low, high)
    accuracy_bound : float
        1/M + (1 − 1/M)/√(Ma + 1), an upper bound of the accuracy for any distribution of p with
        this E Σ p²; two or three votes per question determine its spread and little else.
    concentration : float
        a; small if people agree.
    n_questions : int
        Number of repeated questions: comparisons, or screens.
    n_outcomes : int
        M.
    """

    accuracy: float
    accuracy_interval: tuple[float, float]
    log_loss: float
    log_loss_interval: tuple[float, float]
    accuracy_bound: float
    concentration: float
    n_questions: int
    n_outcomes: int = 2

    @property
    def asked(self) -> str:
        """What was repeated: "comparison" or "screen"."""
        return "comparison" if self.n_outcomes == 2 else "screen"

    def __str__(self) -> str:
        low, high = self.accuracy_interval
        least, most = self.log_loss_interval
        return (
            f"noise ceiling from {self.n_questions} repeated {self.asked}s: a model that does not "
            f"distinguish their votes can predict at most {self.accuracy:.1%} of such answers "
            f"(95 % interval {low:.1%} to {high:.1%}; {self.accuracy_bound:.1%} for any "
            f"distribution), with a log-loss of at least {self.log_loss:.3f} "
            f"({least:.3f} to {most:.3f})"
        )


def noise_ceiling(near: ArrayLike, total: ArrayLike) -> NoiseCeiling:
    """Fit a symmetric beta-binomial to votes: ``near`` of ``total`` answers, (Q,) each.

    The mean share of the majority overstates the ceiling: four votes at p = .7 have a majority of
    .746 on average.
    """
    near, total = np.asarray(near), np.asarray(total)
    if near.ndim != 1 or near.shape != total.shape or not (total > 1).any():
        raise InputError(
            "a noise ceiling needs the votes on each comparison, some of them repeated; got shapes "
            f"{near.shape} and {total.shape}."
        )
    if not ((near >= 0) & (near <= total)).all():
        raise InputError("votes for near must be between 0 and the total votes on the comparison.")
    return _fit_ceiling(np.concatenate([near, total - near]), total, 2)


def ceiling_of_answers(answers: Answers) -> NoiseCeiling | str:
    """The noise ceiling of whole answers, or why there is none.

    That of choices is about the outcome of a screen, of which there are M = 3 for an odd one out:
    it belongs beside the share of choices that are predicted correctly.
    """
    if not are_votes(answers):
        return "the weights are not whole numbers, so they do not count answers"
    if isinstance(answers, Triplets):
        asked = repeated_votes(answers)
        if asked is None:
            return "no comparison was asked more than once"
        few = "too few comparisons were asked more than once"
        return ceiling_of(asked.near, asked.total) or few
    again = repeated_rows(answers)
    if not again.any():
        return "no screen was shown more than once"
    outcomes = answers.n_outcomes
    if np.ptp(outcomes) > 0.0:
        return "the screens differ in the number of outcomes"
    if outcomes[0] > MOST_OUTCOMES:
        return f"the {outcomes[0]:.0f} outcomes of a screen are too many to estimate it"
    question, outcome = number_outcomes(answers[again])
    votes = np.ones(len(question)) if answers.votes is None else answers.votes[again]
    total = tally(question, votes)
    if len(total) < ENOUGH:
        return "too few screens were shown more than once"
    return _fit_ceiling(tally(outcome, votes), total, int(outcomes[0]))


def number_outcomes(choices: Choices) -> tuple[Index, Index]:
    """The question of each choice (m,), and its outcome over all questions, each from 0."""
    question = number_units(choices, "screen")
    low, high = choices.pairs.T
    codes, code = np.unique(low * choices.n_objects + high, return_inverse=True)
    code = code.reshape(-1)
    row = np.repeat(np.arange(len(choices)), choices.n_alternatives)
    place = np.arange(len(code)) - choices.cuts[row]
    is_set = (choices.kinds == UNORDERED)[row] & (place < choices.n_chosen[row])
    # Of a set, the pairs are in the order of their codes.
    code = code[np.lexsort((np.where(is_set, code, place), ~is_set, row))]
    outcome = question
    for chosen in range(int(choices.n_chosen.max())):
        more = np.flatnonzero(choices.n_chosen > chosen)
        wide = outcome * (len(codes) + 1)
        wide[more] += 1 + code[choices.cuts[more] + chosen]
        outcome = np.unique(wide, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return question, outcome


def _fit_ceiling(votes: NDArray[Any], total: NDArray[Any], outcomes: int) -> NoiseCeiling:
    """Fit a symmetric Dirichlet-multinomial.

    Parameters
    ----------
    votes : (C,) integer array
        For each outcome of each question, in any order; zeros have no effect.
    total : (Q,) integer array
        On each question.
    outcomes : int
        M, how many outcomes a question has.
    """
    # log Γ(a + n) − log Γ(a) = −log B(a, n) + log Γ(n), of which the last does not depend on a.
    a = CONCENTRATION
    of_question, of_outcome = (
        np.unique(each[each > 0], return_counts=True) for each in (total, votes)
    )
    log_likelihood = of_question[1] @ betaln(outcomes * a, of_question[0][:, None])
    log_likelihood -= of_outcome[1] @ betaln(a, of_outcome[0][:, None])
    best = int(np.argmax(log_likelihood))
    inside = log_likelihood >= log_likelihood[best] - DROP
    accuracy = _expected_maximum(outcomes)
    log_loss = digamma(outcomes * a + 1.0) - digamma(a + 1.0)
    chance = 1.0 / outcomes
    return NoiseCeiling(
        float(accuracy[best]),
        (float(accuracy[inside].min()), float(accuracy[inside].max())),
        float(log_loss[best]),
        (float(log_loss[inside].min()), float(log_loss[inside].max())),
        float(chance + (1.0 - chance) / math.sqrt(outcomes * a[best] + 1.0)),
        float(a[best]),
        len(total),
        outcomes,
    )


@cache
def _expected_maximum(outcomes: int) -> Floats:
    """E max p of a symmetric Dirichlet distribution over outcomes, for each concentration.

    Shares of gamma variables are independent of their sum, so that E max p = E max G / (Ma). As an
    integral over the largest, this is the mean of F(y)^(M − 1), F being the distribution function
    of Gamma(a) and y drawn from Gamma(a + 1); over log y, the trapezoidal rule converges
    exponentially.
    """
    a = CONCENTRATION
    if outcomes == 2:
        return np.asarray(0.5 + np.exp(-a * math.log(4.0) - betaln(a, a)) / a)
    mean, total = np.zeros((2, len(a)))
    for z in np.arange(-40.0, 10.0, 0.2):
        y = (a + 1.0) * np.exp(z / np.sqrt(a + 1.0))
        density = np.exp((a + 1.0) * (np.log(y / (a + 1.0)) + 1.0) - y)
        mean += density * gammainc(a, y) ** (outcomes - 1)
        total += density
    return np.asarray(mean / total)

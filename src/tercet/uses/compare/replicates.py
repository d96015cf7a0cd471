"""The deviance of repeated comparisons within choices, and of choices replicated from a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from tercet.answers.alternatives import find_forms
from tercet.answers.choices import Choices
from tercet.answers.either import match_objects
from tercet.answers.grouping import compared
from tercet.arrays import Floats, Index
from tercet.ensemble import Ensemble
from tercet.ensemble.answering import answering_model
from tercet.kinds import FARTHEST
from tercet.models.luce import draw_outcomes
from tercet.uncertainty import bonus_by_draw, places_of, similarities_by_draw

__all__ = ["ChoiceDeviances", "choice_deviances", "deviance"]

MOST_DRAWS = 200  # to replicate choices from
MOST_PAIRS = 300_000  # pairs of alternatives; of more, choices are drawn at random
BLOCK = 2**23  # distances in memory at a time: 64 MB


def deviance(near: NDArray[np.integer], total: Index, p: Floats) -> Floats:
    """Deviance (S,) of votes, (Q,) or (S, Q), from probabilities (S, Q), summed over Q."""
    far, share = total - near, near / total
    saturated = xlogy(near, share) + xlogy(far, 1.0 - share)
    fitted = xlogy(near, p) + xlogy(far, 1.0 - p)
    return np.asarray(2.0 * (saturated - fitted).sum(axis=-1))


class ChoiceDeviances(NamedTuple):
    """Deviances of repeated comparisons within choices."""

    real: Floats  # (S,) of the answers from each draw
    replicated: Floats  # (S,) of choices that the draw replicates
    n_comparisons: int  # that occur more than once in the answers
    n_votes: int  # on these comparisons


def choice_deviances(
    ensemble: Ensemble, choices: Choices, rng: np.random.Generator
) -> ChoiceDeviances | None:
    """Deviances of the comparisons within choices, real and replicated; None without repeats.

    The outcome of every choice is drawn as a whole from at most 200 of the draws, split and
    counted. Of choices with more than 300 000 pairs of alternatives, a random part is used. Given
    that an observer can tell, the odds are those of the alternatives, so that ties are left out.
    """
    thinned = ensemble[:: -(-len(ensemble) // MOST_DRAWS)]
    known = match_objects(choices.without_ties(), ensemble.n_objects, ensemble.names)
    asked = _number(_part(known[known.each_vote()], rng))
    votes = asked.votes(asked.order)
    if not (votes.sum(axis=1) > 1).any():
        return None
    real, replicated = [], []
    order, chosen = np.empty_like(asked.order), asked.choices.n_chosen.copy()
    bonus, places = _bonus(thinned, asked)
    for (log_s, lapse), own in zip(_similarities(thinned, asked.pairs), bonus, strict=True):
        u = log_s[asked.alternatives]
        if len(places):
            u = u + own[places]
        draw_outcomes(lapse, 0.0, asked.choices.cuts, asked.choices.kinds, u, rng, order, chosen)
        p = 0.5 + (expit(log_s[asked.first] - log_s[asked.second]) - 0.5) * (1.0 - lapse)
        p = np.clip(p, 1e-12, 1.0 - 1e-12)
        real.append(_sum_repeated(votes, p))
        replicated.append(_sum_repeated(asked.votes(order), p))
    total = votes.sum(axis=1)
    return ChoiceDeviances(
        np.array(real),
        np.array(replicated),
        int(np.count_nonzero(total > 1)),
        int(total[total > 1].sum()),
    )


def _sum_repeated(votes: Index, p: Floats) -> float:
    """Deviance of the comparisons that have several votes, (Q, 2) for the second and the first."""
    total = votes.sum(axis=1)
    again = total > 1
    return float(deviance(votes[again, 1], total[again], p[again]))


def _part(choices: Choices, rng: np.random.Generator) -> Choices:
    """The choices, or a random part of them if there are very many."""
    size = choices.n_alternatives
    pairs = size * (size - 1) // 2
    if pairs.sum() <= MOST_PAIRS:
        return choices
    order = rng.permutation(len(choices))
    few = order[: max(1, int(np.searchsorted(np.cumsum(pairs[order]), MOST_PAIRS, "right")))]
    return choices[np.sort(few)]


def _similarities(ensemble: Ensemble, pairs: Index) -> Iterator[tuple[Floats, float]]:
    """Log-similarities (E,) of pairs in each draw, and its lapse rate."""
    model, d = answering_model(ensemble._fields)
    step = max(1, BLOCK // len(pairs))
    for start in range(0, len(ensemble), step):
        some = ensemble[start : start + step]
        squared = some._squared_as_drawn(pairs)
        yield from similarities_by_draw(squared, model, d, some.parameters)


def _bonus(ensemble: Ensemble, asked: _Asked) -> tuple[Floats, Index]:
    """The bonus of positions in each draw, and where each alternative has its own, signed.

    The least similar of several is drawn by negative odds, and so is its bonus.
    """
    choices, bonus = asked.choices, bonus_by_draw(ensemble.parameters, len(ensemble))
    places = places_of(choices, ensemble.parameters)
    if not len(places):
        return bonus, places
    sorted_ = np.argsort(np.repeat(choices.cuts[:-1], choices.n_alternatives) + asked.order)
    least = np.repeat(choices.kinds == FARTHEST, choices.n_alternatives)
    several = bonus.shape[1]
    return np.concatenate([bonus, -bonus], axis=1), places[sorted_] + several * least


# --- which comparisons an outcome contains ------------------------------------------------------


class _Form(NamedTuple):
    """Choices of one kind, with as many alternatives and as many chosen."""

    starts: Index  # (C,) where the alternatives of each begin
    nearer: Index  # places of an outcome that are compared,
    farther: Index  # each with this one
    place: Index  # (m, m) of two alternatives among all pairs of alternatives
    question: Index  # (C, m (m − 1)/2) number of their comparison; the last number is any other


class _Asked(NamedTuple):
    """Choices whose alternatives are sorted, and the comparisons that can occur twice in them."""

    choices: Choices
    order: Index  # (A,) places of the sorted alternatives in the outcomes that were given
    pairs: Index  # (E, 2) of objects
    alternatives: Index  # (A,) sorted within each choice, as rows of the pairs
    first: Index  # (Q,) the pairs of each comparison, also as rows
    second: Index  # (Q,)
    forms: list[_Form]

    def votes(self, order: Index) -> Index:
        """Votes (Q, 2) for the second and the first pair of each comparison, given outcomes."""
        cells = []
        for form in self.forms:
            placed = order[form.starts[:, None] + np.arange(len(form.place))]
            one, other = placed[:, form.nearer], placed[:, form.farther]
            row = np.arange(len(placed))[:, None]
            cells.append(2 * form.question[row, form.place[one, other]] + (one < other))
        joined = np.concatenate([cell.ravel() for cell in cells])
        count = len(self.first)
        return np.bincount(joined, minlength=2 * count + 2)[: 2 * count].reshape(-1, 2)


def _number(choices: Choices) -> _Asked:
    """Sort the alternatives of each choice, and number all comparisons of two of them."""
    low, high = choices.pairs.T
    codes, code = np.unique(low * choices.n_objects + high, return_inverse=True)
    code = code.reshape(-1)
    start = np.repeat(choices.cuts[:-1], choices.n_alternatives)
    by_code = np.lexsort((code, start))
    order = np.empty(len(code), dtype=np.int64)
    order[by_code] = np.arange(len(code)) - start
    code = code[by_code]
    forms, form = find_forms(choices._fields)
    keys, parts = [], []
    for number, (kind, k, m) in enumerate(forms.tolist()):
        starts = choices.cuts[:-1][form == number]
        one, other = np.triu_indices(m, 1)
        place = np.zeros((m, m), dtype=np.int64)
        place[one, other] = place[other, one] = np.arange(len(one))
        key = code[starts[:, None] + one] * len(codes) + code[starts[:, None] + other]
        keys.append(key.ravel())
        parts.append(_Form(starts, *compared(kind, k, m), place, key))
    asked, question, count = np.unique(
        np.concatenate(keys), return_inverse=True, return_counts=True
    )
    again = count > 1
    numbers = np.where(again, np.cumsum(again) - 1, np.count_nonzero(again))[question.reshape(-1)]
    ends = np.cumsum([len(key) for key in keys])[:-1]
    questions = [
        part._replace(question=own.reshape(part.question.shape))
        for part, own in zip(parts, np.split(numbers, ends), strict=True)
    ]
    first, second = np.divmod(asked[again], len(codes))
    pairs = np.stack(np.divmod(codes, choices.n_objects), axis=1)
    return _Asked(choices, order, pairs, code, first, second, questions)

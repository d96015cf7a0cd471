"""Choices split into comparisons, put together from those of a screen, selected and joined.

A choice among m pairs, as comparisons, is a graph: its nodes are the pairs, its edges say which of
two is nearer. Each kind of choice has its own numbers of wins and losses, from which it is
recognised:

- the k nearest in their order: the i-th of them, from 0, loses i and wins m − 1 − i times, all
  others lose k times and never win; k = 1 is one choice, k = m − 1 a full ranking;
- the k nearest, as a set: they win m − k times and never lose, all others lose k times;
- the nearest and the farthest: one always wins, one always loses, all others do both once.

The most central of three objects has the comparisons of the two nearest of three pairs, and is
meant if these are the sides of a triangle. Nearest and farthest of three pairs are their ranking.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tercet.answers.alternatives import (
    ChoiceFields,
    Ragged,
    find_forms,
    take,
)
from tercet.answers.checks import Array, Fields
from tercet.answers.making import allow_ties
from tercet.answers.triplets import Triplets, restore
from tercet.arrays import Bools, Index
from tercet.errors import DataWarning, InputError
from tercet.kinds import BEST_WORST, FARTHEST, FARTHEST_OR_TIE, ORDERED, UNORDERED
from tercet.text import counted, shown

__all__ = ["compared", "group", "join", "select", "split"]


# --- from choices to comparisons --------------------------------------------------------------


def split(fields: ChoiceFields) -> Triplets:
    """Split choices into comparisons; those of one choice share a screen."""
    m = len(fields.kinds)
    forms, form = find_forms(fields)
    patterns = [compared(*map(int, each)) for each in forms]
    counts = np.array([len(near) for near, _ in patterns], dtype=np.int64)[form]
    cuts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    near, far = np.empty((2, cuts[-1]), dtype=np.int64)
    for number, (nearer, farther) in enumerate(patterns):
        choice = np.flatnonzero(form == number)[:, None]
        place = cuts[choice] + np.arange(len(nearer))
        near[place] = fields.cuts[choice] + nearer
        far[place] = fields.cuts[choice] + farther
    row = np.repeat(np.arange(m), counts)
    beside: list[Any] = [fields.observers, np.arange(m), fields.weights, fields.response_times]
    repeated = [None if column is None else column[row] for column in beside]
    array = _write_comparisons(fields.pairs[near], fields.pairs[far])
    return restore(Fields(array, fields.n_objects, fields.names, *repeated))


def compared(kind: int, k: int, m: int) -> tuple[Index, Index]:
    """The alternatives that are nearer and farther in each comparison of a choice."""
    one, other = np.triu_indices(m, 1)
    if k == 0:  # nobody could tell
        return one[:0], other[:0]
    if kind in (FARTHEST, FARTHEST_OR_TIE):
        return np.arange(1, m), np.zeros(m - 1, dtype=np.int64)
    if kind == BEST_WORST:
        rest = np.arange(2, m)
        best = np.zeros(m - 1, dtype=np.int64)
        worst = np.ones(m - 2, dtype=np.int64)
        return np.concatenate([best, rest]), np.concatenate([np.arange(1, m), worst])
    said = (one < k) & (other >= k) if kind == UNORDERED else one < k
    return one[said], other[said]


def _write_comparisons(near: Index, far: Index) -> Index:
    """Rows (anchor, near, far) if any two pairs have an object in common, else (a, b, c, d)."""
    (a, b), (c, d) = near.T, far.T
    first = (a == c) | (a == d)
    if not (first | (b == c) | (b == d)).all():
        return np.column_stack([near, far])
    anchor = np.where(first, a, b)
    return np.column_stack([anchor, np.where(first, b, a), np.where(c == anchor, d, c)])


# --- from comparisons to choices --------------------------------------------------------------


def group(
    triplets: Triplets, tied: Bools | None = None, sides: Index | None = None
) -> ChoiceFields:
    """Put the comparisons of each screen together as choices; others are their own choice.

    Comparisons of one screen that have no pair in common, directly or by way of others, are
    different choices. The choices have the order of their first comparisons.

    Parameters
    ----------
    triplets : Triplets
    tied : (m,) array of bool, optional
        Comparisons in which the observer could not tell, each a choice of its own.
    sides : (m, 2) integer array, optional
        Where the two pairs of each comparison were shown, -1 if unknown.
    """
    m = len(triplets)
    tied = np.zeros(m, dtype=bool) if tied is None else tied
    told = np.flatnonzero(~tied)
    found, alone = _Groups.empty(), told
    if len(told) and (clear := triplets[told]).shares_screens:
        found, alone = _recognise(clear)
        found, alone = found._replace(first_row=told[found.first_row]), told[alone]
    alone = np.sort(np.concatenate([alone, np.flatnonzero(tied)]))
    first = np.concatenate([found.first_row, alone])
    order = np.argsort(first)
    rows = np.sort(triplets.pairs()[alone].reshape(-1, 2), axis=1)
    sizes = np.concatenate([np.diff(found.pairs.cuts), np.full(len(alone), 2)])
    places, cuts = take(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), order)
    first = first[order]
    _, n_objects, names, *columns = triplets._fields
    positions = None
    if sides is not None:
        shown = np.concatenate([_shown_at(triplets, sides, found), sides[alone].reshape(-1)])
        positions = shown[places]
    kinds = np.concatenate([found.kinds, np.full(len(alone), ORDERED, dtype=np.int8)])[order]
    n_chosen = np.concatenate([found.n_chosen, np.where(tied[alone], 0, 1)])[order]
    if tied.any():
        kinds = np.where(sizes[order] == 2, allow_ties(kinds, n_chosen), kinds)
    return ChoiceFields(
        np.concatenate([found.pairs.values, rows])[places],
        cuts,
        kinds,
        n_chosen,
        positions,
        n_objects,
        names,
        *(None if column is None else column[first] for column in columns),
    )


def _shown_at(triplets: Triplets, sides: Index, found: _Groups) -> Index:
    """Where the alternatives (A,) of choices that were recognised were shown, -1 if unknown."""
    if not len(found.first_row):
        return np.empty(0, dtype=np.int64)
    n, screen = triplets.n_objects, triplets.number_screens()
    low, high = np.sort(triplets.pairs().reshape(-1, 2), axis=1).T
    given = (np.repeat(screen, 2) * n + low) * n + high
    order = np.lexsort((sides.reshape(-1), given))[::-1]  # known ones before -1
    keys, at = np.unique(given[order], return_index=True)
    low, high = np.sort(found.pairs.values, axis=1).T
    wanted = (screen[found.first_row][found.pairs.rows()] * n + low) * n + high
    return np.asarray(sides.reshape(-1)[order[at[np.searchsorted(keys, wanted)]]])


class _Groups(NamedTuple):
    """Choices that were recognised."""

    pairs: Ragged
    kinds: Array
    n_chosen: Index
    first_row: Index

    @classmethod
    def empty(cls) -> _Groups:
        none = np.empty(0, dtype=np.int64)
        pairs = Ragged(none.reshape(0, 2), np.zeros(1, dtype=np.int64))
        return cls(pairs, none.astype(np.int8), none, none)


def _recognise(triplets: Triplets) -> tuple[_Groups, Index]:
    """The choices that are recognised, and the comparisons (rows) of what is not."""
    m, n = len(triplets), triplets.n_objects
    screen = triplets.number_screens()
    low, high = np.sort(triplets.pairs().reshape(-1, 2), axis=1).T
    known, pair = np.unique(low * n + high, return_inverse=True)
    at = screen[:, None] * len(known) + pair.reshape(-1, 2)
    _, first, node = np.unique(at, return_index=True, return_inverse=True)
    near, far = node.reshape(-1, 2).T
    count = len(first)
    edges = coo_array((np.ones(m, dtype=bool), (near, far)), shape=(count, count))
    n_parts, part = connected_components(edges, directed=False)

    # The nodes of each part, those with few losses first, then in the order of their appearance.
    wins, losses = np.bincount(near, minlength=count), np.bincount(far, minlength=count)
    order = np.lexsort((first, losses, part))
    sizes = np.bincount(part, minlength=n_parts)
    nodes = Ragged(order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    ends = np.stack(np.divmod(known[pair.reshape(-1)[first[order]]], n), axis=1)

    of_row = part[near]
    first_row = np.full(n_parts, m)
    first_row[of_row[::-1]] = np.arange(m)[::-1]  # the last value counts
    kinds, n_chosen = _classify(nodes, wins[order], losses[order], ends)
    clear = kinds >= 0
    clear[part[_repeated(near, far)]] = False
    if triplets.weights is not None:
        clear[of_row[triplets.weights != triplets.weights[first_row[of_row]]]] = False

    if not clear.all():
        _warn(triplets, screen, first_row[~clear])
    places, cuts = take(nodes.cuts, np.flatnonzero(clear))
    kinds, n_chosen = kinds[clear], n_chosen[clear]
    pairs = ends[places][_chosen_first(cuts, kinds)]
    found = _Groups(Ragged(pairs, cuts), kinds, n_chosen, first_row[clear])
    return found, np.flatnonzero(~clear[of_row])


def _repeated(near: Index, far: Index) -> Index:
    """A node of each comparison that occurs twice, in either direction."""
    low, high = np.minimum(near, far), np.maximum(near, far)
    order = np.lexsort((high, low))
    same = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    return np.asarray(low[order[1:]][same])


def _classify(nodes: Ragged, wins: Index, losses: Index, ends: Index) -> tuple[Array, Index]:
    """The kind of each part, -1 if unknown, and how many were chosen.

    Parameters
    ----------
    nodes : Ragged
        The pairs of each part, ordered by losses.
    wins, losses : (N,) integer arrays
        How often each is the nearer and the farther one.
    ends : (N, 2) integer array
        The objects of each.
    """
    part, i, sizes = nodes.rows(), nodes.places(), np.diff(nodes.cuts)
    most = losses[nodes.cuts[1:] - 1]  # losses of the last
    m, k = sizes[part], most[part]

    def always(holds: Bools) -> Bools:
        return np.logical_and.reduceat(holds, nodes.cuts[:-1])

    top = i < k
    ordered = always((losses == np.where(top, i, k)) & (wins == np.where(top, m - 1 - i, 0)))
    as_set = always((losses == np.where(top, 0, k)) & (wins == np.where(top, m - k, 0)))
    inner = (i > 0) & (i < m - 1)
    usual_losses = np.where(inner, 1, np.where(i == 0, 0, m - 1))
    usual_wins = np.where(inner, 1, np.where(i == 0, m - 1, 0))
    both = always((losses == usual_losses) & (wins == usual_wins)) & (sizes >= 4)

    kinds = np.select([ordered, as_set, both], [ORDERED, UNORDERED, BEST_WORST], -1)
    n_chosen = np.where(kinds == BEST_WORST, 2, most)
    three = np.flatnonzero((kinds == UNORDERED) & (sizes == 3) & (most == 2))
    sides = np.sort(ends[nodes.cuts[three][:, None] + np.arange(3)].reshape(-1, 6), axis=1)
    central = three[(np.diff(sides, axis=1) > 0).sum(axis=1) == 2]  # of three objects
    kinds[central], n_chosen[central] = FARTHEST, 1
    return kinds.astype(np.int8), n_chosen


def _chosen_first(cuts: Index, kinds: Array) -> Index:
    """The order of alternatives that puts the chosen first, given one by losses."""
    order = Ragged(np.arange(cuts[-1]), cuts)
    row, place = order.rows(), order.places()
    last = cuts[1:][row] - 1
    to = np.full(len(row), -1)  # where the last one goes, which is the farthest
    to = np.where(kinds[row] == FARTHEST, 0, np.where(kinds[row] == BEST_WORST, 1, to))
    source = order.values - ((to >= 0) & (place > to))
    return np.where(place == to, last, source)


def _warn(triplets: Triplets, screen: Index, rows: Index) -> None:
    """Warn about the screens of these comparisons, which are not recognised."""
    row, unknown = int(rows.min()), len(np.unique(screen[rows]))
    label = "" if triplets.screens is None else shown(triplets.screens[row].item())
    who = (
        ""
        if triplets.observers is None
        else f" of observer {shown(triplets.observers[row].item())}"
    )
    verb = "is" if unknown == 1 else "are"
    warnings.warn(
        f"{unknown} of {counted(int(screen.max()) + 1, 'screen')} {verb} not recognised as one "
        f"choice, and each comparison there counts as an answer of its own; the first is screen "
        f"{label}{who}. Expected are all comparisons of one choice, of the k nearest, of a "
        "ranking, or of the nearest and the farthest, each of them once and with the same weight. "
        "Give these screens in full, or one screen to every comparison.",
        DataWarning,
        stacklevel=5,
    )


# --- some choices, and several together -------------------------------------------------------


def select(fields: ChoiceFields, rows: Index) -> ChoiceFields:
    """The fields of some choices."""
    places, cuts = take(fields.cuts, rows)
    pairs, _, kinds, n_chosen, positions, n_objects, names, *columns = fields
    return ChoiceFields(
        pairs[places],
        cuts,
        kinds[rows],
        n_chosen[rows],
        None if positions is None else positions[places],
        n_objects,
        names,
        *(None if column is None else column[rows] for column in columns),
    )


def join(parts: Sequence[ChoiceFields]) -> ChoiceFields:
    """Join choices of the same objects, matched by name if they have names."""
    if not parts:
        raise InputError("there is nothing to join; give one part or more.")
    names = _join_names(parts)
    observed = [part.observers is not None for part in parts]
    if any(observed) and not all(observed):
        raise InputError(
            f"part {observed.index(False)} (counting from 0) has no observers, but part "
            f"{observed.index(True)} has them; give the observers of all parts or of none."
        )
    pairs = [part.pairs for part in parts]
    n_objects = max(part.n_objects for part in parts)
    if names is not None:
        n_objects, place = len(names), {name: i for i, name in enumerate(names)}
        numbers = [np.array([place[name] for name in part.names or ()]) for part in parts]
        pairs = [np.sort(number[each], axis=1) for number, each in zip(numbers, pairs, strict=True)]
    sizes = np.concatenate([np.diff(part.cuts) for part in parts])
    timed = any(part.response_times is not None for part in parts)
    weighted = any(part.weights is not None for part in parts)
    placed = any(part.positions is not None for part in parts)

    def together(field: str, default: Any = None) -> Any:
        columns = [getattr(part, field) for part in parts]
        if default is None and any(column is None for column in columns):
            return None
        return np.concatenate(
            [
                np.full(len(part.pairs if field == "positions" else part.kinds), default)
                if column is None
                else column
                for part, column in zip(parts, columns, strict=True)
            ]
        )

    return ChoiceFields(
        np.concatenate(pairs),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        together("kinds"),
        together("n_chosen"),
        together("positions", -1) if placed else None,
        n_objects,
        names,
        together("observers"),
        together("screens"),
        together("weights", 1.0) if weighted else None,
        together("response_times", np.nan) if timed else None,
    )


def _join_names(parts: Sequence[ChoiceFields]) -> tuple[str, ...] | None:
    """The names of all parts, those of the first one first."""
    named = [part.names is not None for part in parts]
    if any(named) and not all(named):
        raise InputError(
            f"part {named.index(False)} (counting from 0) has objects without names, but those of "
            f"part {named.index(True)} have names; give names to all parts or to none."
        )
    every = [name for part in parts for name in part.names or ()]
    return tuple(dict.fromkeys(every)) if named[0] else None

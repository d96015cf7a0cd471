"""The formats of cblearn: comparisons as queries with, in most of them, responses.

In cblearn 0.4.0 a query is a row (i, j, k) or (i, j, k, l), and its response says whether i–j is
closer than i–k, or than k–l: True, 1 or a positive count means yes; False, 0, −1 or a negative
count means no. Responses that are all 0 or 1 are Boolean; among others, 0 is "undecided". In
list-order there is no response, because the answer to every query is yes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.answers.checks import check_shape, placed, reject_rows, row_number
from tercet.answers.triplets import Triplets, as_triplets
from tercet.arrays import Index
from tercet.errors import DataWarning, InputError
from tercet.files import write_whole
from tercet.io.cells import Cells
from tercet.io.inputfile import InputFile
from tercet.io.integers import (
    array_names,
    check_arrays,
    extras_of,
    find_comparisons,
    known_of,
    pack_arrays,
    refuse_columns,
    select_rows,
    unpack_arrays,
)
from tercet.io.reading import Format, Reading, ReadOptions, Skipped, count_skipped
from tercet.io.trials import BESIDE, ArrayRows, Beside, Trials, build, find_beside

__all__ = ["CBLEARN", "from_cblearn", "to_cblearn"]

_QUERY = ("triplets", "quadruplets", "queries", "query", "x", "arr_0")
_RESPONSE = ("responses", "response", "y")
_TITLES = ("i", "j", "k", "l")
_UNDECIDED = "are undecided (a response of 0 beside counts)"
_WORDS = {"true": "1", "false": "0"}


def from_cblearn(
    query: Any,
    response: Any = None,
    *,
    n_objects: int | None = None,
    names: Iterable[str] | None = None,
) -> Triplets:
    """Answers from arrays of cblearn; a `DataWarning` counts undecided ones, which are left out.

    Parameters
    ----------
    query : array-like of shape (m, 3) or (m, 4)
        Rows (i, j, k) or (i, j, k, l).
    response : array-like of shape (m,), optional
        True or False, 1 or 0, 1 or −1, or counts of either sign: whether i–j is closer than i–k
        (or k–l). Counts become weights. By default the answer to every query is yes (list-order).
    n_objects, names
        As in `Triplets`.

    Examples
    --------
    >>> from_cblearn([[0, 1, 2], [0, 2, 1]], [True, False]).array
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    asked = Triplets(query, n_objects=n_objects, names=names)
    if response is None:
        return asked
    votes = _votes(np.ravel(response))
    if votes.shape != (len(asked),):
        raise InputError(f"{len(asked)} queries, but {len(votes)} responses.")
    kept = votes != 0
    if not kept.all():
        warnings.warn(
            f"{np.count_nonzero(~kept)} of {len(kept)} responses are 0 (undecided) and were left "
            "out.",
            DataWarning,
            stacklevel=2,
        )
    weights = np.abs(votes[kept])
    return Triplets(
        _turn(asked.array, votes < 0)[kept],
        n_objects=asked.n_objects,
        names=asked.names,
        weights=None if (weights == 1).all() else weights,
    )


def to_cblearn(
    triplets: Any,
    format: str = "list-order",  # noqa: A002 - their word
) -> Index | tuple[Index, NDArray[Any]]:
    """Answers as arrays for cblearn, without names, observers and screens.

    Parameters
    ----------
    triplets : Triplets, array-like or data frame
        The answers. Weights must be counts.
    format : {"list-order", "list-boolean", "list-count"}
        The name in cblearn.

    Returns
    -------
    query : (m, 3) or (m, 4) array
        For list-order alone, near before far. Else with the pair of the smaller number first
        (j < k), as in cblearn's own conversion.
    response : (m,) array
        For list-boolean: whether the first pair is closer. For list-count: the number of such
        answers, negative if the second is closer. In the other formats counts are repetitions.

    Examples
    --------
    >>> to_cblearn([[0, 2, 1]], "list-boolean")
    (array([[0, 1, 2]]), array([False]))
    """
    answers = as_triplets(triplets)
    votes = answers.votes if answers.weights is not None else np.ones(len(answers), np.int64)
    if votes is None:
        raise InputError(
            "cblearn has counts but no weights, and these weights are not whole numbers."
        )
    if format == "list-order":
        return answers.array[answers.each_vote()]
    turned = _turned(answers.array)
    query = _turn(answers.array, turned)
    if format == "list-count":
        return query, np.where(turned, -votes, votes)
    if format == "list-boolean":
        rows = answers.each_vote()
        return query[rows], ~turned[rows]
    raise InputError(
        f"format must be 'list-order', 'list-boolean' or 'list-count', got {format!r}."
    )


def _turn(array: Index, turned: NDArray[np.bool_]) -> Index:
    """Exchange the two pairs in the chosen rows."""
    order = [0, 2, 1] if array.shape[1] == 3 else [2, 3, 0, 1]
    return np.where(turned[:, np.newaxis], array[:, order], array)


def _turned(array: Index) -> NDArray[np.bool_]:
    """Whether the far pair has the smallest object in which the pairs differ (m,)."""
    near, far = (array[:, 1:2], array[:, 2:]) if array.shape[1] == 3 else np.split(array, 2, axis=1)
    turned: NDArray[np.bool_] = near.min(axis=1) > far.min(axis=1)
    return turned


def _votes(response: Any, where: Callable[[int], str] = row_number) -> NDArray[np.float64]:
    """How often the first pair was closer (m,), negative if the second was."""
    try:
        values = np.asarray(response, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"responses must be True or False, or whole numbers; got {response!r:.80}."
        ) from None
    whole = np.isfinite(values) & (np.floor(values) == values) & (np.abs(values) < 2.0**53)
    reject_rows(
        ~whole,
        lambda row: f"the response is {values[row]}, not True or False, 1 or −1, or a count",
        "Correct or remove the row.",
        where,
        "whose response is not a whole number",
    )
    return np.where(values == 0, -1.0, 1.0) if np.isin(values, (0, 1)).all() else values


# --- files ------------------------------------------------------------------------------------


def _matches(file: InputFile) -> bool:
    if file.kind == "npz":
        names = array_names(file)
        return bool(names & {*_QUERY} and names & {*_RESPONSE})
    return file.titles >= {*_TITLES[:3]} and bool(file.titles & {*_RESPONSE})


def _read(file: InputFile, options: ReadOptions) -> Reading:
    if file.kind in ("npy", "npz"):
        return _read_arrays(file, options)
    table = file.table.renamed(options.columns, (*_TITLES, "response", *BESIDE))
    places = [table.need(title) for title in _TITLES[:3]]
    last = table.find("l")
    places += [] if last is None else [last]
    response = table.need("response", *_RESPONSE)
    trials = Trials.of(table).skip(table.blank([response])[:, 0], "without an answer")
    table = trials.table
    table.reject_blank(places)
    numeric = replace(table, unique=[_WORDS.get(cell.lower(), cell) for cell in table.unique])
    answers = numeric.numbers(response, "response", "1, 0 or -1")
    beside = find_beside(table)
    query, names = table.objects(table.codes[:, places], options.names, positions=True)
    options = options._replace(names=names)
    return _answer(table, query, answers, options, beside, trials.rows, trials.skipped)


def _read_arrays(file: InputFile, options: ReadOptions) -> Reading:
    refuse_columns(file, options)
    arrays = unpack_arrays(file)
    query = find_comparisons(file, arrays, (*_QUERY, "array"))
    response = next((arrays[key] for key in _RESPONSE if key in arrays), None)
    known, options = extras_of(file.path, arrays, options)
    try:
        check_shape(query)
    except InputError as error:
        raise InputError(f"{file.path}: {error}") from None
    answers = np.ones(len(query)) if response is None else response
    for field, values in (*known.items(), ("responses", answers)):
        if values.shape != (len(query),):
            raise InputError(
                f"{file.path}: {field} must have one entry per query, {len(query)} in all; got "
                f"shape {values.shape}."
            )
    found = select_rows(file, query, known | {"responses": answers})
    fields, times = dict(found.beside.fields), found.beside.times
    answers = fields.pop("responses")
    return _answer(found, found.cells, answers, options, Beside(fields, times), len(found.cells))


def _answer(
    found: Cells | ArrayRows,
    query: NDArray[Any],
    response: NDArray[Any],
    options: ReadOptions,
    beside: Beside,
    rows: int,
    skipped: tuple[Skipped, ...] = (),
) -> Reading:
    """The queries, reversed if the response is negative."""
    with placed(found.line):
        votes = _votes(response, found.where)
    fields = dict(beside.fields)
    if (np.abs(votes) > 1).any():
        if "weights" in fields:
            raise InputError(f"{found.path} has both counts and weights; keep one of them.")
        fields["weights"] = np.abs(votes)
    decided = votes != 0
    return build(
        found,
        _turn(query, votes < 0)[decided],
        options,
        Beside(fields, beside.times),
        rows=rows,
        trial=np.flatnonzero(decided),
        skipped=(*skipped, *count_skipped(_UNDECIDED, ~decided, found.line)),
    )


def _write(triplets: Triplets, path: Path) -> None:
    """Write .npz with the arrays triplets (or quadruplets), responses and others, if known."""
    if path.suffix.lower() != ".npz":
        raise InputError(f"{path}: the name of a cblearn file must end in .npz.")
    check_arrays(path, triplets.names)
    query, response = to_cblearn(triplets, "list-count")
    known = known_of(triplets)
    known.pop("weights", None)  # the responses count
    arrays = {_QUERY[triplets.is_quadruplets]: query, "responses": response, **known}
    write_whole(path, pack_arrays(arrays | {"n_objects": np.array(triplets.n_objects)}))


CBLEARN = Format(
    "cblearn",
    "arrays of cblearn",
    ".npz with triplets and responses; or columns i, j, k (and l), response",
    _matches,
    _read,
    _write,
)

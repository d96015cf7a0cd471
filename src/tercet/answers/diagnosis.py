"""What the answers do not determine, whatever the model, checked before any computation."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from tercet.answers.choices import Choices
from tercet.answers.either import Answers
from tercet.answers.streams import StreamedTriplets, blocks_of
from tercet.answers.triplets import Triplets, as_triplets
from tercet.arrays import Index
from tercet.errors import DataWarning
from tercet.running.memory import need_memory
from tercet.text import alike, list_alike, listed, listing

__all__ = ["diagnose", "warn_about"]

FEWER = 0.5  # share of the answers below which the sum of their weights is reported


def diagnose(answers: Any, min_answers: int = 3) -> list[str]:
    """List in sentences what these answers do not determine, whatever the model.

    Parameters
    ----------
    answers : Choices, Triplets, (m, 3) or (m, 4) array, data frame, or StreamedTriplets
        A row counts once, whatever its weight: a repeated question adds no
        constraint of another kind. Weights that let the answers count for far fewer are reported.
    min_answers : int
        Objects in fewer answers are reported. In d dimensions at least d + 1 half-spaces are
        needed to enclose a point, so use d + 1; the default is for two dimensions.

    Returns
    -------
    list of str
        Empty if there is nothing to report.
    """
    if isinstance(answers, Choices):
        m, given = len(answers), float(np.log2(answers.n_outcomes).sum())
        triplets: Triplets | StreamedTriplets = answers.triplets()
    else:
        known = isinstance(answers, Triplets | StreamedTriplets)
        triplets = answers if known else as_triplets(answers)
        m = given = len(triplets)
    n = triplets.n_objects
    need_memory(
        4 * n,
        f"Checking {n} objects",
        "if the numbers in the answers are identifiers, give them as text",
    )
    counts = np.zeros(n, dtype=np.int64)
    for block in blocks_of(triplets):
        counts += np.bincount(block.array.ravel(), minlength=n)
    messages = _about_weights(answers if isinstance(answers, Choices) else triplets, m)
    if (unseen := np.flatnonzero(counts == 0)).size:
        from_one = " Are objects numbered from 1 instead of 0?"
        messages.append(
            f"{_objects(unseen.size)} never mentioned, so the answers do not determine their "
            f"positions: {listing(triplets.names, unseen)}."
            f"{from_one if triplets.names is None and unseen.tolist() == [0] else ''}"
        )
    if look_alike := alike(triplets.names or ()):
        messages.append(
            "Some names look alike, but are treated as different objects: "
            f"{list_alike(look_alike)}. Correct them if they are the same."
        )
    parts = _components(triplets, counts)
    if len(parts) > 1:
        groups = listed(parts, 5, lambda part: f"[{listing(triplets.names, part)}]")
        messages.append(
            f"The answers fall into {len(parts)} parts that share no object, so they do not "
            f"determine how the parts lie relative to each other: {groups}. Ask comparisons that "
            "mix the parts, or embed each part separately."
        )
    if (rare := np.flatnonzero((counts > 0) & (counts < min_answers))).size:
        messages.append(
            f"{_objects(rare.size)} mentioned in fewer than {min_answers} answers, too few to "
            f"enclose a point: {listing(triplets.names, rare)}."
        )
    # n objects on a line have n!/2 orders up to reflection; an answer is at most the logarithm of
    # the number of its outcomes, one bit for a comparison.
    if given < (bits := (math.lgamma(n + 1) / math.log(2)) - 1):
        enough = bits * m / given if m else bits
        messages.append(
            f"{m} answers are too few for {n} objects: ordering them along a line alone takes at "
            f"least {math.ceil(enough)} answers."
        )
    return messages


def warn_about(
    answers: Answers | StreamedTriplets, min_answers: int = 3, stacklevel: int = 2
) -> None:
    """Issue the findings of `diagnose` as `DataWarning`; stacklevel 2 is the caller."""
    for message in diagnose(answers, min_answers):
        warnings.warn(message, DataWarning, stacklevel=stacklevel)


def _about_weights(answers: Answers | StreamedTriplets, m: int) -> list[str]:
    """Weights that are no counts, and with which the answers count for far fewer."""
    parts = [answers] if isinstance(answers, Choices) else blocks_of(answers)
    total, whole = 0.0, True
    for part in parts:
        if part.weights is None:
            return []
        total += float(part.weights.sum())
        whole = whole and bool((part.weights == np.rint(part.weights)).all())
    if whole or total >= FEWER * m:
        return []
    return [
        f"The weights of {m} answers sum to {total:.3g}: they count as {total:.3g} answers, and "
        "what is assumed without answers, such as a prior, weighs the more. If each of them should "
        "count, divide the weights by their mean (in Python: weights / weights.mean())."
    ]


def _components(triplets: Triplets | StreamedTriplets, counts: Index) -> list[Index]:
    """Split the objects that were mentioned into parts that no comparison connects."""
    label = np.arange(triplets.n_objects)
    for block in blocks_of(triplets):
        labels = label[block.array]
        apart = (labels[:, 1:] != labels[:, :1]).any(axis=1)
        if apart.any():
            label = _joined(label, labels[apart])
    mentioned = np.flatnonzero(counts)
    order = mentioned[np.argsort(label[mentioned], kind="stable")]
    if not order.size:
        return []
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


def _joined(label: Index, rows: Index) -> Index:
    """The labels (n,) of objects, one for all labels of a row."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, others = len(label), rows[:, 1:]
    first = np.broadcast_to(rows[:, :1], others.shape)
    ones = np.ones(others.size, dtype=np.int32)
    graph = coo_array((ones, (first.ravel(), others.ravel())), shape=(n, n))
    joined: Index = connected_components(graph, directed=False)[1][label]
    return joined


def _objects(count: int) -> str:
    return "1 object is" if count == 1 else f"{count} objects are"

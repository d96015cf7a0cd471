"""Answers of one screen are one choice: the weight of each of its comparisons.

Splitting a choice into comparisons overcounts its information. Under Luce's rule, by which the odds
of a pair are proportional to its similarity, the comparisons of one choice or of a ranking give a
consistent estimate, but they are not independent: treating them so makes the map look too certain,
by a factor of m/2 in the information of one choice among m alternatives.

The weight that corrects this is Godambe's w = H/J, with H the curvature and J the variance of the
score that all comparisons of a screen have together (Varin, Reid & Firth 2011, "An overview of
composite likelihood methods"). Both are evaluated at equal similarities, so that w depends on
the screen alone and not on the map. There a comparison "pair a before pair b", with log p =
log σ(u_a − u_b) and log-similarities u, has the score ½(e_a − e_b) and the curvature
¼(e_a − e_b)(e_a − e_b)ᵀ. For R comparisons the trace of the curvature is R/2, that of the variance
¼ Σ (wins − losses)² over the distinct pairs on the screen, and so

    w = 2R / Σ (wins − losses)².

It is 2/m for one choice among m alternatives and for k of m, 3/(m + 1) for a full ranking, 2/3 for
an odd one out (its alternatives are the three pairs), and 1 for a single comparison, or for several
that have no pair in common. If some rows of one choice are missing, the rest is a choice among
fewer, and counts as such.

w is never above 1: comparisons that contradict each other (Σ may be 0), or that contain only the
neighbours in a ranking, are treated as independent.
"""

from __future__ import annotations

import numpy as np

from tercet.answers.triplets import Triplets, restore
from tercet.arrays import Floats
from tercet.errors import InputError

__all__ = ["need_screens", "screen_weights", "weigh_screens"]


def screen_weights(triplets: Triplets) -> Floats:
    """The weight of each comparison (m,) as a part of its screen, from 0 to 1.

    Parameters
    ----------
    triplets : Triplets
        Their own weights are ignored: a screen with three votes counts three times as much as the
        same screen with one.

    Examples
    --------
    >>> answers = Triplets([[0, 1, 2], [1, 0, 2], [0, 3, 1]], screens=["a", "a", "b"])
    >>> screen_weights(answers).round(3)
    array([0.667, 0.667, 1.   ])
    """
    screen = triplets.number_screens()
    ends = triplets.pairs().reshape(-1, 2)  # near, far, near, far, …
    code = ends.min(axis=1) * triplets.n_objects + ends.max(axis=1)
    names, pair = np.unique(code, return_inverse=True)
    at = np.repeat(screen, 2) * len(names) + pair.reshape(-1)
    _, first, place = np.unique(at, return_index=True, return_inverse=True)
    balance = np.bincount(place.reshape(-1), np.tile([1.0, -1.0], len(triplets)))
    squares = np.bincount(screen[first // 2], balance**2)
    twice = 2.0 * np.bincount(screen)
    return np.asarray((twice / np.maximum(squares, twice))[screen])


def weigh_screens(triplets: Triplets) -> Triplets:
    """The same answers, each screen with the weight of one choice; unchanged without screens.

    Parameters
    ----------
    triplets : Triplets
        Not weighed before: their own weights are multiplied.
    """
    if not triplets.shares_screens:
        return triplets
    weights = screen_weights(triplets)
    if triplets.weights is not None:
        weights = weights * triplets.weights
    return restore(triplets._fields._replace(weights=weights))


def need_screens(triplets: Triplets) -> None:
    """Raise if the screens of the answers are unknown."""
    if triplets.screens is None:
        raise InputError(
            "unit='screen' keeps all answers of a screen together, but the screens of the answers "
            "are unknown: add a column screen (in Python: Triplets(..., screens=...)), or leave "
            "unit out."
        )

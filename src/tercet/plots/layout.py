"""What a map shows: points, ellipses or intervals, seen along chosen dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.uncertainty import Ellipses, Floats, ellipses

_LANE = 0.025  # between two rows of intervals below a line, as a share of its length


class Map(NamedTuple):
    """What a map shows."""

    points: Floats  # (n, 2); on a line the second coordinate is 0
    names: Sequence[str] | None
    ellipses: Ellipses | None = None
    intervals: Floats | None = None  # (n, 3): from, to, and height, which is below the line
    spread: tuple[float, float] | None = None  # shares of it, where there are other dimensions


class Space(NamedTuple):
    """Points of any dimension as they are shown, and how sure they are."""

    points: Floats  # (n, d)
    names: Sequence[str] | None
    covariance: Floats | None = None  # (n, d, d)
    interval: Floats | None = None  # (n, 2), on a line

    @property
    def n_components(self) -> int:
        """How many dimensions there are."""
        return int(self.points.shape[1])


def lay_out(
    embedding: ArrayLike | Ensemble,
    names: Sequence[str] | None = None,
    level: float = 0.95,
    dimensions: tuple[int, int] = (0, 1),
) -> Map:
    """Work out what `plot_map` draws, without drawing it; see there."""
    return view(read_space(embedding, names, level), level, dimensions)


def read_space(embedding: ArrayLike | Ensemble, names: Sequence[str] | None, level: float) -> Space:
    """Check an embedding, or an ensemble, and turn more than two dimensions for showing."""
    ensemble = embedding if isinstance(embedding, Ensemble) else None
    X = np.asarray(embedding if ensemble is None else ensemble.point_mean(), dtype=np.float64)
    if X.ndim != 2 or X.shape[1] < 1:
        raise InputError(f"an embedding has shape (objects, dimensions), got shape {X.shape}.")
    if names is None and ensemble is not None:
        names = ensemble.names
    if names is not None and len(names) != len(X):
        raise InputError(f"there are {len(X)} points but {len(names)} names.")
    turn = principal_axes(X) if X.shape[1] > 2 else np.eye(X.shape[1])
    if ensemble is None:
        return Space(X @ turn, names)
    interval = ensemble.point_interval(level)[:, 0]  # checks the level, too
    if X.shape[1] == 1:
        return Space(X, names, interval=interval)
    return Space(X @ turn, names, turn.T @ ensemble.point_covariance() @ turn)


def principal_axes(points: ArrayLike) -> Floats:
    """The rotation (d, d) to the principal axes of points (n, d), the widest first.

    ``points @ principal_axes(points)`` is the same map, seen so that its first dimension has the
    largest variance. Each axis points to where its farthest point is.
    """
    X = np.asarray(points, dtype=np.float64)
    centred = X - X.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    along = centred @ axes
    farthest = np.take_along_axis(along, np.abs(along).argmax(axis=0)[None], axis=0)
    return np.asarray(axes * np.where(farthest < 0.0, -1.0, 1.0))


def view(space: Space, level: float, dimensions: tuple[int, int]) -> Map:
    """What is seen of a space along two of its dimensions."""
    X, names, covariance, interval = space
    d = space.n_components
    shown = list(dimensions)
    if len(shown) != 2 or shown[0] == shown[1] or not set(shown) <= set(range(max(d, 2))):
        raise InputError(
            f"dimensions must be two different numbers from 0 to {max(d, 2) - 1}, such as (0, 1), "
            f"got {dimensions!r}."
        )
    if d == 1:
        points = np.column_stack([X[:, 0], np.zeros(len(X))])
        if interval is None:
            return Map(points, names)
        return Map(points, names, intervals=_in_lanes(interval, X[:, 0] if names else None))
    points = X[:, shown]
    share = X.var(axis=0) / max(float(X.var(axis=0).sum()), np.finfo(float).tiny)
    spread = (float(share[shown[0]]), float(share[shown[1]])) if d > 2 else None
    if covariance is None:
        return Map(points, names, spread=spread)
    seen = covariance[:, shown][:, :, shown]
    return Map(points, names, ellipses(points, seen, level), spread=spread)


def _in_lanes(interval: Floats, order: Floats | None) -> Floats:
    """Intervals (n, 2) with, as a third column, how far below the line each is drawn.

    With an order (n,) each has a row of its own, where there is room for a name; otherwise it goes
    into the first row that is free.
    """
    n, length = len(interval), float(interval.max() - interval.min())
    below = np.empty(n)
    if order is not None:
        below[np.argsort(order, kind="stable")] = -_LANE * length * (np.arange(n) + 1.5)
        return np.column_stack([interval, below])
    ends: list[float] = []  # of the last interval in each row
    for i in np.argsort(interval[:, 0], kind="stable"):
        free = (k for k, end in enumerate(ends) if end + _LANE * length < interval[i, 0])
        lane = next(free, len(ends))
        ends[lane : lane + 1] = [float(interval[i, 1])]
        below[i] = -(lane + 1.5) * _LANE * length
    return np.column_stack([interval, below])

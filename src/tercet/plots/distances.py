"""Expected distances between all objects as a heat map, those alike beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.plots.axes import new_axes
from tercet.plots.fonts import LONGEST, drawable, families
from tercet.uncertainty import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMES = 60  # objects whose names are written beside their rows
_DRAWS = 200  # that are looked at: the mean of a distance needs no more
_ROW = 0.16  # inches, of a row with a name


class Distances(NamedTuple):
    """What the heat map shows."""

    mean: Floats  # (n, n), over the draws, objects in their own order
    order: NDArray[np.int64]  # (n,): the objects from top to bottom and from left to right


def expected_distances(ensemble: Ensemble) -> Distances:
    """Mean distances over (evenly spaced) draws, and an order that puts like beside like.

    The order is that of the leaves of a tree by average linkage, turned so that neighbours in it
    are as near to each other as the tree allows (Bar-Joseph, Gifford and Jaakkola 2001).
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import pdist, squareform

    draws = ensemble.samples[:: -(-len(ensemble) // _DRAWS)]
    mean = np.zeros(ensemble.n_objects * (ensemble.n_objects - 1) // 2)
    for draw in draws:
        mean += pdist(draw)
    mean /= len(draws)
    # The best turn of the branches takes the third power of the objects in time.
    tree = linkage(mean, "average", optimal_ordering=ensemble.n_objects <= 10 * MOST_NAMES)
    return Distances(squareform(mean), leaves_list(tree).astype(np.int64))


def plot_distances(
    ensemble: Ensemble, names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the expected distances of all pairs of objects, whatever the number of dimensions.

    Dark is near. Objects stand in the order of a hierarchical clustering, so that groups of alike
    objects are dark squares along the diagonal.

    Parameters
    ----------
    ensemble : Ensemble
        Of points.
    names : sequence of str, optional
        By default the ensemble's. Written beside the rows, of at most 60 objects.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    mean, order = expected_distances(ensemble)
    n = len(mean)
    names = ensemble.names if names is None else names
    if names is not None and len(names) != n:
        raise InputError(f"there are {n} objects but {len(names)} names.")
    if ax is None:
        side = max(4.0, 1.0 + _ROW * min(n, MOST_NAMES))
        ax = new_axes(side + 1.0, side)
    shown = ax.imshow(
        mean[np.ix_(order, order)], cmap="viridis", interpolation="none", aspect="auto"
    )
    shown.set_gid("distances")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xticks([])
    ax.set_yticks([])
    if names is not None and n <= MOST_NAMES:
        texts = [drawable(names[i], LONGEST) for i in order]
        ax.set_yticks(range(n), texts, fontsize=8.0, fontfamily=families(texts))
    ax.set_xlabel(f"expected distance: dark is 0, bright is {mean.max():.3g}")
    return ax

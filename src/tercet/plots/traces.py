"""Do the chains agree? Trace and rank plots, drawn by ArviZ.

Only quantities invariant to rotation are shown: raw coordinates say nothing about convergence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.arrays import Floats
from tercet.engine.problem import some_pairs
from tercet.ensemble import Ensemble
from tercet.ensemble.export import in_arviz
from tercet.errors import InputError, ignored
from tercet.plots.axes import COLOURS, LONGEST, drawable, new_figure
from tercet.posterior.convergence import convergence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKED_AT = 1000  # pairs among which those with the largest R-hat are sought
_FEWEST = 4  # draws per chain that R-hat needs
_ROW = 1.7  # inches
_WORDS = {"log_posterior": "log posterior"}


def plot_trace(
    ensemble: Ensemble, *, n_distances: int = 3, axes: Sequence[Sequence[Axes]] | None = None
) -> list[list[Axes]]:
    """Draw the distribution and the trace of the draws, one colour per chain.

    Chains that agree look alike and like noise; a chain that stays apart, or drifts, has not
    converged. Shown are the log posterior, the size of the map, the distances on which the chains
    disagree most, and the learned parameters.

    Parameters
    ----------
    ensemble : Ensemble
        With chains of equal length, from `Posterior`.
    n_distances : int
        How many distances: those with the largest R-hat (of at most 1000 fixed random pairs).
    axes : rows of two matplotlib Axes, optional
        Where to draw, one row per quantity (see `quantities`); by default a new figure.

    Returns
    -------
    list of [Axes, Axes]
        One row per quantity: its distribution and its trace.
    """
    shown = quantities(ensemble, n_distances)
    rows = _new_traces(len(shown)) if axes is None else [list(row) for row in axes]
    fits = len(rows) == len(shown) and all(len(row) == 2 for row in rows)
    _check(fits, len(shown), "rows of two axes")
    arviz, data = _hand_over(shown)
    if _is_new(arviz):
        collection = _collection(arviz, data, rows, ["dist", "trace"])
        off = {"ticklabels": False}  # ArviZ cannot set them in axes that it did not create
        arviz.plot_trace_dist(
            data, plot_collection=collection, backend="matplotlib", compact=False, visuals=off
        )
    else:
        with _older_ways():
            arviz.plot_trace(
                data,
                axes=np.array(rows, dtype=object),
                compact=False,
                chain_prop={"color": _colours(ensemble.n_chains)},
                trace_kwargs={"alpha": 0.8, "linewidth": 0.8},
                backend="matplotlib",
                show=False,
            )
    for name, (left, right) in zip(shown, rows, strict=True):
        _entitle(left, name)
        _entitle(right, "")
    rows[-1][1].set_xlabel("draw", fontsize=9)
    return rows


def plot_rank(
    ensemble: Ensemble, *, n_distances: int = 3, axes: Sequence[Axes] | None = None
) -> list[Axes]:
    """Draw the ranks of each chain's draws among all draws (Vehtari et al. 2021).

    Where chains agree, the ranks of each are uniform: bars at the height of the dashed line with
    ArviZ 0.x, lines near zero (the difference of their cumulative distribution from a uniform one)
    with ArviZ 1.x.

    Parameters
    ----------
    ensemble, n_distances
        As in `plot_trace`, with the same quantities.
    axes : sequence of matplotlib Axes, optional
        Where to draw, one per quantity; by default a new figure.

    Returns
    -------
    list of Axes
    """
    shown = quantities(ensemble, n_distances)
    drawn = _new_ranks(len(shown)) if axes is None else list(axes)
    _check(len(drawn) == len(shown), len(shown), "axes")
    arviz, data = _hand_over(shown)
    if _is_new(arviz):
        collection = _collection(arviz, data, [[ax] for ax in drawn], None)
        arviz.plot_rank(data, plot_collection=collection, backend="matplotlib")
    else:
        with _older_ways():
            arviz.plot_rank(
                data,
                ax=np.array(drawn, dtype=object),
                colors=_colours(ensemble.n_chains),
                backend="matplotlib",
                show=False,
            )
    for name, ax in zip(shown, drawn, strict=True):
        _entitle(ax, name)
    drawn[-1].set_xlabel("rank among all draws", fontsize=9)
    return drawn


# --- what to draw -----------------------------------------------------------------------------


def quantities(ensemble: Ensemble, n_distances: int = 3) -> dict[str, Floats]:
    """The quantities shown, by name, each of shape (chains, draws).

    The log posterior (or another statistic) and the parameters where the ensemble has them, the
    size of the map (the root mean square distance of points from their centre), and the distances
    with the largest R-hat.
    """
    labels, counts = np.unique(ensemble.chains, return_counts=True)
    if counts.min() < counts.max():
        raise InputError(
            f"these plots need chains of equal length, and these have {counts.tolist()} draws; "
            "select draws with [...] first."
        )
    if counts[0] < _FEWEST:
        raise InputError(
            f"chains of {counts[0]} draws are too short; at least {_FEWEST} are needed."
        )
    rows = np.argsort(ensemble.chains, kind="stable").reshape(len(labels), -1)
    shown = {_WORDS.get(k, k): column[rows] for k, column in ensemble.statistics.items()}
    if ensemble.kind == "points":
        centred = ensemble.draws - ensemble.draws.mean(axis=1, keepdims=True)
        shown["size of the map"] = np.sqrt(np.mean(np.sum(centred**2, axis=2), axis=1))[rows]
    shown |= {name: column[rows] for name, column in ensemble.parameters.items()}
    return shown | _worst_distances(ensemble, rows, n_distances)


def _worst_distances(ensemble: Ensemble, rows: Any, count: int) -> dict[str, Floats]:
    pairs = np.stack(some_pairs(ensemble.n_objects, _LOOKED_AT), axis=1)
    table = ensemble.distances(pairs)[rows]  # (chains, draws, pairs)
    r_hat = convergence(np.moveaxis(table, 2, 0)).r_hat
    worst = np.argsort(-np.nan_to_num(r_hat, nan=np.inf), kind="stable")[:count]
    names = [drawable(name, LONGEST) for name in ensemble.names or range(ensemble.n_objects)]
    return {
        f"distance {names[i]}–{names[j]}, R-hat {r_hat[k]:.2f}": table[:, :, k]
        for k, (i, j) in zip(worst, pairs[worst].tolist(), strict=True)
    }


# --- ArviZ ------------------------------------------------------------------------------------


def _hand_over(shown: dict[str, Floats]) -> tuple[Any, Any]:
    """ArviZ, and the quantities in its format, numbered because names may be anything."""
    numbered = {f"q{k}": values for k, values in enumerate(shown.values())}
    data = in_arviz({"posterior": numbered}, {}, {})
    return import_module("arviz"), data


def _is_new(arviz: Any) -> bool:
    return int(arviz.__version__.split(".")[0]) >= 1


@contextmanager
def _older_ways() -> Iterator[None]:
    """Silence the deprecation warnings of Matplotlib that ArviZ 0.x causes."""
    from matplotlib import MatplotlibDeprecationWarning

    with ignored(MatplotlibDeprecationWarning):
        yield


def _collection(
    arviz: Any, data: Any, rows: Sequence[Sequence[Axes]], columns: list[str] | None
) -> Any:
    """Axes as ArviZ 1.x takes them: a tree of arrays, by quantity and perhaps by column."""
    xarray = import_module("xarray")
    posterior = data["posterior"].dataset
    plots = {}
    for name, row in zip(posterior.data_vars, rows, strict=True):
        cells = np.empty(len(row), dtype=object)
        cells[:] = row
        plots[name] = ((), cells[0]) if columns is None else (("column",), cells)
    figure = np.empty((), dtype=object)
    figure[()] = rows[0][0].get_figure(root=True)
    tree = {
        "/": xarray.Dataset({"figure": ((), figure)}),
        "/plot": xarray.Dataset(plots, coords={} if columns is None else {"column": columns}),
    }
    return arviz.PlotCollection(
        posterior,
        xarray.DataTree.from_dict(tree),
        aes={"color": ["chain"]},
        backend="matplotlib",
        color=_colours(posterior.sizes["chain"]),
    )


def _colours(count: int) -> list[str]:
    return list(islice(cycle(COLOURS), count))


# --- axes -------------------------------------------------------------------------------------


def _new_traces(count: int) -> list[list[Axes]]:
    figure = new_figure(8.0, _ROW * count)
    return [list(row) for row in figure.subplots(count, 2, squeeze=False)]


def _new_ranks(count: int) -> list[Axes]:
    columns = min(count, 3)
    rows = -(-count // columns)
    figure = new_figure(3.2 * columns, 1.2 * _ROW * rows)
    grid = figure.add_gridspec(rows, columns)
    return [figure.add_subplot(grid[k // columns, k % columns]) for k in range(count)]


def _check(fits: bool, count: int, what: str) -> None:
    if not fits:
        raise InputError(f"there are {count} quantities to draw; pass {count} {what}.")


def _entitle(ax: Axes, name: str) -> None:
    """Replace ArviZ's title by the name, in small letters."""
    ax.set_title("")
    ax.set_title(name, fontsize=8, loc="left")
    ax.set_xlabel("")
    ax.set_ylabel("chain" if ax.get_ylabel() == "Chain" else "", fontsize=9)
    ax.tick_params(labelsize=8)

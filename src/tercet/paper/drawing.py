"""How the pictures look: one style, one colour for one method, means with standard deviations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tercet.paper.experiments import Curve
from tercet.plots.axes import COLOURS, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

__all__ = [
    "COLOUR_OF",
    "LABEL_OF",
    "fraction_axis",
    "legend_below",
    "letter",
    "line",
    "panels",
    "style",
]

COLOUR_OF = {
    "bootstrap": COLOURS[0],
    "Bayes": COLOURS[1],
    "recommended": COLOURS[2],
    "information gain": COLOURS[3],
    "random": COLOURS[6],
    "vote": COLOURS[4],
}
LABEL_OF = {"recommended": "recommended default"}
_MARKER_OF = {
    "bootstrap": "o",
    "Bayes": "s",
    "recommended": "D",
    "information gain": "^",
    "random": "x",
    "vote": "v",
}
_STYLE: Any = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "savefig.dpi": 200,
    "figure.dpi": 100,
}


@contextmanager
def style() -> Iterator[None]:
    """Everything drawn inside looks alike."""
    require_matplotlib()
    from matplotlib import rc_context

    with rc_context(_STYLE):
        yield


def panels(
    rows: int, columns: int, width: float = 2.5, height: float = 2.1, **options: Any
) -> tuple[Picture, Any]:
    """A picture with panels (rows, columns), always as a table; sizes in inches a panel.

    It belongs to no window, so it needs no display and nobody has to close it.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(width * columns, height * rows))
    picture.set_layout_engine("constrained", wspace=0.05, hspace=0.04)
    FigureCanvasAgg(picture)
    return picture, picture.subplots(rows, columns, squeeze=False, **options)


def line(
    ax: Axes, curve: Curve, method: str, label: str | None = None, *, band: bool = True, **how: Any
) -> None:
    """The mean over the repeats, with a band or bars of one standard deviation.

    Parameters
    ----------
    method : str
        Gives colour and marker, and the label if there is none.
    label : str, optional
    band : bool
        A band, or else bars.
    """
    look: dict[str, Any] = {
        "color": COLOUR_OF.get(method, COLOURS[0]),
        "marker": _MARKER_OF.get(method, "o"),
        "label": LABEL_OF.get(method, method) if label is None else label,
    } | how
    if band:
        ax.plot(curve.x, curve.mean, **look)
        low, high = curve.mean - curve.sd, curve.mean + curve.sd
        ax.fill_between(curve.x, low, high, color=look["color"], alpha=0.15, linewidth=0)
    else:
        ax.errorbar(curve.x, curve.mean, curve.sd, capsize=2, **look)


def letter(axes: Sequence[Axes], titles: Sequence[str]) -> None:
    """Name panels (a), (b), (c) above them."""
    for number, (ax, title) in enumerate(zip(axes, titles, strict=True)):
        ax.set_title(f"({chr(ord('a') + number)}) {title}", loc="left")


def legend_below(picture: Picture, axes: Any, columns: int | None = None) -> None:
    """One legend below all panels, for what is in some of them.

    Parameters
    ----------
    axes : array of Axes
        Whose lines it names.
    columns : int, optional
        By default one line of it.
    """
    known: dict[str, Any] = {}
    for ax in axes.flat:
        handles, labels = ax.get_legend_handles_labels()
        known |= dict(zip(labels, handles, strict=True))
    tight = {"ncols": columns or len(known), "handlelength": 2.2, "columnspacing": 1.2}
    picture.legend(known.values(), known.keys(), loc="outside lower center", **tight)


def fraction_axis(ax: Axes, fractions: Sequence[float]) -> None:
    """Name the horizontal axis for shares of all triplets, in per cent and logarithmic."""
    ax.set_xscale("log")
    ax.set_xticks(fractions, [f"{100 * fraction:g}" for fraction in fractions])
    ax.minorticks_off()
    ax.set_xlabel("share of all triplets (%)")

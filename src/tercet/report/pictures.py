"""The figures of a report, as SVG inside the page or as files."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tercet.analysis.analysis import Analysis, Object
from tercet.analysis.words import provisional
from tercet.plots import (
    plot_dimension,
    plot_distances,
    plot_map,
    plot_observers,
    plot_reliability,
    plot_residuals,
    plot_risk_coverage,
    plot_scale,
    plot_uncertainty,
)
from tercet.plots.axes import COLOURS, LONGEST, drawable, families, require_matplotlib
from tercet.plots.comparisons import measured_panels
from tercet.plots.maps import MOST_NAMES, looks
from tercet.report.appearance import Appearance
from tercet.report.scene import has_heat
from tercet.report.sections import CROWD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["KEYS", "KINDS", "Picture", "draw_pictures"]

# All figures that a report may have; also the names of their files.
KEYS = (
    "map",
    "distances",
    "certainty",
    "calibration",
    "coverage",
    "dimension",
    "residuals",
    "observers",
)
KINDS = ("png", "svg")

MOST_ROWS = 60  # objects in rows of a scale; more are drawn along a line
PROVISIONAL = "provisional"
DOTS = 200  # per inch, of PNG files
_STYLE = {
    "axes.edgecolor": "0.45",
    "axes.labelcolor": "0.2",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9.0,
    "svg.fonttype": "path",  # looks the same everywhere, and names cannot become markup
    "svg.hashsalt": "tercet",
    "xtick.color": "0.3",
    "ytick.color": "0.3",
}
_HEAD = re.compile(r".*?(?=<svg)", re.S)
_METADATA = re.compile(r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*", re.S)
_STYLES = re.compile(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>\s*", re.S)
_SIZE = re.compile(r'(<svg[^>]*?) (?:width="[^"]*"|height="[^"]*")')
_IDS = re.compile(r'(\bid="|href="#|url\(#)')


class Picture(NamedTuple):
    """A figure that is drawn on demand."""

    key: str  # such as "map": the name of its files, and the prefix of its ids in a page
    title: str  # a description, for screen readers
    draw: Callable[[], Figure]

    def inline(self) -> str:
        """SVG for a page: without size and style sheet, with ids of its own."""
        found = _METADATA.sub("", _HEAD.sub("", self._render("svg").decode("utf-8"), count=1))
        found = _SIZE.sub(r"\1", _SIZE.sub(r"\1", _STYLES.sub("", found), count=1), count=1)
        style = 'stroke-linejoin="round" stroke-linecap="butt"'
        return _IDS.sub(rf"\g<1>{self.key}-", found.replace("<svg", f"<svg {style}", 1)).strip()

    def files(self) -> dict[str, bytes]:
        """PNG and SVG, by file name."""
        return {f"{self.key}.{kind}": self._render(kind) for kind in KINDS}

    def _render(self, kind: str) -> bytes:
        with _styled():
            written = io.BytesIO()
            # Neither time nor version: the same analysis gives the same bytes.
            metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
            self.draw().savefig(written, format=kind, dpi=DOTS, metadata=metadata)
        return written.getvalue()


def draw_pictures(analysis: Analysis, appearance: Appearance | None = None) -> dict[str, Picture]:
    """The figures of this analysis, by key: "map", "calibration" and others.

    Objects are coloured by their groups, if the appearance has some.
    """
    groups = None if appearance is None else appearance.groups
    return {picture.key: picture for picture in _pictures(analysis, groups)}


def _pictures(analysis: Analysis, groups: Sequence[str] | None) -> Iterator[Picture]:
    level = f"{100 * analysis.settings.level:.3g} %"
    d, count = analysis.n_components, len(analysis.objects)
    if d == 1:
        kind = f"Scale of {count} objects, with {level} intervals"
        draw = _rows if analysis.scale is None else _stimuli
    else:
        kind = "Map" if d == 2 else f"The first two of {d} dimensions"
        kind += f": {count} objects as points" + (
            "" if count > CROWD else f", with {level} ellipses"
        )
        draw = _map
    yield Picture("map", kind + _mark_of(analysis), lambda: _marked(draw, analysis, groups))
    if has_heat(analysis):
        yield Picture(
            "distances",
            f"Heat map of the expected distances between {count} objects",
            lambda: _heat(analysis),
        )
    if not analysis.is_provisional:
        yield Picture(
            "certainty", "Share of comparisons by certainty", lambda: _certainty(analysis)
        )
    if (found := analysis.held_out) is not None:
        yield Picture(
            "calibration",
            "Share of held-out answers predicted correctly, by confidence",
            lambda: _one(4.6, 4.4, plot_reliability, found.reliability),
        )
        yield Picture(
            "coverage",
            "Share of wrong predictions against the share of answers predicted",
            lambda: _one(5.0, 3.4, plot_risk_coverage, found.curve),
        )
    if (estimate := analysis.dimension) is not None:
        yield Picture(
            "dimension",
            "Evidence for each number of dimensions",
            lambda: _row(len(measured_panels(estimate)), plot_dimension, estimate),
        )
    if (goodness := analysis.goodness) is not None:
        yield Picture(
            "residuals",
            "Sorted residuals with their envelope, and runs of residuals beside simulated ones",
            lambda: _row(2, plot_residuals, goodness),
        )
    if any(each.predicted for each in analysis.check.observers):
        yield Picture(
            "observers",
            "Share of each observer's answers that a map of the others' answers predicts correctly",
            lambda: _observers(analysis),
        )


# --- figures ----------------------------------------------------------------------------------


def _mark_of(analysis: Analysis) -> str:
    return f" ({PROVISIONAL})" if analysis.is_provisional else ""


def _marked(
    draw: Callable[[Analysis, Sequence[str] | None], Figure],
    analysis: Analysis,
    groups: Sequence[str] | None,
) -> Figure:
    """A figure that says if it is provisional, because it may be used without the page."""
    figure = draw(analysis, groups)
    if analysis.is_provisional:
        figure.suptitle(f"Provisional: {provisional(analysis)}", color=COLOURS[1], fontsize=9)
    return figure


def _map(analysis: Analysis, groups: Sequence[str] | None) -> Figure:
    """The first two dimensions; points without ellipses if there are very many objects."""
    n, level = len(analysis.objects), analysis.settings.level
    width = 6.4 if n <= 40 else 8.0 if n <= 120 else 9.6
    ends = np.array([each.interval for each in analysis.objects])
    across, up = (ends[:, :, 1].max(axis=0) - ends[:, :, 0].min(axis=0))[:2]
    figure = _figure(width, width * float(np.clip(up / across, 0.4, 1.0)))
    ax = _bare(figure.subplots())
    _legend(figure, groups)
    shown = analysis.ensemble.point_mean() if n > CROWD else analysis.ensemble
    plot_map(shown, analysis.names, groups=groups, level=level, ax=ax)
    return figure


def _legend(figure: Figure, groups: Sequence[str] | None) -> None:
    """A legend of the groups below the figure; drawn before names are placed."""
    from matplotlib.lines import Line2D

    if groups is None:
        return
    kinds = sorted(set(groups))
    handles = [
        Line2D([], [], ls="", color=colour, marker=marker, markersize=4.5)
        for colour, marker in zip(*looks(kinds, len(kinds)), strict=True)
    ]
    labels = [drawable(kind, LONGEST) for kind in kinds]
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=min(len(kinds), 4),
        frameon=False,
        prop={"family": families(labels), "size": 8},
    )


def _heat(analysis: Analysis) -> Figure:
    side = max(4.0, 1.0 + 0.13 * min(len(analysis.objects), MOST_NAMES))
    return _one(side + 0.6, side, plot_distances, analysis.ensemble, analysis.names)


def _rows(analysis: Analysis, groups: Sequence[str] | None) -> Figure:
    """Objects in rows, the highest value at the top, with their intervals."""
    objects = sorted(analysis.objects, key=lambda each: float(each.position[0]))
    if len(objects) > MOST_ROWS:
        figure, level = _figure(8.0, 3.4), analysis.settings.level
        ax = _bare(figure.subplots())
        _legend(figure, groups)
        plot_map(analysis.ensemble, analysis.names, groups=groups, level=level, ax=ax)
        return figure
    figure = _figure(5.0, 0.8 + 0.19 * len(objects))
    ax = figure.subplots()
    _legend(figure, groups)
    colours, markers = looks(groups, len(objects))
    for row, each in enumerate(objects):
        at, look = [float(each.position[0])], (colours[each.number], markers[each.number])
        _mark(ax, each, at, [row], each.interval[0].tolist(), [row, row], look)
    names = [drawable(each.name, LONGEST) for each in objects]
    ax.set_yticks(range(len(objects)), names, fontfamily=families(names))
    for label, each in zip(ax.get_yticklabels(), objects, strict=True):
        label.set_gid(f"name-{each.number}")
    ax.set_ylim(-0.7, len(objects) - 0.3)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="y", color="0.93", lw=0.7)
    ax.set_axisbelow(True)
    ax.set_xlabel("position on the scale")
    return figure


def _stimuli(analysis: Analysis, groups: Sequence[str] | None) -> Figure:
    """Perceived values against stimuli, as usual in difference scaling."""
    scale, level = analysis.scale, analysis.settings.level
    assert scale is not None
    figure = _one(5.0, 3.8, plot_scale, scale, level=level)
    places = zip(scale.stimuli.tolist(), scale.estimate.tolist(), strict=True)
    limits = scale.interval(level).tolist()
    _legend(figure, groups)
    colours, markers = looks(groups, len(analysis.objects))
    for each, (x, y), ends in zip(analysis.objects, places, limits, strict=True):
        look = (colours[each.number], markers[each.number])
        _mark(figure.axes[0], each, [x], [y], [x, x], ends, look)
    return figure


def _mark(
    ax: Axes,
    each: Object,
    x: list[float],
    y: list[float],
    across: list[float],
    up: list[float],
    look: tuple[str, str],
) -> None:
    """Draw an object of a scale and its interval, with the same ids as on maps."""
    colour, marker = look
    line: dict[str, Any] = {"color": colour, "lw": 1.6, "alpha": 0.55, "solid_capstyle": "butt"}
    ax.plot(across, up, gid=f"ellipse-{each.number}", **line)
    dot: dict[str, Any] = {"color": colour, "marker": marker, "ms": 4.6, "ls": ""}
    ax.plot(x, y, gid=f"object-{each.number}", **dot)


def _certainty(analysis: Analysis) -> Figure:
    figure = _one(5.0, 3.0, plot_uncertainty, analysis.certainty)
    figure.axes[0].set_xlabel("confidence")
    return figure


def _observers(analysis: Analysis) -> Figure:
    shown = [each for each in analysis.check.observers if each.predicted]
    low, high = np.array([each.interval for each in shown]).T
    typical = analysis.check.typical
    return _one(
        5.0,
        min(1.2 + 0.17 * len(shown), 8.0),
        plot_observers,
        [each.observer for each in shown],
        [each.accuracy for each in shown],
        low,
        high,
        flagged=[bool(each.flags) for each in shown],
        typical=None if math.isnan(typical) else typical,
        xlabel="share of answers predicted correctly",
    )


def _bare(ax: Axes) -> Axes:
    """Axes without a frame: rotation and translation of a map are arbitrary."""
    ax.spines[:].set_visible(False)
    return ax


def _one(
    width: float, height: float, plot: Callable[..., Any], *given: Any, **options: Any
) -> Figure:
    """A figure with one panel."""
    figure = _figure(width, height)
    plot(*given, ax=figure.subplots(), **options)
    return figure


def _row(count: int, plot: Callable[..., Any], *given: Any) -> Figure:
    """A figure with several small panels, at most two in a row."""
    across = min(count, 2)
    down = -(-count // across)
    figure = _figure(2.8 * across, 2.4 * down)
    axes = list(np.ravel(figure.subplots(down, across)))
    for ax in axes[count:]:
        ax.remove()
    plot(*given, axes=axes[:count])
    return figure


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@contextmanager
def _styled() -> Iterator[None]:
    """The style of reports, whatever the user has set."""
    require_matplotlib()
    from matplotlib import style

    with style.context(["default", _STYLE]):
        yield

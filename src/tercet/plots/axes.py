"""What all pictures share: colours, figures and axes to draw into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tercet.errors import TercetError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's colours, which people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def require_matplotlib() -> None:
    """Raise unless Matplotlib is there, which is installed with tercet; to be asked before work."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise TercetError(
            "Pictures need Matplotlib, which is not installed: pip install matplotlib."
        ) from error


def new_figure(width: float, height: float) -> Figure:
    """A new figure of that size in inches, known to pyplot."""
    require_matplotlib()
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained")


def new_axes(width: float = 6.0, height: float = 6.0) -> Axes:
    """Axes of a new figure of that size in inches."""
    return new_figure(width, height).subplots()


def next_colour(ax: Axes) -> str:
    """The first colour that no line in these axes has; after the last, the first again."""
    from matplotlib.colors import same_color

    lines = [line.get_color() for line in ax.lines]
    free = (one for one in COLOURS if not any(same_color(one, other) for other in lines))
    return next(free, COLOURS[len(lines) % len(COLOURS)])

"""What all pictures share: colours, and axes to draw into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tercet.errors import TercetError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito's colours, which people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def new_axes() -> Axes:
    """Axes of a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise TercetError(
            "Plots need Matplotlib, which is not installed: pip install 'tercet[plots]'."
        ) from error
    axes: Axes = pyplot.subplots(figsize=(6, 6), layout="constrained")[1]
    return axes

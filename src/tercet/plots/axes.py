"""Shared by all plots: colours, figures and axes, fonts that contain the needed characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from tercet.errors import TercetError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's palette, distinguishable with any colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def require_matplotlib() -> None:
    """Raise unless Matplotlib is installed; called before long computations."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise TercetError(
            "Plots need Matplotlib, which is not installed: pip install matplotlib."
        ) from error


def new_figure(width: float, height: float) -> Figure:
    """A new pyplot figure of that size in inches."""
    require_matplotlib()
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained")


def new_axes(width: float = 6.0, height: float = 6.0) -> Axes:
    """Axes of a new figure of that size in inches."""
    return new_figure(width, height).subplots()


def next_colour(ax: Axes) -> str:
    """The first colour not yet used by a line in these axes; after the last, the first again."""
    from matplotlib.colors import same_color

    lines = [line.get_color() for line in ax.lines]
    free = (one for one in COLOURS if not any(same_color(one, other) for other in lines))
    return next(free, COLOURS[len(lines) % len(COLOURS)])


# --- names from data, in a form that Matplotlib can draw ----------------------------------------


Fonts = tuple[tuple[str, str], ...]  # families and their files

LONGEST = 24  # characters of a name; longer ones are cut in the middle
_END = 9  # characters kept after the cut: names often end in numbers

# Fonts that cover more scripts than Matplotlib's own, used where they are installed.
_OTHERS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans",
    "WenQuanYi Micro Hei",
    "Hiragino Sans",
    "PingFang SC",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Noto Sans",
    "Noto Emoji",
    "Segoe UI Emoji",
    "Segoe UI Symbol",
    "Arial Unicode MS",
)


def drawable(text: object, longest: int | None = None) -> str:
    r"""A name on one line, without formulas and without characters missing from all fonts.

    White space becomes single spaces, control characters are removed, "$" becomes "\$", and a
    character in neither Matplotlib's font nor any of the others becomes □.

    Parameters
    ----------
    text : object
        The name.
    longest : int, optional
        Maximum number of characters, such as `LONGEST`; longer names are cut in the middle.
    """
    words = " ".join(str(text).split())
    letters = "".join(c for c in words if unicodedata.category(c) not in ("Cc", "Cf", "Cs"))
    if longest is not None and len(letters) > longest:
        letters = f"{letters[: longest - _END - 1]}…{letters[-_END:]}"
    fonts = _fonts()
    shown = "".join(c if c.isascii() or _family_of(c, fonts) else "□" for c in letters)
    return shown.replace("$", r"\$")  # a dollar sign would start a formula


def families(texts: Iterable[str]) -> list[str]:
    """The font families that these texts need: Matplotlib's own, then others."""
    from matplotlib import rcParams

    fonts, usual = _fonts(), list(rcParams["font.family"])
    letters: set[str] = set().union(*texts)
    found = {_family_of(c, fonts) for c in letters if not c.isascii()}
    return [*usual, *sorted(family for family in found if family and family not in usual)]


@cache
def _family_of(letter: str, fonts: Fonts) -> str | None:
    """The first family that has the letter."""
    from matplotlib.font_manager import get_font

    has = (family for family, file in fonts if get_font(file).get_char_index(ord(letter)))
    return next(has, None)


def _fonts() -> Fonts:
    """Matplotlib's current fonts, followed by the others that are installed."""
    from matplotlib import rcParams

    return tuple((family, _file_of(family)) for family in rcParams["font.family"]) + _installed()


@cache
def _installed() -> Fonts:
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return tuple((family, _file_of(family)) for family in _OTHERS if family in known)


def _file_of(family: str) -> str:
    from matplotlib.font_manager import FontProperties, findfont

    return str(findfont(FontProperties(family=[family])))

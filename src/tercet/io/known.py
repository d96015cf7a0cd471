"""All formats, in the order in which a file is held against them."""

from __future__ import annotations

from tercet.io.formats import Format
from tercet.io.tidy import TIDY

__all__ = ["FORMATS"]

FORMATS: tuple[Format, ...] = (TIDY,)

"""Tables for people: cells in columns of even width."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["lay_out"]


def lay_out(lines: Sequence[Sequence[str]], *, right: bool = False) -> str:
    """Lines of cells as text, every column as wide as its widest cell.

    Parameters
    ----------
    lines : sequence of sequences of str
        As many cells in each.
    right : bool
        Push the cells to the right, as numbers want it.
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def place(cell: str, width: int) -> str:
        return cell.rjust(width) if right else cell.ljust(width)

    return "\n".join("  ".join(map(place, line, widths)).rstrip() for line in lines)

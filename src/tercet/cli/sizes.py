"""``--max-size``: the most that is read of a file."""

from __future__ import annotations

import argparse
import re

__all__ = ["limit_of", "size"]


def size(text: str) -> int:
    """A number of bytes, such as 500000, 500K, 100M or 4G."""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+) ?([KMGT]?)(?:I?B)?", text.strip().upper())
    value = float(found[1]) * 1024 ** " KMGT".index(found[2] or " ") if found else 0.0
    if not 1.0 <= value < 2.0**62:
        raise argparse.ArgumentTypeError(f"must be a size such as 500M or 4G, got {text!r}")
    return int(value)


def limit_of(options: argparse.Namespace) -> int:
    """The most bytes to read of a file: what ``--max-size`` says."""
    from tercet.bounded import MAX_BYTES

    return MAX_BYTES if options.max_size is None else options.max_size

"""Text that is harmless to a terminal, which obeys some of the characters it is sent."""

from __future__ import annotations

import re

__all__ = ["PYTHON", "cell", "harmless", "one_line"]

# What a message has for those who program, which others need not read: "(in Python: …)". It may
# have parentheses of its own, and be broken between lines.
PYTHON = re.compile(r"\s*\(in\s+Python:\s+((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")


def harmless(text: str, keep: str = "\n") -> str:
    r"""Text whose control characters are spelled out, as ``\x1b``; lines stay lines.

    Names come from files, and a terminal obeys some characters.

    Parameters
    ----------
    text : str
    keep : str
        Characters that stay as they are.
    """
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


def cell(value: object) -> str:
    """A value as one printable line."""
    return harmless(str(value), keep="")


def one_line(text: str) -> str:
    """A message as one harmless line."""
    return cell(" ".join(text.splitlines()))

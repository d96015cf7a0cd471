"""Small pieces of HTML. Everything that comes from data is escaped here."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

__all__ = [
    "Section",
    "as_data",
    "fold",
    "items",
    "name",
    "paragraphs",
    "prose",
    "rows_of",
    "table",
    "text",
]

Cell = str | int | float | None

WIDE = 7  # columns, from which on a table has small letters on paper

# What a browser would not show, or would show as something else; line ends and tabs stay.
_UNSEEN = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if code not in (9, 10, 13)}
# What ends a script, or a line in some scripts.
_SCRIPT = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


class Section(NamedTuple):
    """A part of the page."""

    key: str  # its id
    title: str
    body: str  # HTML


def text(value: object) -> str:
    """Text as HTML shows it, whatever is in it."""
    shown = str(value).translate(_UNSEEN).encode("utf-8", "replace").decode()
    return html.escape(shown, quote=True)


def prose(sentence: str) -> str:
    """A sentence as HTML, whose numbers and percent signs stay together."""
    return text(sentence).replace(" %", "\u00a0%")


def name(value: object) -> str:
    """A name from the data; in a script that runs from right to left it turns nothing else."""
    return f"<bdi>{text(value)}</bdi>"


def paragraphs(sentences: Iterable[str]) -> str:
    """One paragraph of plain sentences; nothing of none."""
    joined = " ".join(map(prose, sentences))
    return f"<p>{joined}</p>" if joined else ""


def items(sentences: Iterable[str], kind: str = "ul") -> str:
    """A list of plain sentences."""
    return f"<{kind}>{''.join(f'<li>{prose(each)}</li>' for each in sentences)}</{kind}>"


def table(header: Sequence[str], body: Iterable[str], caption: str = "") -> str:
    """A table in a box of its own, so that a narrow window scrolls the box and not the page.

    Parameters
    ----------
    header : sequence of str
        Plain text.
    body : iterable of str
        Rows as HTML, such as from `rows_of`.
    caption : str
        Plain text.
    """
    heads = "".join(f'<th scope="col">{prose(head.replace("_", " "))}</th>' for head in header)
    wide = ' class="wide"' if len(header) > WIDE else ""
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    label = text(caption or ", ".join(header))
    return (
        f'<div class="box" role="region" tabindex="0" aria-label="{label}"><table{wide}>{title}'
        f"<thead><tr>{heads}</tr></thead><tbody>\n{''.join(body)}</tbody></table></div>"
    )


def fold(summary: str, body: str) -> str:
    """Something that is folded away where there are scripts, and open where there are none."""
    return f'<details class="behind" open><summary>{text(summary)}</summary>{body}</details>'


def rows_of(rows: Iterable[Sequence[Cell]]) -> list[str]:
    """Rows of plain cells; numbers stand to the right."""
    return [f"<tr>{''.join(_cell(value) for value in row)}</tr>\n" for row in rows]


def as_data(value: Any) -> str:
    """A value as JSON that can stand inside of a script element."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False).translate(_SCRIPT)


def _cell(value: Cell) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "<td>–</td>"
    if isinstance(value, str):
        return f"<td>{name(value)}</td>"
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f'<td class="number">{shown.replace("-", "−")}</td>'

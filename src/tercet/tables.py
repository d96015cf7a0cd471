"""Tables and records as aligned text, CSV, Markdown and JSON."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "DEEPEST",
    "Table",
    "check_depth",
    "json_ready",
    "parse_json",
    "table_of",
    "to_csv",
    "to_json",
]

DEEPEST = 100  # nesting of lists and mappings, which are processed recursively


@dataclass(frozen=True)
class Table:
    """A table, perhaps with a title; missing values are None.

    Attributes
    ----------
    title : str
    header : sequence of str
    rows : sequence of sequences
        As many cells in each as the header has.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def text(self, *, right: bool = False) -> str:
        """Aligned text, with the title if there is one.

        Parameters
        ----------
        right : bool
            Align the cells to the right, for numbers.
        """
        lines = [self.header, *([_shown(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

        def place(cell: str, width: int) -> str:
            return cell.rjust(width) if right else cell.ljust(width)

        aligned = ["  ".join(map(place, line, widths)).rstrip() for line in lines]
        return "\n".join([self.title, *aligned] if self.title else aligned)

    def csv(self) -> str:
        """As CSV, with numbers in full; missing values are empty."""
        return to_csv(self.header, json_ready(self.rows)) if self.header else ""

    def markdown(self) -> str:
        """As Markdown, without the title."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        # A bar inside a cell would end it.
        return "\n".join(
            f"| {' | '.join(_shown(cell).replace('|', chr(92) + '|') for cell in line)} |"
            for line in lines
        )

    def records(self) -> list[dict[str, Any]]:
        """One mapping for each row, by the titles of the columns."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


def table_of(records: Sequence[Mapping[str, Any]], title: str = "") -> Table:
    """A table of records; columns are in the order of their first occurrence."""
    header = list(dict.fromkeys(name for record in records for name in record))
    return Table(title, header, [[record.get(name) for name in header] for record in records])


def _shown(cell: object) -> str:
    return "" if cell is None else str(cell)


def to_csv(header: Iterable[str], rows: Iterable[Iterable[Any]], delimiter: str = ",") -> str:
    """A header and rows as CSV; None becomes an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


# --- JSON -------------------------------------------------------------------------------------


def json_ready(value: Any) -> Any:
    """A value as JSON-compatible types; None for numbers that are not finite."""
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, Mapping):
        return {str(key): json_ready(part) for key, part in value.items()}
    if hasattr(value, "_asdict"):
        return json_ready(value._asdict())
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {field.name: json_ready(getattr(value, field.name)) for field in fields}
    if isinstance(value, Iterable):
        return [json_ready(part) for part in value]
    return str(value)


def to_json(value: Any) -> str:
    """JSON; missing values are null."""
    return json.dumps(json_ready(value), indent=2, allow_nan=False)


def parse_json(text: str) -> Any:
    """The value of a JSON text; ValueError if it is not valid."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    check_depth(value)
    if "\\ud" in text.lower():  # half a surrogate pair cannot be encoded
        json.dumps(value, ensure_ascii=False).encode()
    return value


def check_depth(value: Any) -> None:
    """Raise ValueError if lists and mappings are nested too deeply."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        parts = (one.values() if isinstance(one, dict) else one for one in level)
        level = [part for some in parts for part in some if isinstance(part, dict | list)]
        if not level:
            return
    raise ValueError(f"lists or mappings nested more than {DEEPEST} deep")

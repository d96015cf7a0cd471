"""Tables of numbers that experiments leave, and the curves that figures and claims read in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.errors import TercetError
from tercet.tables import table_of

__all__ = ["Curve", "Measurements", "Row"]

Row = dict[str, Any]
Floats = NDArray[np.float64]


class Curve(NamedTuple):
    """A quantity over a grid, once for every repeat."""

    x: Floats  # (k,), rising
    values: Floats  # (repeats, k)

    @property
    def mean(self) -> Floats:
        """Over the repeats, (k,)."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def sd(self) -> Floats:
        """Standard deviation over the repeats, (k,); 0 of a single one."""
        if len(self.values) < 2:
            return np.zeros(len(self.x))
        return np.asarray(self.values.std(axis=0, ddof=1))

    def at(self, x: float) -> Floats:
        """The quantity at one place of the grid, (repeats,)."""
        found = np.flatnonzero(np.isclose(self.x, x))
        if not len(found):
            raise TercetError(f"the grid {self.x.tolist()} has no {x}.")
        return self.values[:, found[0]]


class Measurements:
    """Rows of settings and numbers.

    Parameters
    ----------
    rows : iterable of dict
        A column that a row lacks is empty there.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, **wanted: Any) -> Measurements:
        """The rows that have these values."""
        return Measurements(r for r in self.rows if all(r.get(k) == v for k, v in wanted.items()))

    def values(self, column: str) -> list[Any]:
        """The different values of a column, in the order of their first row."""
        return list(dict.fromkeys(row[column] for row in self.rows if column in row))

    def curve(self, x: str, y: str) -> Curve:
        """Column y over column x, for every repeat.

        All other columns must be fixed (see `where`), so that no two rows share repeat and x.
        """
        rows = [row for row in self.rows if y in row]
        grid = sorted({row[x] for row in rows})
        repeats = sorted({row["repeat"] for row in rows})
        known: dict[tuple[Any, Any], float] = {}
        for row in rows:
            if (row["repeat"], row[x]) in known:
                raise TercetError(f"two rows for repeat {row['repeat']} and {x} = {row[x]}.")
            known[row["repeat"], row[x]] = row[y]
        # A repeat that lacks a part, since a cell failed, would make means of different things.
        whole = [r for r in repeats if all((r, value) in known for value in grid)]
        if not whole:
            raise TercetError(f"there are no numbers for {y} over {x}; were cells left out?")
        values = [[known[r, value] for value in grid] for r in whole]
        return Curve(np.array(grid, dtype=float), np.array(values, dtype=float))

    def summary(self, by: Sequence[str], numbers: Sequence[str]) -> Measurements:
        """Mean and standard deviation over the repeats, for every combination of columns."""
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            groups.setdefault(tuple(row.get(name) for name in by), []).append(row)
        out: list[Row] = []
        for key, rows in groups.items():
            line: Row = dict(zip(by, key, strict=True))
            line["repeats"] = len({row.get("repeat") for row in rows})
            for name in numbers:
                found = np.array([r[name] for r in rows if r.get(name) is not None], dtype=float)
                found = found[np.isfinite(found)]
                if len(found):
                    line[f"{name} mean"] = float(found.mean())
                    line[f"{name} sd"] = float(found.std(ddof=1)) if len(found) > 1 else 0.0
            if any(f"{name} mean" in line for name in numbers):
                out.append(line)
        return Measurements(out)

    def csv(self) -> str:
        """As text with commas; the columns in the order in which rows bring them up."""
        return table_of(self.rows).csv()

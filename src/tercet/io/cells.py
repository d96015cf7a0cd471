"""A table of text cells that knows the line of every row in its file."""

from __future__ import annotations

import csv
import io
import itertools
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tercet.answers.checks import natural_key, placed, reject_rows
from tercet.answers.titles import find_observer, is_missing
from tercet.errors import InputError
from tercet.text import counted, listed

__all__ = [
    "Cells",
    "Codes",
    "check_columns",
    "first_row",
    "looks_like_number",
    "make_cells",
    "read_cells",
    "read_words",
    "whole_numbers",
]

# As Python writes them, so that 1 and 01 differ; 18 digits always fit into int64.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,14})(\.0*)?")  # as in a column with missing values
# The byte order mark, at the start of a file or, in concatenated files, of any line.
_MARKS = re.compile("(^|[\r\n])\ufeff+")

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """A rectangular table of cells with a header.

    Attributes
    ----------
    path : str
    header : list of str
        The titles, as they are in the file.
    unique : list of str
        Every distinct cell once, stripped: answers repeat few names many times.
    codes : (rows, columns) integer array
        Into ``unique``.
    lines : (rows,) integers or str
        The line of the file on which each row ends, or another place.
    header_line : int
    unit : str
        What ``lines`` count, in files that have no lines.
    decimal_comma : bool
        Whether a comma may be the decimal point, as in files separated by semicolons.
    named : frozenset of str
        Names given by the caller: objects, even if one looks like "NA".
    titles : sequence of str, optional
        The titles in the file, if the caller renamed columns.
    """

    path: str
    header: list[str]
    unique: list[str]
    codes: Codes
    lines: Sequence[int | str]
    header_line: int = 1
    unit: str = "line"
    decimal_comma: bool = False
    named: frozenset[str] = frozenset()
    titles: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def where(self, row: int) -> str:
        """The file and place of a row, for an error."""
        return f"{self.path}, {self.line(row)}"

    def line(self, row: int) -> str:
        """The place of a row, such as "line 12"."""
        return f"{self.unit} {self.lines[row]}"

    def take(self, rows: NDArray[Any]) -> Self:
        """The chosen rows, by a mask or by numbers."""
        return replace(self, codes=self.codes[rows], lines=np.asarray(self.lines)[rows].tolist())

    def headless(self, titles: Sequence[str]) -> Self:
        """With these titles, and the former header as the first row."""
        place = {cell: code for code, cell in enumerate(self.unique)}
        first = np.array([[place.setdefault(cell, len(place)) for cell in self.header]])
        return replace(
            self,
            header=list(titles),
            unique=list(place),
            codes=np.concatenate([first, self.codes]),
            lines=[self.header_line, *self.lines],
        )

    def titled(self, titles: Sequence[str]) -> Self:
        """With these titles."""
        return replace(self, header=list(titles))

    def with_columns(self, titles: Sequence[str], codes: Codes) -> Self:
        """With these columns (rows, columns) in place of its own."""
        return replace(self, header=list(titles), codes=codes, titles=None)

    def extended(self, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Self:
        """With more columns on the right."""
        place = {cell: code for code, cell in enumerate(self.unique)}
        codes = [[place.setdefault(cell, len(place)) for cell in row] for row in rows]
        more = np.array(codes, dtype=np.int64).reshape(len(rows), len(titles))
        return replace(
            self,
            header=[*self.header, *titles],
            titles=None if self.titles is None else [*self.titles, *titles],
            unique=list(place),
            codes=np.column_stack([self.codes, more]),
        )

    def mapped(self, change: Callable[[str], str]) -> Self:
        """With every cell changed; distinct cells may become the same."""
        place: dict[str, int] = {}
        codes = [place.setdefault(change(cell), len(place)) for cell in self.unique]
        return replace(self, unique=list(place), codes=np.array(codes, np.int64)[self.codes])

    def reject(
        self, bad: NDArray[np.bool_], problem: Callable[[int], str], cure: str, reason: str
    ) -> None:
        """Refuse the rows of a mask; ``problem(row)`` describes the first, ``reason`` all."""
        with placed(self.line):
            reject_rows(bad, problem, cure, self.where, reason)

    # --- columns ------------------------------------------------------------------------------

    def find(self, *titles: str) -> int | None:
        """The place of the first of these titles that occurs, in any case."""
        words = [title.lower() for title in self.header]
        word = next((title for title in titles if title in words), None)
        if word is None:
            return None
        if words.count(word) > 1:
            raise InputError(f"{self.path}: the column {word!r} occurs twice; keep one of them.")
        return words.index(word)

    def find_observer(self) -> int | None:
        """The place of the observers, under any of the usual titles."""
        try:
            return find_observer(self.header, lambda place: bool(self.blank([place]).all()))
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None

    def need(self, *titles: str) -> int:
        """Like `find`, but an error if none of them occurs."""
        place = self.find(*titles)
        if place is None:
            found = listed(self.header)
            raise InputError(
                f"{self.path}: the column {titles[0]!r} is missing; columns found: {found}."
            )
        return place

    def renamed(
        self, columns: Mapping[str, str] | None, known: Sequence[str] | None = None
    ) -> Self:
        """With our words over the columns that ``columns`` maps them to (ours → the file's).

        ``known`` are the words of a format; others are refused.
        """
        if not columns:
            return self
        if known is not None:
            _check_words(columns, known)
        header = list(self.header)
        for word, title in columns.items():
            matching = [i for i, each in enumerate(self.header) if each == title]
            if not matching:
                found = listed(self.header)
                raise InputError(
                    f"{self.path}: there is no column {title!r} to use as {word!r}; columns "
                    f"found: {found}."
                )
            if len(matching) > 1:
                raise InputError(f"{self.path}: the column {title!r} occurs twice.")
            taken = [i for i, each in enumerate(header) if each.lower() == word.lower()]
            for i in taken:  # an unmapped column with our word
                header[i] = f"{header[i]} (not used)"
            header[matching[0]] = word
        return replace(self, header=header, titles=self.header)

    def title(self, place: int) -> str:
        """The title of a column in the file."""
        return (self.header if self.titles is None else self.titles)[place]

    def column(self, place: int) -> Codes:
        """The codes (rows,) of a column."""
        return self.codes[:, place]

    # --- what is in them ----------------------------------------------------------------------

    def blank(self, places: Sequence[int]) -> NDArray[np.bool_]:
        """Which cells (rows, places) are empty or stand for a missing value."""
        empty = [is_missing(cell) and cell not in self.named for cell in self.unique]
        return np.array(empty, dtype=bool)[self.codes[:, places]]

    def reject_blank(self, places: Sequence[int], *, objects: bool = True) -> None:
        """Refuse missing cells in these columns, which contain objects or something else."""
        blank = self.blank(places)

        def describe(row: int) -> str:
            column = places[int(blank[row].argmax())]
            cell = self.unique[self.codes[row, column]]
            found = f"is {cell!r}, which stands for a missing value" if cell else "is empty"
            return f"the cell {self.header[column]!r} {found}"

        cure = "Fill it or remove the line."
        if objects and any(self.unique[code] for code in self.codes[:, places][blank]):
            cure += " If it is the name of an object, give the names of all objects."
        self.reject(np.logical_or.reduce(blank, axis=1), describe, cure, "with an empty cell")

    def text(self, codes: Codes) -> NDArray[np.object_]:
        """The cells of these codes as text."""
        return np.array(self.unique, dtype=object)[codes]

    def numbers_or_text(self, codes: Codes) -> NDArray[Any]:
        """Integers if the cells of these codes all are, such as 3 or 3.0, else text."""
        values = np.zeros(len(self.unique), dtype=np.int64)
        for code in np.unique(codes):
            cell = self.unique[code]
            whole = _WHOLE.fullmatch(cell) or _INTEGER.fullmatch(cell)
            if whole is None:
                return self.text(codes)
            values[code] = int(cell.partition(".")[0])
        return values[codes]

    def used(self) -> list[str]:
        """The distinct cells that occur, in the order of their codes."""
        return [self.unique[code] for code in np.unique(self.codes).tolist()]

    def objects(
        self, codes: Codes, names: Iterable[str] | None, *, positions: bool = False
    ) -> tuple[NDArray[Any], Iterable[str] | None]:
        """The objects of these codes, by number or by name, and the names of all objects.

        If names are given, cells are names; with ``positions`` they may also be numbers, unless a
        name looks like one.
        """
        if names is None:
            return self.numbered(codes)
        if positions and not any(_INTEGER.fullmatch(str(name).strip()) for name in names):
            cells = self.numbers_or_text(codes)
            if cells.dtype != object:
                return cells, names
        place = {name: i for i, name in enumerate(names)}
        numbers = np.array([place.get(cell, -1) for cell in self.unique], dtype=np.int64)[codes]
        return self.text(codes) if (numbers < 0).any() else numbers, names  # `check` reports them

    def numbered(self, codes: Codes) -> tuple[NDArray[Any], tuple[str, ...] | None]:
        """Objects by their numbers, and their names; no names if all of the cells are integers.

        The names are sorted as in `check`; numbering each distinct cell once is faster.
        """
        cells = self.numbers_or_text(codes)
        if cells.dtype != object:
            return cells, None
        used = sorted(np.unique(codes).tolist(), key=lambda code: natural_key(self.unique[code]))
        rank = np.zeros(len(self.unique), dtype=np.int64)
        rank[used] = np.arange(len(used))
        return rank[codes], tuple(self.unique[code] for code in used)

    def numbers(
        self, place: int, what: str, example: str = "2 or 0.5", *, blank: bool = False
    ) -> NDArray[np.float64]:
        """A column (rows,) of numbers; empty cells are NaN if ``blank``, else errors."""
        codes = self.column(place)
        values, broken = self._parse(np.unique(codes), blank=blank)
        self.reject(
            broken[codes],
            lambda row: f"the {what} is {self.unique[codes[row]]!r}, not a number",
            f"Write it like {example}.",
            f"whose {what} is not a number",
        )
        return values[codes]

    def times(self, place: int) -> NDArray[np.float64]:
        """A column (rows,) of response times, unconverted.

        Missing cells are NaN, and other text is infinite; an error if nothing is a number.
        """
        codes = self.column(place)
        known = replace(self, unique=["" if is_missing(cell) else cell for cell in self.unique])
        values, broken = known._parse(np.unique(codes), blank=True)
        if broken[codes].any() and not np.isfinite(values[codes]).any():
            return known.numbers(place, "response time", "1.25", blank=True)  # raises
        return np.where(broken, np.inf, values)[codes]

    def _parse(self, codes: Codes, *, blank: bool) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The distinct cells of these codes as numbers, and which of them are not numbers."""
        values = np.full(len(self.unique), np.nan)
        broken = np.zeros(len(self.unique), dtype=bool)
        for code in codes:
            cell = self.unique[code]
            try:
                if cell or not blank:
                    values[code] = float(cell.replace(",", ".") if self.decimal_comma else cell)
            except ValueError:
                broken[code] = True
        return values, broken

    def is_integer(self) -> list[bool]:
        """Whether each of the distinct cells is an integer."""
        return [_INTEGER.fullmatch(cell) is not None for cell in self.unique]


# --- from text --------------------------------------------------------------------------------


def make_cells(
    path: str, header: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[int | str]
) -> Cells:
    """Cells from rows that were read in another way, such as from JSON."""
    place: dict[str, int] = {}
    codes = [[place.setdefault(cell.strip(), len(place)) for cell in row] for row in rows]
    table = np.array(codes, dtype=np.int64).reshape(len(rows), len(header))
    return Cells(path, list(header), list(place), table, lines)


def read_cells(path: str, text: str, delimiter: str | None = None) -> Cells:
    """Split text into cells, with a header and rows of equal length."""
    place: dict[str, int] = {}
    codes, lines = array("q"), array("q")
    header: list[str] = []
    header_line = 1
    delimiter = _find_delimiter(text) if delimiter is None else delimiter
    for line, row in _rows(path, text, delimiter):
        if not header:
            header, header_line = [cell.strip() for cell in row], line
            continue
        if len(row) != len(header):
            raise InputError(
                f"{path}, line {line}: {counted(len(row), 'cell')} where the first line has "
                f"{len(header)}. Every line needs the same number of cells."
            )
        codes.extend([place.setdefault(cell.strip(), len(place)) for cell in row])
        lines.append(line)
    if not header:
        raise InputError(f"{path} is empty; at least one answer is needed.")
    table = np.array(codes, dtype=np.int64).reshape(len(lines), len(header))
    comma = delimiter != ","
    return Cells(path, header, list(place), table, lines, header_line, decimal_comma=comma)


def read_words(path: str, text: str) -> Cells:
    """Split lines at whitespace into cells, with rows of equal length.

    The titles are "1", "2", …, and text after # is a comment.
    """
    place: dict[str, int] = {}
    codes, lines = array("q"), array("q")
    width = 0
    for line, words in enumerate(io.StringIO(text, newline=None), start=1):
        row = words.partition("#")[0].split()
        if not row:
            continue
        width = width or len(row)
        if len(row) != width:
            raise InputError(
                f"{path}, line {line}: {len(row)} entries where the first line has {width}. "
                "Every line needs the same number of entries."
            )
        codes.extend([place.setdefault(cell, len(place)) for cell in row])
        lines.append(line)
    if not width:
        raise InputError(f"{path} is empty; at least one answer is needed.")
    titles = [str(i + 1) for i in range(width)]
    return Cells(path, titles, list(place), np.array(codes).reshape(-1, width), lines)


def first_row(path: str, text: str, delimiter: str | None = None) -> list[str]:
    """The cells of the first nonempty row, if any."""
    for _, row in _rows(path, text, _find_delimiter(text) if delimiter is None else delimiter):
        return [cell.strip() for cell in row]
    return []


def _find_delimiter(text: str) -> str:
    """A comma, a semicolon or a tab, whichever is most frequent in the first line."""
    first_line = text.lstrip().partition("\n")[0]
    return max(",;\t", key=first_line.count)


def _rows(path: str, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the nonempty rows, with the line on which each ends."""
    lines = io.StringIO(_MARKS.sub(r"\1", text) if "\ufeff" in text else text, newline=None)
    taken: list[str] = []
    reader = csv.reader(_remember(lines, taken) if '"' in text else lines, delimiter=delimiter)
    width, end = 0, 0
    try:
        for row in reader:
            width = width or len(row)
            if len(taken) > 1:
                _check_quotes(f"{path}, line {end + 1}", taken, delimiter, width)
            taken.clear()
            end = reader.line_num
            if row and not (len(row) == 1 and not row[0].strip()):
                yield end, row
    except csv.Error as error:
        raise InputError(f"{path}, line {end + 1}: invalid CSV ({error}).") from None


def _remember(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    """Yield the lines, recording each in ``taken``."""
    for line in lines:
        taken.append(line)
        yield line


def _check_quotes(where: str, lines: Sequence[str], delimiter: str, width: int) -> None:
    """Refuse a row of several lines if a stray quote joined them.

    The quotes must close at the end of a cell, there must be as many cells as in the first row
    (``width``), and the lines must not be rows by themselves. ``where`` is the first line.
    """
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, strict=True))
        sensible = len(rows) == 1 and len(rows[0]) == width
    except csv.Error:
        sensible = False
    # Cells of each line if quotes were ordinary characters.
    alone = (line.count(delimiter) + 1 for line in lines if line.strip('" \t\n'))
    if not sensible or all(each == width for each in alone):
        raise InputError(
            f'{where}: a quote (") opens a cell that continues beyond the line, so that '
            f"{len(lines)} lines would become one row. Remove the quote, or double it and quote "
            "the cell."
        )


def check_columns(columns: object) -> None:
    """Raise unless ``columns`` is a mapping or None."""
    if columns is not None and not isinstance(columns, Mapping):
        raise InputError(
            "columns must map our words to the file's titles, such as {'anchor': 'probe'}, got "
            f"{columns!r}."
        )


def _check_words(columns: Mapping[str, str], known: Sequence[str]) -> None:
    """Raise if a word is unknown to the format, or a column is given for two words."""
    for word in columns:
        if word not in known:
            raise InputError(
                f"columns: {word!r} is unknown for this format; choose among {', '.join(known)}."
            )
    for word, other in itertools.combinations(columns, 2):
        if columns[word] == columns[other]:
            raise InputError(
                f"columns: {columns[word]!r} is given for both {word!r} and {other!r}."
            )


# --- numbers ----------------------------------------------------------------------------------


def looks_like_number(cell: str) -> bool:
    """Whether a cell is a number, whole or not."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def whole_numbers(table: Cells) -> Cells:
    """The table with 3 for 3.0, as written in a column with missing values."""
    return table.mapped(_whole)


def _whole(cell: str) -> str:
    start, dot, end = cell.partition(".")
    whole = dot and start.isascii() and start.isdigit() and end.strip("0") == ""
    return start if whole else cell

"""Errors and warnings of tercet, and of the libraries it uses."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "ConvergenceWarning",
    "DataWarning",
    "InputError",
    "RowsError",
    "SeparableWarning",
    "TercetError",
    "ignored",
    "list_places",
    "recorded",
]

_MESSAGE, _END = 3000, 1000  # characters of a message, and of its end, which has the cure


class TercetError(Exception):
    """Base class of every error that tercet raises on purpose.

    A message that values from data make too long is cut in its middle.
    """

    def __init__(self, message: str = "") -> None:
        if len(message) > _MESSAGE:
            message = f"{message[: _MESSAGE - _END]} … {message[-_END:]}"
        super().__init__(message)


class InputError(TercetError, ValueError):
    """The data or a parameter cannot be used; the message names the row, the value and the cure."""


class RowsError(InputError):
    """Invalid rows, while others may be valid.

    Attributes
    ----------
    rows : sequence of int
        Their numbers in the table.
    where, problem : str
        The place of the first of them, and what is wrong there.
    cure : str
    reason : str
        What is wrong with all of them, such as "whose winner was not shown"; empty if the problem
        may be elsewhere, such as an object missing from a list of names.
    places : sequence of str
        The place of each of them in the file, such as "line 12"; set by readers of files.
    hint : str
        What else can be done about it.
    """

    rows: Sequence[int] = ()
    where = problem = cure = reason = hint = ""
    places: Sequence[str] = ()

    @classmethod
    def about(
        cls, rows: Sequence[int], where: str, problem: str, cure: str, reason: str = ""
    ) -> RowsError:
        """The error about some rows, of which the first is described."""
        error = cls(f"{where}: {problem}. {cure}")
        error.rows, error.where, error.problem = rows, where, problem
        error.cure, error.reason = cure, reason
        return error

    def __str__(self) -> str:
        count = len(self.places or self.rows)
        listed = f": {list_places(self.places)}" if self.places else ""
        others = f" ({count} such rows in all{listed})"
        return (
            f"{self.where}: {self.problem}{others if count > 1 else ''}. {self.cure} {self.hint}"
        ).rstrip()


def list_places(places: Sequence[str], limit: int = 5) -> str:
    """The first places in a file, and the number of others."""
    more = len(places) - limit
    return ", ".join(places[:limit]) + (f" and {more} more" if more > 0 else "")


class DataWarning(UserWarning):
    """The answers can be used, but contain less information than they seem to."""


class SeparableWarning(ConvergenceWarning):  # type: ignore[misc]
    """An embedding satisfies every answer, so the likelihood has no maximum."""


@contextmanager
def recorded() -> Iterator[list[warnings.WarningMessage]]:
    """Collect warnings instead of showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


@contextmanager
def ignored(category: type[Warning], message: str = "") -> Iterator[None]:
    """Hide what another library warns about, by its category and a pattern of its beginning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message, category)
        yield

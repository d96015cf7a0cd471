"""The few ways in which tercet says that something is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "ConvergenceWarning",
    "DataWarning",
    "InputError",
    "RowsError",
    "SeparableWarning",
    "TercetError",
    "list_places",
]

_MESSAGE, _END = 3000, 1000  # letters of a message, and of its end, where the cure stands


class TercetError(Exception):
    """Base class of every error that tercet raises on purpose.

    A message is cut in its middle where something from data makes it longer than anybody reads.
    """

    def __init__(self, message: str = "") -> None:
        if len(message) > _MESSAGE:
            message = f"{message[: _MESSAGE - _END]} … {message[-_END:]}"
        super().__init__(message)


class InputError(TercetError, ValueError):
    """The data or a parameter cannot be used; the message names the row, the value and the cure."""


class RowsError(InputError):
    """Rows that cannot be answers, while others may be fine.

    Attributes
    ----------
    rows : sequence of int
        Which they are, in the table where they were found.
    where, problem : str
        The place of the first of them, and what is wrong there.
    cure : str
    reason : str
        What is wrong with all of them, such as "whose winner was not shown"; empty if the fault
        may lie elsewhere, as with an object that a list of names lacks.
    places : sequence of str
        Where in the file each of them is, such as "line 12"; filled in by readers of files.
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
        """The error about some rows, of which the first is told."""
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
    """The first of some places in a file, and how many more there are."""
    more = len(places) - limit
    return ", ".join(places[:limit]) + (f" and {more} more" if more > 0 else "")


class DataWarning(UserWarning):
    """The answers can be used, but say less than they seem to."""


class SeparableWarning(ConvergenceWarning):  # type: ignore[misc]
    """An embedding satisfies every answer, so the likelihood has no maximum."""

"""The few ways in which tercet says that something is wrong."""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["ConvergenceWarning", "DataWarning", "InputError", "SeparableWarning", "TercetError"]

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


class DataWarning(UserWarning):
    """The answers can be used, but say less than they seem to."""


class SeparableWarning(ConvergenceWarning):  # type: ignore[misc]
    """An embedding satisfies every answer, so the likelihood has no maximum."""

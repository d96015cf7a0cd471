"""The few ways in which tercet says that something is wrong."""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["ConvergenceWarning", "DataWarning", "InputError", "SeparableWarning", "TercetError"]


class TercetError(Exception):
    """Base class of every error that tercet raises on purpose."""


class InputError(TercetError, ValueError):
    """The data or a parameter cannot be used; the message names the row, the value and the cure."""


class DataWarning(UserWarning):
    """The answers can be used, but say less than they seem to."""


class SeparableWarning(ConvergenceWarning):  # type: ignore[misc]
    """An embedding satisfies every answer, so the likelihood has no maximum."""

"""What `estimate_dimension` returns: a table for people, and a recommendation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tercet.tables import Table
from tercet.text import counted, wrap

__all__ = ["DimensionEstimate", "DimensionRow", "Measured"]

_MARKED = "! The chains ended in different maps: by themselves they decide nothing."


class Measured(NamedTuple):
    """A value and its standard error; NaN where it was not measured."""

    value: float
    error: float


NOTHING = Measured(math.nan, math.nan)


class DimensionRow(NamedTuple):
    """All that was measured in one dimension; losses are per answer, in nats.

    Attributes
    ----------
    dimension : int
    training_loss : Measured
        Of the embedding of all answers; it can only fall.
    accuracy, log_loss : Measured
        On answers that were left out, cross-validated; errors are over units.
    p_value : float
        Of the corrected t-test that accuracy is higher than in the dimension before.
    left_out : Measured
        Log-loss of each unit given all others, averaged over the posterior.
    gain : Measured
        Log-probability that all left-out units together gain over the dimension before.
    bootstrap, posterior : Measured
        Average uncertainty over all comparisons, the paper's criterion; Monte Carlo errors.
    r_hat : float
        Of the posterior's chains; well above 1.01 in dimensions that are too low.
    k_hat : float
        Share of units for which leaving one out is a rough guess (Pareto k̂ above .7).
    agrees : bool or None
        Whether the chains ended in the same maps; if not, they decide nothing by themselves. None
        where there were none.
    """

    dimension: int
    training_loss: Measured
    accuracy: Measured
    log_loss: Measured
    p_value: float
    left_out: Measured
    gain: Measured
    bootstrap: Measured
    posterior: Measured
    r_hat: float
    k_hat: float
    agrees: bool | None = None


@dataclass(frozen=True)
class DimensionEstimate:
    """How many dimensions the answers need.

    Attributes
    ----------
    dimension : int or None
        What is recommended; None where the answers do not tell, or the chains do not agree.
    verdict : {"decided", "at least", "not decided", "cannot tell"}
        "at least" where the next dimension predicts a little better, was not tried, or its chains
        do not agree; "not decided" where the chains do not agree from the first step on; "cannot
        tell" where no dimension predicts better than a coin.
    reason : str
        In words.
    rows : tuple of DimensionRow
    unit : str
        What was left out together.
    n_answers : int
    hangs_on : int or None
        A dimension whose chains ended in different maps, and on which the next step hangs.
    """

    dimension: int | None
    verdict: str
    reason: str
    rows: tuple[DimensionRow, ...]
    unit: str
    n_answers: int
    hangs_on: int | None = None

    @property
    def disagreeing(self) -> tuple[int, ...]:
        """The dimensions in which the chains ended in different maps."""
        return tuple(row.dimension for row in self.rows if row.agrees is False)

    @property
    def at_the_end(self) -> bool:
        """Whether the recommendation is the largest dimension that was tried."""
        return self.dimension == self.rows[-1].dimension

    def table(self) -> str:
        """The rows, for reading; a star marks the recommendation, ! chains that disagree."""
        heads = [head for head, _ in _COLUMNS]
        lines = [
            [("*" if row.dimension == self.dimension else " ") + f"{row.dimension}"]
            + [cell(row) for _, cell in _COLUMNS]
            for row in self.rows
        ]
        return Table("", ["d", *heads], lines).text(right=True)

    def records(self) -> list[dict[str, float]]:
        """The rows as plain dicts, for ``pandas.DataFrame``; errors have names of their own."""
        rows = []
        for row in self.rows:
            flat: dict[str, float] = {}
            for name, value in row._asdict().items():
                if isinstance(value, Measured):
                    flat |= {name: value.value, f"{name}_se": value.error}
                else:
                    flat[name] = math.nan if value is None else value
            rows.append(flat)
        return rows

    def __str__(self) -> str:
        count = counted(self.dimension or 0, "dimension")
        start = {
            "decided": f"{count}.",
            "at least": f"{count}, perhaps more.",
            "not decided": "Not decided.",
            "cannot tell": "Cannot tell.",
        }[self.verdict]
        words = wrap(f"{start} {self.reason}")
        marked = f"\n\n{_MARKED}" if self.disagreeing else ""
        return f"{words}\n\n{self.table()}{marked}"


def _with_error(value: Measured, digits: int) -> str:
    if math.isnan(value.value):
        return "–"
    return f"{value.value:.{digits}f} ± {value.error:.{digits}f}"


def _plain(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)


_COLUMNS: tuple[tuple[str, Callable[[DimensionRow], str]], ...] = (
    ("training loss", lambda row: _with_error(row.training_loss, 3)),
    ("accuracy", lambda row: _with_error(row.accuracy, 3)),
    ("p", lambda row: _plain(row.p_value, ".2g")),
    ("log-loss", lambda row: _with_error(row.log_loss, 3)),
    ("one left out", lambda row: _with_error(row.left_out, 3)),
    ("gain", lambda row: _with_error(row.gain, 1)),
    ("bootstrap", lambda row: _with_error(row.bootstrap, 4)),
    ("posterior", lambda row: _with_error(row.posterior, 4)),
    ("R-hat", lambda row: ("!" if row.agrees is False else "") + _plain(row.r_hat, ".2f")),
    ("k-hat > .7", lambda row: _plain(row.k_hat, ".0%")),
)

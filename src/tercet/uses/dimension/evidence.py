"""Whether one more dimension predicts better: the tests, the decision rule, and the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from scipy import stats

from tercet.answers.choices import Choices
from tercet.answers.either import Answers, weights_of
from tercet.answers.questions import deal
from tercet.arrays import Floats, Index
from tercet.embedder import Embedder
from tercet.engine.backend import fit_anywhere
from tercet.engine.ties import tie_of
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.metrics import share_in_order, squared_distances
from tercet.models import Model
from tercet.running.provenance import seed_for
from tercet.tables import Table
from tercet.text import counted, wrap

__all__ = [
    "DimensionEstimate",
    "DimensionRow",
    "Measured",
]

# First keys of seeds: folds, and starts of fits.
_FOLDS, _STARTS = range(2)


class Folds(NamedTuple):
    """Cross-validated predictions of the answers."""

    accuracy: Floats  # (repeats·folds,) of each split
    loss: Floats  # (repeats·folds,) log-loss of each split; NaN for models without likelihood
    right: Floats  # (m,) share of the repeats in which the answer was predicted correctly
    log_loss: Floats  # (m,) mean over the repeats; NaN for models without likelihood


class Splits(NamedTuple):
    """Repeated K-fold: the training and test rows of each fit."""

    train: Sequence[Index]
    test: list[Index]
    folds: int
    seeds: list[np.random.SeedSequence]


def make_splits(units: Index, folds: int, repeats: int, entropy: int) -> Splits:
    """Repeatedly split the units (m,) into folds; the same splits serve every dimension."""
    rngs = [np.random.default_rng(seed_for(entropy, _FOLDS, k)) for k in range(repeats)]
    dealt = [deal(units, folds, rng) for rng in rngs]
    test = [np.flatnonzero(fold == k) for fold in dealt for k in range(folds)]
    seeds = [seed_for(entropy, _STARTS, j) for j in range(len(test))]
    return Splits(_Others(dealt, folds), test, folds, seeds)


class _Others(Sequence[Index]):
    """Rows of all folds but one, computed on demand to save memory and transfer to workers."""

    def __init__(self, dealt: list[Index], folds: int) -> None:
        self._dealt = dealt
        self._folds = folds

    def __len__(self) -> int:
        return len(self._dealt) * self._folds

    @overload
    def __getitem__(self, key: int) -> Index: ...
    @overload
    def __getitem__(self, key: slice) -> list[Index]: ...
    def __getitem__(self, key: int | slice) -> Any:
        numbers = range(len(self))[key]
        if isinstance(numbers, range):
            return [self[j] for j in numbers]
        repeat, k = divmod(numbers, self._folds)
        return np.flatnonzero(self._dealt[repeat] != k)


def cross_validate_embedding(
    estimator: Embedder,
    answers: Answers,
    splits: Splits,
    n_jobs: int | None,
    done: Callable[[int], object],
) -> Folds:
    """Fit every split and predict its held-out rows.

    Of a choice, the share of the comparisons within it that are predicted correctly counts.
    """
    model, m = estimator.model(), len(answers)
    if not model.is_probability and isinstance(answers, Choices):
        raise InputError(
            f"{type(estimator).__name__} is a loss of comparisons, and the answers are choices "
            "among more: cross-validate STE, TSTE, CKL or Shepard."
        )
    problem = estimator.settled_problem(answers, np.random.default_rng(splits.seeds[0]))
    tie = tie_of(problem)
    solver = estimator.solver(work=len(splits.train) * len(answers))
    weights = weights_of(answers)
    right, loss = np.zeros(m), np.zeros(m)
    accuracy, losses = np.empty(len(splits.test)), np.full(len(splits.test), math.nan)
    with closing(fit_anywhere(solver, problem, splits.train, splits.seeds, n_jobs)) as fits:
        for j, (fit, rows) in enumerate(zip(fits, splits.test, strict=True)):
            in_order = share_in_order(fit.embedding, answers[rows])
            accuracy[j] = np.average(in_order, weights=weights[rows])
            right[rows] += in_order
            known = losses_of(fit.embedding, answers[rows], model, tie)
            loss[rows] += known if model.is_probability else math.nan
            if model.is_probability:
                losses[j] = np.average(known, weights=weights[rows])
            done(1)
    repeats = len(accuracy) // splits.folds
    return Folds(accuracy, losses, right / repeats, loss / repeats)


def losses_of(embedding: Floats, answers: Answers, model: Model, tie: float = 1.0) -> Floats:
    """The model's loss (m,) of answers, given one map and the odds of "cannot tell"."""
    if isinstance(answers, Choices):
        one = Ensemble(embedding[None], model=model, parameters={"tie": np.array([tie])})
        return np.asarray(-np.log(np.maximum(one.choice_probability(answers), 1e-300)))
    near, far = squared_distances(embedding, answers)
    return model.loss(near, far, embedding.shape[1])[0]


def corrected_t_test(difference: Floats, folds: int) -> float:
    """One-sided p-value of an increase in accuracy, from differences (J,) on splits of K folds.

    t = (mean / sd) / √(1/J + 1/(K − 1)) with J − 1 degrees of freedom: splits share most of their
    answers, so the usual √(1/J) would be far too small (Nadeau & Bengio 2003; for the dimension of
    triplet embeddings Künstle, von Luxburg & Wichmann 2022).
    """
    mean, sd, count = difference.mean(), difference.std(ddof=1), len(difference)
    if sd == 0.0:
        return 0.0 if mean > 0.0 else 1.0
    t = mean / sd / math.sqrt(1.0 / count + 1.0 / (folds - 1.0))
    return float(stats.t.sf(t, count - 1))


class Gain(NamedTuple):
    """Gain in held-out log-probability of one dimension over another, summed over answers."""

    nats: float
    error: float  # its standard error over units

    @property
    def z(self) -> float:
        """The gain in standard errors."""
        return self.nats / self.error if self.error > 0.0 else math.copysign(math.inf, self.nats)


def gain(lower: Floats, higher: Floats) -> Gain:
    """The gain of the second of two held-out log-densities (U,) over the first."""
    difference = higher - lower
    error = math.sqrt(len(difference)) * difference.std(ddof=1)
    return Gain(float(difference.sum()), float(error))


def first_not_rejected(p_values: Sequence[float], level: float) -> int:
    """Number of steps of a fixed sequence of tests before the first that is not rejected."""
    for taken, p in enumerate(p_values):
        if not p < level:
            return taken
    return len(p_values)


# --- the rule: in two stages, add dimensions while one more predicts better ---------------------


NATS = 4.0
ERRORS = 1.0
ROUGH = 0.3
RISES = 0.5  # p-value below which accuracy increases, if only a little
CHANCE = 2.0  # standard errors by which predictions must exceed chance


class LeftOut(NamedTuple):
    """Leave-one-out predictions of a posterior."""

    log_density: Floats  # (U,)
    rough: float  # share of influential units (Pareto k̂ too large)
    r_hat: float = 1.0  # of its chains
    agrees: bool = True  # whether the chains ended in the same maps


class Decision(NamedTuple):
    """The recommendation, and its reason."""

    dimension: int | None
    verdict: str  # "decided", "at least", "not decided" or "cannot tell"
    reason: str
    undecided_at: int | None = None  # dimension whose chains disagree, so that the rule stopped


def decide(
    dimensions: Sequence[int],
    p_values: Sequence[float],
    level: float,
    left_out: Callable[[int], LeftOut],
    bits: Floats,
) -> Decision:
    """Add dimensions while one more predicts better.

    Parameters
    ----------
    dimensions : sequence of int
        In increasing order.
    p_values : sequence of float
        Of the t-test of each step.
    level : float
    left_out : function
        Leave-one-out predictions in a dimension; called only if needed.
    bits : (U,) array
        Of the answers of each unit, if all outcomes are equally likely: one for a comparison.
    """
    place = first = first_not_rejected(p_values, level)
    gains: list[Gain] = []
    stuck: int | None = None  # a dimension whose chains disagree, so that the step is undecided
    while place + 1 < len(dimensions):
        here, next_one = left_out(dimensions[place]), left_out(dimensions[place + 1])
        found = gain(here.log_density, next_one.log_density)
        gains.append(found)
        clear = found.nats > NATS and found.nats > ERRORS * found.error
        rises = p_values[place] < RISES
        if clear and not (here.agrees or rises):
            stuck = dimensions[place]
            break
        if not clear and not next_one.agrees:
            stuck = dimensions[place + 1]
            break
        if not clear or next_one.rough > ROUGH:
            break
        place += 1
    chosen = dimensions[place]
    last_one = left_out(chosen)
    chance = gain(-math.log(2.0) * bits, last_one.log_density)
    compared = place + 1 < len(dimensions) and stuck is None
    at_chance = chance.nats < CHANCE * chance.error and not first  # else accuracy increases
    if at_chance and (last_one.agrees or compared):
        return _cannot_tell(f"total gain {chance.nats:+.1f} ± {chance.error:.1f} nats")
    parts = [_about_accuracy(dimensions, p_values, first)]
    for step, found in enumerate(gains[: place - first]):
        parts.append(
            f"{counted(dimensions[first + step + 1], 'dimension')} predict held-out answers better "
            f"than {dimensions[first + step]} (total gain {found.nats:.1f} ± {found.error:.1f} "
            "nats)."
        )
    if stuck is not None:
        more = dimensions[place + 1]
        parts.append(
            f"Whether {counted(more, 'dimension')} predict better than {chosen} is undecided: in "
            f"{counted(stuck, 'dimension')} the chains ended in different maps (R-hat "
            f"{left_out(stuck).r_hat:.2f}), so their predictions are not evidence."
        )
        verdict = "at least" if place else "not decided"
        return Decision(chosen if place else None, verdict, " ".join(parts), stuck)
    if place + 1 == len(dimensions):
        return Decision(chosen, "at least", " ".join([*parts, _NO_MORE]))
    last, more = gains[-1], dimensions[place + 1]
    total = f"(total gain {last.nats:+.1f} ± {last.error:.1f} nats)"
    if clear:
        parts.append(
            f"{counted(more, 'dimension')} seem to predict better {total}, but there "
            f"leave-one-out is unreliable for {left_out(more).rough:.0%} of the answers, so this "
            "is not evidence. Collect more answers."
        )
        return Decision(chosen, "at least", " ".join(parts))
    if last.nats > 0.0:
        parts.append(
            f"{counted(more, 'dimension')} predict slightly better {total}: the answers do not "
            f"clearly distinguish {chosen} from {more}."
        )
        return Decision(chosen, "at least", " ".join(parts))
    parts.append(f"{counted(more, 'dimension')} predict no better than {chosen} {total}.")
    return Decision(chosen, "decided", " ".join(parts))


def decide_by_folds(
    dimensions: Sequence[int],
    p_values: Sequence[float],
    loss_p_values: Sequence[float],
    level: float,
    accuracy: Sequence[Measured],
) -> Decision:
    """As `decide`, by cross-validation alone: first by accuracy, then by log-loss.

    A single map in too many dimensions predicts worse for want of answers, so that nothing is ruled
    out: the verdict is "at least".

    Parameters
    ----------
    dimensions : sequence of int
        In increasing order.
    p_values, loss_p_values : sequence of float
        Of the t-tests of each step, that accuracy increases and that log-loss decreases.
    level : float
    accuracy : sequence of Measured
        In each dimension, of comparisons.
    """
    first = first_not_rejected(p_values, level)
    place = first + first_not_rejected(loss_p_values[first:], level)
    lowest, best = accuracy[0], accuracy[place]
    if best.value - 0.5 < CHANCE * best.error:
        return _cannot_tell(f"{best.value:.1%} ± {best.error:.1%} correct")
    parts = [_about_accuracy(dimensions, p_values, first)]
    if place > first:
        parts.append(
            f"Their log-loss decreases up to {counted(dimensions[place], 'dimension')} (last p = "
            f"{loss_p_values[place - 1]:.2g})."
        )
    if place:
        parts.append(
            f"{best.value:.1%} ± {best.error:.1%} of held-out comparisons are predicted correctly, "
            f"{lowest.value:.1%} in {counted(dimensions[0], 'dimension')}."
        )
    parts.append(
        _NO_MORE
        if place + 1 == len(dimensions)
        else f"Single maps in {counted(dimensions[place + 1], 'dimension')} do not clearly predict "
        "better; with more answers they may."
    )
    return Decision(dimensions[place], "at least", " ".join(parts))


_NO_MORE = "This is the largest number of dimensions tried: more were not tried, and may be needed."


def _about_accuracy(dimensions: Sequence[int], p_values: Sequence[float], first: int) -> str:
    """The result of the t-tests of accuracy, after so many steps."""
    if not first:
        return (
            "Accuracy on held-out answers does not clearly increase beyond "
            f"{counted(dimensions[0], 'dimension')}."
        )
    return (
        f"Accuracy on held-out answers increases up to {counted(dimensions[first], 'dimension')} "
        f"(t-tests, last p = {p_values[first - 1]:.2g})."
    )


def _cannot_tell(how: str) -> Decision:
    return Decision(
        None,
        "cannot tell",
        f"Held-out answers are predicted at chance level ({how}), so the dimension cannot be "
        "estimated. Collect more answers, or check whether people understood the question.",
    )


# --- the table, and the recommendation ----------------------------------------------------------


_MARKED = "! The chains ended in different maps: by themselves they are not evidence."


class Measured(NamedTuple):
    """A value and its standard error; NaN if not measured."""

    value: float
    error: float


NOTHING = Measured(math.nan, math.nan)


class DimensionRow(NamedTuple):
    """The evidence in one dimension; losses are per answer, in nats.

    Attributes
    ----------
    dimension : int
    training_loss : Measured
        Of the embedding of all answers; it always decreases.
    accuracy, log_loss : Measured
        Cross-validated, on held-out answers; errors are over units.
    p_value : float
        Of the corrected t-test that accuracy is higher than in the previous dimension.
    left_out : Measured
        Leave-one-out log-loss: of each unit given all others, averaged over the posterior.
    gain : Measured
        Total gain in leave-one-out log-probability over the previous dimension.
    bootstrap, posterior : Measured
        Average uncertainty over all comparisons, the paper's criterion; Monte Carlo errors.
    r_hat : float
        Of the posterior's chains; well above 1.01 in dimensions that are too low.
    k_hat : float
        Share of influential units, for which leave-one-out is unreliable (Pareto k̂ > 0.7).
    agrees : bool or None
        Whether the chains ended in the same maps; if not, they are not evidence by themselves. None
        if there were none.
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
        The recommendation; None if the evidence is insufficient or the chains do not agree.
    verdict : {"decided", "at least", "not decided", "cannot tell"}
        "at least" if the next dimension predicts slightly better, was not tried, or its chains do
        not agree; "not decided" if the chains do not agree from the first step on; "cannot tell" if
        no dimension predicts better than chance.
    reason : str
    rows : tuple of DimensionRow
    unit : str
        What was left out together.
    n_answers : int
    undecided_at : int or None
        A dimension whose chains ended in different maps, so that the next step is undecided.
    ran_longer : tuple of int
        Dimensions whose chains disagreed at first and had to run longer.
    by_chains : bool
        Whether leave-one-out by chains was used; else cross-validation alone.
    supported : int
        The largest dimension that the answers support; 0 if unknown.
    """

    dimension: int | None
    verdict: str
    reason: str
    rows: tuple[DimensionRow, ...]
    unit: str
    n_answers: int
    undecided_at: int | None = None
    ran_longer: tuple[int, ...] = ()
    by_chains: bool = True
    supported: int = 0

    @property
    def disagreeing(self) -> tuple[int, ...]:
        """The dimensions in which the chains ended in different maps."""
        return tuple(row.dimension for row in self.rows if row.agrees is False)

    @property
    def at_the_end(self) -> bool:
        """Whether the recommendation is the largest dimension tried."""
        return self.dimension == self.rows[-1].dimension

    @property
    def next_limit(self) -> int | None:
        """The limit with which to try more, where the recommendation is the largest tried."""
        last = self.rows[-1].dimension
        return min(2 * last, self.supported) if self.at_the_end and last < self.supported else None

    def table(self) -> str:
        """The rows as text; a star marks the recommendation, ! chains that disagree."""
        heads = [head for head, _ in _COLUMNS]
        lines = [
            [("*" if row.dimension == self.dimension else " ") + f"{row.dimension}"]
            + [cell(row) for _, cell in _COLUMNS]
            for row in self.rows
        ]
        return Table("", ["d", *heads], lines).text(right=True)

    def records(self) -> list[dict[str, float]]:
        """The rows as dicts, for ``pandas.DataFrame``; standard errors end in ``_se``."""
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
            "at least": f"At least {count}." if self.at_the_end else f"{count}, perhaps more.",
            "not decided": "Not decided.",
            "cannot tell": "Cannot tell.",
        }[self.verdict]
        more = self.next_limit and f" Try more (in Python: max_dimension={self.next_limit})."
        words = wrap(f"{start} {self.reason}{more or ''}")
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
    ("leave-one-out", lambda row: _with_error(row.left_out, 3)),
    ("gain", lambda row: _with_error(row.gain, 1)),
    ("bootstrap", lambda row: _with_error(row.bootstrap, 4)),
    ("posterior", lambda row: _with_error(row.posterior, 4)),
    ("R-hat", lambda row: ("!" if row.agrees is False else "") + _plain(row.r_hat, ".2f")),
    ("k-hat > .7", lambda row: _plain(row.k_hat, ".0%")),
)

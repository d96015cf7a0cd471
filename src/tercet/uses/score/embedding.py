"""How well a given embedding predicts what people answered.

An embedding is any array with a row for every object: a network's features, SPoSE, VICE, what a
language model says. It is not fitted. Luce's rule turns it into probabilities of answers: the
log-strength of a pair is its similarity over a temperature.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from tercet.answers.choices import FARTHEST, Choices, as_answers
from tercet.answers.either import Answers, chance_of, told, weights_of
from tercet.answers.questions import deal, default_unit, number_units
from tercet.answers.repeats import NoiseCeiling
from tercet.arrays import Floats, Index
from tercet.errors import InputError
from tercet.held_out import RARELY, sum_by_unit
from tercet.metrics import CHUNK
from tercet.models.base import POSITIVE, Model, Parameter
from tercet.models.luce import agreement_with
from tercet.running.provenance import Seed, as_generator
from tercet.text import closest, counted, percent, shown
from tercet.uncertainty import check_level, choice_probability
from tercet.uses.score.resample import (
    as_choices,
    ceiling_between,
    ceiling_dict,
    resample,
    span,
    tell_ceiling,
)

__all__ = ["SIMILARITIES", "Score", "match_rows", "score_embedding"]

SIMILARITIES = ("distance", "dot", "cosine")
FEW = 5  # observers; of fewer, questions are resampled instead
WIDEST = 12.0  # logarithms around the spread of similarities in which a temperature is sought
NEAR, FINE = 0.3, 1e-3  # the same around a good guess, and how exactly
LEAST = 1e-300  # probability, so that a logarithm is finite


# --- results ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Score:
    """How well an embedding predicts answers; printable.

    Each answer is one choice: of two pairs, of the three of an odd one out, of the k nearest.

    Attributes
    ----------
    accuracy : float
        Share of the answers that are the most likely outcome; ties count as a share.
    log_loss : float
        Mean of −log probability of the answers, in nats, at most 691 each.
    accuracy_interval, log_loss_interval : (low, high)
        Of resampled units.
    chance, chance_log_loss : float
        Both by guessing.
    in_order : float
        Share of the comparisons within the answers that are right, every answer counting once.
    temperature : float
        T that was given, or that of all answers; each answer has the one of the other folds.
    similarity : str
    how : str
        Where the temperature comes from.
    unit : str
        What was resampled: "observer", or "screen" or "comparison", all answers to one question.
    n_answers, n_units : int
    n_cannot_tell : int
        Answers "cannot tell", which are not scored: an embedding does not say when they are given.
        What people choose if they can tell does not depend on them (Davidson 1970).
    level : float
        Of the intervals.
    ceiling : NoiseCeiling or str
        The best that any model can do, or why it is unknown.
    probability, right : (m,) array
        Of each row: its probability, and whether it is the most likely outcome.
    """

    accuracy: float
    accuracy_interval: tuple[float, float]
    log_loss: float
    log_loss_interval: tuple[float, float]
    chance: float
    chance_log_loss: float
    in_order: float
    temperature: float
    similarity: str
    how: str
    unit: str
    n_answers: int
    n_cannot_tell: int
    n_units: int
    level: float
    ceiling: NoiseCeiling | str
    probability: Floats
    right: Floats

    def __str__(self) -> str:
        said = [
            f"{percent(self.accuracy)} {span(self.accuracy_interval, percent)} of "
            f"{counted(self.n_answers, 'answer')} predicted correctly; log-loss "
            f"{self.log_loss:.4f} {span(self.log_loss_interval, '{:.4f}'.format)} at the "
            f"temperature {self.temperature:.4g}."
        ]
        if self.chance < RARELY:
            said += [f"Of the comparisons within them, {percent(self.in_order)} are right."]
        if self.n_cannot_tell:
            said += [f"Left out: {self.n_cannot_tell} times “cannot tell”."]
        return "\n".join([*said, self.context])

    @property
    def context(self) -> str:
        """Guessing, the noise ceiling, and where temperature and intervals come from."""
        return "\n".join(
            [
                f"By guessing: {percent(self.chance)}, log-loss {self.chance_log_loss:.4f}. "
                f"Similarity: {self.similarity}; temperature {self.how}. "
                f"{100.0 * self.level:.3g} % intervals from resampling "
                f"{counted(self.n_units, self.unit)}.",
                tell_ceiling(self.ceiling),
            ]
        )

    def to_cells(self) -> dict[str, str]:
        """The row of a table of several."""
        low, high = self.accuracy_interval
        least, most = self.log_loss_interval
        return {
            "accuracy": f"{self.accuracy:.4f}",
            "from – to": f"{low:.4f} – {high:.4f}",
            "log-loss": f"{self.log_loss:.4f}",
            "from – to ": f"{least:.4f} – {most:.4f}",
            "temperature": f"{self.temperature:.4g}",
        }

    def to_dict(self) -> dict[str, Any]:
        """The numbers, for a table or JSON; not those of single answers."""
        low, high = self.accuracy_interval
        least, most = self.log_loss_interval
        return {
            "accuracy": self.accuracy,
            "accuracy_low": low,
            "accuracy_high": high,
            "log_loss": self.log_loss,
            "log_loss_low": least,
            "log_loss_high": most,
            "chance": self.chance,
            "chance_log_loss": self.chance_log_loss,
            "in_order": self.in_order,
            "similarity": self.similarity,
            "temperature": self.temperature,
            "temperature_from": self.how,
            "n_answers": self.n_answers,
            "n_cannot_tell": self.n_cannot_tell,
            "unit": self.unit,
            "n_units": self.n_units,
            **ceiling_dict(self.ceiling),
        }


# --- an embedding against answers -------------------------------------------------------------


def score_embedding(
    X: ArrayLike,
    answers: Any,
    *,
    similarity: str = "distance",
    temperature: float | None = None,
    names: Iterable[str] | None = None,
    repeats: Any = None,
    unit: str | None = None,
    folds: int = 5,
    level: float = 0.95,
    random_state: Seed = 0,
) -> Score:
    """Score any embedding by how well it predicts answers, which are not used to change it.

    Parameters
    ----------
    X : (n, d) array
        A row for every object, in the order of the objects of the answers, or as in ``names``.
    answers : Choices, Triplets, array or data frame
        Weights count, and whole ones are votes; triplets of one screen are one choice.
    similarity : {"distance", "dot", "cosine"}
        The log-strength of a pair is −d/T, d being its Euclidean distance (Shepard's law); x·y/T,
        as in SPoSE and VICE; or the cosine over T.
    temperature : float, optional
        T. By default it is fitted to the answers of the other folds, so that the log-loss is that
        of new answers. The accuracy does not depend on it. SPoSE and VICE have 1.
    names : sequence of str, optional
        The object of each row, if the answers have names too: rows are matched by name.
    repeats : Choices, Triplets, array or data frame, optional
        Answers of the same people to questions of this kind, some of them repeated, from which to
        take the noise ceiling; by default those that are scored.
    unit : {"observer", "comparison", "screen", "answer"}, optional
        What is resampled for the intervals: by default observers where five or more are known,
        else all answers to one question.
    folds : int
        For the temperature: folds of questions.
    level : float
        Of the intervals.
    random_state : None, int or numpy.random.Generator
        For folds and resampling.

    Returns
    -------
    Score

    Examples
    --------
    >>> import tercet as tc
    >>> points, _ = tc.simulate.gaussian_mixture(20, random_state=0)
    >>> answers = tc.simulate.noisy_triplets(points, 1000, noise=0.3, random_state=0)
    >>> print(tc.score_embedding(points, answers).to_dict()["accuracy"] > 0.75)
    True
    """
    check_level(level)
    check_choice("similarity", similarity, SIMILARITIES)
    if temperature is not None:
        POSITIVE.check("temperature", temperature)
    everything = as_answers(answers)
    points, given = match_rows(X, everything, names)
    n_cannot_tell = len(everything) - len(given)
    table = _table_of(points, given, similarity)
    rng = as_generator(random_state)
    questions = number_units(given)
    if temperature is None:
        loss, settled, how = _cross_validated(table, given, questions, folds, rng)
    else:
        loss, settled, how = table.losses(float(temperature)), float(temperature), "as given"
    right, in_order = table.agreement()
    weights, guessed = weights_of(given), chance_of(given)
    unit = unit or _choose_unit(given)
    units = number_units(given, unit)
    sizes = sum_by_unit(weights, units)
    found = np.stack([sum_by_unit(each * weights, units) for each in (right, loss)])
    means, intervals = resample(found, sizes, level, rng)
    return Score(
        means[0],
        intervals[0],
        means[1],
        intervals[1],
        float(np.average(guessed, weights=weights)),
        float(-np.average(np.log(guessed), weights=weights)),
        float(np.average(in_order, weights=weights)),
        settled,
        similarity,
        how,
        unit,
        given.n_answers,
        n_cannot_tell,
        len(sizes),
        level,
        ceiling_between(given if repeats is None else told(as_answers(repeats))),
        np.exp(-loss),
        right,
    )


def match_rows(
    X: ArrayLike, answers: Any, names: Iterable[str] | None = None
) -> tuple[Floats, Answers]:
    """Finite rows (n, d) in the order of the objects, and the answers about them.

    Parameters
    ----------
    X, answers, names
        As in `score_embedding`.
    """
    points = _check_points(X)
    known = None if names is None else _check_names(names, len(points))
    given = told(as_answers(answers))
    if known is not None and given.names is not None:
        place = {name: row for row, name in enumerate(known)}
        if missing := [name for name in given.names if name not in place]:
            meant = closest(missing[0], known)
            cure = "" if meant is None else f" Did you mean {meant!r}?"
            raise InputError(
                f"the embedding has no row for {missing[0]!r} ({counted(len(missing), 'object')} "
                f"of the answers without a row).{cure}"
            )
        return points[[place[name] for name in given.names]], given
    exact = given.names is not None
    if len(points) < given.n_objects or (exact and len(points) > given.n_objects):
        raise InputError(
            f"the embedding has {counted(len(points), 'row')}, and the answers are about "
            f"{given.n_objects} objects: give one row for every object, in their order, or the "
            "names of the rows (in Python: names=...)."
        )
    return points, given


def _check_points(X: ArrayLike) -> Floats:
    try:
        points = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "an embedding must be a table of numbers, a row for each object."
        ) from None
    if points.ndim != 2 or 0 in points.shape:
        raise InputError(
            f"an embedding must have shape (objects, dimensions), got shape {points.shape}."
        )
    bad = ~np.isfinite(points)
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise InputError(
            f"row {row} (counting from 0) of the embedding has the value {points[row, column]} in "
            f"column {column} ({counted(int(bad.any(axis=1).sum()), 'such row')}); every object "
            "needs finite numbers."
        )
    return points


def _check_names(names: Iterable[str], count: int) -> tuple[str, ...]:
    known = tuple(map(str, names))
    if len(known) != count:
        raise InputError(f"there are {len(known)} names for {count} rows of the embedding.")
    if len(set(known)) < count:
        twice = next(name for name in known if known.count(name) > 1)
        raise InputError(f"the name {twice!r} occurs twice; every row needs a name of its own.")
    return known


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        listed = ", ".join(map(repr, allowed))
        raise InputError(f"{name} must be one of {listed}, got {shown(value)}.")


def _choose_unit(answers: Answers) -> str:
    known = answers.observers
    enough = known is not None and len(np.unique(known)) >= FEW
    return "observer" if enough else default_unit(answers)


# --- strengths of pairs -----------------------------------------------------------------------


def _over_temperature(p: float, q: float, similarity: Floats, log_s: Floats, slope: Floats) -> None:
    np.multiply(similarity, p, out=log_s)
    slope[:] = p


@dataclass(frozen=True)
class _Given(Model):
    """Similarities that are given: their log-strength is s / T."""

    temperature: float = 1.0

    similarity = _over_temperature
    parameters: ClassVar[Mapping[str, Parameter]] = {"temperature": Parameter(POSITIVE)}

    def constants(self, n_components: int) -> tuple[float, float]:
        """Return 1 / T."""
        return 1.0 / self.temperature, 0.0


class _Pairs(NamedTuple):
    """Choices, and the similarities of the pairs that they are among."""

    choices: Choices
    similarity: Floats  # (E,)
    places: Index  # (A,) of the alternatives among these

    def losses(self, temperature: float) -> Floats:
        """−log probability of each choice, (m,)."""
        model = _Given(temperature)
        p, _ = choice_probability(self.similarity[None], self.places, self.choices, model)
        return -np.log(np.maximum(p[:, 0], LEAST))

    def agreement(self) -> tuple[Floats, Floats]:
        """Whether each choice is the most likely outcome, and the share that is in order."""
        choices = self.choices
        sign = np.where(choices.kinds == FARTHEST, -1.0, 1.0)
        scores = self.similarity[self.places] * np.repeat(sign, choices.n_alternatives)
        right, in_order = np.empty(len(choices)), np.empty(len(choices))
        agreement_with(choices.kinds, choices.cuts, choices.n_chosen, scores, right, in_order)
        return right, in_order

    def rows(self, chosen: Any) -> _Pairs:
        """Some of the choices."""
        kept = np.repeat(chosen, self.choices.n_alternatives)
        return _Pairs(self.choices[chosen], self.similarity, self.places[kept])

    @property
    def spread(self) -> float:
        """Root mean square of the similarities around the mean of their choice."""
        values, sizes = self.similarity[self.places], self.choices.n_alternatives
        means = np.add.reduceat(values, self.choices.cuts[:-1]) / sizes
        return float(np.sqrt(np.mean((values - np.repeat(means, sizes)) ** 2)))


def _table_of(points: Floats, answers: Answers, similarity: str) -> _Pairs:
    choices, n = as_choices(answers), len(points)
    codes, places = np.unique(choices.pairs @ np.array([n, 1]), return_inverse=True)
    first, second = np.divmod(codes, n)
    if similarity == "cosine":
        length = np.linalg.norm(points, axis=1, keepdims=True)
        if not length.all():
            row = int(np.argmin(length))
            raise InputError(
                f"row {row} (counting from 0) of the embedding is zero, which has no cosine with "
                "others; use another similarity, or leave the object out."
            )
        points = points / length
    found = np.empty(len(codes))
    step = max(1, CHUNK // points.shape[1])
    for start in range(0, len(codes), step):
        rows = slice(start, start + step)
        a, b = points[first[rows]], points[second[rows]]
        if similarity == "distance":
            found[rows] = -np.linalg.norm(a - b, axis=1)
        else:
            found[rows] = np.einsum("ij,ij->i", a, b)
    if not np.isfinite(found).all():
        raise InputError("the embedding has values too large to be multiplied; make them smaller.")
    return _Pairs(choices, found, places.reshape(-1))


# --- the temperature --------------------------------------------------------------------------


def _cross_validated(
    table: _Pairs, answers: Answers, questions: Index, folds: int, rng: np.random.Generator
) -> tuple[Floats, float, str]:
    """Loss of each answer at the temperature of the other folds; that of all answers; in words."""
    count, unit = int(questions.max()) + 1, default_unit(answers)
    if folds < 2 or count < 2 * folds:
        raise InputError(
            f"{counted(count, unit)} are too few to fit a temperature in {folds} folds; use fewer "
            "folds, or give the temperature (in Python: temperature=1.0)."
        )
    weights = weights_of(answers)
    place = deal(questions, folds, rng)
    losses, of_all = np.empty(len(answers)), _fit(table, weights)
    for fold in range(folds):
        out = place == fold
        losses[out] = table.rows(out).losses(_fit(table.rows(~out), weights[~out], of_all))
    return losses, of_all, f"from the other of {folds} folds of {unit}s"


def _fit(table: _Pairs, weights: Floats, near: float | None = None) -> float:
    """The temperature of the smallest loss, which has one minimum: it is convex in 1/T.

    ``near`` is where to look first.
    """
    spread = table.spread
    if spread == 0.0:  # all pairs are equally similar at any temperature
        return 1.0

    def loss(log_t: float) -> float:
        return float(table.losses(math.exp(log_t)) @ weights)

    middle, reach = (math.log(spread), WIDEST) if near is None else (math.log(near), NEAR)
    found = minimize_scalar(
        loss, bounds=(middle - reach, middle + reach), method="bounded", options={"xatol": FINE}
    )
    if near is not None and abs(found.x - middle) > reach - 2.0 * FINE:
        return _fit(table, weights)
    return math.exp(found.x)

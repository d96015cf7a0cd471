"""What the five estimators share: scikit-learn's conventions over the engine."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, TransformerTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from tercet.accelerator.device import WORTH_IT, check_device, find_device
from tercet.answers.choices import Choices, as_answers
from tercet.answers.diagnosis import warn_about
from tercet.answers.either import Answers, match_objects, split_of
from tercet.answers.streams import StreamedTriplets, blocks_of
from tercet.answers.triplets import Triplets, as_triplets, restore
from tercet.arrays import Floats
from tercet.engine.blocks import Blocks
from tercet.engine.kernels import code_of
from tercet.engine.lbfgs import TOLERANCE
from tercet.engine.problem import NO_BONUS, Problem, build_choice_problem, build_problem
from tercet.engine.search import Descent, Fit, Objective, Options, Solver, evaluate
from tercet.engine.ties import has_ties, settle_ties, tie_of
from tercet.errors import ConvergenceWarning, InputError, SeparableWarning
from tercet.metrics import satisfied, squared_distances
from tercet.models import Model
from tercet.running.memory import need_memory
from tercet.running.provenance import Seed, as_generator
from tercet.text import shown

_UNBOUNDED = "a larger map fits as well or better, so its size means nothing without a penalty"
_CURE = "add a penalty (in Python: penalty=1/30), the MAP under a Gaussian prior of variance 15"
_NO_SIGNS = "choices take no y: they say what was chosen; use Triplets to reverse."

_NUMBERS_A_SEARCH = 40  # in memory per coordinate, roughly: the optimiser's history
_COPIES = 3  # of draws, while they are collected


class Embedder(BaseEstimator):  # type: ignore[misc]
    """Base class of the estimators, which turn comparisons into an embedding.

    Attributes
    ----------
    model_class : type of Model
        The class of its model, whose fields are parameters of the estimator too.
    embedding_ : (n_objects, n_components) array
    loss_ : float
        Minimised loss, the penalty included.
    n_iter_ : int
    converged_ : bool
    separable_ : bool
        Whether the embedding satisfies every answer, so that the likelihood has no maximum.
    reason_ : str
        Why the optimiser stopped, in words.
    n_objects_ : int
    tie_ : float
        The odds of "cannot tell" against the geometric mean of the alternatives'; only if that is
        among the answers.
    classes_ : array([-1, 1])
        The answers "far" and "near", in the order of `predict_proba`.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_objects: int | None = None,
        penalty: float = 0.0,
        start: str = "spectral",
        n_init: int | str = "auto",
        max_iter: int = 2000,
        tol: float | None = 1e-9,
        device: str = "cpu",
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.n_objects = n_objects
        self.penalty = penalty
        self.start = start
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.device = device
        self.random_state = random_state

    model_class: ClassVar[type[Model]]

    def model(self) -> Model:
        """The model of one comparison, with this estimator's parameters."""
        names = [field.name for field in fields(self.model_class)]  # type: ignore[arg-type]
        return self.model_class(**{name: getattr(self, name) for name in names})

    def objective(self) -> Objective:
        """The loss that is minimised."""
        return Objective(self.model(), self.n_components, self.penalty)

    def solver(
        self, init: Floats | None = None, device: str | None = None, work: int | None = None
    ) -> Solver:
        """The solver, from its own starts or from init.

        ``device`` overrides the constructor's. ``work`` is the number of comparisons in all fits:
        with "auto", few are fitted on the CPU.
        """
        n_init = None if isinstance(self.n_init, str) else self.n_init
        options = Options(self.start, n_init, self.tol or TOLERANCE, self.max_iter)
        descent = Descent(self.objective(), options, init)
        if self.settle_device(device, work) == "cpu":
            return descent
        from tercet.accelerator.solver import OnDevice

        return OnDevice(descent, device or self.device)

    def settle_device(self, device: str | None = None, work: int | None = None) -> str:
        """The device to use, "cpu" or "gpu"; parameters as in `solver`."""
        device = self.device if device is None else device
        small = device == "auto" and work is not None and work < WORTH_IT
        return "cpu" if small or find_device(device) is None else "gpu"

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        n_objects: int | None = None,
        init: ArrayLike | None = None,
    ) -> Self:
        """Embed the objects.

        Parameters
        ----------
        X : Choices, Triplets, (m, 3) or (m, 4) array, data frame, or StreamedTriplets
            The answers. A loss that is no probability is fitted to the comparisons within choices.
        y : (m,) array of +1 and -1, optional
            -1 reverses a row: far was answered to be nearer. Default: rows are the answers.
        n_objects : int, optional
            Overrides the constructor's. Needed if the last objects are in no comparison.
        init : (n_objects, n_components) array, optional
            A warm start instead of ``start`` and ``n_init``.
        """
        self._check_parameters()
        answers = read_answers(X, y, self.n_objects if n_objects is None else n_objects)
        warn_about(answers, min_answers=self.n_components + 1, stacklevel=3)
        need_room(answers.n_objects, self.n_components)
        problem = self._problem(answers)
        if init is not None:
            init = _check_init(init, (answers.n_objects, self.n_components))
        rng = as_generator(self.random_state)
        fit, problem = self._settle(problem, rng, init, len(answers))
        if isinstance(problem, Problem) and has_ties(problem):
            self.tie_ = tie_of(problem)
        self.embedding_ = fit.embedding - fit.embedding.mean(axis=0)
        unbounded = self._is_unbounded(fit, problem)
        blocks = [answers] if isinstance(answers, Choices) else blocks_of(answers)
        self.separable_ = unbounded and all(
            satisfied(fit.embedding, block).all() for block in blocks
        )
        self.converged_ = fit.converged and not self.separable_
        self.loss_, self.n_iter_ = fit.loss, fit.n_iter
        self.reason_ = f"{fit.reason}; {_UNBOUNDED}" if unbounded else fit.reason
        self.n_objects_ = answers.n_objects
        self.classes_ = np.array([-1, 1])
        self._reference = Triplets([[0, 1, 2]], n_objects=answers.n_objects, names=answers.names)
        if isinstance(answers, Triplets | StreamedTriplets):
            self.n_features_in_ = answers.shape[1]
        self._warn()
        return self

    def _settle(
        self,
        problem: Problem | Blocks,
        rng: np.random.Generator,
        init: Floats | None = None,
        work: int | None = None,
    ) -> tuple[Fit, Problem | Blocks]:
        """Fit a problem, and its odds of "cannot tell" if that is an answer."""
        if not isinstance(problem, Problem) or not has_ties(problem):
            return self.solver(init, work=work).solve(problem, rng), problem

        def solve(at: Problem, X: Floats | None) -> Fit:
            return self.solver(init if X is None else X, work=work).solve(at, rng)

        return settle_ties(self.objective(), problem, solve)

    def settled_problem(self, answers: Answers, rng: np.random.Generator) -> Problem:
        """The answers for the engine, at the odds of "cannot tell" that go with their map."""
        problem = problem_of(answers)
        if not has_ties(problem):
            return problem
        settled = self._settle(problem, rng)[1]
        assert isinstance(settled, Problem)
        return settled

    def solve(self, answers: Answers, rng: np.random.Generator, init: Floats | None = None) -> Fit:
        """Fit answers that are already checked, without warnings."""
        return self._settle(self._problem(answers), rng, init, len(answers))[0]

    def fit_transform(self, X: Any, y: ArrayLike | None = None, **fit_params: Any) -> Floats:
        """Embed the objects and return the embedding (n_objects, n_components)."""
        return self.fit(X, y, **fit_params).transform()

    def transform(self, X: Any = None) -> Floats:
        """Return the embedding of the objects; comparisons X are not used."""
        check_is_fitted(self)
        embedding: Floats = self.embedding_
        return embedding

    def predict(self, X: Any) -> NDArray[np.int64]:
        """+1 where the embedding puts near nearer than far, else -1; shape (m,).

        For Choices, +1 where every comparison within what was chosen is so.
        """
        check_is_fitted(self)
        if isinstance(X, StreamedTriplets):
            return np.concatenate([self.predict(block) for block in X.blocks()])
        if isinstance(X, Choices):
            rows: Any = match_objects(X, self.n_objects_, self._reference.names)
        else:
            rows = self._reference.encode(X)
        return np.where(satisfied(self.embedding_, rows), 1, -1)

    @available_if(lambda self: has_probabilities(self.model()))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probability (m, 2) of the answers "far" and "near", if the model has probabilities.

        Parameters
        ----------
        X : Triplets, (m, 3) or (m, 4) array of numbers or names, or StreamedTriplets
        """
        check_is_fitted(self)
        refuse_choices(X)
        if isinstance(X, StreamedTriplets):
            return np.concatenate([self.predict_proba(block) for block in X.blocks()])
        lengths = squared_distances(self.embedding_, self._reference.encode(X))
        near = self.model().probability(*lengths, self.embedding_.shape[1])
        return np.stack([1.0 - near, near], axis=1)

    def score(self, X: Any, y: ArrayLike | None = None) -> float:
        """Weighted share of the answers that the embedding predicts correctly."""
        return score_of(self.predict, X, y)

    def _problem(self, answers: Answers | StreamedTriplets) -> Problem | Blocks:
        if isinstance(answers, StreamedTriplets):
            return answers
        return problem_of(answers_for(self.model(), answers))

    def _is_unbounded(self, fit: Fit, problem: Problem | Blocks) -> bool:
        """Whether a map of twice the size fits as well: then the likelihood has no maximum."""
        objective = self.objective()
        if not objective.runs_away:
            return False
        return evaluate(objective, problem, 2.0 * fit.embedding)[0] <= fit.loss * (1.0 + 1e-9)

    def _warn(self) -> None:
        name = type(self).__name__
        if self.separable_:
            warnings.warn(
                f"{name}: this embedding satisfies every answer, so a larger copy of it is more "
                "likely: the likelihood has no maximum and the size of the map means nothing. To "
                f"make the size meaningful, {_CURE}.",
                SeparableWarning,
                stacklevel=3,
            )
        elif not self.converged_:
            warnings.warn(
                f"{name} {self.reason_} (loss {self.loss_:.6g}). If the answers hardly contradict "
                f"each other, {_CURE}; otherwise allow more iterations (in Python: raise "
                "max_iter).",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _check_parameters(self) -> None:
        require(self, "n_components", is_count(self.n_components), "a positive whole number")
        require(self, "max_iter", is_count(self.max_iter), "a positive whole number")
        valid = self.tol is None or (is_number(self.tol) and self.tol > 0)
        require(self, "tol", valid, "a positive number")
        require(self, "penalty", is_number(self.penalty) and self.penalty >= 0, "0 or more")
        require(self, "start", self.start in ("spectral", "random"), "'spectral' or 'random'")
        valid = is_count(self.n_init) or self.n_init == "auto"
        require(self, "n_init", valid, "'auto' or a positive whole number")
        check_device(self.device)
        code_of(self.model())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True  # objects are numbered from 0
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        tags.target_tags.required = False
        tags.estimator_type = "classifier"  # of rows: +1 near, -1 far
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


def read_answers(X: Any, y: ArrayLike | None, n_objects: int | None) -> Answers | StreamedTriplets:
    """The answers as Choices or Triplets, reversed where y is -1; or a stream."""
    if isinstance(X, StreamedTriplets):
        return as_stream(X, y, n_objects)
    return given_answers(X, y, n_objects)


def given_answers(X: Any, y: ArrayLike | None, n_objects: int | None) -> Answers:
    """The answers, with the rows of triplets reversed where y is -1; as choices if on screens."""
    if y is None:
        return as_answers(X, n_objects)
    if isinstance(X, Choices):
        raise InputError(_NO_SIGNS)
    return as_answers(oriented(as_triplets(X, n_objects), y))


def answers_for(model: Model, answers: Answers) -> Answers:
    """The answers as the model takes them: a loss takes the comparisons within choices."""
    return answers if model.is_probability else split_of(answers)


def problem_of(answers: Answers, *, use_edges: bool | None = None, sides: int = 0) -> Problem:
    """The answers as the engine takes them.

    Parameters
    ----------
    answers : Triplets or Choices
    use_edges : bool, optional
        The form of triplets.
    sides : int
        The number of positions whose odds differ; 0 if sides do not matter.
    """
    n, weights = answers.n_objects, answers.weights
    if isinstance(answers, Triplets):
        return build_problem(answers.array, n, weights, use_edges=use_edges)
    shown, bonus = (answers.positions, np.zeros(2 + sides)) if sides else (None, NO_BONUS)
    if shown is not None:
        shown = np.where(shown < sides, shown, -1)
    return build_choice_problem(
        answers.pairs, answers.cuts, answers.kinds, answers.n_chosen, n, weights, shown, bonus
    )


def has_probabilities(model: Model) -> bool:
    """True; an AttributeError that says why, for a model without probabilities."""
    try:
        model.log_prob(1.0, 2.0)
    except InputError as error:
        raise AttributeError(f"there is no predict_proba: {error}") from None
    return True


def refuse_choices(answers: Any) -> None:
    """Raise if these are choices, whose outcomes are more than near and far."""
    if isinstance(answers, Choices):
        raise InputError(
            "predict_proba is about comparisons, whose outcomes are far and near, and these are "
            "choices; log_likelihood(X, choices, model) gives the probability of what was chosen."
        )


def score_of(
    predict: Callable[[Any], NDArray[np.int64]], answers: Any, y: ArrayLike | None
) -> float:
    """Weighted share of the answers, of any kind, that are predicted correctly.

    Parameters
    ----------
    predict : callable
        Gives +1 where the row is predicted to be the answer, else -1; (m,).
    answers : Choices, Triplets, array, data frame or StreamedTriplets
    y : (m,) array of +1 and -1, optional
    """
    if isinstance(answers, StreamedTriplets):
        _refuse_signs(y)
        right = total = 0.0
        for block in answers.blocks():
            weight = float(len(block) if block.weights is None else block.weights.sum())
            right += weight * score_of(predict, block, None)
            total += weight
        return right / total
    if isinstance(answers, Choices) and y is not None:
        raise InputError(_NO_SIGNS)
    weights = answers.weights if isinstance(answers, Triplets | Choices) else None
    correct = predict(answers) == (1 if y is None else _signs(y, len(answers)))
    return float(np.average(correct, weights=weights))


def as_stream(
    stream: StreamedTriplets, y: ArrayLike | None, n_objects: int | None
) -> StreamedTriplets:
    """The stream with that number of objects."""
    _refuse_signs(y)
    return stream.with_objects(n_objects)


def need_room(n_objects: int, n_components: int, n_draws: int = 1) -> None:
    """Raise if the maps, and the search for one of them, would not fit into memory."""
    maps = "a map" if n_draws == 1 else f"{n_draws} maps"
    fewer = "" if n_draws == 1 else " fewer of them (n_samples, n_chains),"
    need_memory(
        (_NUMBERS_A_SEARCH + _COPIES * (n_draws - 1)) * n_objects * n_components,
        f"{maps[0].upper()}{maps[1:]} of {n_objects} objects in {n_components} dimensions",
        f"use{fewer} fewer objects or fewer dimensions",
    )


def _refuse_signs(y: ArrayLike | None) -> None:
    if y is not None:
        raise InputError("a stream takes no y: its rows are the answers; reverse them in the file.")


def oriented(triplets: Triplets, y: ArrayLike) -> Triplets:
    """Reverse the rows where y is -1."""
    turned = [0, 2, 1] if triplets.shape[1] == 3 else [2, 3, 0, 1]
    first = _signs(y, len(triplets))[:, None] == 1
    rows = np.where(first, triplets.array, triplets.array[:, turned])
    return restore(triplets._fields._replace(array=rows))


def _signs(y: ArrayLike, m: int) -> NDArray[np.int64]:
    signs = np.asarray(y)
    if signs.ndim == 2 and signs.shape[1] == 1:
        signs = column_or_1d(signs, warn=True)
    if signs.dtype == np.bool_:
        signs = np.where(signs, 1, -1)
    if signs.shape != (m,):
        raise InputError(f"y must have one answer per comparison, {m}; got shape {signs.shape}.")
    if bad := np.flatnonzero((signs != 1) & (signs != -1)).tolist():
        raise InputError(
            f"y must be +1 (near is nearer) or -1 (far is nearer), got {signs[bad[0]]!r} in row "
            f"{bad[0]} ({len(bad)} such rows in total)."
        )
    return signs.astype(np.int64)


def _check_init(init: ArrayLike, shape: tuple[int, int]) -> Floats:
    start = np.asarray(init, dtype=np.float64)
    if start.shape != shape or not np.isfinite(start).all():
        raise InputError(
            f"init must be finite coordinates of shape (n_objects, n_components) = {shape}, got "
            f"shape {start.shape}."
        )
    return start


def require(estimator: object, name: str, valid: bool, expected: str) -> None:
    """Raise unless the parameter of that name is valid."""
    if not valid:
        raise InputError(
            f"The {name!r} parameter of {type(estimator).__name__} must be {expected}, got "
            f"{shown(getattr(estimator, name))}."
        )


def is_number(value: object) -> bool:
    """Whether it is a finite real number."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and bool(np.isfinite(value))  # type: ignore[call-overload]


def is_count(value: object) -> bool:
    """Whether it is a positive whole number."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1

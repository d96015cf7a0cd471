"""The likelihood of answers given maps, for other people's samplers and optimisers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.answers.choices import as_answers
from tercet.answers.either import Answers
from tercet.arrays import Floats
from tercet.embedder import Embedder, problem_of
from tercet.engine.kernels import add_edges, code_of
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.models import Model
from tercet.uncertainty import bonus_by_draw, check_ties, constants_by_draw

__all__ = ["log_likelihood", "log_likelihood_gradient"]


def log_likelihood(
    X: ArrayLike,
    answers: Any,
    model: Embedder | Model,
    *,
    parameters: Mapping[str, ArrayLike] | None = None,
) -> Floats:
    """Log-probability of each answer, given a map or several.

    Parameters
    ----------
    X : (n, d) or (S, n, d) array
        One map of the objects, or S maps; row i is object i of the answers. Their scale matters:
        it is the model's inverse noise.
    answers : Choices, Triplets, array or data frame
        m answers. Comparisons that share a screen are one, and a weight multiplies.
    model : estimator, such as ``STE()`` or ``Shepard(gamma=2)``
        A model with probabilities; only its parameters matter, it need not be fitted.
    parameters : mapping of str to number or (S,) array, optional
        Parameters that replace the model's or differ between maps, and "lapse", the share of
        answers given at random, "tie", the odds of "cannot tell", and "bias_0", "bias_1", …, the
        log-odds of positions: what ``Ensemble.parameters`` has.

    Returns
    -------
    (m,) or (S, m) array
        At least -744 for a weight of one, below which a probability is rounded to zero.

    Examples
    --------
    >>> import tercet as tc
    >>> tc.log_likelihood([[0.0], [1.0], [2.0]], [[0, 1, 2]], tc.STE()).round(4)
    array([-0.0486])
    """
    ensemble, given, is_one = _prepare(X, answers, model, parameters)
    found = ensemble.log_likelihood(given)
    return found[0] if is_one else found


def log_likelihood_gradient(
    X: ArrayLike,
    answers: Any,
    model: Embedder | Model,
    *,
    parameters: Mapping[str, ArrayLike] | None = None,
) -> tuple[Any, Floats]:
    """Sum of the log-likelihood over all answers, and its gradient by the map.

    Parameters
    ----------
    X, answers, model, parameters
        As in `log_likelihood`.

    Returns
    -------
    value : float, or (S,) array
    gradient : (n, d) or (S, n, d) array

    Examples
    --------
    >>> import tercet as tc
    >>> value, by_X = tc.log_likelihood_gradient([[0.0], [1.0], [2.0]], [[0, 1, 2]], tc.STE())
    >>> by_X.round(3).ravel().tolist()
    [-0.095, -0.095, 0.19]
    """
    ensemble, given, is_one = _prepare(X, answers, model, parameters)
    known, maps, drawn = ensemble.model, ensemble.draws, ensemble.parameters
    assert known is not None
    count, _, d = maps.shape
    bonus = bonus_by_draw(drawn, count)
    problem = problem_of(given, use_edges=True, sides=bonus.shape[1] - 2)
    constants = np.broadcast_to(constants_by_draw(known, d, drawn), (count, 2))
    lapse = drawn.get("lapse", np.zeros(count))
    values, gradients = np.empty(count), np.zeros(maps.shape)
    for s, (p, q) in enumerate(constants):
        X_s, by_X = maps[s].copy(), gradients[s]
        values[s] = -add_edges(code_of(known), p, q, lapse[s], bonus[s], problem, X_s, by_X)[0]
    np.negative(gradients, out=gradients)
    return (float(values[0]), gradients[0]) if is_one else (values, gradients)


def _prepare(
    X: ArrayLike,
    answers: Any,
    model: Embedder | Model,
    parameters: Mapping[str, ArrayLike] | None,
) -> tuple[Ensemble, Answers, bool]:
    """The maps with their model and parameters, the answers, and whether there is only one map."""
    maps, is_one = _as_maps(X)
    given = as_answers(answers, maps.shape[1])
    drawn = _check_parameters(parameters, len(maps))
    check_ties(given, drawn)
    ensemble = Ensemble(maps, model=_model_of(model), parameters=drawn, names=given.names)
    return ensemble, given, is_one


def _as_maps(X: ArrayLike) -> tuple[Floats, bool]:
    """Maps (S, n, d), and whether only one was given."""
    points = np.asarray(X, dtype=np.float64)
    if points.ndim not in (2, 3) or 0 in points.shape:
        raise InputError(
            "X must be a map of shape (objects, dimensions), or several of shape (maps, objects, "
            f"dimensions); got shape {points.shape}."
        )
    if not np.isfinite(points).all():
        where = np.argwhere(~np.isfinite(points))[0].tolist()
        raise InputError(f"X has a value that is not finite at {where}; remove or replace it.")
    return np.ascontiguousarray(points.reshape(-1, *points.shape[-2:])), points.ndim == 2


def _model_of(model: Embedder | Model) -> Model:
    """The model, which has probabilities."""
    known = model.model() if isinstance(model, Embedder) else model
    if not isinstance(known, Model):
        raise InputError(
            f"model must be an estimator, such as STE() or Shepard(), got {type(model).__name__}."
        )
    known.log_prob(1.0, 2.0)  # raises if it is a loss
    return known


def _check_parameters(parameters: Mapping[str, ArrayLike] | None, count: int) -> dict[str, Floats]:
    """Parameters as (S,) arrays; the ensemble checks their values."""
    given = {
        name: np.asarray(value, dtype=np.float64) for name, value in (parameters or {}).items()
    }
    for name, value in given.items():
        if value.shape not in ((), (count,)):
            raise InputError(
                f"the parameter {name} must be one number, or one for each of {count} maps; got "
                f"shape {value.shape}."
            )
    return {name: np.broadcast_to(value, (count,)).copy() for name, value in given.items()}

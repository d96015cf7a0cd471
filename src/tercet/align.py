"""Procrustes: align embeddings to a reference, or to their common mean (paper, section 3.2).

Answers determine an embedding only up to rotation, reflection and translation (and, for some
models, scale). Alignment is for display: rotation and translation change no distance, but
``scale=True`` does, so probabilities are computed from embeddings as drawn.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tercet.arrays import Floats
from tercet.errors import ConvergenceWarning, InputError

__all__ = ["Alignment", "align", "generalised_procrustes", "procrustes"]


_NOTHING = np.finfo(float).eps ** 2  # share of the largest sum of squares: equal up to rounding


@dataclass(frozen=True)
class Alignment:
    """Result of ``procrustes``: ``aligned = scale · X @ rotation + shift``.

    Attributes
    ----------
    aligned : (n, d) array
    rotation : (d, d) array
        Orthogonal; its determinant is −1 when the best fit is a reflection.
    scale : float
    shift : (d,) array
    distance : float
        ‖aligned − reference‖²_F, the squared Frobenius norm of the residual.
    """

    aligned: Floats
    rotation: Floats
    scale: float
    shift: Floats
    distance: float


def procrustes(
    X: ArrayLike, reference: ArrayLike, *, translate: bool = True, scale: bool = False
) -> Alignment:
    """Align one embedding to a reference by rotation, reflection and, if asked, shift and scaling.

    Minimises ‖s·XU + 1tᵀ − reference‖²_F over orthogonal U (Schönemann 1966; Borg and Groenen
    2005, chapter 20). If all points of X are equal, the scale is 1.

    Parameters
    ----------
    X, reference : (n, d) array
    translate : bool
        Whether to shift; without it, rotation is about the origin.
    scale : bool
        Whether to scale by s ≥ 0.
    """
    X, reference = _points(X, "the embedding"), _points(reference, "the reference")
    _same_shape(X.shape, reference.shape)
    aligned, rotation, factor, shift = _fit(X[None], reference, translate, scale)
    distance = float(np.sum((aligned[0] - reference) ** 2))
    return Alignment(aligned[0], rotation[0], float(factor[0]), shift[0], distance)


def align(
    samples: ArrayLike, reference: ArrayLike, *, translate: bool = True, scale: bool = False
) -> Floats:
    """Align each of many embeddings (S, n, d) to one reference (n, d); returns (S, n, d)."""
    samples, reference = _stack(samples), _points(reference, "the reference")
    _same_shape(samples.shape[1:], reference.shape)
    return _fit(samples, reference, translate, scale)[0]


def generalised_procrustes(
    samples: ArrayLike,
    *,
    translate: bool = True,
    scale: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-10,
) -> tuple[Floats, Floats]:
    """Align embeddings with each other, without choosing one of them as the reference.

    Alternates between the mean embedding and the alignment of every embedding to it, which never
    increases Σ_k ‖aligned_k − mean‖²_F (Gower 1975; ten Berge 1977). With ``scale``, the sum of
    squares Σ_k ‖aligned_k‖²_F is kept constant: otherwise shrinking everything to a point would fit
    best. The result has the orientation of the first embedding whose points differ, and is centred
    on the origin if ``translate`` is true.

    Parameters
    ----------
    samples : (S, n, d) array
    translate, scale : bool
        As in ``procrustes``.
    max_iter : int
        Maximal number of iterations; if reached, there is a ``ConvergenceWarning``.
    tol : float
        Stop when an iteration lowers the sum above by less than this share of the total sum of
        squares.

    Returns
    -------
    aligned : (S, n, d) array
    mean : (n, d) array
    """
    aligned = _stack(samples)
    if translate:
        aligned = aligned - aligned.mean(axis=1, keepdims=True)
    total = float(np.sum(aligned**2))
    # Aligned to points that are all (almost) equal, the others would be scaled to zero.
    squares = np.sum(aligned**2, axis=(1, 2))
    mean = aligned[int(np.argmax(squares >= _NOTHING * squares.max()))]
    before = np.inf
    for _ in range(max_iter):
        aligned = _fit(aligned, mean, False, scale)[0]
        if scale and total > 0:
            # Gower's constraint. Together with the regression scales of _fit this is one step of
            # the power method for ten Berge's eigenvector of optimal scales.
            aligned *= np.sqrt(total / np.sum(aligned**2))
        mean = aligned.mean(axis=0)
        spread = float(np.sum((aligned - mean) ** 2))
        if before - spread <= tol * total:
            return aligned, mean
        before = spread
    warnings.warn(
        f"Generalised Procrustes did not converge in max_iter={max_iter} iterations; the mean "
        "may be slightly off (in Python: raise max_iter or tol).",
        ConvergenceWarning,
        stacklevel=2,
    )
    return aligned, mean


def _fit(
    samples: Floats, reference: Floats, translate: bool, scale: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """Aligned (S, n, d), rotations (S, d, d), scales (S,) and shifts (S, d)."""
    n_samples, _, d = samples.shape
    centre, target = np.zeros((n_samples, d)), np.zeros(d)
    if translate:
        centre, target = samples.mean(axis=1), reference.mean(axis=0)
    centred = samples - centre[:, None]
    left, singular, right = np.linalg.svd(centred.transpose(0, 2, 1) @ (reference - target))
    rotation = left @ right
    factor = np.ones(n_samples)
    if scale:
        size = np.sum(centred**2, axis=(1, 2))
        # Equal points leave only rounding errors after centring, which must not be scaled up.
        floor = (np.finfo(float).eps ** 2) * samples[0].size * np.sum(samples**2, axis=(1, 2))
        np.divide(singular.sum(axis=1), size, out=factor, where=size > floor)
    aligned = factor[:, None, None] * (centred @ rotation) + target
    shift = target - factor[:, None] * (centre[:, None] @ rotation)[:, 0]
    return aligned, rotation, factor, shift


def _points(X: ArrayLike, what: str) -> Floats:
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.size == 0:
        raise InputError(
            f"{what} must be an array of shape (objects, dimensions), got shape {points.shape}."
        )
    if not np.isfinite(points).all():
        row = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise InputError(f"{what} has a value that is not finite in row {row}: {points[row]}.")
    return points


def _stack(samples: ArrayLike) -> Floats:
    stack = np.asarray(samples, dtype=np.float64)
    if stack.ndim != 3 or stack.size == 0:
        raise InputError(
            "samples must be an array of shape (samples, objects, dimensions), "
            f"got shape {stack.shape}."
        )
    if not np.isfinite(stack).all():
        sample = int(np.argmin(np.isfinite(stack).all(axis=(1, 2))))
        raise InputError(f"sample {sample} has a value that is not finite.")
    return stack


def _same_shape(shape: tuple[int, ...], reference: tuple[int, ...]) -> None:
    if shape != reference:
        raise InputError(
            f"the embedding has shape {shape} and the reference {reference}; both need the same "
            "objects and the same number of dimensions."
        )

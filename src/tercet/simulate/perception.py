"""Observers who differ in how they perceive stimuli (paper, section 5.4 and supplement)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.errors import InputError
from tercet.running.memory import need_memory
from tercet.running.provenance import Seed, as_generator
from tercet.simulate.comparisons import answer, random_comparisons

__all__ = ["mean_perception", "observers", "perception_functions", "pinned_kernel"]


def mean_perception(stimuli: ArrayLike) -> Floats:
    """Return the mean perception function m(x) = 1/(1 + exp(−25(x − 0.5)))."""
    x = np.asarray(stimuli, dtype=np.float64)
    return 1.0 / (1.0 + np.exp(-25.0 * (x - 0.5)))


def pinned_kernel(stimuli: ArrayLike, lengthscale: float) -> Floats:
    """Covariance (n, n) of perception functions that all agree at the stimuli 0 and 1.

    The squared-exponential kernel k conditioned on x = (0, 1), as in the supplement:
    k_post(s, t) = k(s, t) − k(s, x) k(x, x)⁻¹ k(x, t).
    """
    if not 0.0 < lengthscale < np.inf:
        raise InputError(f"lengthscale must be positive, got {lengthscale}.")
    s = _stimuli(stimuli)
    need_memory(4 * len(s) ** 2, f"The covariances of {len(s)} stimuli", "give fewer stimuli")
    pins = np.array([0.0, 1.0])

    def k(a: Floats, b: Floats) -> Floats:
        return np.asarray(np.exp(-((a[:, None] - b) ** 2) / (2.0 * lengthscale**2)))

    # For long lengthscales the two pins become one: the pseudo-inverse tends to the right limit.
    inverse = np.linalg.pinv(k(pins, pins), rcond=1e-10, hermitian=True)
    return k(s, s) - k(s, pins) @ inverse @ k(pins, s)


def perception_functions(
    n_observers: int, stimuli: ArrayLike, *, lengthscale: float, random_state: Seed = None
) -> Floats:
    """Perception functions of observers, from the paper's pinned Gaussian process.

    The covariance is ``pinned_kernel``; the mean stays ``mean_perception``, which is 4e-6 away
    from the identity at 0 and 1. The shorter the lengthscale, the more observers differ.

    Parameters
    ----------
    n_observers : int
    stimuli : (n,) array
        In [0, 1]; the paper has ``np.linspace(0, 1, 20)``.
    lengthscale : float
        The paper has 2, 0.88 and 0.54.

    Returns
    -------
    (n_observers, n) array
    """
    s = _stimuli(stimuli)
    # The kernel is numerically singular, so there is no Cholesky factor: clip negative rounding.
    values, vectors = np.linalg.eigh(pinned_kernel(s, lengthscale))
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    root[(s == 0.0) | (s == 1.0)] = 0.0
    normal = as_generator(random_state).standard_normal((n_observers, len(s)))
    return np.asarray(mean_perception(s) + normal @ root.T)


def observers(
    perceptions: ArrayLike,
    m: int,
    *,
    noise: float = 0.0,
    lapse: float = 0.0,
    replace: bool = False,
    random_state: Seed = None,
) -> Triplets:
    """Answers of observers who each compare stimuli by their own perception function.

    Observer o answers m random comparisons by the distances |ψ_oi − ψ_oj|.

    Parameters
    ----------
    perceptions : (k, n) array
        Perceived value ψ of every stimulus, one row per observer; see ``perception_functions``.
    m : int
        Comparisons per observer.
    noise, lapse : float
        As in ``answer``.
    replace : bool
        Whether an observer may be asked the same comparison again.

    Returns
    -------
    Triplets
        k·m triplets; ``observers`` is the row of ``perceptions`` of each.
    """
    psi = np.asarray(perceptions, dtype=np.float64)
    if psi.ndim != 2 or not len(psi):
        raise InputError(f"perceptions must have shape (observers, stimuli), got {psi.shape}.")
    rng = as_generator(random_state)
    n, answers = psi.shape[1], []
    for own in psi:
        asked = random_comparisons(n, m, replace=replace, random_state=rng)
        answers.append(answer(own[:, None], asked, noise=noise, lapse=lapse, random_state=rng))
    labels = np.repeat(np.arange(len(psi)), m)
    return Triplets(np.concatenate(answers), n_objects=n, observers=labels)


def _stimuli(stimuli: ArrayLike) -> Floats:
    s = np.asarray(stimuli, dtype=np.float64)
    if s.ndim != 1 or not ((s >= 0.0) & (s <= 1.0)).all():
        raise InputError("stimuli must be a list of numbers in [0, 1]; rescale them first.")
    return s

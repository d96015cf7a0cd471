"""How simulated people choose among pairs: with the paper's noise, or as a model says."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from tercet.answers.choices import Choices
from tercet.answers.either import asked_with_ties, rearranged
from tercet.arrays import Floats, Index
from tercet.errors import InputError
from tercet.kinds import FARTHEST, FARTHEST_OR_TIE
from tercet.models import ANY_PROBABILITY
from tercet.models.base import NOT_NEGATIVE, Model
from tercet.models.luce import draw_outcomes, order_outcomes

__all__ = ["People", "check_share", "people_who", "squared_lengths"]


class People(NamedTuple):
    """How people answer: by Luce's rule if they have a model, else with the paper's noise.

    Attributes
    ----------
    noise : float
        σ: each distance δ is perceived as z with log z ~ N(log δ, σ²), and the alternatives are
        chosen by z. Without effect if there is a model.
    model : Model or None
        A similarity: the odds of a pair are proportional to it.
    lapse : float
        Share of answers that are any of the outcomes, all equally likely.
    tie : float
        With a model, the odds of "cannot tell" against the geometric mean of the alternatives', as
        an answer to choices of one; never, if 0.
    bias : tuple of float
        With a model, the log-odds by which the alternative at each position is preferred.
    """

    noise: float = 0.0
    model: Model | None = None
    lapse: float = 0.0
    tie: float = 0.0
    bias: tuple[float, ...] = ()

    def probability(self, near: Floats, far: Floats, n_components: int) -> Floats:
        """Probability that the first of two squared distances is called smaller, lapses apart.

        With noise Φ(log(δ_far/δ_near) / (σ√2)), which is 0, ½ or 1 for σ = 0.
        """
        if self.model is not None:
            return np.asarray(self.model.probability(near, far, n_components))
        if self.noise == 0.0:
            return np.asarray(0.5 + 0.5 * np.sign(far - near))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = ndtr(0.5 * (np.log(far) - np.log(near)) / (self.noise * np.sqrt(2.0)))
        return np.where(near == far, 0.5, found)

    def choose(
        self, asked: Choices, squared: Floats, n_components: int, rng: np.random.Generator
    ) -> Choices:
        """The same questions, answered.

        Parameters
        ----------
        asked : Choices
        squared : (A,) array
            Squared distance of each alternative.
        n_components : int
            Dimension of the map, on which some models depend.
        """
        asked = asked_with_ties(asked, allowed=self.tie > 0.0)
        order, chosen = np.empty(len(squared), dtype=np.int64), asked.n_chosen.copy()
        cuts, kinds = asked.cuts, asked.kinds
        if self.model is None:
            scores = self._perceive(asked, squared, rng)
            order_outcomes(kinds, cuts, scores, order, chosen)
        else:
            log_s, _ = self.model.log_similarity(squared, n_components)
            if self.bias:
                log_s += _sides(asked, np.array(self.bias))
            even = float(np.log(self.tie)) if self.tie > 0.0 else 0.0
            draw_outcomes(self.lapse, even, cuts, kinds, log_s, rng, order, chosen)
        return rearranged(asked, order, chosen)

    def _perceive(self, asked: Choices, squared: Floats, rng: np.random.Generator) -> Floats:
        """How near each alternative (A,) is perceived to be; equal ones are told by a coin."""
        with np.errstate(divide="ignore"):  # a distance of 0 stays nearest under any noise
            scores = -0.5 * np.log(squared)
        if self.noise > 0.0:
            scores += self.noise * rng.standard_normal(len(scores))
        scores *= np.repeat(np.where(asked.kinds == FARTHEST, -1.0, 1.0), asked.n_alternatives)
        if self.lapse > 0.0:
            lapsed = np.repeat(rng.random(len(asked)) < self.lapse, asked.n_alternatives)
            scores[lapsed] = rng.random(np.count_nonzero(lapsed))
        if self.noise > 0.0 and np.isfinite(scores).all():
            return scores  # all different
        coins = np.lexsort((rng.random(len(scores)), scores))
        scores[coins] = np.arange(len(scores))
        return scores


def people_who(
    noise: float,
    model: Model | None,
    lapse: float,
    tie: float = 0.0,
    bias: ArrayLike | None = None,
) -> People:
    """People with these settings, checked."""
    if not 0.0 <= noise < np.inf:
        raise InputError(f"noise must be a standard deviation of at least 0, got {noise}.")
    check_share(lapse, "lapse")
    if model is not None and not (isinstance(model, Model) and model.is_probability):
        raise InputError(
            f"{type(model).__name__} gives no probability of a choice; use a model that does, "
            f"such as {ANY_PROBABILITY}.model() (in Python: tc.CKL(2).model())."
        )
    NOT_NEGATIVE.check("tie", tie)
    sides = np.asarray(() if bias is None else bias, dtype=np.float64)
    if sides.ndim != 1 or not np.isfinite(sides).all():
        raise InputError(
            f"bias must be one finite log-odds for every position, got shape {sides.shape}."
        )
    if model is None and (tie > 0.0 or len(sides)):
        raise InputError("tie and bias are odds of answers by a model: give a model, not noise.")
    return People(float(noise), model, float(lapse), float(tie), tuple(sides.tolist()))


def _sides(choices: Choices, bias: Floats) -> Floats:
    """What the positions of the alternatives (A,) add to their log-similarities."""
    shown = choices.positions
    if shown is None or shown.max() >= len(bias):
        have = "no positions" if shown is None else f"{shown.max() + 1} positions"
        raise InputError(
            f"bias must be one log-odds for every position; the choices have {have}, got "
            f"{len(bias)} log-odds."
        )
    farthest = np.isin(choices.kinds, (FARTHEST, FARTHEST_OR_TIE))
    sign = np.repeat(np.where(farthest, -1.0, 1.0), choices.n_alternatives)
    return np.where(shown < 0, 0.0, sign * bias[shown])


def squared_lengths(points: ArrayLike, pairs: Index, maps: Index | None = None) -> Floats:
    """Squared distance (A,) of pairs (A, 2).

    Parameters
    ----------
    points : (n, d) array, or (k, n, d) array
    pairs : (A, 2) integer array
    maps : (A,) integer array, optional
        For several maps, the one of each pair.
    """
    positions = np.asarray(points, dtype=np.float64)
    if not np.isfinite(positions).all():
        raise InputError("the points have values that are not finite numbers.")
    one, other = pairs.T
    apart = (
        positions[one] - positions[other]
        if maps is None
        else positions[maps, one] - positions[maps, other]
    )
    return np.asarray(np.einsum("ak,ak->a", apart, apart))


def check_share(value: float, name: str) -> None:
    """Raise unless the value is a share."""
    if not 0.0 <= value <= 1.0:
        raise InputError(f"{name} is a share and must lie in [0, 1], got {value}.")

"""PerceptualScale: a scale with its samples, intervals and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.arrays import Floats
from tercet.errors import InputError
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.uses.scale import intervals
from tercet.uses.scale.intervals import Jackknifed, Made
from tercet.uses.scale.thresholds import Thresholds, predict_thresholds

FEW = 10  # observers, up to which resampled intervals are clearly too narrow: docs/scale.md


@dataclass(frozen=True, eq=False)
class PerceptualScale:
    """Perceived values ψ of stimuli on a line, with samples of their uncertainty.

    Attributes
    ----------
    stimuli : (n,) array
        Physical values, increasing; everything else is in this order.
    names : tuple of str or None
        The names of the objects.
    is_normalised : bool
        Whether in every sample, and in the estimate, the first stimulus is 0 and the last is 1.
        Else the first is 0 and, in the signed-difference model, the noise has σ = 1.
    lapse : float or None
        Lapse rate, where the model has it; `lapse_samples` (S,).
    ill_defined : float
        Share of samples in which the first and the last stimulus are out of order, or closer
        together than a twentieth of the scale, so that normalising is unstable.
    undetermined : float
        Share of replicates, in the signed-difference model, that do not determine all values.
    made : Made
        How it was estimated: the model, the kind of samples, the answers.
    """

    stimuli: Floats
    names: tuple[str, ...] | None
    is_normalised: bool
    made: Made = field(repr=False)
    _samples: Floats = field(repr=False)  # (S, n): in order, the first stimulus 0
    _estimate: Floats | None = field(repr=False, default=None)  # (n,), or the mean of the samples
    lapse: float | None = None
    lapse_samples: Floats | None = field(repr=False, default=None)
    ill_defined: float = 0.0
    undetermined: float = 0.0

    # --- values -------------------------------------------------------------------------------

    @cached_property
    def samples(self) -> Floats:
        """The scale in every sample, (S, n)."""
        return self._shown(self._samples)

    @cached_property
    def estimate(self) -> Floats:
        """The scale (n,): the maximum-likelihood estimate for bootstraps, else the mean."""
        return self.mean() if self._estimate is None else self._shown(self._estimate)

    @property
    def sigma(self) -> float | None:
        """The noise of one judgement in units of the scale; None for distance models."""
        if self.made.task is None or self._estimate is None:
            return None
        return float(self._sigma(self._estimate[None])[0])

    @property
    def sigma_samples(self) -> Floats | None:
        """The noise in every sample, (S,)."""
        return None if self.made.task is None else self._sigma(self._samples)

    @property
    def log_likelihood(self) -> float | None:
        """Log-likelihood of the estimate, in the signed-difference model."""
        return None if self.made.task is None else float(self.made.task.fit.log_likelihood[0])

    @property
    def aic(self) -> float | None:
        """Akaike's criterion 2k − 2 log L, in the signed-difference model."""
        task, value = self.made.task, self.log_likelihood
        return None if task is None or value is None else 2.0 * (task.n_parameters - value)

    @property
    def about(self) -> str:
        """Population the intervals refer to, in a sentence; empty where observers are unknown."""
        many = self.made.n_observers
        if many is None:
            return ""
        if many == 1:
            return "Intervals are about this one observer."
        if self.made.resamples_observers:
            rough = "; with so few they are approximate, rather too narrow" if many <= FEW else ""
            return f"Intervals are about people in general ({many} observers resampled){rough}."
        return f"Intervals are about these {many} observers, not about people in general."

    def mean(self) -> Floats:
        """Mean (n,) of the samples."""
        return np.asarray(self.samples.mean(axis=0))

    def std(self) -> Floats:
        """Standard deviation (n,) of the samples, S − 1 in the denominator."""
        return np.asarray(self.samples.std(axis=0, ddof=1))

    def interval(self, level: float = 0.95, kind: str = "percentile") -> Floats:
        """Interval (n, 2) of every value.

        Parameters
        ----------
        level : float
        kind : {"percentile", "basic", "bca"}
            BCa needs a full-size bootstrap of answers, observers or screens; see `intervals.bca`.
        """
        return self._interval(
            self.samples, self.estimate, level, kind, lambda j: self._shown(j.scale)
        )

    def sigma_interval(self, level: float = 0.95, kind: str = "percentile") -> Floats:
        """Interval (2,) of the noise σ."""
        if self.sigma is None or not self.is_normalised:
            raise InputError(
                "σ has an interval on a normalised scale of the signed-difference model; use "
                "model='difference' and normalised()."
            )
        samples, estimate = self._sigma(self._samples), np.array([self.sigma])
        limits = self._interval(
            samples[:, None], estimate, level, kind, lambda j: self._sigma(j.scale)[:, None]
        )
        return np.asarray(limits[0])

    def lapse_interval(self, level: float = 0.95, kind: str = "percentile") -> Floats:
        """Interval (2,) of the lapse rate."""
        if self.lapse is None or self.lapse_samples is None:
            raise InputError("this scale has no lapse rate; ask for it with lapse=True.")
        samples, estimate = self.lapse_samples[:, None], np.array([self.lapse])
        limits = self._interval(samples, estimate, level, kind, lambda j: j.lapse[:, None])
        return np.asarray(limits[0])

    # --- views --------------------------------------------------------------------------------

    def normalised(self) -> Self:
        """The same scale from 0 to 1."""
        return replace(self, is_normalised=True)

    def unnormalised(self) -> Self:
        """The same scale in units of the noise (signed-difference model), or of the map."""
        return replace(self, is_normalised=False)

    def difference(
        self,
        other: PerceptualScale,
        level: float = 0.95,
        *,
        paired: bool = False,
        random_state: Seed = 0,
    ) -> ScaleDifference:
        """Difference between this scale and another of the same stimuli, with intervals.

        Parameters
        ----------
        other : PerceptualScale
            Of another group or condition.
        level : float
        paired : bool
            By default the two are taken as independent, and their samples are paired at random.
            If the same observers took part in both conditions, resample observers in both
            (unit="observer") with the same seed, so that sample k has the same observers.
        random_state : None, int or Generator
            For the pairing.
        """
        if not np.array_equal(self.stimuli, other.stimuli):
            raise InputError(
                "only scales of the same stimuli can be compared, and these stimuli differ."
            )
        if self.is_normalised != other.is_normalised:
            raise InputError(
                "one scale is normalised and the other is not; use normalised() on both."
            )
        if paired:
            check_paired(self.made, other.made)
        seed = None if paired else seed_for(entropy_of(random_state))
        estimate = self.estimate - other.estimate
        return subtract(self.stimuli, estimate, self.samples, other.samples, level, seed)

    def threshold(
        self,
        at: ArrayLike | None = None,
        *,
        d_prime: float | None = None,
        probability: float | None = None,
        noise: str = "percept",
        level: float = 0.95,
    ) -> Thresholds:
        """Predict just noticeable increments of the stimulus from the scale.

        Scale values between the stimuli are interpolated (PCHIP). The signed-difference model
        estimates the noise σ of a *judgement*, which compares four percepts; discrimination
        compares two. See `noise` for the assumption that connects them.

        Parameters
        ----------
        at : array of stimulus values, optional
            Standards; by default all stimuli but the last.
        d_prime : float, optional
            The criterion, 1 by default: ψ(s + Δ) − ψ(s) in standard deviations of the noise.
        probability : float, optional
            Instead, the proportion correct in two-alternative forced choice, Φ(d′/√2).
        noise : {"percept", "judgement"}
            "percept": the noise of a judgement is that of four independent, equally noisy percepts
            and nothing else, so one percept has σ/2. "judgement": use σ itself, without this
            assumption; the criterion is then a difference that a judgement detects.
        level : float
            Of the intervals.

        Returns
        -------
        Thresholds
            NaN where the increment would lie beyond the last stimulus.
        """
        task = self.made.task
        if task is None:
            raise InputError(
                "thresholds need the noise of a judgement, which a distance model does not have; "
                "use model='difference'."
            )
        if task.link != "probit":
            raise InputError(
                f"d′ is a number of standard deviations of normal noise, and the link is "
                f"{task.link!r}; use link='probit', with lapse=True if there are lapses."
            )
        scales = (self._samples, task.fit.scale[0])
        return predict_thresholds(self.stimuli, *scales, at, d_prime, probability, noise, level)

    # --- words --------------------------------------------------------------------------------

    def table(self, level: float = 0.95, kind: str = "percentile") -> str:
        """The scale as text: stimulus, estimate, standard deviation and interval."""
        limits = self.interval(level, kind)
        labels = [f"{value:g}" for value in self.stimuli]
        if self.names is not None:
            labels = [f"{label}  {name}" for label, name in zip(labels, self.names, strict=True)]
        width = max(8, *map(len, labels))
        lines = [f"{'stimulus':>{width}}  {'scale':>8}  {'sd':>7}  {level:.0%} interval ({kind})"]
        columns = zip(labels, self.estimate, self.std(), limits, strict=True)
        lines += [
            f"{label:>{width}}  {value:8.3f}  {sd:7.3f}  {low:.3f} to {high:.3f}"
            for label, value, sd, (low, high) in columns
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        made = self.made
        lines = [f"Perceptual scale of {len(self.stimuli)} stimuli: {made.model}"]
        drawn = f"{len(self._samples)} samples, {made.uncertainty}"
        if made.uncertainty == "bootstrap":
            drawn += f" of {made.unit}s"
        lines += [drawn + (", normalised" if self.is_normalised else ", unnormalised")]
        lines += [self.about] if self.about else []
        if self.sigma is not None and self.is_normalised:
            low, high = self.sigma_interval()
            lines += [f"noise σ {self.sigma:.3f} ({low:.3f} to {high:.3f})"]
        if self.lapse is not None and self.lapse_samples is not None:
            low, high = self.lapse_interval()
            lines += [f"lapse rate {self.lapse:.3f} ({low:.3f} to {high:.3f})"]
        if self.aic is not None:
            lines += [f"log-likelihood {self.log_likelihood:.1f}, AIC {self.aic:.1f}"]
        if self.ill_defined > 0.0:
            lines += [
                "first and last stimulus out of order, or close together, in "
                f"{self.ill_defined:.1%} of samples"
            ]
        if self.undetermined > 0.0:
            lines += [f"values undetermined in {self.undetermined:.1%} of samples"]
        return "\n".join([*lines, self.table()])

    # --- inside -------------------------------------------------------------------------------

    def _shown(self, scale: Floats) -> Floats:
        return np.asarray(scale / scale[..., -1:]) if self.is_normalised else scale

    def _sigma(self, scale: Floats) -> Floats:
        return np.asarray(1.0 / scale[:, -1]) if self.is_normalised else np.ones(len(scale))

    @cached_property
    def _jackknifed(self) -> Jackknifed:
        if self.made.jackknife is None:
            raise InputError(
                "BCa intervals are for bootstraps that draw as many answers, observers or screens "
                f"as there are, with replacement; these samples are not ({self.made.uncertainty}). "
                "Use kind='percentile', or uncertainty='bootstrap'."
            )
        return self.made.jackknife()

    def _interval(
        self,
        samples: Floats,
        estimate: Floats,
        level: float,
        kind: str,
        without: Callable[[Jackknifed], Floats],  # the estimates (u, k) without one unit
    ) -> Floats:
        if kind == "percentile":
            return intervals.percentile(samples, level)
        if kind == "basic":
            return intervals.basic(samples, estimate, level)
        if kind != "bca":
            known = ", ".join(map(repr, intervals.KINDS))
            raise InputError(f"kind must be one of {known}, got {kind!r}.")
        left = self._jackknifed
        return intervals.bca(samples, estimate, without(left), level, left.stands_for)


# --- two scales compared: groups, or conditions -------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScaleDifference:
    """Difference of two scales: estimate (n,), samples (S, n), interval (n, 2) at the level."""

    stimuli: Floats
    estimate: Floats
    samples: Floats = field(repr=False)
    interval: Floats
    level: float

    def __str__(self) -> str:
        lines = [f"stimulus  difference  {self.level:.0%} interval"]
        for value, difference, (low, high) in zip(
            self.stimuli, self.estimate, self.interval, strict=True
        ):
            mark = " *" if low > 0.0 or high < 0.0 else ""
            lines += [f"{value:8g}  {difference:10.3f}  {low:.3f} to {high:.3f}{mark}"]
        return "\n".join([*lines, "* interval excludes 0 (pointwise, for each stimulus alone)"])


def subtract(
    stimuli: Floats,
    estimate: Floats,
    mine: Floats,
    theirs: Floats,
    level: float,
    seed: np.random.SeedSequence | None,
) -> ScaleDifference:
    """Differences of samples (S, n); without a seed they are paired, else shuffled."""
    if seed is not None:
        theirs = theirs[np.random.default_rng(seed).permutation(len(theirs))]
    size = min(len(mine), len(theirs))
    samples = mine[:size] - theirs[:size]
    return ScaleDifference(stimuli, estimate, samples, intervals.percentile(samples, level), level)


def check_paired(mine: Made, theirs: Made) -> None:
    """Raise unless sample k of two scales has the same observers."""
    same = (
        mine.unit == theirs.unit == "observer"
        and mine.uncertainty == theirs.uncertainty == "bootstrap"
        and mine.entropy == theirs.entropy
        and (mine.task is None) == (theirs.task is None)  # the two kinds use different seeds
        and np.array_equal(_observers(mine), _observers(theirs))
    )
    if not same:
        raise InputError(
            "paired=True needs two scales whose samples resample the same observers: estimate both "
            "with unit='observer' and the same random_state, from answers of the same observers."
        )


def _observers(made: Made) -> NDArray[Any]:
    """In the bootstrap's order, in which 1, 2, 10 and "1", "10", "2" differ."""
    assert made.triplets is not None
    assert made.triplets.observers is not None
    return np.unique(made.triplets.observers)

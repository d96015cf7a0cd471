"""What a report tells: everything found about a file of answers, before it is put into words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.ensemble import Ensemble
from tercet.io.reading import Reading
from tercet.posterior.diagnostics import Diagnostics
from tercet.triplets import Triplets
from tercet.uses.abstain.risk import RiskCoverage
from tercet.uses.active import Suggestions
from tercet.uses.compare.misfit import LackOfFit
from tercet.uses.dimension import DimensionEstimate
from tercet.uses.quality import AnswerCheck
from tercet.uses.scale import GoodnessOfFit, PerceptualScale

__all__ = ["Analysis", "Certainty", "Claim", "HeldOut", "Neighbour", "Object", "Settings"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """What a report is made with.

    Attributes
    ----------
    dimension : int, optional
        Of the map; by default it is estimated.
    dimensions : sequence of int, optional
        That are tried to estimate it; by default 1 to 6, or as many as the answers can carry.
    uncertainty : {"posterior", "bootstrap", "scale"}, optional
        By default the posterior; the signed-difference scale for files of difference scaling, and a
        bootstrap where there are very many answers or objects.
    level : float
        Of ellipses and intervals, and from which a comparison counts as sure.
    questions : int
        How many to suggest.
    samples : int, optional
        Maps of each chain, or of the bootstrap; by default as suits the file.
    seed : int
    n_jobs : int, optional
    progress : bool, optional
    """

    dimension: int | None = None
    uncertainty: str | None = None
    level: float = 0.95
    questions: int = 10
    seed: int = 0
    n_jobs: int | None = None
    progress: bool | None = None
    dimensions: Sequence[int] | None = None
    samples: int | None = None


class Neighbour(NamedTuple):
    """An object near another one."""

    object: int
    distance: float  # mean over the draws
    probability: float  # that of all objects it is the nearest one


class Object(NamedTuple):
    """An object of the map."""

    number: int
    name: str
    answers: int  # in which it occurs
    position: Floats  # (d,)
    interval: Floats  # (d, 2)
    radius: float  # root mean squared distance of the draws from the position
    neighbours: tuple[Neighbour, ...]  # nearest first


class Claim(NamedTuple):
    """A comparison, and how sure the map is of it."""

    anchor: int
    near: int
    far: int  # farther than near with a probability of at least ½
    probability: float
    answers: int  # how often it was asked
    agreed: int  # how many of these said near


class Certainty(NamedTuple):
    """How sure the map is of all comparisons."""

    share: float  # of comparisons that are surer than the level
    shares: tuple[tuple[float, float], ...]  # a confidence, and the share that is surer
    expected_error: float  # average uncertainty, min(π, 1 − π)
    most: tuple[Claim, ...]  # certain first
    least: tuple[Claim, ...]  # doubtful first; none that is surer than the level
    contested: tuple[Claim, ...]  # answered, more often than not, against a map that is sure
    counted: int  # comparisons looked at
    is_sample: bool  # whether these are a random choice of all


class HeldOut(NamedTuple):
    """How well the answers are predicted by maps that have not seen them."""

    probability: Floats  # of each answer given, left out with its unit; votes one by one
    how: str  # such as "each comparison left out in turn"
    accuracy: float
    accuracy_error: float  # standard error
    log_loss: float
    log_loss_error: float
    rough: float  # share of units for which leaving them out is a rough guess
    calibration_error: float
    calibration_limit: float  # which chance would seldom exceed, were all probabilities right
    curve: RiskCoverage


@dataclass(frozen=True)
class Analysis:
    """Everything a report tells.

    Attributes
    ----------
    reading : Reading
    triplets : Triplets
        The answers.
    check : AnswerCheck
    dimension : DimensionEstimate or None
        None where the dimension was given, or could not be estimated, and of kind "scale".
    dimension_note : str
        What else is to be said about the dimension, such as that a part of the answers was used.
    ensemble : Ensemble
        Points in principal axes, in whole the same for all draws.
    kind : {"posterior", "bootstrap", "scale"}
        "scale" is the signed-difference model of stimuli on a line, resampled.
    why : str
        Why this kind, in words.
    diagnostics : Diagnostics or None
        None for a bootstrap.
    objects : tuple of Object
    certainty : Certainty
    held_out : HeldOut or None
        None where there are too few answers to leave some out, and of kind "scale".
    lack_of_fit : LackOfFit or None
        None where no comparison was asked twice, or the ensemble is not a posterior.
    suggestions : Suggestions or None
        None for quadruplets, of kind "scale", and where nothing is left to ask.
    warnings : tuple of str
        What to be careful about, gravest first.
    settings : Settings
    versions : dict
    seconds : float
        It took.
    scale : PerceptualScale or None
        Of kind "scale".
    goodness : GoodnessOfFit or None
        Of that scale.
    """

    reading: Reading
    triplets: Triplets
    check: AnswerCheck
    dimension: DimensionEstimate | None
    dimension_note: str
    ensemble: Ensemble
    kind: str
    why: str
    diagnostics: Diagnostics | None
    objects: tuple[Object, ...]
    certainty: Certainty
    held_out: HeldOut | None
    lack_of_fit: LackOfFit | None
    suggestions: Suggestions | None
    warnings: tuple[str, ...]
    settings: Settings
    versions: dict[str, str]
    seconds: float
    scale: PerceptualScale | None = None
    goodness: GoodnessOfFit | None = None

    @property
    def n_components(self) -> int:
        """Of the map."""
        return self.ensemble.n_components

    @property
    def chains_agree(self) -> bool:
        """Whether the chains ended in the same maps; True where there are none."""
        return self.diagnostics is None or self.diagnostics.agree

    @property
    def is_provisional(self) -> bool:
        """Whether the map is shown with a warning, and nothing is said to be certain.

        That is so where the chains ended in different maps, and where the number of dimensions was
        to be estimated and could not be decided.
        """
        undecided = self.dimension is not None and self.dimension.dimension is None
        return undecided or not self.chains_agree

    @property
    def resampled_observers(self) -> bool:
        """Whether intervals are made of whole observers, drawn anew."""
        return self.scale is not None and self.scale.made.resamples_observers

    @property
    def names(self) -> tuple[str, ...]:
        """Of the objects; their numbers where they have none."""
        return tuple(each.name for each in self.objects)

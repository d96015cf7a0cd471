"""Perceptual scales: one dimension, with intervals (paper, section 4.3)."""

from tercet.uses.scale.goodness import GoodnessOfFit, goodness_of_fit
from tercet.uses.scale.result import PerceptualScale
from tercet.uses.scale.scale import perceptual_scale, scales_by_observer

__all__ = [
    "GoodnessOfFit",
    "PerceptualScale",
    "goodness_of_fit",
    "perceptual_scale",
    "scales_by_observer",
]

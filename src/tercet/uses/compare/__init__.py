"""Which model predicts held-out answers best, and whether it fits."""

from tercet.answers.repeats import NoiseCeiling, noise_ceiling
from tercet.uses.compare.comparison import Comparison, LackOfFit, ModelScore, lack_of_fit
from tercet.uses.compare.models import compare_models

__all__ = [
    "Comparison",
    "LackOfFit",
    "ModelScore",
    "NoiseCeiling",
    "compare_models",
    "lack_of_fit",
    "noise_ceiling",
]

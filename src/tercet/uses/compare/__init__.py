"""Which model predicts held-out answers best, and whether it fits."""

from tercet.answers.repeats import NoiseCeiling, noise_ceiling
from tercet.uses.compare.by_prediction import compare_models
from tercet.uses.compare.comparison import Comparison, LackOfFit, ModelScore, lack_of_fit

__all__ = [
    "Comparison",
    "LackOfFit",
    "ModelScore",
    "NoiseCeiling",
    "compare_models",
    "lack_of_fit",
    "noise_ceiling",
]

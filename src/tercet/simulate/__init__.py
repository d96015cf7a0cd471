"""Simulated worlds: points, questions of every kind about them, and noisy answers.

``random_state`` is always None, an int or a ``numpy.random.Generator``.
"""

from tercet.simulate.agreement import (
    expected_agreement,
    noise_for_agreement,
    scale_for_agreement,
)
from tercet.simulate.comparisons import (
    MIXTURE_MEANS as MIXTURE_MEANS,
)
from tercet.simulate.comparisons import (
    all_comparisons,
    answer,
    answers_from_model,
    gaussian_mixture,
    noisy_triplets,
    random_comparisons,
    true_triplets,
)
from tercet.simulate.perception import (
    mean_perception,
    observers,
    perception_functions,
    pinned_kernel,
)
from tercet.simulate.questions import random_questions
from tercet.simulate.screens import choices, choices_from_model

__all__ = [
    "all_comparisons",
    "answer",
    "answers_from_model",
    "choices",
    "choices_from_model",
    "expected_agreement",
    "gaussian_mixture",
    "mean_perception",
    "noise_for_agreement",
    "noisy_triplets",
    "observers",
    "perception_functions",
    "pinned_kernel",
    "random_comparisons",
    "random_questions",
    "scale_for_agreement",
    "true_triplets",
]

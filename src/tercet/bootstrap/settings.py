"""Whether the settings of a bootstrap make sense together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from tercet.accelerator.device import check_device
from tercet.bootstrap.resampling import UNITS
from tercet.embedder import Embedder, is_count, is_number, require
from tercet.errors import InputError
from tercet.parallel import count_threads

# How replicates are laid on each other, by the words for it.
ALIGNMENTS = {"paper": "scale", "scale": "scale", "rotate": "rotate", "none": "none"}


class Settings(Protocol):
    """Those of a `Bootstrap`; see there."""

    estimator: Embedder | int
    n_samples: int | None
    fraction: float
    replace: bool | None
    unit: str | None
    parametric: bool
    alignment: str
    correction: bool
    warm_start: bool
    n_jobs: int | None
    device: str | None

    @property
    def embedder(self) -> Embedder:
        """The estimator that is meant."""

    @property
    def replaces(self) -> bool:
        """Whether units are drawn with replacement."""


def check_settings(boot: Settings) -> None:
    """Raise an error that names the first setting that makes no sense."""
    valid = isinstance(boot.estimator, Embedder) or is_count(boot.estimator)
    require(boot, "estimator", valid, "a number of dimensions, or an estimator such as STE(2)")
    estimator = boot.embedder
    estimator._check_parameters()
    valid = boot.n_samples is None or is_count(boot.n_samples)
    require(boot, "n_samples", valid, "a positive whole number")
    valid = is_number(boot.fraction) and 0.0 < boot.fraction <= 1.0
    require(boot, "fraction", valid, "a number above 0 and up to 1")
    require(boot, "replace", boot.replace in (None, True, False), "True, False or None")
    require(boot, "unit", boot.unit in (None, *UNITS), _either(UNITS))
    require(boot, "alignment", boot.alignment in ALIGNMENTS, _either(ALIGNMENTS))
    count_threads(boot.n_jobs)
    if boot.device is not None:
        check_device(boot.device)
    if boot.parametric:
        _check_parametric(boot)
    elif boot.fraction == 1.0 and not boot.replaces:
        raise InputError(
            "replace=False with fraction=1 draws all answers every time; use a fraction below "
            "1, such as 0.4, or replace=True."
        )
    if boot.correction and (boot.parametric or boot.fraction == 1.0 or boot.replaces):
        raise InputError(
            "correction=True is for subsamples drawn without replacement: use a fraction below "
            "1 (and replace=None), or correction=False."
        )
    if boot.warm_start:
        init = np.zeros((1, estimator.n_components))
        estimator.solver(init, boot.device)  # says so where it cannot


def _check_parametric(boot: Settings) -> None:
    objective, name = boot.embedder.objective(), type(boot.embedder).__name__
    if boot.fraction != 1.0 or boot.replace is not None or boot.unit not in (None, "answer"):
        raise InputError(
            "parametric=True draws new answers to all questions instead of resampling: leave "
            "out fraction, replace and unit."
        )
    if not objective.model.is_probability:
        raise InputError(
            f"parametric=True draws answers from a model's probabilities, and {name} has none; "
            "use STE(2, penalty=1/30), TSTE or CKL, or parametric=False."
        )
    if objective.penalty <= 0.0 and isinstance(boot.estimator, Embedder):
        raise InputError(
            f"parametric=True needs a penalty, such as {name}({objective.n_components}, "
            "penalty=1/30): the maximum of the likelihood fits the noise too, and answers "
            "drawn from it vary too little."
        )


def _either(values: Iterable[str]) -> str:
    return "one of " + ", ".join(map(repr, values))

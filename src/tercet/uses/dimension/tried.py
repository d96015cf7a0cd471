"""What `estimate_dimension` tries and fits, checked before the work starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tercet.answers.either import Answers
from tercet.answers.questions import number_units
from tercet.bootstrap import Bootstrap
from tercet.bootstrap.bootstrap import check_settings
from tercet.embedder import Embedder, is_count
from tercet.errors import InputError
from tercet.estimators import STE, Shepard
from tercet.makers import MOST_ANSWERS, MOST_OBJECTS
from tercet.posterior import DistancePrior, Posterior
from tercet.running.provenance import Seed

__all__ = [
    "DimensionSettings",
    "Makers",
    "TooFewAnswersError",
    "check_dimensions",
    "check_makers",
    "default_repeats",
    "most_dimensions",
    "too_large",
]

LARGEST = 6  # dimension tried by default
FEWEST = 20  # draws per chain
FOLDS, REPEATS = 10, 10  # of the cross-validation
MOST_REPEATED = 300_000  # answers in all repeats together, if that allows more than one


class TooFewAnswersError(InputError):
    """The answers do not suffice to compare dimensions."""


class DimensionSettings(NamedTuple):
    """The settings of `estimate_dimension`."""

    dimensions: Sequence[int] | None = None
    max_dimension: int | None = None
    estimator: Embedder | None = None
    posterior: Posterior | None = None
    bootstrap: Bootstrap | None = None
    unit: str | None = None
    folds: int = FOLDS
    repeats: int | None = None
    level: float = 0.05
    thorough: bool = True
    n_jobs: int | None = None
    random_state: Seed = None
    progress: bool | None = None


def too_large(answers: Answers) -> bool:
    """Whether chains would take very long to converge."""
    return len(answers) > MOST_ANSWERS or answers.n_objects > MOST_OBJECTS


def default_repeats(n_answers: int) -> int:
    """Repeats of the cross-validation: ten, fewer for very many answers, at least one."""
    return max(1, min(REPEATS, MOST_REPEATED // max(1, n_answers)))


class Makers(NamedTuple):
    """What is fitted in every dimension."""

    estimator: Embedder
    posterior: Posterior
    bootstrap: Bootstrap | None


def most_dimensions(n: int, m: int) -> int:
    """The largest dimension of n objects with at most m free coordinates; 0 if there is none.

    Without rotations and translations, d dimensions have nd − d(d + 1)/2 free coordinates, which
    increases up to d = n − 1.
    """
    return sum(n * d - d * (d + 1) // 2 <= m for d in range(1, n))


def check_dimensions(
    dimensions: Sequence[int] | None, answers: Answers, limit: int | None = None
) -> list[int]:
    """The dimensions to try, none larger than the answers support; 1 to the limit by default."""
    n, m = answers.n_objects, len(answers)
    most = most_dimensions(n, m)
    if limit is not None and dimensions is not None:
        raise InputError("give either dimensions or max_dimension, not both.")
    if limit is not None and (not is_count(limit) or limit < 2):
        raise InputError(f"max_dimension must be a whole number of at least 2, got {limit!r}.")
    if dimensions is None:
        tried = list(range(1, min(LARGEST if limit is None else int(limit), most) + 1))
        if len(tried) < 2:
            raise TooFewAnswersError(
                f"{m} answers about {n} objects do not support even two dimensions; collect more."
            )
        return tried
    tried = list(dimensions) if isinstance(dimensions, Iterable) else []
    if len(tried) < 2 or not all(map(is_count, tried)) or sorted(set(tried)) != tried:
        raise InputError(
            "dimensions must be two or more positive whole numbers in increasing order, such as 1, "
            f"2 and 3 (in Python: range(1, 4)), got {dimensions!r}."
        )
    for d in tried:
        if d > most:
            why = (
                f"{n} objects span {n - 1} dimensions at most"
                if d >= n
                else f"{m} answers are fewer than the {n * d - d * (d + 1) // 2} free coordinates"
            )
            raise InputError(
                f"{d} dimensions are more than the answers support: {why}. Use up to {most}, or "
                "collect more."
            )
    return [int(d) for d in tried]


def check_makers(
    settings: DimensionSettings, posterior: Any, answers: Answers, by_chains: bool
) -> Makers:
    """The models to fit, checked before the work starts."""
    # On sparse answers a single map of STE is soon overconfident, and predicts worse in more
    # dimensions whatever people see; one of Shepard's law much later.
    default = STE(penalty=0.25) if by_chains else Shepard(penalty=0.5)
    estimator = default if settings.estimator is None else settings.estimator
    if not isinstance(estimator, Embedder):
        raise InputError(f"estimator must be an estimator such as STE(), got {estimator!r}.")
    estimator._check_parameters()
    if not isinstance(posterior, Posterior) or posterior.sampler == "laplace":
        raise InputError(
            "posterior must be a Posterior that samples, such as Posterior(STE()), got "
            f"{posterior!r}."
        )
    if isinstance(posterior.prior, DistancePrior):
        raise InputError(
            "posterior draws distances, which have no dimension; give it a NormalPrior, or omit "
            "prior."
        )
    if posterior._plan().n_samples < FEWEST:
        raise InputError(
            f"posterior needs at least {FEWEST} draws per chain to estimate how well they predict, "
            f"got n_samples={posterior.n_samples}."
        )
    if settings.bootstrap is None and not by_chains:
        return Makers(estimator, posterior, None)
    bootstrap = Bootstrap.paper(STE()) if settings.bootstrap is None else settings.bootstrap
    if not isinstance(bootstrap, Bootstrap):
        raise InputError(
            f"bootstrap must be a Bootstrap such as Bootstrap(STE()), got {bootstrap!r}."
        )
    check_settings(bootstrap)
    if bootstrap.unit != "answer":
        number_units(answers, bootstrap.unit)
    return Makers(estimator, posterior, bootstrap)

"""What the user may choose, checked before the work starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tercet.answers.questions import number_units
from tercet.bootstrap import Bootstrap
from tercet.bootstrap.settings import check_settings
from tercet.embedder import Embedder, is_count
from tercet.errors import InputError
from tercet.estimators import STE
from tercet.posterior import DistancePrior, Posterior
from tercet.recommended import QUICK
from tercet.triplets import Triplets

LARGEST = 6  # dimension that is tried unless asked otherwise
FEWEST = 20  # draws of a chain


class Makers(NamedTuple):
    """What fits in every dimension."""

    estimator: Embedder
    posterior: Posterior
    bootstrap: Bootstrap


def most_dimensions(n: int, m: int) -> int:
    """The largest dimension of n objects whose free coordinates m answers outnumber; 0 is none.

    Rotations and shifts are taken off: d dimensions have nd − d(d + 1)/2 free coordinates, which
    rises up to d = n − 1.
    """
    return sum(n * d - d * (d + 1) // 2 <= m for d in range(1, n))


def check_dimensions(dimensions: Sequence[int] | None, answers: Triplets) -> list[int]:
    """Settle the dimensions to try, none larger than the answers can carry."""
    n, m = answers.n_objects, len(answers)
    most = most_dimensions(n, m)
    if dimensions is None:
        tried = list(range(1, min(LARGEST, most) + 1))
        if len(tried) < 2:
            raise InputError(
                f"{m} answers about {n} objects cannot carry even two dimensions; ask more."
            )
        return tried
    tried = list(dimensions) if isinstance(dimensions, Iterable) else []
    if len(tried) < 2 or not all(map(is_count, tried)) or sorted(set(tried)) != tried:
        raise InputError(
            "dimensions must be two or more whole numbers from 1 in rising order, such as 1, "
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
                f"{d} dimensions are more than the answers can carry: {why}. Use up to {most}, or "
                "ask more."
            )
    return [int(d) for d in tried]


def check_makers(
    estimator: Embedder | None,
    posterior: Posterior | None,
    bootstrap: Bootstrap | None,
    answers: Triplets,
) -> Makers:
    """Settle what fits, and say now what it would say after minutes."""
    estimator = STE(penalty=0.25) if estimator is None else estimator
    if not isinstance(estimator, Embedder):
        raise InputError(f"estimator must be an estimator such as STE(), got {estimator!r}.")
    estimator._check_parameters()
    if posterior is None:
        posterior = Posterior(2, **QUICK)
    if not isinstance(posterior, Posterior) or posterior.sampler == "laplace":
        raise InputError(
            "posterior must be a Posterior that samples, such as Posterior(STE()), got "
            f"{posterior!r}."
        )
    if isinstance(posterior.prior, DistancePrior):
        raise InputError(
            "posterior draws distances, which have no dimension; give it a NormalPrior, or leave "
            "prior out."
        )
    if posterior._plan().n_samples < FEWEST:
        raise InputError(
            f"posterior needs {FEWEST} draws of each chain or more to tell how well they predict, "
            f"got n_samples={posterior.n_samples}."
        )
    bootstrap = Bootstrap.paper(STE()) if bootstrap is None else bootstrap
    if not isinstance(bootstrap, Bootstrap):
        raise InputError(f"bootstrap must be such as Bootstrap(STE()), got {bootstrap!r}.")
    check_settings(bootstrap)
    if bootstrap.unit not in (None, "answer"):
        number_units(answers, bootstrap.unit)
    return Makers(estimator, posterior, bootstrap)

"""The mathematics of one comparison: losses of two squared distances, one file each.

A model is added by its file here, its line below and its twin in `tercet.accelerator.models`; the
estimator, the command line, what can be learned, and files of ensembles follow (docs/engine.md).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

TYPE_CHECKING = False  # the command line asks for names alone, and should not wait for more
if TYPE_CHECKING:
    from typing import Any

    from tercet.models.base import Domain, Model
    from tercet.models.ckl import CKLModel
    from tercet.models.gnmds import GNMDSModel
    from tercet.models.soe import SOEModel
    from tercet.models.ste import STEModel
    from tercet.models.tste import TSTEModel

# The file of each model, by the name of its estimator and in the order in which they are listed:
# probabilities of answers first, then losses.
PROBABILITIES = {
    "STE": "ste",
    "TSTE": "tste",
    "CKL": "ckl",
}
LOSSES = {
    "GNMDS": "gnmds",
    "SOE": "soe",
}
FILES = PROBABILITIES | LOSSES

__all__ = [
    "FILES",
    "LOSSES",
    "PROBABILITIES",
    "CKLModel",
    "GNMDSModel",
    "Model",
    "SOEModel",
    "STEModel",
    "TSTEModel",
    "domains",
    "known_models",
]


@cache
def known_models() -> dict[str, type[Model]]:
    """The models by the names of their estimators."""
    return {
        name: getattr(import_module(f"{__name__}.{FILES[name]}"), f"{name}Model") for name in FILES
    }


@cache
def domains() -> dict[str, Domain]:
    """The values that parameters may have: the models' own, and those drawn with the points."""
    from tercet.models.base import DRAWN

    own = (kind.parameters.items() for kind in known_models().values())
    return DRAWN | {name: parameter.domain for items in own for name, parameter in items}


def __getattr__(name: str) -> Any:
    if name == "Model":
        return import_module(f"{__name__}.base").Model
    if (known := name.removesuffix("Model")) not in FILES or known == name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return known_models()[known]

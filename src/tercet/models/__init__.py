"""Models: similarities of two objects, or losses of one comparison, one file each.

To add a model, write its file here, its line below and its JAX versions in
`tercet.accelerator.twins`; the estimator, the command line, learned parameters and saved ensembles
follow (docs/engine.md).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

TYPE_CHECKING = False  # the command line needs only names, and importing typing is slow
if TYPE_CHECKING:
    from typing import Any

    from tercet.models.base import Domain, Model
    from tercet.models.ckl import CKLModel
    from tercet.models.gnmds import GNMDSModel
    from tercet.models.shepard import ShepardModel
    from tercet.models.soe import SOEModel
    from tercet.models.ste import STEModel
    from tercet.models.tste import TSTEModel

# The file of each model by the name of its estimator, in the order of listing: probability models
# first, then losses.
PROBABILITIES = {
    "STE": "ste",
    "TSTE": "tste",
    "CKL": "ckl",
    "Shepard": "shepard",
}
LOSSES = {
    "GNMDS": "gnmds",
    "SOE": "soe",
}
FILES = PROBABILITIES | LOSSES
ANY_PROBABILITY = f"{', '.join([*PROBABILITIES][:-1])} or {[*PROBABILITIES][-1]}"  # in messages

__all__ = [
    "ANY_PROBABILITY",
    "FILES",
    "LOSSES",
    "PROBABILITIES",
    "CKLModel",
    "GNMDSModel",
    "Model",
    "SOEModel",
    "STEModel",
    "ShepardModel",
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
    """The domains of parameters: the models' own, and those drawn with the points."""
    from tercet.models.base import DRAWN

    own = (kind.parameters.items() for kind in known_models().values())
    return DRAWN | {name: parameter.domain for items in own for name, parameter in items}


def __getattr__(name: str) -> Any:
    if name == "Model":
        return import_module(f"{__name__}.base").Model
    if (known := name.removesuffix("Model")) not in FILES or known == name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return known_models()[known]

"""tercet: ordinal embeddings with error bars.

Names are imported when they are first used, so that ``import tercet`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tercet import align, metrics, plots, simulate
    from tercet.bootstrap import Bootstrap
    from tercet.diagnosis import diagnose
    from tercet.ensemble import Ensemble
    from tercet.errors import DataWarning, InputError, SeparableWarning, TercetError
    from tercet.estimators import CKL, GNMDS, SOE, STE, TSTE
    from tercet.io import read_triplets, write_triplets
    from tercet.posterior import DistancePrior, NormalPrior, Posterior
    from tercet.triplets import Triplets, as_triplets

__version__ = "0.1.0"

_HOMES = {
    "Bootstrap": "bootstrap",
    "CKL": "estimators",
    "DataWarning": "errors",
    "DistancePrior": "posterior",
    "Ensemble": "ensemble",
    "GNMDS": "estimators",
    "InputError": "errors",
    "NormalPrior": "posterior",
    "Posterior": "posterior",
    "SOE": "estimators",
    "STE": "estimators",
    "SeparableWarning": "errors",
    "TSTE": "estimators",
    "TercetError": "errors",
    "Triplets": "triplets",
    "align": "",
    "as_triplets": "triplets",
    "diagnose": "diagnosis",
    "metrics": "",
    "plots": "",
    "read_triplets": "io",
    "simulate": "",
    "write_triplets": "io",
}

__all__ = [
    "CKL",
    "GNMDS",
    "SOE",
    "STE",
    "TSTE",
    "Bootstrap",
    "DataWarning",
    "DistancePrior",
    "Ensemble",
    "InputError",
    "NormalPrior",
    "Posterior",
    "SeparableWarning",
    "TercetError",
    "Triplets",
    "align",
    "as_triplets",
    "diagnose",
    "metrics",
    "plots",
    "read_triplets",
    "simulate",
    "write_triplets",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tercet' has no attribute {name!r}")
    home = _HOMES[name]
    value = (
        getattr(import_module(f"tercet.{home}"), name) if home else import_module(f"tercet.{name}")
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

"""tercet: ordinal embeddings with error bars.

Names are imported on first use, so that ``import tercet`` is quick.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # type checkers recognise the name; importing typing would be slow
if TYPE_CHECKING:
    from typing import Any

    from tercet import align, datasets, metrics, plots, simulate
    from tercet.analysis import Analysis, analyse
    from tercet.answers.choices import Choices
    from tercet.answers.diagnosis import diagnose
    from tercet.answers.streams import StreamedTriplets
    from tercet.answers.triplets import Triplets, as_triplets
    from tercet.bootstrap import Bootstrap
    from tercet.ensemble import Ensemble
    from tercet.errors import DataWarning, InputError, SeparableWarning, TercetError
    from tercet.estimators import CKL, GNMDS, SOE, STE, TSTE, Shepard
    from tercet.held_out import predict_held_out
    from tercet.io import open_triplets, read_answers, read_file, read_triplets, write_triplets
    from tercet.likelihood import log_likelihood, log_likelihood_gradient
    from tercet.metrics import risk_coverage
    from tercet.posterior import DistancePrior, NormalPrior, Posterior
    from tercet.uses.abstain import choose_threshold, hold_out
    from tercet.uses.active import ActiveLoop, suggest
    from tercet.uses.certainty import certainty, nearest_neighbours
    from tercet.uses.compare import compare_models, lack_of_fit
    from tercet.uses.dimension import estimate_dimension
    from tercet.uses.plan import plan_answers, plan_kinds
    from tercet.uses.quality import check_answers
    from tercet.uses.scale import goodness_of_fit, perceptual_scale, scales_by_observer
    from tercet.uses.score import agreement, score_embedding
    from tercet.uses.stacking import stack_chains

__version__ = "0.1.0"

_HOMES = {
    "ActiveLoop": "uses.active",
    "Analysis": "analysis",
    "Bootstrap": "bootstrap",
    "CKL": "estimators",
    "Choices": "answers.choices",
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
    "Shepard": "estimators",
    "StreamedTriplets": "answers.streams",
    "TSTE": "estimators",
    "TercetError": "errors",
    "Triplets": "answers.triplets",
    "agreement": "uses.score",
    "align": "",
    "analyse": "analysis",
    "as_triplets": "answers.triplets",
    "certainty": "uses.certainty",
    "check_answers": "uses.quality",
    "choose_threshold": "uses.abstain",
    "compare_models": "uses.compare",
    "datasets": "",
    "diagnose": "answers.diagnosis",
    "estimate_dimension": "uses.dimension",
    "goodness_of_fit": "uses.scale",
    "hold_out": "uses.abstain",
    "lack_of_fit": "uses.compare",
    "log_likelihood": "likelihood",
    "log_likelihood_gradient": "likelihood",
    "metrics": "",
    "nearest_neighbours": "uses.certainty",
    "open_triplets": "io",
    "perceptual_scale": "uses.scale",
    "plan_answers": "uses.plan",
    "plan_kinds": "uses.plan",
    "plots": "",
    "predict_held_out": "held_out",
    "read_answers": "io",
    "read_file": "io",
    "read_triplets": "io",
    "risk_coverage": "metrics",
    "scales_by_observer": "uses.scale",
    "score_embedding": "uses.score",
    "simulate": "",
    "stack_chains": "uses.stacking",
    "suggest": "uses.active",
    "write_triplets": "io",
}

__all__ = [
    "CKL",
    "GNMDS",
    "SOE",
    "STE",
    "TSTE",
    "ActiveLoop",
    "Analysis",
    "Bootstrap",
    "Choices",
    "DataWarning",
    "DistancePrior",
    "Ensemble",
    "InputError",
    "NormalPrior",
    "Posterior",
    "SeparableWarning",
    "Shepard",
    "StreamedTriplets",
    "TercetError",
    "Triplets",
    "agreement",
    "align",
    "analyse",
    "as_triplets",
    "certainty",
    "check_answers",
    "choose_threshold",
    "compare_models",
    "datasets",
    "diagnose",
    "estimate_dimension",
    "goodness_of_fit",
    "hold_out",
    "lack_of_fit",
    "log_likelihood",
    "log_likelihood_gradient",
    "metrics",
    "nearest_neighbours",
    "open_triplets",
    "perceptual_scale",
    "plan_answers",
    "plan_kinds",
    "plots",
    "predict_held_out",
    "read_answers",
    "read_file",
    "read_triplets",
    "risk_coverage",
    "scales_by_observer",
    "score_embedding",
    "simulate",
    "stack_chains",
    "suggest",
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

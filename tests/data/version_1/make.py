"""Make the files of this folder; README.md says with which commit.

Run by the code that wrote version 1, in the folder that is to be filled, with the part to make:
``python make.py checkpoints`` or ``python make.py map``. The settings are read by the tests too.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tercet as tc

HERE = Path(__file__).parent
N_OBJECTS = 6
ROWS_KEPT = {"bootstrap": 4, "posterior": 9}  # when the run is interrupted
# All settings are given, so that a changed default is not taken for another run.
STE = {"n_objects": None, "penalty": 0.05, "start": "spectral", "n_init": 2}
STE |= {"max_iter": 2000, "tol": 1e-9, "device": "cpu", "random_state": None}
BOOTSTRAP = {"n_samples": 8, "fraction": 1.0, "replace": True, "unit": "answer"}
BOOTSTRAP |= {"parametric": False, "alignment": "scale", "correction": False}
BOOTSTRAP |= {"warm_start": False, "n_jobs": 1, "device": "cpu", "progress": False}
POSTERIOR = {"prior": None, "sampler": "hmc", "n_samples": 20, "n_chains": 2, "warmup": 30}
POSTERIOR |= {"learn": (), "start": "mode", "device": "cpu", "n_jobs": 1, "progress": False}


def read_answers() -> tc.Triplets:
    """The answers that all files are about."""
    rows = np.loadtxt(HERE / "answers.csv", dtype=np.int64, delimiter=",", skiprows=1)
    return tc.Triplets(rows, n_objects=N_OBJECTS)


def make_maker(kind: str, **more: Any) -> Any:
    """Bootstrap or Posterior, with every setting given."""
    estimator = tc.STE(2, **STE)
    if kind == "bootstrap":
        return tc.Bootstrap(estimator, **BOOTSTRAP, **more)
    return tc.Posterior(estimator, **POSTERIOR, **more)


def summarise(ensemble: tc.Ensemble) -> dict[str, Any]:
    """Numbers that do not depend on how maps are turned: distances, losses, log-posteriors."""
    of = {"distances of the first draw": ensemble.distances()[0]}
    of |= {"distances of the last draw": ensemble.distances()[-1]}
    of |= {"distances of the mean": _distances(ensemble.point_mean())}
    of |= dict(sorted(ensemble.statistics.items()))
    return {name: np.ravel(values).tolist() for name, values in of.items()}


def _distances(points: np.ndarray) -> np.ndarray:
    rows, columns = np.triu_indices(len(points), 1)
    return np.asarray(np.linalg.norm(points[rows] - points[columns], axis=1))


def make_checkpoints() -> None:
    """Interrupted runs, and what undisturbed ones find."""
    from tercet.running import checkpoint as rows

    add = rows.Checkpoint.add
    rows.EVERY = 0.0  # every row is committed at once
    answers, expected = read_answers(), {}
    for kind, most in ROWS_KEPT.items():
        expected[kind] = summarise(make_maker(kind, random_state=7).fit(answers).ensemble_)
        left = [most]

        def add_or_stop(self: Any, *args: Any, left: list[int] = left) -> None:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            add(self, *args)

        rows.Checkpoint.add = add_or_stop
        try:
            make_maker(kind, random_state=7, checkpoint=HERE / f"{kind}.ckpt").fit(answers)
            raise SystemExit(f"{kind} was done before it could be interrupted")
        except KeyboardInterrupt:
            rows.Checkpoint.add = add
    _write("checkpoints.json", expected)


def make_map() -> None:
    """A saved map with names, chains, parameters and statistics, and what is in it."""
    answers = tc.Triplets(read_answers().array, names=[f"tone {i}" for i in range(N_OBJECTS)])
    settings = POSTERIOR | {"n_samples": 5, "learn": ("lapse",), "random_state": 7}
    ensemble = tc.Posterior(tc.STE(2, **STE), **settings).fit(answers).ensemble_
    ensemble.save(HERE / "map.npz")
    expected = summarise(ensemble) | {"lapse": ensemble.parameters["lapse"].tolist()}
    expected |= {"names": list(ensemble.names), "chains": ensemble.chains.tolist()}
    expected |= {"seed": ensemble.provenance["seed"]}
    comparisons = tc.simulate.all_comparisons(N_OBJECTS)[:10]
    expected["certainty"] = ensemble.triplet_probability(comparisons).tolist()
    expected["answers"] = ensemble.answer_probability(comparisons).tolist()
    _write("map.json", expected)


def _write(name: str, expected: dict[str, Any]) -> None:
    (HERE / name).write_text(json.dumps(expected, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # chains as short as these are told so
    {"checkpoints": make_checkpoints, "map": make_map}[sys.argv[1]]()

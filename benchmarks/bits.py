"""Have two commits the same bits? ``python -m benchmarks.bits COMMIT_A COMMIT_B``.

Each commit is checked out into a folder of its own and computes the same cases, all settings given,
in a process of its own; a full stop stands for the working tree as it is. Results are compared by
their hashes, key by key: a key with another name but the same bits is reported as renamed, which is
no difference. The exit code is 1 where bits differ, and 2 where a commit cannot be tried.

This file is also what those processes run: it uses public names only, those that every commit has.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
WORKING_TREE = "."
N_OBJECTS, N_ANSWERS = 8, 300
JOBS = (1, 2)

Arrays = dict[str, Any]
Hashes = dict[str, dict[str, str]]  # by case and key

# --- the cases ------------------------------------------------------------------------------

FIT: dict[str, Any] = {"start": "spectral", "n_init": 2, "max_iter": 2000, "tol": 1e-9}
FIT |= {"device": "cpu", "random_state": 1}
ESTIMATORS: dict[str, dict[str, Any]] = {
    "STE": {"penalty": 0.05},
    "TSTE": {"penalty": 0.05, "alpha": 1.0},
    "CKL": {"penalty": 0.05, "mu": 0.05, "exponent": 2.0},
    "GNMDS": {"C": 1.0, "direct": True},
    "SOE": {"penalty": 0.05, "margin": 0.1},
}
BOOTSTRAP: dict[str, Any] = {"n_samples": 6, "fraction": 1.0, "replace": True, "unit": "answer"}
BOOTSTRAP |= {"parametric": False, "alignment": "scale", "correction": False, "device": "cpu"}
BOOTSTRAP |= {"warm_start": False, "random_state": 2, "progress": False}
CHAINS: dict[str, Any] = {"n_samples": 40, "n_chains": 2, "warmup": 60, "start": "mode"}
CHAINS |= {"device": "cpu", "random_state": 3, "progress": False}
LEARNED = {"lapse": (1.0, 9.0), "exponent": (3.0, 1.0), "mu": (0.05, 1.0)}
SAMPLERS: dict[str, dict[str, Any]] = {
    "hmc": {"sampler": "hmc", "learn": ()},
    "hmc, learned": {"sampler": "hmc", "learn": LEARNED},
    "elliptical slices": {"sampler": "elliptical_slice", "learn": ()},
    "laplace": {"sampler": "laplace", "learn": ()},
}
REPORT = ["--samples", "60", "--level", "0.95", "--questions", "5", "--seed", "0"]
REPORTS = {
    "report": ["--dim", "2", "--uncertainty", "posterior"],
    "report, dimension chosen": ["--dimensions", "1-2", "--uncertainty", "posterior"],
    "report, bootstrap": ["--dim", "2", "--uncertainty", "bootstrap"],
}


def make_answers() -> np.ndarray:
    """Noisy answers (m, 3) about points in the plane, without tercet."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(N_OBJECTS, 2))
    rows = np.array([rng.permutation(N_OBJECTS)[:3] for _ in range(N_ANSWERS)])
    far, near = (np.linalg.norm(points[rows[:, 0]] - points[rows[:, k]], axis=1) for k in (2, 1))
    turned = near * np.exp(0.5 * rng.normal(size=N_ANSWERS)) > far
    rows[turned] = rows[turned][:, [0, 2, 1]]
    return rows


def make_triplets(weights: Any = None) -> Any:
    """The answers, given by five observers."""
    import tercet as tc

    observers = np.repeat(list("abcde"), N_ANSWERS // 5)
    return tc.Triplets(make_answers(), n_objects=N_OBJECTS, observers=observers, weights=weights)


def fit(name: str, triplets: Any, **changes: Any) -> Arrays:
    """One map of an estimator."""
    fitted = make_estimator(name, **changes).fit(triplets)
    return {
        "points": fitted.embedding_,
        "loss": fitted.loss_,
        "accuracy": fitted.score(triplets),
    }


def bootstrap(name: str, triplets: Any, **changes: Any) -> Arrays:
    """Replicates of an estimator."""
    import tercet as tc

    return _of(tc.Bootstrap(make_estimator(name), **BOOTSTRAP | changes).fit(triplets).ensemble_)


def posterior(name: str, triplets: Any, **changes: Any) -> Arrays:
    """Draws of a sampler."""
    import tercet as tc

    learned = bool(SAMPLERS[name]["learn"])
    estimator = make_estimator("CKL" if learned else "STE", penalty=0.0)
    prior = tc.NormalPrior(4.0)
    settings = CHAINS | SAMPLERS[name] | {"prior": prior} | changes
    return _of(tc.Posterior(estimator, **settings).fit(triplets).ensemble_)


def distance_prior(triplets: Any, **changes: Any) -> Arrays:
    """Draws of distance matrices."""
    import tercet as tc

    settings = CHAINS | {"sampler": "elliptical_slice", "learn": (), "prior": tc.DistancePrior(2.0)}
    estimator = make_estimator("STE", penalty=0.0)
    return _of(tc.Posterior(estimator, **settings | changes).fit(triplets).ensemble_)


def dimension(triplets: Any, **changes: Any) -> Arrays:
    """The evidence for one and two dimensions."""
    import tercet as tc

    estimator = make_estimator("STE")
    chains = CHAINS | SAMPLERS["hmc"] | {"prior": tc.NormalPrior(4.0)}
    chains |= {"n_samples": 300, "warmup": 200}  # enough that the chains agree
    settings: dict[str, Any] = {
        "estimator": estimator,
        "posterior": tc.Posterior(make_estimator("STE", penalty=0.0), **chains),
        "bootstrap": tc.Bootstrap(estimator, **BOOTSTRAP),
    }
    settings |= {"unit": "comparison", "folds": 3, "repeats": 2, "level": 0.05, "thorough": True}
    settings |= {"random_state": 4, "progress": False}
    found = tc.estimate_dimension(triplets, [1, 2], **settings | changes)
    table = {"recommended": -1 if found.dimension is None else found.dimension}
    rows = found.records()
    return table | {key: _numbers(row[key] for row in rows) for key in rows[0]}


def scale(model: str, triplets: Any, **changes: Any) -> Arrays:
    """A perceptual scale with intervals."""
    import tercet as tc

    settings: dict[str, Any] = {"uncertainty": "bootstrap", "unit": "answer", "n_samples": 10}
    settings |= {"lapse": False, "normalise": True, "random_state": 5, "progress": False}
    by_differences = model == "difference"
    settings |= {"model": model, "link": "probit"} if by_differences else {}
    settings |= {} if by_differences else {"model": make_estimator(model, 1)}
    found = tc.perceptual_scale(triplets, np.arange(float(N_OBJECTS)), **settings | changes)
    return {"scale": found.estimate, "samples": found.samples}


def simulate() -> Arrays:
    """What is made up."""
    import tercet as tc

    points, labels = tc.simulate.gaussian_mixture(12, random_state=6)
    answers = tc.simulate.noisy_triplets(points, 50, noise=0.3, random_state=6)
    return {"points": points, "labels": labels, "answers": np.asarray(answers)}


def report(options: list[str], n_jobs: int) -> Arrays:
    """The numbers of a report, by where they stand in its JSON."""
    head, rows = "observer,anchor,near,far", make_answers()
    each = N_ANSWERS // 5
    lines = [f"{'abcde'[i // each]},{','.join(map(str, row))}" for i, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.csv"
        file.write_text("\n".join([head, *lines, ""]), "utf-8")
        command = [sys.executable, "-m", "tercet", "report", str(file), "--json", "--quiet"]
        command += [*REPORT, *options, "--jobs", str(n_jobs)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[2:])}: {done.stderr}")
    found: dict[str, list[float]] = {}
    for key, value in _leaves(json.loads(done.stdout)):
        found.setdefault(key, []).append(value)
    return {key: np.array(values) for key, values in found.items()}


def cases(triplets: Any) -> dict[str, Callable[..., Arrays]]:
    """Everything that is compared, by name; those that take n_jobs are run with each of JOBS."""
    every: dict[str, Callable[..., Arrays]] = {"simulate": simulate}
    every |= {f"fit, {name}": partial(fit, name, triplets) for name in ESTIMATORS}
    every |= {f"bootstrap, {name}": partial(bootstrap, name, triplets) for name in ESTIMATORS}
    every |= {f"posterior, {name}": partial(posterior, name, triplets) for name in SAMPLERS}
    every["posterior, distance prior"] = partial(distance_prior, triplets)
    every["dimension"] = partial(dimension, triplets)
    every |= {f"scale, {model}": partial(scale, model, triplets) for model in ("difference", "CKL")}
    return every


def make_estimator(name: str, n_components: int = 2, **changes: Any) -> Any:
    """An estimator with every setting given."""
    import tercet as tc

    return getattr(tc, name)(n_components, **FIT | ESTIMATORS[name] | changes)


def _of(ensemble: Any) -> Arrays:
    """Draws, what was drawn with them, and what they say of the first answers."""
    asked = make_answers()[:20]
    draws = {"points" if ensemble.kind == "points" else "matrices": ensemble.draws}
    draws |= {"certainty": ensemble.triplet_probability(asked)}
    if ensemble.model is not None and ensemble.model.is_probability:
        draws["answer probability"] = ensemble.answer_probability(asked)
    return draws | dict(ensemble.parameters) | dict(ensemble.statistics)


def _numbers(values: Any) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """Numbers of JSON with their keys; all items of a list stand under one."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part, f"{key}[]")
    elif value is None or isinstance(value, int | float):
        yield key, np.nan if value is None else float(value)


# --- in the process of a commit ---------------------------------------------------------------


def probe() -> Hashes:
    """All cases, hashed."""
    warnings.simplefilter("ignore")  # such short runs warn
    found = {}
    for name, case in cases(make_triplets()).items():
        alone = name == "simulate" or name.startswith("fit")
        for given in [{}] if alone else [{"n_jobs": jobs} for jobs in JOBS]:
            title = ", ".join([name, *(f"n_jobs={jobs}" for jobs in given.values())])
            found[title] = _hashed(case(**given))
    for name, options in REPORTS.items():
        for jobs in JOBS:
            found[f"{name}, n_jobs={jobs}"] = _hashed(report(options, jobs))
    return found


def _hashed(arrays: Arrays) -> dict[str, str]:
    return {key: hash_of(value) for key, value in arrays.items()}


def hash_of(value: Any) -> str:
    """Letters that differ where a bit of an array does."""
    array = np.ascontiguousarray(value)
    text = f"{array.dtype.kind}{array.shape}".encode()
    return hashlib.sha256(text + array.tobytes()).hexdigest()[:12]


# --- two commits ------------------------------------------------------------------------------


def compare(ours: Mapping[str, str], theirs: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """What two sets of hashes differ in, and which keys have another name for the same bits."""
    left = {key: value for key, value in ours.items() if key not in theirs}
    right = {key: value for key, value in theirs.items() if key not in ours}
    renamed = []
    for key, value in list(left.items()):
        twin = next((other for other, bits in right.items() if bits == value), None)
        if twin is not None:
            renamed.append(f"{key} is now {twin}")
            del left[key], right[twin]
    different = [key for key in ours if key in theirs and ours[key] != theirs[key]]
    different += [f"{key} (gone)" for key in left] + [f"{key} (new)" for key in right]
    return different, renamed


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The root of a commit, in a folder that is gone afterwards."""
    if commit == WORKING_TREE:
        yield ROOT
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def run_probe(tree: Path) -> Hashes:
    """The hashes of a tree, computed in a process that imports nothing else of tercet."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    done = subprocess.run(
        [sys.executable, __file__, "--probe", str(tree / "src")],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=tree,
    )
    hashes: Hashes = json.loads(done.stdout)
    return hashes


def tell(before: Hashes, after: Hashes) -> bool:
    """Print a table; whether all bits are the same."""
    same = True
    width = max(map(len, [*before, *after]))
    for case in dict.fromkeys([*before, *after]):
        ours, theirs = before.get(case, {}), after.get(case, {})
        different, renamed = compare(ours, theirs)
        same &= not different
        verdict = "different" if different else "equal"
        print(f"{case:{width}}  {_short(ours)}  {_short(theirs)}  {verdict}")
        for line in [*different, *renamed]:
            print(f"{'':{width}}  {line}")
    for title, hashes in (("first", before), ("second", after)):
        for case in hashes:
            other = case.replace(f"n_jobs={JOBS[0]}", f"n_jobs={JOBS[1]}")
            if hashes[case] != hashes.get(other, hashes[case]):
                same = False
                print(f"{case}: other bits with n_jobs={JOBS[1]} in the {title} commit")
    return same


def _short(hashes: Mapping[str, str]) -> str:
    """One hash for all values of a case, whatever they are called."""
    joined = "".join(sorted(hashes.values())).encode()
    return hashlib.sha256(joined).hexdigest()[:12] if hashes else "-" * 12


def main() -> int:
    """Compare two commits; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bits", description=__doc__)
    parser.add_argument("before", metavar="COMMIT_A", help="a commit, or . for the working tree")
    parser.add_argument("after", metavar="COMMIT_B")
    options = parser.parse_args()
    try:
        with ExitStack() as stack:
            wanted = (options.before, options.after)
            trees = [stack.enter_context(checked_out(commit)) for commit in wanted]
            before, after = map(run_probe, trees)
    except subprocess.CalledProcessError as error:
        print(f"benchmarks.bits: {' '.join(map(str, error.cmd))} failed", file=sys.stderr)
        return 2
    same = tell(before, after)
    print("The bits are the same." if same else "Bits differ.")
    return 0 if same else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--probe"]:
        import tercet

        if not tercet.__file__.startswith(sys.argv[2]):
            raise SystemExit(f"imported {tercet.__file__}, not what is in {sys.argv[2]}")
        print(json.dumps(probe()))
    else:
        raise SystemExit(main())

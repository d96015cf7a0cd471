"""The peer's side: takes jobs from standard input, works, and says how long it took.

Runs in the peer's own virtual environment, so it imports nothing of tercet. A job is a line of
JSON with the name of a task, its options, and two .npz files: arrays to read, arrays to write.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
import warnings
from functools import cache
from importlib.metadata import version

import numpy as np
from cblearn import embedding
from cblearn.embedding import _ste


def versions(arrays):
    """Return the versions of what is measured."""
    names = ("cblearn", "numpy", "scipy", "scikit-learn")
    return 0.0, {name: np.array(version(name)) for name in names}


def fit(arrays, model, n_objects, n_components, seeds, parameters):
    """Fit subsets of the triplets, one after the other, and return the embeddings (k, n, d)."""
    _warm_up(model)
    subsets = np.split(arrays["rows"], arrays["cuts"])
    embeddings = []
    start = time.perf_counter()
    for rows, seed in zip(subsets, seeds, strict=True):
        estimator = getattr(embedding, model)(n_components, random_state=seed, **parameters)
        estimator.fit(arrays["triplets"][rows], n_objects=n_objects)
        embeddings.append(estimator.embedding_)
    return time.perf_counter() - start, {"embeddings": np.array(embeddings)}


@cache
def _warm_up(model):
    rng = np.random.default_rng(0)
    triplets = rng.permuted(np.tile(np.arange(10), (50, 1)), axis=1)[:, :3]
    getattr(embedding, model)(2, random_state=0).fit(triplets, n_objects=10)


def objective(arrays):
    """Evaluate the objective of STE and its gradient once."""
    x, triplets = arrays["embedding"], arrays["triplets"]
    _ste._ste_x_grad(x.ravel(), x.shape, triplets[:100], False)
    start = time.perf_counter()
    loss, gradient = _ste._ste_x_grad(x.ravel(), x.shape, triplets, False)
    seconds = time.perf_counter() - start
    return seconds, {"loss": np.array(loss), "gradient": gradient.reshape(x.shape)}


TASKS = {"versions": versions, "fit": fit, "objective": objective}


def main():
    """Answer every line of standard input with a line of JSON."""
    answers, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        job = json.loads(line)
        try:
            with np.load(job["arrays"]) as file:
                arrays = dict(file)
            seconds, result = TASKS[job["task"]](arrays, **job["options"])
            np.savez(job["result"], **result)
            answer = {"seconds": seconds}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

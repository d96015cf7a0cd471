"""The accelerator beside the CPU of the same machine: ``python -m benchmarks.accelerator``.

Absolute times count here, so the machine and its card are part of what is printed.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import tercet as tc
from benchmarks.setting import counted_warnings
from tercet.accelerator.device import computing_on, find_device, memory_of
from tercet.embedder import problem_of
from tercet.engine.problem import Problem, build_problem
from tercet.engine.search import Objective, evaluate
from tercet.metrics import triplet_error
from tercet.models import CKLModel, Model, ShepardModel, SOEModel, STEModel, TSTEModel
from tercet.simulate import noisy_triplets, random_comparisons

NOISE = 0.3
Row = tuple[str, ...]


def seconds_of(function: Callable[..., Any], *arguments: Any, repeats: int = 30) -> float:
    """Median time of a call of a compiled function, many of them queued one after the other."""
    import jax

    jax.block_until_ready(function(*arguments))
    found = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeats):
            result = function(*arguments)
        jax.block_until_ready(result)
        found.append((time.perf_counter() - start) / repeats)
    return median(found)


def world(n: int, d: int, m: int, seed: int = 0) -> tuple[np.ndarray, tc.Triplets]:
    """Normal points and noisy answers about them."""
    points = np.random.default_rng(seed).standard_normal((n, d))
    return points, noisy_triplets(points, m, noise=NOISE, random_state=seed)


def on_device(
    problem: Problem, d: int, by_matrix: bool | None = None, seed: int | None = None
) -> Any:
    """All answers of a problem on the device as one batch; by_matrix overrides the choice."""
    import jax
    import jax.numpy as jnp

    from tercet.accelerator.forms import Comparisons, Shape, rows_of
    from tercet.accelerator.solver import load_batch

    if by_matrix is None:
        every = [np.arange(problem.n_rows)]
        batch = load_batch(problem, every, d, 1, memory_of(find_device("gpu")))
        return batch.shape, jax.tree.map(lambda part: part[0], batch.comparisons)
    shape = Shape(problem.n_objects, d, by_matrix)
    rows = rows_of(problem.comparisons, shape)
    order = np.argsort(rows[:, 0], kind="stable")
    if seed is not None:
        order = np.random.default_rng(seed).permutation(len(rows))
    return shape, Comparisons(jnp.asarray(rows[order]), None)


def evaluator(objective: Objective, shape: Any, dtype: str) -> Callable[..., Any]:
    """The compiled value and gradient of one embedding."""
    import jax

    from tercet.accelerator.forms import Loss, value_and_gradient

    loss = Loss(*objective.arguments)

    def one(comparisons: Any, X: Any) -> Any:
        return value_and_gradient(shape, loss, comparisons, X, dtype)

    return jax.jit(one)


def run_kernel(quick: bool) -> tuple[str, Row, list[Row]]:
    """Value and gradient at the size of THINGS, against the CPU's in float64."""
    n, d, m = (200, 9, 50_000) if quick else (1_854, 49, 4_700_000)
    X = 0.3 * np.random.default_rng(0).standard_normal((n, d))
    problem = build_problem(random_comparisons(n, m, random_state=0), n)
    models = (STEModel(), TSTEModel(), CKLModel(), ShepardModel(), SOEModel())
    rows = [row for model in models for row in _against_cpu(model, problem, X)]
    rows += _torch_row(X, problem)
    return f"value and gradient, n = {n}, d = {d}, {m} triplets", _AGAINST_CPU, rows


def run_choices(quick: bool) -> tuple[str, Row, list[Row]]:
    """Value and gradient of odd ones out, and of two nearest of eight, against the CPU's."""
    n, d, m = (200, 9, 20_000) if quick else (1_854, 10, 1_000_000)
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((n, d))
    gaps = rng.integers(1, n // 9, size=(m, 9))  # that sum to less than n: objects are distinct
    screens = (rng.integers(n, size=(m, 1)) + np.cumsum(gaps, axis=1)) % n
    asked = {
        "odd one out": tc.Choices.odd_one_out(screens[:, :3], n_objects=n),
        "two of eight": tc.Choices.nearest(
            screens[:, 0], screens[:, 1:9], screens[:, 1:3], n_objects=n
        ),
    }
    rows = [
        (name, *row)
        for name, choices in asked.items()
        for model in (STEModel(), ShepardModel())
        for row in _against_cpu(model, problem_of(choices), X)
    ]
    return f"value and gradient, n = {n}, d = {d}, {m} choices", ("choice", *_AGAINST_CPU), rows


_AGAINST_CPU = ("model", "precision", "ms", "gradient off by", "value off by", "ms, one core")


def _against_cpu(model: Model, problem: Problem, X: np.ndarray) -> list[Row]:
    """Times and errors of value and gradient at X, in both precisions."""
    import jax.numpy as jnp

    objective = Objective(model, X.shape[1])
    value, gradient = evaluate(objective, problem, X)
    start = time.perf_counter()
    evaluate(objective, problem, X)
    on_cpu = time.perf_counter() - start
    shape, comparisons = on_device(problem, X.shape[1])
    rows = []
    for dtype in ("float32", "float64"):
        function = evaluator(objective, shape, dtype)
        found, slopes = function(comparisons, jnp.asarray(X))
        seconds = seconds_of(function, comparisons, jnp.asarray(X))
        off = np.linalg.norm(np.asarray(slopes) - gradient) / np.linalg.norm(gradient)
        rows.append(
            (
                type(model).__name__,
                dtype,
                f"{1e3 * seconds:.3f}",
                f"{off:.1e}",
                f"{abs(float(found) / value - 1):.1e}",
                f"{1e3 * on_cpu:.0f}",
            )
        )
    return rows


def _torch_row(X: np.ndarray, problem: Problem) -> list[Row]:
    """A plain gather of the points' rows, with automatic derivatives, in PyTorch."""
    try:
        import torch
    except ImportError:
        return []
    if not torch.cuda.is_available():
        return []
    t = torch.tensor(problem.comparisons.astype(np.int64), device="cuda")
    x = torch.tensor(X, device="cuda", dtype=torch.float32, requires_grad=True)

    def step() -> None:
        near = ((x[t[:, 0]] - x[t[:, 1]]) ** 2).sum(1)
        far = ((x[t[:, 0]] - x[t[:, 2]]) ** 2).sum(1)
        x.grad = None
        torch.nn.functional.softplus(near - far).sum().backward()

    found = []
    for _ in range(8):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return [("STEModel", "PyTorch, rows", f"{1e3 * median(found[3:]):.1f}", "–", "–", "–")]


def run_forms(quick: bool) -> tuple[str, Row, list[Row]]:
    """The matrix form against rows in two orders, over shapes."""
    import jax.numpy as jnp

    shapes = (
        [(200, 5, 20_000)]
        if quick
        else [
            (500, 2, 200_000),
            (2_000, 10, 500_000),
            (5_000, 10, 5_000_000),
            (10_000, 2, 5_000_000),
            (10_000, 10, 5_000_000),
            (20_000, 10, 5_000_000),
            (20_000, 50, 5_000_000),
            (40_000, 10, 5_000_000),
            (50_000, 10, 5_000_000),
        ]
    )
    rows = []
    for n, d, m in shapes:
        problem = build_problem(random_comparisons(n, m, replace=True, random_state=0), n)
        X = jnp.asarray(np.random.default_rng(0).standard_normal((n, d)))
        times = []
        for by_matrix, seed in ((True, None), (False, None), (False, 0)):
            if by_matrix and n * n >= 2**31:
                times.append("–")
                continue
            shape, comparisons = on_device(problem, d, by_matrix, seed)
            function = evaluator(Objective(STEModel(), d), shape, "float32")
            times.append(f"{1e3 * seconds_of(function, comparisons, X, repeats=10):.3f}")
        rows.append((str(n), str(d), str(m), *times))
    header = ("n", "d", "triplets", "matrix, ms", "rows by anchor, ms", "rows shuffled, ms")
    return "forms, STE, float32", header, rows


def run_things(quick: bool) -> tuple[str, Row, list[Row]]:
    """A hundred bootstrap fits of simulated THINGS, and one of them on the CPU."""
    n, d, m, count = (100, 3, 20_000, 10) if quick else (1_854, 10, 4_700_000, 100)
    _, triplets = world(n, d, m)
    rows = []
    for attempt in ("first call", "second call"):
        boot = tc.Bootstrap(tc.STE(d), count, fraction=0.4, device="gpu", random_state=0)
        start = time.perf_counter()
        with counted_warnings() as warned:
            boot.fit(triplets)
        seconds = time.perf_counter() - start
        counts = boot.ensemble_.provenance["counts"]
        rows.append(
            (
                f"{count} fits, GPU, {attempt}",
                f"{seconds:.1f}",
                json.dumps(counts),
                str(dict(warned)),
            )
        )
    start = time.perf_counter()
    one = tc.Bootstrap(tc.STE(d), 1, fraction=0.4, random_state=0).fit(triplets)
    seconds = time.perf_counter() - start
    gpu, cpu = (float(b.ensemble_.statistics["loss"][0]) for b in (boot, one))
    rows.append(
        ("1 fit, CPU, all cores", f"{seconds:.1f}", f"loss differs by {gpu / cpu - 1:.1e}", "")
    )
    return (
        f"bootstrap, n = {n}, d = {d}, {m} triplets, 40 %",
        ("what", "s", "outcome", "warnings"),
        rows,
    )


def run_large(quick: bool) -> tuple[str, Row, list[Row]]:
    """One fit of many objects."""
    n, d, m = (500, 10, 50_000) if quick else (50_000, 10, 5_000_000)
    points, triplets = world(n, d, m)
    fresh = noisy_triplets(points, min(m, 500_000), noise=NOISE, random_state=1)
    rows = []
    for device in ("gpu", "gpu", "cpu"):
        start = time.perf_counter()
        with counted_warnings() as warned:
            fit = tc.STE(d, device=device, random_state=0).fit(triplets)
        seconds = time.perf_counter() - start
        rows.append(
            (
                device,
                f"{seconds:.1f}",
                f"{fit.loss_:.8g}",
                str(fit.n_iter_),
                str(fit.converged_),
                f"{triplet_error(fit.embedding_, fresh):.4f}",
                f"{triplet_error(points, fresh):.4f}",
                str(dict(warned)),
            )
        )
    header = (
        "device",
        "s",
        "loss",
        "iterations",
        "converged",
        "held-out error",
        "truth's",
        "warnings",
    )
    return f"one fit, n = {n}, d = {d}, {m} triplets", header, rows


def run_growth(quick: bool) -> tuple[str, Row, list[Row]]:
    """Value and gradient against the number of triplets, and of objects."""
    import jax.numpy as jnp

    by_triplets = [(1_000, 10, 10**k) for k in ((4,) if quick else (4, 5, 6, 7))]
    by_objects = [(10**k, 10, 1_000_000) for k in ((2,) if quick else (2, 3, 4, 5))]
    rows = []
    for n, d, m in by_triplets + by_objects:
        problem = build_problem(random_comparisons(n, m, replace=True, random_state=0), n)
        shape, comparisons = on_device(problem, d)
        X = jnp.asarray(np.random.default_rng(0).standard_normal((n, d)))
        function = evaluator(Objective(STEModel(), d), shape, "float32")
        seconds = seconds_of(function, comparisons, X, repeats=20)
        form = "matrix" if shape.by_matrix else "rows"
        rows.append((str(n), str(d), str(m), form, f"{1e3 * seconds:.4f}"))
    return "growth, STE, float32", ("n", "d", "triplets", "form", "ms"), rows


CASES = {
    "kernel": run_kernel,
    "choices": run_choices,
    "forms": run_forms,
    "things": run_things,
    "large": run_large,
    "growth": run_growth,
}


def table(title: str, header: Sequence[str], rows: Sequence[Row]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return f"### {title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> None:
    """Parse the arguments and run."""
    import jax

    parser = argparse.ArgumentParser(prog="python -m benchmarks.accelerator", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write it there")
    arguments = parser.parse_args()
    device = find_device("gpu")
    about = f"{device.device_kind}, JAX {jax.__version__}, Python {platform.python_version()}"
    parts = [f"Machine: {about}, NumPy {np.__version__}.\n"]
    print(parts[0], flush=True)
    with computing_on(device):
        for name in arguments.cases or CASES:
            parts.append(table(*CASES[name](arguments.quick)))
            print(parts[-1], flush=True)
            if arguments.out is not None:
                arguments.out.write_text("\n".join(parts))


if __name__ == "__main__":
    main()

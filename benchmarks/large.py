"""One fit of 50 000 objects and 5 million triplets, in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.peer import ROOT
from benchmarks.report import Line, Section, Table, duration
from benchmarks.setting import Setting, counted_warnings, timed
from tercet.metrics import triplet_error
from tercet.simulate import gaussian_mixture, noisy_triplets

NOISE, HELD_OUT = 0.3, 500_000
GOAL_SECONDS, GOAL_BYTES, GOAL_EXCESS = 300.0, 4e9, 0.01
PUBLISHED = (
    ("SOE", ".231", "11 084"),
    ("CKL", ".317", "46 194"),
    ("GNMDS", ".249", "82 052"),
    ("t-STE", ".314", "7 688"),
    ("STE", ".444", "2 370"),
)


def run(setting: Setting) -> Section:
    """Simulate, fit in a fresh process, and ask both maps fresh questions."""
    n, m = setting.choose((50_000, 5_000_000), (2_000, 200_000))
    rng = np.random.default_rng(n)
    points, _ = gaussian_mixture(n, random_state=rng)
    triplets = noisy_triplets(points, m, noise=NOISE, random_state=rng).array
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "triplets.npy", triplets)
        command = [sys.executable, "-m", "benchmarks.large", folder, str(n)]
        subprocess.run(command, check=True, cwd=ROOT)
        told: dict[str, Any] = json.loads((Path(folder) / "told.json").read_text())
        embedding = np.load(Path(folder) / "embedding.npy")
    fresh = noisy_triplets(points, HELD_OUT, noise=NOISE, random_state=rng)
    error, truth = triplet_error(embedding, fresh), triplet_error(points, fresh)
    gigabytes = told["peak_bytes"] / 1e9
    reached = (
        told["seconds"] < GOAL_SECONDS
        and told["peak_bytes"] < GOAL_BYTES
        and error - truth <= GOAL_EXCESS
    )
    line = Line(
        f"one fit, {n} objects, {m:.0e} triplets, d = 2",
        f"{duration(told['seconds'])}, {gigabytes:.2f} GB",
        f"< {GOAL_SECONDS:g} s, < 4 GB, within {GOAL_EXCESS:g}",
        reached,
        "2370–82052 CPU s, published",
        quality_ours=f"hold-out error {error:.4f}",
        quality_peer=f"true positions {truth:.4f}",
    )
    details = [
        ["seconds, reading and checking included", f"{told['seconds']:.1f}"],
        ["peak memory of the process", f"{gigabytes:.2f} GB"],
        ["iterations", str(told["iterations"])],
        ["why it stopped", told["reason"]],
        ["training error", f"{triplet_error(embedding, triplets):.4f}"],
        [f"error on {HELD_OUT} fresh noisy answers", f"{error:.4f}"],
        ["error of the true positions on them", f"{truth:.4f}"],
        ["warnings", ", ".join(told["warnings"]) or "none"],
    ]
    published = Table(
        "Published for cblearn on imagenet-v2 (50 k objects, 5.0 M triplets, 2-d; other data and "
        "another machine, so an order of magnitude only)",
        ["model", "training error", "CPU seconds"],
        PUBLISHED,
    )
    return Section(
        "One large fit",
        [line],
        [Table("`STE(2).fit`", ["what", "value"], details), published],
        [
            "The peer cannot run here: it builds the matrix of all distances at every evaluation, "
            "20 GB for 50 000 objects.",
        ],
    )


def _fit(folder: Path, n_objects: int) -> None:
    """Fit and write what there is to tell; the time starts after the import."""
    from tercet.estimators import STE

    def work() -> STE:
        triplets = np.load(folder / "triplets.npy")
        return STE(2, random_state=0).fit(triplets, n_objects=n_objects)

    with counted_warnings() as counts:
        seconds, fitted = timed(work)
    told = {
        "seconds": seconds,
        "peak_bytes": _peak_memory(),
        "iterations": fitted.n_iter_,
        "reason": fitted.reason_,
        "warnings": list(counts),
    }
    np.save(folder / "embedding.npy", fitted.embedding_)
    (folder / "told.json").write_text(json.dumps(told))


def _peak_memory() -> int:
    """Largest resident size of this process, in bytes.

    Linux starts ``ru_maxrss`` at the size of the process that started this one; its own peak is in
    the status file.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS


if __name__ == "__main__":
    _fit(Path(sys.argv[1]), int(sys.argv[2]))

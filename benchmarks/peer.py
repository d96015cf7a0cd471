"""Our side of the peer: cblearn 0.4.0 in a process and a virtual environment of its own.

It needs numpy < 2, so it cannot share ours. The process is started once and kept, so that imports
and first calls are in no measured time.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-peer" / "bin" / "python"
_WORKER = Path(__file__).with_name("peer_worker.py")

HOW_TO_INSTALL = (
    "The peer is not installed, so ours is measured alone. To install it: python3 -m venv "
    ".venv-peer && .venv-peer/bin/pip install cblearn==0.4.0 'numpy<2'"
)


class Peer(NamedTuple):
    """A running worker and the folder through which arrays pass."""

    process: subprocess.Popen[str]
    folder: Path

    def call(self, task: str, arrays: dict[str, Any], **options: Any) -> tuple[float, Any]:
        """Let the worker do a task; return the seconds it took and its arrays by name."""
        given, result = self.folder / "arrays.npz", self.folder / "result.npz"
        np.savez(given, **arrays)
        job = {"task": task, "options": options, "arrays": str(given), "result": str(result)}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the peer died during {task!r}, perhaps for lack of memory")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"the peer failed:\n{answer['error']}")
        with np.load(result) as file:
            return float(answer["seconds"]), dict(file)

    def fit(
        self,
        model: str,
        triplets: NDArray[np.integer],
        n_objects: int,
        n_components: int,
        subsets: list[NDArray[np.integer]],
        seeds: list[int],
        parameters: dict[str, float] | None = None,
    ) -> tuple[float, NDArray[np.float64]]:
        """Fit subsets of rows; return the seconds it took and the embeddings (k, n, d)."""
        arrays = {
            "triplets": triplets,
            "rows": np.concatenate(subsets),
            "cuts": np.cumsum([len(rows) for rows in subsets])[:-1],
        }
        seconds, result = self.call(
            "fit",
            arrays,
            model=model,
            n_objects=n_objects,
            n_components=n_components,
            seeds=seeds,
            parameters=parameters or {},
        )
        return seconds, result["embeddings"]

    def versions(self) -> dict[str, str]:
        """Versions of the peer and of what it stands on."""
        return {name: str(number) for name, number in self.call("versions", {})[1].items()}


@contextmanager
def running_peer() -> Iterator[Peer | None]:
    """Start the worker, and end it afterwards; None where the peer is not installed."""
    if not PYTHON.exists():
        yield None
        return
    with TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [PYTHON, "-I", _WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with process:  # leaving closes the worker's input, which ends it
            yield Peer(process, Path(folder))

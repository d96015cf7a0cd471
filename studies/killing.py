"""One run, killed again and again: ``python -m studies.killing KIND KILLS SEED FOLDER``.

Prints in JSON what happened. The run is a child of this process, forked when everything is compiled
and loaded, so that the moments at which it is killed fall into the work.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tercet as tc
from tercet.makers import Maker
from tercet.running import checkpoint as rows

SHORT: dict[str, Any] = {"n_samples": 150, "n_chains": 3, "random_state": 1}
KINDS: dict[str, Callable[[], Maker]] = {
    "bootstrap": lambda: tc.Bootstrap(tc.STE(2), 200, random_state=1),
    "bootstrap, corrected": lambda: tc.Bootstrap(
        tc.STE(2, penalty=1 / 30), 300, fraction=0.4, correction=True, random_state=1
    ),
    "Hamiltonian chains": lambda: tc.Posterior(tc.STE(2), warmup=300, learn=("lapse",), **SHORT),
    "elliptical slices": lambda: tc.Posterior(
        tc.STE(2), sampler="elliptical_slice", warmup=600, **SHORT
    ),
    "distance matrices": lambda: tc.Posterior(
        tc.STE(2), prior=tc.DistancePrior(2.0), warmup=300, **SHORT
    ),
}
EVERY = 0.02  # seconds between commits; a fiftieth of what is usual, to meet more of them
SOON = 0.5  # of the time that a run takes: within that, kills come
AT_ONCE = 0.01  # seconds
HOT = bytes.fromhex("d9d505f920a163d7")  # how the journal of a commit that is not over begins


def make_answers() -> tc.Triplets:
    """Answers about a small world."""
    points, _ = tc.simulate.gaussian_mixture(20, random_state=0)
    return tc.Triplets(tc.simulate.noisy_triplets(points, 1500, noise=0.3, random_state=0))


def bits(ensemble: tc.Ensemble) -> str:
    """A few letters that differ when a bit of an ensemble does."""
    digest = hashlib.sha256(ensemble.draws.tobytes())
    if ensemble.kind == "points":
        digest.update(ensemble.samples.tobytes())  # with the reference and the centre in them
    for columns in (ensemble.parameters, ensemble.statistics):
        for name in sorted(columns):
            digest.update(name.encode() + np.ascontiguousarray(columns[name]).tobytes())
    digest.update(json.dumps(ensemble.provenance, sort_keys=True).encode())
    return digest.hexdigest()[:16]


def main() -> None:
    """Kill and go on until it was often enough."""
    kind, kills, seed, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    warnings.simplefilter("ignore")  # chains as short as these are told so
    rows.EVERY = EVERY
    maker, answers = KINDS[kind](), make_answers()
    undisturbed = bits(maker.fit(answers).ensemble_)  # compiles, too
    start = time.perf_counter()
    attempt(maker.set_params(checkpoint=folder / "whole.ckpt"), answers, None)
    soon = SOON * (time.perf_counter() - start)
    rng = np.random.default_rng(seed)
    found = dict.fromkeys(("kills", "before", "within", "after", "runs", "same"), 0)
    while found["kills"] < kills:
        path = folder / f"{found['runs']}.ckpt"
        result = None
        while result is None:
            how = found["kills"] % 3  # at once, at any time, or in a commit
            moment = rng.uniform(0.0, AT_ONCE if how == 0 else soon)
            enough = found["kills"] == kills
            known, journal = last_change(path), Journal(path)
            maker.set_params(checkpoint=path)
            aim = journal if how == 2 else None
            result = attempt(maker, answers, None if enough else moment, aim)
            if result is None:
                found["kills"] += 1
                untouched = last_change(path) == known
                found["within" if journal.is_hot() else "before" if untouched else "after"] += 1
        found["runs"] += 1
        found["same"] += result == undisturbed
    print(json.dumps(found))


def last_change(path: Path) -> int:
    """When a file was last written to; 0 where there is none."""
    return path.stat().st_mtime_ns if path.exists() else 0


class Journal:
    """The file beside a checkpoint in which SQLite notes how to undo a commit."""

    def __init__(self, path: Path) -> None:
        self.path = Path(f"{path}-journal")
        self.before = last_change(self.path)  # of one that a kill left

    def is_hot(self) -> bool:
        """Whether a commit is under way, or was when its process was killed."""
        try:
            with self.path.open("rb") as file:
                hot = file.read(len(HOT)) == HOT
            return hot and last_change(self.path) != self.before
        except FileNotFoundError:
            return False


def stop_in_commit(child: int, journal: Journal) -> None:
    """Stop a process in its next commit, if there is one before its end."""
    ended = os.WEXITED | os.WNOWAIT
    while os.waitid(os.P_PID, child, ended | os.WNOHANG) is None:
        if not journal.is_hot():
            continue
        os.kill(child, signal.SIGSTOP)
        info = os.waitid(os.P_PID, child, ended | os.WSTOPPED)
        if info is None or info.si_code != os.CLD_STOPPED or journal.is_hot():
            return
        os.kill(child, signal.SIGCONT)  # the commit was over


def attempt(
    maker: Maker, answers: tc.Triplets, moment: float | None, journal: Journal | None = None
) -> str | None:
    """The bits of a run in a child of this process; None where it was killed before its end.

    It is killed after so many seconds or, given the journal, in the first commit after them.
    """
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(into, bits(maker.fit(answers).ensemble_).encode())
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(1)
    os.close(into)
    if moment is not None:
        time.sleep(moment)
        if journal is not None:
            stop_in_commit(child, journal)
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with os.fdopen(out) as pipe:
        told = pipe.read()
    if status not in (0, -signal.SIGKILL):
        sys.exit(f"a run failed with the code {status}")
    return told if status == 0 else None


if __name__ == "__main__":
    main()

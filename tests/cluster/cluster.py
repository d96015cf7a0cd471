"""A Dask cluster of processes on this machine: a scheduler, and workers of one thread each."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from distributed import Client


class Cluster:
    """Processes that can be killed and replaced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address_file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen] = []
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        self.workers: list[subprocess.Popen] = []
        wait_until(self.address_file.exists)

    def add_workers(self, number: int) -> None:
        self.workers += [
            self._start("worker", "--nthreads", "1", "--no-nanny", "--memory-limit", "0")
            for _ in range(number)
        ]

    def fill(self, number: int) -> None:
        """Replace workers that have died."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        self.add_workers(number - len(self.workers))

    def _start(self, what: str, *arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "dask", what, *arguments, "--no-dashboard"]
        command += ["--scheduler-file", str(self.address_file)]
        if what == "worker":
            command += ["--local-directory", str(self.folder)]
        with open(self.folder / f"{what}{len(self.processes)}.log", "wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def kill(self, *processes: subprocess.Popen) -> None:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait(10)


@contextmanager
def running_cluster(folder: Path, n_workers: int):
    cluster = Cluster(folder)
    try:
        cluster.add_workers(n_workers)
        yield cluster
    finally:
        for process in reversed(cluster.processes):
            process.kill()
            process.wait(10)


@contextmanager
def connected(cluster: Cluster, n_workers: int):
    with Client(scheduler_file=str(cluster.address_file), set_as_default=True) as client:
        client.wait_for_workers(n_workers, timeout=60)
        yield client


def wait_until(condition, timeout=60.0):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def note(path):
    """Add a line with this process's number to a file."""
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\n")

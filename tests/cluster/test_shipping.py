"""Data go to each process once, whatever runs the tasks."""

import os
import platform
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import joblib
import numpy as np
import pytest
from tests.cluster.cluster import note

from tercet.engine import backend as shared_data
from tercet.engine.backend import Payload, pack, run_anywhere, unpack
from tercet.running.threads import count_threads

pytestmark = pytest.mark.slow


class Large:
    """Data of 8 MB that note in a file where they are unpacked."""

    def __init__(self, unpacked: Path) -> None:
        self.unpacked = unpacked
        self.array = np.arange(1_000_000.0)

    def __setstate__(self, state):
        self.__dict__.update(state)
        note(self.unpacked)


def element(large, k):
    time.sleep(0.01)  # so that no process does all
    return k, large.array[k], os.getpid(), large.array.flags.writeable


def run_forty(folder, **choices):
    results = list(run_anywhere(element, Large(folder / "unpacked"), range(40), **choices))
    numbers, values, processes, writable = zip(*results, strict=True)
    assert sorted(numbers) == list(range(40))
    assert numbers == values
    assert all(writable)
    noted = folder / "unpacked"
    times = Counter(noted.read_text().split()) if noted.exists() else {}
    return numbers, set(map(str, processes)), times


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # fork beside threads
@pytest.mark.parametrize("name", ["loky", "multiprocessing"])
def test_processes_unpack_once(tmp_path, name):
    with joblib.parallel_config(name, n_jobs=2):
        numbers, processes, times = run_forty(tmp_path)
    assert numbers == tuple(range(40))
    assert len(processes) == 2
    assert times == dict.fromkeys(processes, 1)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # fork beside threads
@pytest.mark.parametrize("name", ["loky", "multiprocessing", "threading", "sequential"])
def test_results_are_known_before_all_are_done(tmp_path, name):
    results = run_anywhere(leave, tmp_path, range(40))
    with joblib.parallel_config(name, n_jobs=2), closing(results):
        assert next(results) == 0
        assert len(list(tmp_path.iterdir())) < 40


def leave(folder, k):
    (folder / str(k)).touch()
    time.sleep(0.05)
    return k


@pytest.mark.parametrize("name", ["threading", "sequential"])
def test_threads_pack_nothing(tmp_path, name):
    with joblib.parallel_config(name, n_jobs=2):
        numbers, processes, times = run_forty(tmp_path)
    assert numbers == tuple(range(40))
    assert processes == {str(os.getpid())}
    assert not times


@pytest.mark.parametrize("in_order", [True, False])
def test_dask_workers_unpack_once(tmp_path, dask, monkeypatch, in_order):
    sent = []

    def reduce(self):
        sent.append(self.name)
        return Payload, (self.data, self.name)

    monkeypatch.setattr(Payload, "__reduce__", reduce, raising=False)
    with joblib.parallel_config("dask"):
        numbers, processes, times = run_forty(tmp_path, in_order=in_order)
    assert not in_order or numbers == tuple(range(40))
    assert len(processes) == 2
    assert times == dict.fromkeys(processes, 1)
    assert len(sent) == 1  # to the scheduler; no task has it on board


def test_a_process_keeps_what_it_used_last():
    first, second, third = (pack([k]) for k in range(3))
    kept = unpack(first)
    unpack(second)
    assert unpack(first) is kept
    unpack(third)
    assert unpack(first) is kept
    assert {first.name, third.name} == set(shared_data._opened)
    assert unpack(second) == [1]


def test_what_was_read_only_here_can_be_written_there():
    array = np.arange(6.0).reshape(2, 3)
    array.setflags(write=False)
    found = unpack(pack((array,)))[0]
    np.testing.assert_array_equal(found, array)
    assert found.flags.writeable
    assert found.flags.c_contiguous


def threads(_, item):
    from threadpoolctl import threadpool_info

    blas = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    return count_threads(None), blas, joblib.effective_n_jobs(-1)


def test_a_task_has_one_thread(dask):
    for name in ("loky", "dask"):
        with joblib.parallel_config(name, n_jobs=2):
            found = list(run_anywhere(threads, None, range(4)))
        assert found == [(1, {1}, 1)] * 4
    assert count_threads(None) == os.cpu_count()


PAGES = """
import resource, sys
import numpy as np
from tercet.engine.backend import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
np.ones(1_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(1_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries decide themselves")
def test_freed_memory_is_kept_where_dask_says_otherwise():
    def count_pages(what):
        environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
        command = [sys.executable, "-c", PAGES, what]
        return int(subprocess.check_output(command, env=environment))

    assert count_pages("keep") < 2000 < count_pages("give back")  # an array is 2000 of 4 kB

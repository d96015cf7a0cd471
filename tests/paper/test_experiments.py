import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from tercet.errors import TercetError
from tercet.paper.experiments import Cell, collect_results, source_of


def square(x):
    if x < 0:
        raise ValueError("below 0")
    if x == 3:
        warnings.warn("three", UserWarning, stacklevel=1)
    return {"rows": [{"square": x * x, "random": float(np.random.default_rng(x).normal())}]}


def cells(*numbers, version=1):
    return [Cell("squares", version, square, {"x": x}) for x in numbers]


def run(*numbers, folder, jobs=1, version=1):
    return collect_results(cells(*numbers, version=version), folder, jobs, show=False)


def values(results):
    return [result["rows"][0]["square"] for result in results]


def test_results_come_in_order_and_are_kept(tmp_path):
    first = run(3, 1, 2, folder=tmp_path)
    assert values(first) == [9, 1, 4]
    assert first[0]["settings"] == {"x": 3}
    assert first[0]["warned"] == {"UserWarning": 1}
    assert first[0]["source"] == source_of()
    assert run(3, 1, 2, folder=tmp_path) == first  # seconds and all: nothing was computed again


def test_the_number_of_processes_changes_nothing(tmp_path):
    one, two = (run(*range(6), folder=tmp_path / str(jobs), jobs=jobs) for jobs in (1, 2))
    assert [r["rows"] for r in one] == [r["rows"] for r in two]


def test_a_folder_is_meant_from_where_it_was_said(tmp_path, monkeypatch):
    """Processes are used again, and were started elsewhere."""
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        monkeypatch.chdir(tmp_path / place)
        assert values(run(4, 5, 6, folder=Path("kept"), jobs=2)) == [16, 25, 36]
        assert len(list((tmp_path / place / "kept" / "squares").iterdir())) == 3


def test_settings_and_version_tell_cells_apart(tmp_path):
    paths = [c.path(tmp_path) for c in (*cells(1, 2), *cells(1, version=2))]
    assert len(set(paths)) == 3
    assert cells(1)[0].path(tmp_path) == paths[0]


def test_a_failure_is_told_and_tried_again(tmp_path):
    good, bad = run(2, -1, folder=tmp_path)
    assert values([good]) == [4]
    assert "'x': -1" in bad["failed"]
    assert "below 0" in bad["failed"]
    assert not cells(-1)[0].path(tmp_path).exists()


@pytest.mark.parametrize("damage", ["", '{"rows": [{"squ', "\x00\xff", "[" * 100_000])
def test_a_damaged_cell_is_computed_again(tmp_path, damage):
    run(2, folder=tmp_path)
    path = cells(2)[0].path(tmp_path)
    path.write_text(damage)
    assert values(run(2, folder=tmp_path)) == [4]
    assert json.loads(path.read_text())["rows"]


def test_a_half_written_cell_is_never_read(tmp_path):
    path = cells(2)[0].path(tmp_path)
    path.parent.mkdir(parents=True)
    path.with_name(f".{path.name}.123.part").write_text('{"rows": [{"square": 5}]}')
    assert values(run(2, folder=tmp_path)) == [4]


@pytest.mark.slow
def test_an_interrupted_run_goes_on(tmp_path):
    """Stopped in the middle by a signal, what was done is there and the rest is computed."""
    script = tmp_path / "work.py"
    script.write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored here\n"
        "from pathlib import Path\n"
        "from tercet.paper.experiments import Cell, collect_results\n"
        "def slow(x):\n"
        "    time.sleep(0.0 if x < 2 else float(sys.argv[2]))\n"
        "    return {'x': x}\n"
        "cells = [Cell('slow', 1, slow, {'x': x}, 10.0 - x) for x in range(4)]\n"
        "if __name__ == '__main__':\n"
        "    print(collect_results(cells, Path(sys.argv[1]), 1, show=False)[3]['x'])\n"
    )
    folder = tmp_path / "cells"
    command = [sys.executable, str(script), str(folder)]
    with subprocess.Popen([*command, "600"], stderr=subprocess.DEVNULL) as stopped:
        deadline = time.monotonic() + 120
        while len(list(folder.glob("slow/*.json"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(stopped.pid, signal.SIGINT)
        try:
            stopped.wait(60)
        finally:
            stopped.kill()
    known = {path: path.stat().st_mtime_ns for path in folder.glob("slow/*.json")}
    assert len(known) == 2
    done = subprocess.run([*command, "0"], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "3"
    assert len(list(folder.glob("slow/*.json"))) == 4
    assert all(path.stat().st_mtime_ns == written for path, written in known.items())


@pytest.mark.slow
def test_a_process_that_is_killed_is_told(tmp_path):
    killed = [Cell("killed", 1, kill, {"x": x}) for x in range(3)]
    with pytest.raises(TercetError, match="lack of memory"):
        collect_results(killed, tmp_path, 2, show=False)


def kill(x):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_result_that_is_no_json_is_a_failure(tmp_path):
    (failed,) = collect_results([Cell("odd", 1, odd, {"x": 1})], tmp_path, 1, show=False)
    assert "int64" in failed["failed"]
    assert failed["settings"] == {"x": 1}


def odd(x):
    return {"rows": [{"x": np.int64(x)}]}

"""The file of a checkpoint: what comes back, what it refuses, and that nothing in it is lost."""

import os
import re
import resource
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from tercet.errors import DataWarning, InputError, TercetError
from tercet.running import checkpoint as checkpoints
from tercet.running.checkpoint import NOTHING_KEPT, fingerprint, open_checkpoint

SETTINGS = {"class": "Maker", "n": 3, "estimator": {"class": "STE", "penalty": 0.5}}
DATA = {"comparisons": np.arange(6).reshape(2, 3), "weights": None}
CONTENT = {
    "points": np.array([[0.1, -0.0], [np.nan, 5e-324]]),
    "flags": np.array([True, False]),
    "rng": {"state": {"state": 2**127 + 1, "inc": 3}, "has_uint32": 0},
    "loss": float("inf"),
    "reason": "converged: …",
    "converged": np.bool_(True),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


def opened(path, settings=SETTINGS, data=DATA, random_state=None):
    return open_checkpoint(path, settings, data, random_state)


def filled(path, count=3, **more):
    with opened(path, **more) as checkpoint:
        for part in range(count):
            checkpoint.add("chain", 1, CONTENT | {"number": part}, part)
    return checkpoint.entropy


def read_all(path):
    with opened(path) as checkpoint:
        return list(checkpoint.rows("chain", 1))


def add_until_full(path):
    with opened(path) as checkpoint:
        for part in range(1000):
            checkpoint.add("chain", 1, {"x": np.full(200, float(part))}, part)


# --- what comes back --------------------------------------------------------------------------


def test_rows_come_back_to_the_bit_and_in_order(path):
    filled(path, 12)
    with opened(path) as checkpoint:
        found = list(checkpoint.rows("chain", 1))
        assert list(checkpoint.rows("chain", 0)) == []
        assert list(checkpoint.rows("replicate", 1)) == []
    assert [content["number"] for content in found] == list(range(12))
    assert found[0]["points"].tobytes() == CONTENT["points"].tobytes()
    assert found[0]["flags"].dtype == bool
    for name in ("rng", "loss", "reason", "converged"):
        assert found[0][name] == CONTENT[name]


def test_arrays_that_come_back_are_as_compiled_code_wants_them(path):
    filled(path, 1)
    (content,) = read_all(path)
    assert content["points"].flags.writeable
    assert content["points"].flags.c_contiguous


def test_what_is_made_once_is_not_made_again(path):
    made = []

    def make():
        made.append(1)
        return {"x": np.arange(3)}

    for _ in range(2):
        with opened(path) as checkpoint:
            np.testing.assert_array_equal(
                checkpoint.once("hill", 0, make, dict, dict)["x"], np.arange(3)
            )
    assert len(made) == 1


def test_without_a_file_nothing_is_kept():
    NOTHING_KEPT.add("chain", 0, {"x": object()})
    assert list(NOTHING_KEPT.rows("chain", 0)) == []
    with open_checkpoint(None, SETTINGS, DATA, 5) as checkpoint:
        assert checkpoint.entropy == 5


def test_rows_are_committed_now_and_then(path, monkeypatch):
    """The first at once, those of the next second together, also if none follows."""
    commits = []
    monkeypatch.setattr(checkpoints, "EVERY", 0.2)
    write = checkpoints.write_rows
    monkeypatch.setattr(
        checkpoints, "write_rows", lambda f, r: commits.append(len(r)) or write(f, r)
    )
    with opened(path) as checkpoint:
        for part in range(4):
            checkpoint.add("chain", 0, {}, part)
        assert commits == [1]
        deadline = time.monotonic() + 20.0
        while len(commits) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert commits == [1, 3]
        checkpoint.add("chain", 0, {}, 4)
        checkpoint.add("chain", 0, {}, 5)
    assert sum(commits) == 6


def test_nothing_in_a_file_is_executed(path, tmp_path):
    """A row of a pickled object, as somebody might send it, is refused."""
    filled(path, 0)
    packed = tmp_path / "object.npz"
    np.savez(packed, x=np.array([{"a": 1}], dtype=object), json=np.array("{}"))
    with sqlite3.connect(path) as connection:
        row = ("chain", 1, 0, packed.read_bytes())
        connection.execute("INSERT INTO content VALUES (?, ?, ?, ?)", row)
    connection.close()
    with pytest.raises(InputError, match="damaged"):
        read_all(path)


# --- whose it is ------------------------------------------------------------------------------


def test_the_seed_is_that_of_the_file_unless_another_is_given(path):
    seed = filled(path)
    assert filled(path) == seed
    assert filled(path, random_state=seed) == seed
    with pytest.raises(InputError, match=f"the seed is 3 and was {seed}"):
        opened(path, random_state=3)


def test_a_generator_in_the_same_state_is_the_same_seed(path):
    first = filled(path, random_state=np.random.default_rng(4))
    assert filled(path, random_state=np.random.default_rng(4)) == first
    with pytest.raises(InputError, match="the seed"):
        opened(path, random_state=np.random.default_rng(5))


@pytest.mark.parametrize(
    ("settings", "data", "told"),
    [
        ({"n": 4}, {}, "n is 4 and was 3"),
        ({"estimator": {"class": "STE", "penalty": 1}}, {}, "penalty of the estimator is 1 and"),
        ({"more": True}, {}, "more is True and was None"),
        ({}, {"comparisons": np.arange(6).reshape(3, 2)}, "other comparisons"),
        ({}, {"weights": np.ones(2)}, "other weights"),
        ({"n": 4}, {"weights": np.ones(2)}, "n is 4 and was 3; other weights"),
    ],
)
def test_another_run_is_told_what_differs_and_what_to_do(path, settings, data, told):
    filled(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=told) as caught:
        opened(path, SETTINGS | settings, DATA | data)
    assert "another file, or delete" in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["n_jobs", "progress", "checkpoint", "random_state"])
def test_what_changes_no_bit_may_change(path, name):
    filled(path, settings=SETTINGS | {name: 1})
    with opened(path, SETTINGS | {name: 2}) as checkpoint:
        assert len(list(checkpoint.rows("chain", 1))) == 3


def test_other_versions_go_on_with_a_warning(path, monkeypatch):
    filled(path)
    now = checkpoints.versions() | {"numba": "0.99"}
    monkeypatch.setattr(checkpoints, "versions", lambda: now)
    with pytest.warns(DataWarning, match=r"numba 0\.99, was .* last bits"):
        checkpoint = opened(path)
    with checkpoint:
        assert len(list(checkpoint.rows("chain", 1))) == 3


def test_fingerprints_see_types_shapes_and_values():
    array = np.arange(6)
    others = [
        array.astype(np.int32),
        array.reshape(2, 3),
        array[::-1],
        array + 1,
        None,
        "6",
        6,
        6.5,
    ]
    assert len({fingerprint(value) for value in [array, *others]}) == 9
    assert fingerprint(array) == fingerprint(np.arange(12)[::2] // 2)


# --- what it refuses --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [b"a", b"anchor,near,far\n0,1,2\n" * 200, b"SQLite format 3\0" + b"x" * 5000]
)
def test_a_file_that_is_something_else_is_left_as_it_is(path, content):
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a tercet checkpoint; it was not changed"):
        opened(path)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_another_programs_database_is_left_as_it_is(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE about (name, value)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="is not a tercet checkpoint"):
        opened(path)
    assert path.read_bytes() == before


def test_a_run_killed_before_it_wrote_a_row_finds_its_own_file(path):
    checkpoints.open_file(os.fspath(path)).close()  # locking has written a header
    assert path.stat().st_size > 0
    filled(path)
    assert len(read_all(path)) == 3


def test_an_empty_file_is_a_new_one(path):
    """What is left where a process was killed before its first commit."""
    path.touch()
    filled(path)
    assert len(read_all(path)) == 3


@pytest.mark.parametrize("span", [(100, 4096), (4096, None)])
def test_a_damaged_file_is_left_as_it_is(path, span):
    filled(path, 30)
    content = bytearray(path.read_bytes())
    part = slice(*span)
    content[part] = np.random.default_rng(0).bytes(len(content[part]))
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"(damaged|not a tercet checkpoint).*it was not changed"):
        read_all(path)
    assert path.read_bytes() == content


def test_a_row_that_is_damaged_is_noticed(path):
    """SQLite does not look into what it keeps; the zip of a row has a checksum."""
    filled(path, 1)
    content = path.read_bytes()
    at = content.index(CONTENT["points"].tobytes())
    path.write_bytes(content[:at] + b"?" + content[at + 1 :])
    with pytest.raises(InputError, match="damaged"):
        read_all(path)


@pytest.mark.parametrize("byte", [4, 6, 8])
def test_a_damaged_head_of_a_row_is_noticed(path, byte):
    """The version of a zip, its flags and its compression, which it checks before its sums."""
    filled(path, 1)
    content = bytearray(path.read_bytes())
    for at in [i.start() for i in re.finditer(b"PK\x01\x02", bytes(content))]:
        content[at + 2 + byte] = 0x61
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        read_all(path)


def test_text_that_is_damaged_is_noticed(path):
    filled(path, 1)
    content = path.read_bytes()
    at = content.index(b'"tercet checkpoint"')
    path.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
    with pytest.raises(InputError, match=r"damaged.*it was not changed"):
        read_all(path)


def test_a_later_format_is_not_read(path, monkeypatch):
    monkeypatch.setattr(checkpoints, "VERSION", 3)
    filled(path)
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"format version 3.*update tercet"):
        opened(path)


def test_a_run_that_was_begun_before_rows_had_seals_goes_on(path):
    filled(path, 2)
    with sqlite3.connect(path) as old:
        old.execute("UPDATE about SET value = '1' WHERE name = 'version'")
        old.execute("UPDATE content SET value = substr(value, 17)")
    old.close()
    with opened(path) as checkpoint:
        checkpoint.add("chain", 1, CONTENT | {"number": 2}, 2)
    assert [content["number"] for content in read_all(path)] == [0, 1, 2]


@pytest.mark.slow
def test_two_runs_cannot_have_one_file(path):
    told = "is in use by another run"
    with opened(path):
        with pytest.raises(InputError, match=told):
            opened(path)
        code = (
            "import sys; from tercet.running.checkpoint import open_checkpoint\n"
            "open_checkpoint(sys.argv[1], {}, {}, 0)"
        )
        other = subprocess.run(
            [sys.executable, "-c", code, path], capture_output=True, text=True, check=False
        )
        assert other.returncode == 1
        assert told in other.stderr
    filled(path)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere/run.ckpt", "there is no folder"),
        (".", "is a folder; give the name of a file in it"),
        (3, "must be the name of a file, got 3"),
    ],
)
def test_a_place_that_cannot_be(tmp_path, name, told):
    with pytest.raises(InputError, match=told):
        opened(tmp_path / name if isinstance(name, str) else name)


def test_a_file_has_any_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    filled(":memory:")
    assert (tmp_path / ":memory:").stat().st_size > 0


def test_a_folder_that_is_write_protected(tmp_path):
    folder = tmp_path / "protected"
    folder.mkdir()
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):  # for the administrator nothing is, but the system's own
        folder = "/proc"
    with pytest.raises(TercetError, match=r"write-protected. Give a file in another folder"):
        opened(f"{folder}/run.ckpt")


# --- a full disk ------------------------------------------------------------------------------


@pytest.fixture
def small_disk(monkeypatch):
    """Let SQLite believe that there are so many pages on the disk."""

    def limited(path):
        connection = open_file(path)
        connection.execute("PRAGMA max_page_count = 20")
        return connection

    open_file = checkpoints.open_file
    monkeypatch.setattr(checkpoints, "open_file", limited)
    return monkeypatch


@pytest.mark.parametrize("every", [0.0, 0.01])
def test_a_full_disk_is_told_and_costs_nothing_that_was_saved(path, small_disk, every):
    small_disk.setattr(checkpoints, "EVERY", every)
    with pytest.raises(TercetError, match=r"full. What was saved before is safe.*free some space"):
        add_until_full(path)
    small_disk.undo()
    found = [content["x"][0] for content in read_all(path)]
    assert found == list(range(len(found)))
    assert len(found) > 0 or every


@pytest.mark.slow
def test_a_disk_that_fails_under_way_is_told(path):
    """The system refuses to let a file grow: what a quota does."""
    code = (
        "import resource, sys, numpy as np\n"
        "from tercet.running import checkpoint as module\n"
        "module.EVERY = 0.0\n"
        "with module.open_checkpoint(sys.argv[1], {}, {}, 0) as checkpoint:\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "    for part in range(1000):\n"
        "        checkpoint.add('chain', 1, {'x': np.full(200, float(part))}, part)\n"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "TercetError: the checkpoint" in done.stderr
    assert "What was saved before is safe: free some space" in done.stderr
    with open_checkpoint(path, {}, {}, 0) as checkpoint:
        found = [content["x"][0] for content in checkpoint.rows("chain", 1)]
    assert 0 < len(found) < 1000
    assert found == list(range(len(found)))


def test_who_was_already_failing_keeps_that_error(path, small_disk):
    small_disk.setattr(checkpoints, "EVERY", 1000.0)

    def fail():
        with opened(path) as checkpoint:
            for part in range(200):
                checkpoint.add("chain", 1, CONTENT, part)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


def test_an_interruption_says_how_to_go_on(path):
    def stop():
        with opened(path) as checkpoint:
            checkpoint.add("chain", 1, {})
            checkpoint.add("chain", 1, {}, 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        stop()
    assert caught.value.__notes__ == [f"Progress is saved in {path}: run the same again to resume."]
    assert len(read_all(path)) == 2

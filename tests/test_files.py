"""What tercet writes: whole or not at all, through links, and into pipes and devices."""

import os
import pty
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tercet as tc
from tercet import files
from tercet.files import check_place, identity, is_stream, whole_file, write_whole

ANSWERS = tc.Triplets([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])


def drained(path):
    """A thread that reads a named pipe to its end, and the pieces that it gets."""
    got = []
    thread = threading.Thread(target=lambda: got.append(Path(path).read_bytes()), daemon=True)
    thread.start()
    return thread, got


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- links


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "target.csv"
    target.write_bytes(b"old")
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to(target)
    write_whole(tmp_path / "first", b"new")
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert target.read_bytes() == b"new"
    assert names(tmp_path) == ["first", "second", "there"]
    assert names(tmp_path / "there") == ["target.csv"]


def test_a_link_to_a_folder_may_be_on_the_way(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    write_whole(tmp_path / "link" / "new.csv", b"new")
    assert (tmp_path / "there" / "new.csv").read_bytes() == b"new"


@pytest.mark.parametrize(
    ("leads_to", "match"),
    [
        ("nowhere", "a link to nowhere, which does not exist"),
        ("link", "is a circular link"),
        (".", "is a folder"),
    ],
)
def test_links_that_lead_to_no_file_are_refused(leads_to, match, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(leads_to)
    with pytest.raises(OSError, match=match):
        check_place(link)
    with pytest.raises(OSError, match=match):
        write_whole(link, b"new")
    with pytest.raises(tc.InputError, match="link"):
        tc.write_triplets(ANSWERS, link)
    assert names(tmp_path) == ["link"]


@pytest.mark.parametrize(
    ("name", "match"), [("none/x", "there is no folder"), ("file/x", "there is no folder")]
)
def test_folders_that_are_none_are_refused(name, match, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=match):
        check_place(tmp_path / name)


# ---- pipes and devices


def test_a_pipe_is_written_into_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    thread, got = drained(tmp_path / "pipe")
    write_whole(tmp_path / "pipe", b"new")
    thread.join(10)
    assert got == [b"new"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert names(tmp_path) == ["pipe"]


def test_maps_and_arrays_go_through_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    ensemble = tc.Ensemble(np.random.default_rng(0).normal(size=(5, 4, 2)))
    (tmp_path / "link.npz").symlink_to("pipe.npz")
    for write in (ensemble.save, lambda path: tc.write_triplets(ANSWERS, path)):
        thread, got = drained(tmp_path / "pipe.npz")
        write(tmp_path / "link.npz")
        thread.join(10)
        assert got[0].startswith(b"PK")
        (tmp_path / "again.npz").write_bytes(got[0])
        np.load(tmp_path / "again.npz").close()
    assert stat.S_ISFIFO((tmp_path / "pipe.npz").stat().st_mode)


def test_what_a_process_has_open_is_written_to_where_it_stands(tmp_path):
    """As ``{ echo before; tercet convert a.csv /dev/stdout; } > file`` needs it."""
    link = tmp_path / "link"
    with open(tmp_path / "file", "wb") as file:
        link.symlink_to(f"/dev/fd/{file.fileno()}")
        file.write(b"before\n")
        file.flush()
        write_whole(link, b"new\n")
        os.write(file.fileno(), b"after\n")
    assert (tmp_path / "file").read_bytes() == b"before\nnew\nafter\n"
    assert link.is_symlink()


@pytest.mark.slow
def test_standard_output_is_only_written_to(tmp_path):
    tc.write_triplets(ANSWERS, tmp_path / "a.csv")
    command = [sys.executable, "-m", "tercet", "convert", tmp_path / "a.csv", "/dev/fd/1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == (tmp_path / "a.csv").read_text()


def test_what_goes_to_a_terminal_is_harmless(tmp_path):
    ours, theirs = pty.openpty()
    evil = "\x1b]0;owned\x07 \x9b2J \x7f é\r"
    try:
        write_whole(os.ttyname(theirs), f"a\t{evil}\n".encode())
        shown = os.read(ours, 1000).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert shown == "a\t\\x1b]0;owned\\x07 \\x9b2J \\x7f é\\r\r\n"


def test_a_pipe_that_nobody_reads_any_more_is_no_bad_input(tmp_path):
    read, write = os.pipe()
    os.close(read)
    try:
        with pytest.raises(BrokenPipeError):
            tc.write_triplets(ANSWERS, f"/dev/fd/{write}")
    finally:
        os.close(write)


# ---- whole or not at all


@pytest.mark.parametrize("before", [None, b"old"])
def test_a_failure_leaves_everything_as_it_was(before, tmp_path):
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)

    def half():
        with whole_file(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert names(tmp_path) == ([] if before is None else ["file"])
    assert before is None or path.read_bytes() == before


def test_a_name_of_full_length_can_be_written(tmp_path):
    write_whole(tmp_path / ("n" * 255), b"new")
    assert names(tmp_path) == ["n" * 255]


def test_what_was_planted_is_not_followed(tmp_path, monkeypatch):
    """Even with the name of the temporary file known, nothing that is there is written to."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    monkeypatch.setattr(files.secrets, "token_hex", lambda n: "00" * n)
    planted = tmp_path / f".tercet-{'00' * 8}.part"
    planted.symlink_to(precious)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "file", b"new")
    assert precious.read_bytes() == b"precious"
    assert not (tmp_path / "file").exists()


def test_temporary_names_cannot_be_foreseen(tmp_path):
    seen = set()
    for _ in range(3):
        with whole_file(tmp_path / "file") as file:
            file.write(b"new")
            (part,) = (name for name in names(tmp_path) if name != "file")
            seen.add(part)
    assert len(seen) == 3


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_permissions_are_kept(mode, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    with whole_file(path) as file:
        file.write(b"new")
        (part,) = (tmp_path / name for name in names(tmp_path) if name != "file")
        assert stat.S_IMODE(part.stat().st_mode) == mode  # nobody looks in meanwhile either
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_permissions_that_the_user_wants(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_a_file_that_is_write_protected_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda where, _: where != path)  # for root may write
    with pytest.raises(PermissionError, match="it is write-protected"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"


def test_two_threads_that_write_one_file_leave_a_whole_one(tmp_path):
    path = tmp_path / "file"
    contents = [letter * 100_000 for letter in (b"a", b"b")]
    torn = []

    def write(content):
        for _ in range(30):
            write_whole(path, content)
            torn.extend({path.read_bytes()} - set(contents))

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not torn
    assert names(tmp_path) == ["file"]


# ---- one file under several names


def test_one_file_is_one_file_under_every_name(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "hard").hardlink_to(tmp_path / "file")
    (tmp_path / "folder").symlink_to(tmp_path)
    same = ["file", "link", "hard", "folder/link", "../" + tmp_path.name + "/file"]
    assert len({identity(tmp_path / name) for name in same}) == 1
    assert identity(tmp_path / "folder" / "new") == identity(tmp_path / "new")
    assert identity(tmp_path / "new") != identity(tmp_path / "file")
    assert identity("/dev/null") is None
    assert is_stream("/dev/null")
    assert not is_stream(tmp_path)


def test_every_file_is_written_here():
    """No other module opens files for writing, but for what lies in folders of their own."""
    package = Path(tc.__file__).parent
    own = {"files.py", "io/stream.py", "__main__.py"}  # the copy of a stream; standard error
    marks = (".write_bytes(", ".write_text(", "os.replace(", '"wb"', '"w"', '"xb"', "savefig(path")
    for path in package.rglob("*.py"):
        if path.relative_to(package).as_posix() not in own:
            text = path.read_text("utf-8")
            assert not [mark for mark in marks if mark in text], path

"""Reading that ends: limits on what is read and unpacked, pipes without a writer, devices."""

import gzip
import io
import os
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import pytest

import tercet as tc
from tercet import files as bounded
from tercet.cli import main
from tercet.cli.paths import size
from tercet.datasets import fetch
from tercet.errors import InputError

ANSWERS = b"anchor,near,far\na,b,c\nb,c,a\n"
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")


@pytest.fixture
def no_waiting(monkeypatch):
    monkeypatch.setattr(bounded, "WAIT", 0.05)


# --- the limit --------------------------------------------------------------------------------


def test_a_packed_file_is_counted_before_it_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "answers.csv.gz"
    path.write_bytes(gzip.compress(b"anchor,near,far\n" + b"a,b,c\n" * 200_000))

    def forbidden(content):
        raise AssertionError("it was unpacked whole")

    monkeypatch.setattr(gzip, "decompress", forbidden)
    with pytest.raises(InputError, match=r"decompress to more than 9\.766 KiB, which is the limit"):
        tc.read_triplets(path, max_bytes=10_000)


def test_the_limit_can_be_raised(tmp_path, capsys):
    path, out = tmp_path / "answers.csv.gz", tmp_path / "out.csv"
    path.write_bytes(gzip.compress(ANSWERS + b"a,b,c\n" * 20_000))
    assert main(["convert", str(path), str(out), "--max-size", "10K"]) == 2
    told = capsys.readouterr().err
    assert "--max-size 20480" in told
    assert "max_bytes" not in told
    assert main(["convert", str(path), str(out), "--max-size", "1M"]) == 0
    assert len(tc.read_triplets(path)) == 20_002


def test_gzip_in_several_members_counts_as_a_whole(tmp_path):
    path = tmp_path / "answers.csv.gz"
    path.write_bytes(gzip.compress(ANSWERS) + gzip.compress(b"a,b,c\n" * 2000))
    assert len(tc.read_triplets(path)) == 2002
    with pytest.raises(InputError, match=r"decompress to more than 4\.883 KiB"):
        tc.read_triplets(path, max_bytes=5000)


def test_plain_files_have_the_same_limit(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_bytes(ANSWERS)
    assert len(tc.read_triplets(path, max_bytes=len(ANSWERS))) == 2
    with pytest.raises(InputError, match=r"has 28 bytes, but the limit is 27 .*max_bytes=28"):
        tc.read_triplets(path, max_bytes=27)
    for wrong in (0, -1, 1.5, True, "4G"):
        with pytest.raises(InputError, match="max_bytes must be a positive whole number"):
            tc.read_triplets(path, max_bytes=wrong)


def test_arrays_are_not_unpacked_beyond_the_limit(tmp_path):
    path = tmp_path / "answers.npz"
    np.savez_compressed(path, triplets=np.tile([0, 1, 2], (100_000, 1)))
    with pytest.raises(InputError, match=r"decompresses to 2\.289 MiB, but the limit is 1 MiB"):
        tc.read_triplets(path, max_bytes=2**20)
    assert len(tc.read_triplets(path)) == 100_000


def test_a_member_cannot_hide_its_size(tmp_path):
    """What it says is all that is read of it."""
    path = tmp_path / "answers.npz"
    np.savez_compressed(path, triplets=np.tile([0, 1, 2], (100_000, 1)))
    with zipfile.ZipFile(path) as packed:
        (member,) = packed.infolist()
    real = member.file_size.to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(real, (500).to_bytes(4, "little")))
    with pytest.raises(InputError, match="damaged"):
        tc.read_triplets(path, max_bytes=2**20)


def test_parquet_is_not_unpacked_beyond_the_limit(tmp_path):
    path = tmp_path / "answers.parquet"
    columns = zip(("anchor", "near", "far"), "abc", strict=True)
    pyarrow = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    pyarrow.write_table(pa.table({title: [name] * 100_000 for title, name in columns}), path)
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match=r"decompresses to 2\.289 MiB, but the limit is 1 MiB"):
        tc.read_triplets(path, max_bytes=2**20)
    assert len(tc.read_triplets(path)) == 100_000


def test_the_sets_have_the_limit_too(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "MAX_BYTES", 1000)
    packed, archive = tmp_path / "rows.gz", tmp_path / "runs.tar.xz"
    packed.write_bytes(gzip.compress(bytes(30_000)))
    monkeypatch.setattr(fetch, "gunzip", lambda *a, cure: bounded.gunzip(*a, 1000, cure=cure))
    with pytest.raises(InputError, match=r"decompress to more than 1000 bytes.*the published one"):
        fetch.read_unpacked(packed)
    with tarfile.open(archive, "w:xz") as tar:
        for name in ("one.json", "two.json"):
            member = tarfile.TarInfo(name)
            member.size = 600
            tar.addfile(member, io.BytesIO(bytes(600)))
    with pytest.raises(InputError, match=r"at least 1\.172 KiB.*limit is 1000 bytes.*published"):
        fetch.read_tar(archive)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("500k", 512_000),
        ("1.5M", 3 * 2**19),
        ("4G", 2**32),
        ("4 GiB", 2**32),
        ("2TB", 2**41),
    ],
)
def test_sizes(text, value):
    assert size(text) == value


@pytest.mark.parametrize("text", ["", "0", "-1", "many", "4X", "nan", "1e3", "99999999999T"])
def test_sizes_that_are_none(text, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["check", "answers.csv", f"--max-size={text}"])
    assert stop.value.code == 2
    assert "must be a size such as 500M or 4G" in capsys.readouterr().err


# --- pipes and devices ------------------------------------------------------------------------


@needs_pipes
def test_a_pipe_without_a_writer_is_given_up(tmp_path, no_waiting):
    path = tmp_path / "answers.csv"
    os.mkfifo(path)
    with pytest.raises(InputError, match="is a pipe to which nothing was written for 0 seconds"):
        tc.read_triplets(path)
    for wanted in (tc.open_triplets, fetch.read_unpacked, fetch.read_tar):
        with pytest.raises(InputError, match="is a pipe or a device; a file on disk"):
            wanted(path)


@needs_pipes
@pytest.mark.parametrize("option", ["--names", "--stimuli"])
def test_side_files_do_not_wait_either(tmp_path, no_waiting, option, capsys):
    answers, pipe = tmp_path / "answers.csv", tmp_path / "pipe"
    answers.write_bytes(ANSWERS)
    os.mkfifo(pipe)
    assert main(["scale", str(answers), option, str(pipe)]) == 2
    assert "nothing was written" in capsys.readouterr().err


@needs_pipes
def test_a_map_cannot_be_a_pipe(tmp_path, capsys):
    pipe = tmp_path / "map.npz"
    os.mkfifo(pipe)
    assert main(["predict", str(pipe), "answers.csv"]) == 2
    assert "is a pipe or a device" in capsys.readouterr().err


@needs_pipes
def test_a_pipe_whose_writer_comes_late_is_read(tmp_path):
    path = tmp_path / "answers.csv"
    os.mkfifo(path)
    code = f"import time; time.sleep(.3); open({str(path)!r}, 'wb').write({ANSWERS!r})"
    with subprocess.Popen([sys.executable, "-c", code]):
        assert len(tc.read_triplets(path)) == 2


@needs_pipes
def test_a_pipe_whose_writer_pauses_is_read_to_its_end(tmp_path):
    path = tmp_path / "answers.csv"
    os.mkfifo(path)
    code = (
        f"import time; pipe = open({str(path)!r}, 'wb', buffering=0); time.sleep(.1)\n"
        f"for line in {ANSWERS.splitlines(keepends=True)!r}: pipe.write(line); time.sleep(.1)"
    )
    with subprocess.Popen([sys.executable, "-c", code]):
        assert len(tc.read_triplets(path)) == 2


@needs_pipes
@pytest.mark.parametrize("content", [ANSWERS, gzip.compress(ANSWERS)], ids=["plain", "gzip"])
def test_a_pipe_without_a_name_is_read(tmp_path, content, capsys):
    """As a shell makes it for ``tercet convert <(program) out.csv`` and for standard input."""
    out = tmp_path / "out.csv"
    read, write = os.pipe()
    try:
        os.write(write, content)
        os.close(write)
        assert main(["convert", f"/dev/fd/{read}", str(out)]) == 0
        assert len(tc.read_triplets(out)) == 2
        assert main(["convert", f"/dev/fd/{read}", str(out)]) == 2
        assert "is empty" in capsys.readouterr().err
    finally:
        os.close(read)


@needs_pipes
def test_comparisons_may_come_through_a_pipe(tmp_path, capsys):
    """They are looked at before they are read, and a pipe gives them once."""
    map_ = tmp_path / "map.npz"
    points = np.random.default_rng(0).normal(size=(5, 3, 2))
    tc.Ensemble(points, names=["a", "b", "c"]).save(map_)
    read, write = os.pipe()
    try:
        os.write(write, b"anchor,one,other\na,b,c\nb,c,a\n")
        os.close(write)
        assert main(["predict", str(map_), f"/dev/fd/{read}", "--csv"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 3
    finally:
        os.close(read)


@needs_pipes
def test_a_pipe_that_does_not_end_meets_the_limit(capsys):
    code = "import sys\nwhile True: sys.stdout.write('a,b,c\\n' * 1000)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as endless:
        path = f"/dev/fd/{endless.stdout.fileno()}"
        assert main(["check", path, "--max-size", "1M"]) == 2
        endless.kill()
    assert "gives more than 1 MiB, which is the limit" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there are no devices here")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_devices_are_refused(device, capsys):
    assert main(["check", device]) == 2
    assert f"{device} is a device, not a file" in capsys.readouterr().err

"""Checkpoints that somebody else made or changed: refused in words, or no matter."""

import json
import os
import shutil
import sqlite3
import zipfile
from contextlib import closing
from io import BytesIO

import numpy as np
import pytest
from studies.killing import bits

import tercet as tc
from tercet.cli.main import main
from tercet.errors import InputError, TercetError
from tercet.running import checkpoint as checkpoints
from tercet.running.checkpoint import Checkpoint
from tercet.simulate import gaussian_mixture, noisy_triplets

pytestmark = pytest.mark.filterwarnings("ignore")  # forged numbers may overflow on their way

ANSWERS = noisy_triplets(
    gaussian_mixture(6, random_state=0)[0], 80, noise=0.5, replace=True, random_state=0
)
SHORT = {"n_samples": 10, "n_chains": 1, "warmup": 60, "n_jobs": 1}
MAP = tc.STE(2, penalty=1 / 30)
MAKERS = {
    "bootstrap": tc.Bootstrap(MAP, 3, fraction=0.5, correction=True, n_jobs=1),
    "hmc": tc.Posterior(tc.CKL(2), learn=("lapse",), **SHORT),
    "elliptical": tc.Posterior(tc.STE(2), sampler="elliptical_slice", **SHORT),
    "matrices": tc.Posterior(tc.STE(2), prior=tc.DistancePrior(2.0), **SHORT | {"warmup": 10}),
    "laplace": tc.Posterior(tc.STE(2), sampler="laplace", **SHORT | {"warmup": 0}),
}


class Run:
    """A run with its finished checkpoint, whose seed counts, and the bits it comes to."""

    def __init__(self, name, folder):
        self.maker, self.folder = MAKERS[name], folder
        self.path = folder / "whole.ckpt"
        self.maker.set_params(checkpoint=self.path, random_state=3).fit(ANSWERS)
        self.maker.set_params(random_state=None)
        self.bits = bits(self.maker.fit(ANSWERS).ensemble_)

    def cells(self, table):
        """The titles of a table, and its rows after their number."""
        with closing(sqlite3.connect(self.path)) as connection:
            cursor = connection.execute(f"SELECT rowid, * FROM {table}")
            return [title for title, *_ in cursor.description][1:], cursor.fetchall()

    def changed(self, statement, values=()):
        """A copy in which a statement was executed."""
        copy = self.folder / "changed.ckpt"
        shutil.copy(self.path, copy)
        with closing(sqlite3.connect(copy)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(statement, values)
        return copy

    def forged(self, place, packed):
        """A copy with another content in a row, sealed as only this run can."""
        seed = dict(row[1:] for row in self.cells("about")[1])["seed"]
        seal = Checkpoint(int(json.loads(seed)), None)._seal(place, packed)
        statement = "UPDATE content SET value = ? WHERE kind = ? AND number = ? AND part = ?"
        return self.changed(statement, (seal + packed, *place))

    def goes_on(self, path):
        """The bits of the run that goes on with a copy, or what is said of it."""
        before = path.read_bytes()
        try:
            return bits(self.maker.set_params(checkpoint=path).fit(ANSWERS).ensemble_)
        except InputError as error:
            found = str(error)
        assert path.read_bytes() == before or "damaged" not in found
        return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs by name, whose checkpoints do not wait for the disk: there are a thousand of them."""
    known, open_file = {}, checkpoints.open_file

    def open_at_once(path):
        connection = open_file(path)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    def run(name):
        if name not in known:
            known[name] = Run(name, tmp_path_factory.mktemp(name))
        return known[name]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(checkpoints, "open_file", open_at_once)
        yield run


# --- rows that were changed -------------------------------------------------------------------


ANY = [None, -1, 2**62, 1.5, "", "x", b"PK\3\4"]
TEXTS = ["0", "[]", "{}", '"5"', "Infinity", "NaN", "1" * 5000, "[" * 5000, '{"a":' * 500 + "1"]


@pytest.mark.parametrize("title", ["name", "value"])
def test_any_change_of_what_a_file_says_of_itself_is_told_or_does_not_matter(runs, title):
    run = runs("bootstrap")
    for rowid, *_ in run.cells("about")[1]:
        for value in ANY + TEXTS:
            copy = run.changed(f"UPDATE about SET {title} = ? WHERE rowid = ?", (value, rowid))
            found = run.goes_on(copy)
            told = ("is damaged", "another run", "version")
            assert found == run.bits or any(word in found for word in told), value


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bootstrap", "hmc"])
@pytest.mark.parametrize("title", ["kind", "number", "part", "value"])
def test_any_change_of_a_row_is_told_or_does_not_matter(runs, name, title):
    run = runs(name)
    chosen = [row for row in run.cells("content")[1] if row[3] in (0, 3)]
    for rowid, *_ in chosen:
        for value in ANY:
            copy = run.changed(f"UPDATE content SET {title} = ? WHERE rowid = ?", (value, rowid))
            found = run.goes_on(copy)
            assert found == run.bits or "is damaged" in found, (rowid, value)


@pytest.mark.parametrize("name", ["bootstrap", "hmc"])
def test_a_row_that_is_lost_is_told_or_made_again(runs, name):
    run = runs(name)
    for rowid, kind, _, part, _ in run.cells("content")[1]:
        found = run.goes_on(run.changed("DELETE FROM content WHERE rowid = ?", (rowid,)))
        is_last = (kind, part) == ("chain", 7)
        assert (found == run.bits) == (kind != "chain" or is_last), (kind, part)
        assert found == run.bits or "is damaged" in found


def test_a_row_of_another_run_is_told(runs):
    """Rows that change places are whole, but not where they belong."""
    run = runs("bootstrap")
    for number in (0, 7):
        found = run.goes_on(
            run.changed(
                "INSERT OR REPLACE INTO content SELECT kind, ?, part, value FROM content "
                "WHERE kind = 'replicate' AND number = 1",
                (number,),
            )
        )
        assert "is damaged" in found if number == 0 else found == run.bits


# --- rows that were forged, seal and all ------------------------------------------------------


def others(value):
    """What may stand in the place of a value."""
    if not isinstance(value, np.ndarray):
        found = [None, -1, 10**30, "x", {}, True]
        if isinstance(value, dict):
            found += [value | {key: other} for key in value for other in (None, 2**200, {})]
        return found
    return [
        np.full_like(value, np.nan),
        np.full_like(value, 1e300),
        np.zeros_like(value),
        value.astype(">f8"),
        value.astype(str),
        value[..., None],
        np.asfortranarray(value),
        0,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_no_forged_value_is_an_internal_error(runs, name):
    """A run may go on with wrong numbers that look right; it must not fail otherwise."""
    run, told = runs(name), 0
    for _, *place, value in run.cells("content")[1]:
        if place[2] not in (0, 3):
            continue
        content = checkpoints.unpack_row(value[checkpoints._SEAL :])
        for field in content:
            fewer = {other: content[other] for other in content if other != field}
            for new in [fewer, *(content | {field: other} for other in others(content[field]))]:
                try:
                    told += "is damaged" in run.goes_on(
                        run.forged(tuple(place), checkpoints.pack_row(new))
                    )
                except TercetError:
                    told += 1
    assert told > 50


def test_a_chain_cannot_go_on_from_anywhere(runs):
    """The same from a checkpoint that is not finished, so that the numbers are used."""
    run = runs("hmc")
    whole = {row[3]: row for row in run.cells("content")[1] if row[1] == "chain"}
    for field, value in {
        "place.eta": np.full(2, 1e99),
        "place.step": np.array(-1.0),
        "place.tuner": np.full(4, 1e5),
        "tools.A": np.zeros((6, 6)),
        "tools.widths": np.zeros(2),
        "done": 1,
    }.items():
        content = checkpoints.unpack_row(whole[0][4][checkpoints._SEAL :]) | {field: value}
        copy = run.forged(("chain", 0, 0), checkpoints.pack_row(content))
        with closing(sqlite3.connect(copy)) as connection, connection:
            connection.execute("DELETE FROM content WHERE part > 0")
        assert "is damaged" in run.goes_on(copy) or field == "place.tuner", field


def test_a_scale_that_is_no_number(runs):
    run = runs("laplace")
    (hill,) = (row for row in run.cells("content")[1] if row[1] == "hill")
    for value in (1e99, -1e99, 500.0):
        content = checkpoints.unpack_row(hill[4][checkpoints._SEAL :]) | {
            "starts.log_scale": np.array([value])
        }
        copy = run.forged(("hill", 0, 0), checkpoints.pack_row(content))
        with closing(sqlite3.connect(copy)) as connection, connection:
            connection.execute("DELETE FROM content WHERE kind = 'chain'")
        assert "is damaged" in run.goes_on(copy)


def npz(**arrays):
    packed = BytesIO()
    np.savez(packed, **{"json": np.array("{}")} | arrays)
    return packed.getvalue()


def zipped(members, **more):
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", **more) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return packed.getvalue()


def npy(header, values=b""):
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + values


HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }"
PACKED = {
    "nothing": b"",
    "no zip": b"x" * 1000,
    "no text": npz(json=np.zeros(3)),
    "no mapping": npz(json=np.array("[1, 2]")),
    "deep": npz(json=np.array('{"a":' + "[" * 3000 + "]" * 3000 + "}")),
    "deeper": npz(json=np.array("[" * 200_000)),
    "no character": npz(json=np.array([2**31], dtype="<u4").view("<U1")[0:1].reshape(())),
    "objects": npz(x=np.array([{}], dtype=object)),
    "columns": npz(x=np.zeros(3, dtype=[("a", "<f8")])),
    "bomb": zipped([("json.npy", b"\0" * 2_000_000)], compression=zipfile.ZIP_DEFLATED),
    "lzma": zipped([("json.npy", b"\0" * 99)], compression=zipfile.ZIP_LZMA),
    "huge": zipped([("x.npy", npy(HEADER % 10**15))]),
    "negative": zipped([("x.npy", npy(HEADER % "-1"))]),
    "deep header": zipped([("x.npy", npy("-" * 9000 + "1"))]),
    "nested header": zipped([("x.npy", npy("(" * 9000))]),
    "other dtype": zipped([("x.npy", npy("{'descr': '|Z9', 'fortran_order': 0, 'shape': ()}"))]),
}


@pytest.mark.parametrize("name", PACKED)
def test_a_content_that_nobody_packed_is_damage(runs, name):
    run = runs("bootstrap")
    assert "is damaged" in run.goes_on(run.forged(("replicate", 1, 0), PACKED[name]))


# --- files with statements of their own -------------------------------------------------------


FOREVER = "WITH RECURSIVE r(a, b) AS (SELECT 'x', 'y' UNION ALL SELECT a, b FROM r) SELECT a, b"
ABOUT, CONTENT = checkpoints._TABLES
SCHEMAS = {
    "a view without an end": [
        f"CREATE VIEW about(name, value) AS {FOREVER} FROM r",
        CONTENT,
    ],
    "a view of rows": [
        ABOUT,
        f"CREATE VIEW content(kind, number, part, value) AS {FOREVER}, 1, 1 FROM r",
    ],
    "a trigger": [
        ABOUT,
        CONTENT,
        "CREATE TRIGGER t AFTER INSERT ON content BEGIN DELETE FROM about; END",
    ],
    "a column that is computed": [
        ABOUT.replace("value TEXT", "value TEXT AS (hex(zeroblob(100000000)))"),
        CONTENT,
    ],
    "an index that is computed": [ABOUT, CONTENT, "CREATE INDEX i ON about(length(value))"],
    "a default": [ABOUT, CONTENT.replace("value BLOB", "value BLOB DEFAULT 1")],
    "a check": [ABOUT, CONTENT.replace("value BLOB", "value BLOB CHECK (length(value) > 0)")],
    "another table": [ABOUT, CONTENT, "CREATE TABLE more (x)"],
    "many tables": [ABOUT, CONTENT, *(f"CREATE TABLE more{i} (x)" for i in range(9))],
    "a virtual table": [ABOUT, CONTENT, "CREATE VIRTUAL TABLE v USING fts5(x)"],
    "one table": [ABOUT],
    "without rowid": [ABOUT, CONTENT + " WITHOUT ROWID"],
}


@pytest.fixture
def hostile(tmp_path):
    def make(*statements):
        path = tmp_path / "hostile.ckpt"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"PRAGMA application_id = {checkpoints.APPLICATION}")
            for statement in statements:
                connection.execute(statement)
        return path

    return make


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_with_other_tables_is_left_as_it_is(name, hostile):
    path = hostile(*SCHEMAS[name])
    before = path.read_bytes()
    with pytest.raises(InputError, match="is not a tercet checkpoint; it was not changed"):
        MAKERS["bootstrap"].set_params(checkpoint=path).fit(ANSWERS)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_on_the_command_line_that_is_bad_input(hostile, capsys, tmp_path):
    answers = tmp_path / "answers.csv"
    tc.write_triplets(ANSWERS, answers)
    path = hostile(*SCHEMAS["a view without an end"])
    assert main(["bootstrap", str(answers), "--samples", "3", "--checkpoint", str(path)]) == 2
    assert capsys.readouterr().err.splitlines()[1:] == [
        f"tercet bootstrap: {path} is not a tercet checkpoint; it was not changed. Give another "
        "name."
    ]


def test_no_statement_goes_on_for_ever(hostile):
    """Whatever a file brings SQLite to do while it is looked at."""
    path = str(hostile(*SCHEMAS["a view without an end"]))
    with closing(sqlite3.connect(path)) as connection:
        checkpoints._beware(connection)
        with (
            pytest.raises(InputError, match="is not a tercet checkpoint"),
            checkpoints.telling(path),
        ):
            list(connection.execute("SELECT * FROM about"))


def test_a_database_with_a_log_of_its_own_is_left_as_it_is(tmp_path):
    """In this mode to open it would be to change it."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE x (a)")
        shutil.copy(path, tmp_path / "copy.db")
        shutil.copy(f"{path}-wal", tmp_path / "copy.db-wal")
    copy = tmp_path / "copy.db"
    before = copy.read_bytes(), (tmp_path / "copy.db-wal").read_bytes()
    with pytest.raises(InputError, match="is not a tercet checkpoint"):
        MAKERS["bootstrap"].set_params(checkpoint=copy).fit(ANSWERS)
    assert (copy.read_bytes(), (tmp_path / "copy.db-wal").read_bytes()) == before


def test_a_pipe_keeps_nothing(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe or a device"):
        MAKERS["bootstrap"].set_params(checkpoint=tmp_path / "pipe").fit(ANSWERS)


def test_what_a_file_says_is_shown_without_doing_anything(runs):
    """Names and values of another run may have any length, and letters that move the cursor."""
    run = runs("bootstrap")
    settings = json.dumps({"class": "Bootstrap", "\x1b[2J": "\x1b]0;x\x07" * 10**5})
    found = run.goes_on(
        run.changed("UPDATE about SET value = ? WHERE name = 'settings'", (settings,))
    )
    assert "belongs to another run" in found
    assert found.isprintable()
    assert len(found) < 3000

"""Downloads, from a server on this machine: checked, cached, and refused when they are wrong."""

import gzip
import hashlib
import io
import sys
import tarfile
import threading
from dataclasses import replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from benchmarks.data import find_data

import tercet as tc
from tercet import datasets
from tercet.datasets import fetch
from tercet.datasets.catalogue import CATALOGUE

pytest.importorskip("pooch")

DATA = find_data()
needs_data = pytest.mark.usefixtures("data_folder")

PIXELS = b"".join(b"%d " % (k % 100) * 36 + b"%d\n" % (1 + k % 5) for k in range(20))


class Server:
    """Serves what is in `files`, and remembers who asked for what."""

    def __init__(self):
        self.files = {}
        self.asked = []
        self.cut = None  # send only so many bytes of those promised
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                content = outer.files.get(self.path[1:])
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: outer.cut])

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,))
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_port}/"

    def stop(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server at all published addresses, an empty cache, and no folder of one's own."""
    server = Server()
    sources = {
        name: source._replace(url=server.url + name)
        for name, source in fetch.read_sources().items()
    }
    server.sources = sources
    monkeypatch.setattr(fetch, "read_sources", lambda: sources)
    monkeypatch.delenv("TERCET_DATA", raising=False)
    monkeypatch.setenv("TERCET_CACHE", str(tmp_path / "cache"))
    yield server
    server.stop()


def publish(server, name, content, known=None):
    """Put a file onto the server; its published checksum becomes that of `known`."""
    server.files[name] = content
    if known is not None:
        digest = hashlib.sha256(known).hexdigest()
        server.sources[name] = server.sources[name]._replace(digest=digest)


def cached(tmp_path):
    return [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()]


SATELLITE = "landsat_satellite/sat.trn"


def test_a_file_is_downloaded_once(server, tmp_path):
    publish(server, SATELLITE, PIXELS, known=PIXELS)
    data = datasets.load_satellite()
    assert data.features.shape == (20, 36)
    assert data.labels.tolist() == [1, 2, 3, 4, 5] * 4
    assert cached(tmp_path) == ["sat.trn"]
    assert data.source == str(tmp_path / "cache" / SATELLITE)
    again = datasets.load_satellite()
    assert (again.features == data.features).all()
    assert server.asked == [f"/{SATELLITE}"]


def test_a_cache_serves_without_a_server(server):
    publish(server, SATELLITE, PIXELS, known=PIXELS)
    first = datasets.load_satellite()
    server.files.clear()
    assert (datasets.load_satellite().features == first.features).all()


def test_a_damaged_cache_is_replaced(server, tmp_path):
    publish(server, SATELLITE, PIXELS, known=PIXELS)
    datasets.load_satellite()
    (tmp_path / "cache" / SATELLITE).write_bytes(PIXELS[:-50])
    assert len(datasets.load_satellite().features) == 20
    assert len(server.asked) == 2


def test_another_checksum_is_refused_and_leaves_nothing(server, tmp_path):
    publish(server, SATELLITE, PIXELS.replace(b"7", b"8"), known=PIXELS)
    with pytest.raises(tc.TercetError, match=r"the sha256 of what .* was not kept") as caught:
        datasets.load_satellite()
    assert cached(tmp_path) == []
    assert "TERCET_DATA" in str(caught.value)
    assert "landsat_satellite/ with sat.trn" in str(caught.value)


def test_a_download_that_breaks_off_leaves_nothing(server, tmp_path):
    publish(server, SATELLITE, PIXELS, known=PIXELS)
    server.cut = 100
    with pytest.raises(tc.TercetError, match="could not be downloaded"):
        datasets.load_satellite()
    assert cached(tmp_path) == []
    server.cut = None
    assert len(datasets.load_satellite().features) == 20


def test_a_file_that_is_gone(server, tmp_path):
    with pytest.raises(tc.TercetError, match=r"could not be downloaded .*404.*TERCET_DATA"):
        datasets.load_satellite()
    assert cached(tmp_path) == []


def test_a_server_that_is_gone(server, tmp_path):
    name = SATELLITE
    nobody = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    url = f"http://127.0.0.1:{nobody.server_port}/{name}"
    nobody.server_close()
    server.sources[name] = server.sources[name]._replace(url=url)
    with pytest.raises(tc.TercetError, match=r"could not be downloaded \(ConnectionError.*TERCET_"):
        datasets.load_satellite()
    assert cached(tmp_path) == []


def test_a_folder_of_ones_own_wins_over_the_cache(server, tmp_path, monkeypatch):
    publish(server, SATELLITE, PIXELS, known=PIXELS)
    datasets.load_satellite()
    own = tmp_path / "own" / "landsat_satellite"
    own.mkdir(parents=True)
    (own / "sat.trn").write_bytes(PIXELS[: PIXELS.index(b"\n") + 1])
    monkeypatch.setenv("TERCET_DATA", str(tmp_path / "own"))
    assert len(datasets.load_satellite().features) == 1
    assert len(server.asked) == 1


def test_a_folder_without_the_set_leaves_it_to_the_download(server, tmp_path, monkeypatch):
    publish(server, SATELLITE, PIXELS, known=PIXELS)
    (tmp_path / "own").mkdir()
    monkeypatch.setenv("TERCET_DATA", str(tmp_path / "own"))
    assert len(datasets.load_satellite().features) == 20


@pytest.mark.parametrize(
    ("load", "why"),
    [
        (datasets.load_alien_eggs, "no download was verified"),
        (lambda: datasets.load_mlds("kk1"), "it is published as R data files"),
    ],
)
def test_where_no_download_is_known_it_says_so(server, load, why):
    with pytest.raises(tc.TercetError, match=f"{why}.*TERCET_DATA to a folder.*https://"):
        load()
    assert server.asked == []


def test_without_pooch_it_says_what_to_install(server, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(tc.TercetError, match=r"tercet\[datasets\].*TERCET_DATA"):
        datasets.load_satellite()


def idx(array):
    """An IDX file of bytes, as LeCun describes it."""
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    return gzip.compress(head + array.astype(np.uint8).tobytes())


def digits(server, images, labels):
    for kind, content in (("images-idx3", images), ("labels-idx1", labels)):
        publish(server, f"mnist/train-{kind}-ubyte.gz", content, known=content)


def test_digits_from_the_original_files(server):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (12, 28, 28))
    labels = np.array([6, 8, 1, 0, 8, 3, 6, 2, 9, 4, 5, 7])
    digits(server, idx(images), idx(labels))
    data = datasets.load_mnist_digits()
    assert data.labels.tolist() == [6, 8, 8, 6]
    assert (data.features == images[[0, 1, 4, 6]].reshape(4, 784)).all()
    assert datasets.load_mnist_digits(3, 9).labels.tolist() == [3, 9]
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"\0\0\x08\x01\0\0\0\x09abc", mtime=0), gzip.compress(b"abc", mtime=0), b"abc"],
)
def test_digits_of_a_damaged_file(server, content):
    digits(server, idx(np.zeros((9, 28, 28))), content)
    with pytest.raises(tc.InputError, match=r"train-labels-idx1-ubyte\.gz cannot be read"):
        datasets.load_mnist_digits()


def test_digits_without_labels_for_all(server):
    digits(server, idx(np.zeros((9, 28, 28))), idx(np.full(8, 6)))
    with pytest.raises(tc.InputError, match="9 images, but 8 labels"):
        datasets.load_mnist_digits()


def stored(name):
    """A published file, from the folder that holds it packed or under another name."""
    folder, file = name.split("/", 1)
    if file.startswith("raw-json"):
        return runs()[file]
    if folder == "things_oddoneout":
        return things(file)
    plain = DATA / folder / file
    packed = plain.with_name(f"{file}.gz")
    return gzip.decompress(packed.read_bytes()) if packed.is_file() else plain.read_bytes()


@cache
def runs():
    with tarfile.open(DATA / "food100" / "original_raw-json.tar.xz") as archive:
        files = [member for member in archive if member.isfile()]
        return {member.name: archive.extractfile(member).read() for member in files}


def things(file):
    """The published texts of THINGS, made from the tables."""
    folder = DATA / "things_oddoneout"
    if file == "unique_id.txt":
        rows = (folder / "objects.csv").read_text().splitlines()[1:]
        return "".join(row.split(",")[1] + "\n" for row in rows).encode()
    table = "random50k" if file == "test_10.txt" else "by_participant"
    rows = gzip.decompress((folder / f"oddoneout_{table}.csv.gz").read_bytes()).decode().split()[1:]
    if table == "by_participant":
        split = "," + file.split("_")[0]
        rows = [row.removesuffix(split) for row in rows if row.endswith(split)]
    return "".join(row.replace(",", " ") + "\n" for row in rows).encode()


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("satellite", ("train",)),
        ("satellite", ("test",)),
        ("cars", ()),
        ("food", ()),
        ("material", ()),
        ("things", ("random",)),
        ("things", ("participants",)),
    ],
)
def test_what_is_downloaded_is_what_the_folder_has(server, monkeypatch, name, arguments):
    """The published files pass the checks of the registry, and give the same arrays."""
    load = getattr(datasets, f"load_{name}")
    folder = CATALOGUE[name].folder
    for file in fetch.published(folder):
        publish(server, file, stored(file))
    downloaded = load(*arguments)
    assert len(server.asked) > 0
    monkeypatch.setenv("TERCET_DATA", str(DATA))
    if name == "material":  # whose answers are published without names
        assert downloaded.names is None
        assert "no names" in downloaded.notes[1]
        downloaded = named_like(downloaded, load())
    same(downloaded, load(*arguments))


def named_like(data, other):
    names = other.triplets.names
    triplets = tc.Triplets(data.triplets.array, names=names, weights=data.triplets.weights)
    return replace(data, triplets=triplets, notes=other.notes)


def same(one, other):
    assert one.triplets == other.triplets
    for field in ("features", "labels", "stimuli"):
        assert np.array_equal(getattr(one, field), getattr(other, field))
    assert one.columns.keys() == other.columns.keys()
    assert all(np.array_equal(one.columns[key], other.columns[key]) for key in one.columns)
    assert one.notes == other.notes


@needs_data
def test_music_is_named_by_a_list_in_another_numbering(server, monkeypatch):
    file = "music_aset400/original_music_triplets.mat"
    publish(server, file, stored(file))
    rows = [
        line.split(",") for line in stored("music_aset400/objects.csv").decode().split("\n")[1:]
    ]
    known = {int(row[1]): row[2] for row in rows if len(row) > 2}
    artists = [known.get(number, f"nobody_{number}") for number in range(1, 413)]
    artists.insert(20, "a_new_found_glory")
    lines = [f"{artist} {k}" for k, artist in enumerate(artists)]
    text = "\n".join(lines).encode()
    publish(server, "music_aset400/musician_names.txt", text + b"\r\n", known=text)
    downloaded = datasets.load_music()
    monkeypatch.setenv("TERCET_DATA", str(DATA))
    same(downloaded, datasets.load_music())


THINGS = "things_oddoneout/test_10.txt"


def publish_things(server, rows, known):
    publish(server, THINGS, rows, known=known.astype("<i8").tobytes())
    publish(server, "things_oddoneout/unique_id.txt", b"ant\nbee\ncat\n", known=b"ant\nbee\ncat")


def test_content_counts_and_not_how_it_is_written(server):
    rows = np.array([[0, 1, 2], [2, 1, 0]])
    publish_things(server, b"0  1 2\r\n2 1 0", rows)
    data = datasets.load_things()
    assert data.triplets.array.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]]
    assert data.triplets.screens.tolist() == [0, 0, 1, 1]
    assert data.names == ("ant", "bee", "cat")


@pytest.mark.parametrize("sent", [b"0 1 2\n2 0 1\n", b"<html>sorry</html>", b""])
def test_other_content_is_refused_and_leaves_nothing(server, tmp_path, sent):
    publish_things(server, sent, np.array([[0, 1, 2], [2, 1, 0]]))
    with pytest.raises(tc.TercetError, match=r"the content of what .* was not kept"):
        datasets.load_things()
    assert cached(tmp_path) == []


def test_an_archive_cannot_write_outside(tmp_path, monkeypatch):
    folder = tmp_path / "own" / "food100"
    folder.mkdir(parents=True)
    with tarfile.open(folder / "original_raw-json.tar.xz", "w:xz") as archive:
        member = tarfile.TarInfo("../../escaped.json")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"[]"))
    (folder / "original_ingredients.json").write_text("{}")
    monkeypatch.setenv("TERCET_DATA", str(tmp_path / "own"))
    with pytest.raises(tc.InputError, match=r"there is a file escaped\.json"):
        datasets.load_food()
    assert not list(tmp_path.parent.rglob("escaped.json"))


def test_every_published_file_belongs_to_a_set_and_has_a_known_check():
    folders = {entry.folder for entry in CATALOGUE.values() if not entry.no_download} | {"mnist"}
    for source in fetch.read_sources().values():
        assert source.name.split("/")[0] in folders
        assert source.check in ("sha256", "content")
        assert len(bytes.fromhex(source.digest)) == 32
        assert source.url.startswith("https://")

"""Answers on disk: the same maps as in memory, the same bits on any threads, bounded memory."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tercet as tc
from tercet.answers import streams as streamed
from tercet.answers.diagnosis import diagnose
from tercet.bootstrap import streamed as replicates_of_streams
from tercet.engine import blocks
from tercet.engine.blocks import loss_over_blocks, spectral_start_of_blocks
from tercet.engine.problem import build_problem
from tercet.engine.search import Objective, evaluate
from tercet.engine.starts import spectral_start
from tercet.errors import DataWarning, InputError, TercetError
from tercet.io import stream as io_stream

NAMES = [f"img{i}" for i in range(40)]


@pytest.fixture
def small_blocks(monkeypatch):
    """Files of a few hundred rows have many blocks."""
    for module in ("tercet.answers.streams", "tercet.io.stream"):
        monkeypatch.setattr(f"{module}.BLOCK_ROWS", 97)


def answers(m=1500, n=40, seed=0, **extras):
    points, _ = tc.simulate.gaussian_mixture(n, random_state=seed)
    made = tc.simulate.noisy_triplets(points, m, noise=0.3, random_state=seed)
    return tc.Triplets(made.array, n_objects=n, **extras)


def quadruplets(m=800, n=30, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    rows = np.array([rng.choice(n, 4, replace=False) for _ in range(m)])
    a, b, c, d = points[rows.T]
    turned = np.linalg.norm(a - b, axis=1) > np.linalg.norm(c - d, axis=1)
    rows[turned] = rows[turned][:, [2, 3, 0, 1]]
    flip = rng.random(m) < 0.1
    rows[flip] = rows[flip][:, [2, 3, 0, 1]]
    return tc.Triplets(rows, n_objects=n)


def saved(triplets, path):
    if path.suffix == ".npy":
        np.save(path, triplets.array)
    else:
        tc.write_triplets(triplets, path)
    return tc.open_triplets(path)


def distances(embedding):
    return np.linalg.norm(embedding[:, None] - embedding[None], axis=-1)


# --- opening ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numbers.npy", "numbers.parquet", "names.parquet", "w.parquet"])
def test_what_is_opened_is_what_was_written(kind, tmp_path, small_blocks):
    extras = {"names": NAMES} if "names" in kind else {}
    extras |= {"weights": np.arange(1, 1501) % 7 + 1} if kind == "w.parquet" else {}
    triplets = answers(**extras)
    stream = saved(triplets, tmp_path / kind)
    assert stream[:] == triplets
    assert len(stream) == len(triplets) == sum(map(len, stream.blocks()))
    assert stream.n_blocks == 16
    assert stream[100:103] == triplets[100:103]
    assert stream.names == triplets.names
    assert pickle.loads(pickle.dumps(stream))[:] == triplets
    assert stream.has_votes == (kind == "w.parquet")


@pytest.mark.parametrize("dtype", [np.int64, np.uint16, np.int32, np.float64])
def test_arrays_of_any_numbers_and_either_order(dtype, tmp_path, small_blocks):
    triplets = answers(300)
    for order in "CF":
        np.save(tmp_path / f"{order}.npy", np.asarray(triplets.array, dtype, order=order))
        assert tc.open_triplets(tmp_path / f"{order}.npy", n_objects=40)[:] == triplets


def test_a_folder_or_a_list_of_parts_is_one_stream(tmp_path, small_blocks):
    triplets = answers(names=NAMES)
    folder = tmp_path / "parts"
    folder.mkdir()
    cuts = [0, 400, 450, 1500]
    files = [folder / f"part{k}.parquet" for k in (2, 10, 9)]  # part2, part9, part10 in a folder
    for file, start, stop in zip(files, cuts, cuts[1:], strict=False):
        table = {
            word: np.array(NAMES)[column].tolist()
            for word, column in zip(("anchor", "near", "far"), triplets.array.T, strict=True)
        }
        pq.write_table(pa.table({k: v[start:stop] for k, v in table.items()}), file)
    assert tc.open_triplets(files)[:] == triplets
    rows = np.r_[0:400, 450:1500, 400:450]
    assert tc.open_triplets(folder, cache=tmp_path / "kept")[:] == triplets[rows]
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_columns_are_renamed_and_text_of_integers_is_numbers(tmp_path):
    table = pa.table({"probe": ["0", "2"], "chosen": ["1", "10"], "other": ["2", "1"]})
    pq.write_table(table, tmp_path / "a.parquet")
    columns = {"anchor": "probe", "near": "chosen", "far": "other"}
    stream = tc.open_triplets(tmp_path / "a.parquet", columns=columns)
    assert stream[:] == tc.read_triplets(tmp_path / "a.parquet", columns=columns)
    assert stream.names is None
    assert stream.n_objects == 11


def test_a_copy_is_made_once_and_anew_when_the_file_changes(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    first = saved(answers(200), path)

    def never(*_):
        raise AssertionError("converted again")

    with monkeypatch.context() as patch:
        patch.setattr("tercet.io.stream._convert", never)
        assert tc.open_triplets(path)[:] == first[:]
    second = saved(answers(300, seed=1), path)
    assert len(second) == 300
    assert len(first[:]) == 200  # whoever has the old one open may finish


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0, 1, 2]] * 200 + [[3, 3, 1]], "row 200 .*anchor and near are both 3"),
        ([[0, 1, 2]] * 150 + [[0, -1, 1]], "row 150 .*near is -1, a negative"),
        ([[0, 1, 2]] * 150 + [[0, 9, 1]], "row 150 .*near is 9, but there are only 5"),
    ],
)
def test_errors_say_the_row_of_an_array(rows, message, tmp_path, small_blocks):
    np.save(tmp_path / "a.npy", np.array(rows))
    with pytest.raises(InputError, match=rf"a.npy: {message}"):
        tc.open_triplets(tmp_path / "a.npy", n_objects=5)


def test_errors_say_the_row_of_a_part(tmp_path, small_blocks):
    good = {"anchor": ["a"] * 150, "near": ["b"] * 150, "far": ["c"] * 150}
    pq.write_table(pa.table(good), tmp_path / "one.parquet")
    bad = {word: list(column) for word, column in good.items()}
    bad["near"][120] = None
    pq.write_table(pa.table(bad), tmp_path / "two.parquet")
    with pytest.raises(InputError, match=r"two.parquet, row 121: near is '', which is missing"):
        tc.open_triplets([tmp_path / "one.parquet", tmp_path / "two.parquet"])
    bad["near"][120] = "a"
    pq.write_table(pa.table(bad), tmp_path / "two.parquet")
    with pytest.raises(InputError, match=r"two.parquet, row 121: anchor and near are both 'a'"):
        tc.open_triplets([tmp_path / "one.parquet", tmp_path / "two.parquet"])
    bad["near"][120] = "bb"
    pq.write_table(pa.table(bad), tmp_path / "two.parquet")
    with pytest.raises(InputError, match=r"two.parquet, row 121: near is 'bb'.*Did you mean 'b'"):
        tc.open_triplets(tmp_path / "two.parquet", names=["a", "b", "c"])
    weighted = pa.table(good | {"weight": [1.0] * 149 + [0.0]})
    pq.write_table(weighted, tmp_path / "w.parquet")
    with pytest.raises(InputError, match=r"w.parquet, row 150: weight is 0.0, not a positive"):
        tc.open_triplets(tmp_path / "w.parquet")
    assert not list(tmp_path.glob("*.tercet"))
    assert not list(tmp_path.glob(".*"))


def test_what_stands_for_a_missing_value_is_no_object(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"probe": ["a", "b"], "closer": ["b", "NA"], "other": ["c"] * 2}), path)
    with pytest.raises(InputError, match=r"a.parquet: one object is 'NA', which stands for"):
        tc.open_triplets(path)
    named = tc.open_triplets(path, names=["a", "b", "c", "NA"])
    assert named[:].array.tolist() == [[0, 1, 2], [1, 3, 2]]


def test_files_that_cannot_be_streamed_are_refused(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        tc.open_triplets(tmp_path / "none.npy")
    with pytest.raises(InputError, match=r"no \.parquet or \.npy files"):
        tc.open_triplets(tmp_path)
    (tmp_path / "a.csv").write_text("anchor,near,far\n0,1,2\n")
    with pytest.raises(InputError, match=r"neither an \.npy array nor Parquet"):
        tc.open_triplets(tmp_path / "a.csv")
    np.save(tmp_path / "wide.npy", np.zeros((4, 5), dtype=int))
    with pytest.raises(InputError, match=r"shape \(4, 5\); it must have 3 columns"):
        tc.open_triplets(tmp_path / "wide.npy")
    np.save(tmp_path / "text.npy", np.array([["a", "b", "c"]]))
    with pytest.raises(InputError, match="only arrays of integers can be streamed"):
        tc.open_triplets(tmp_path / "text.npy")
    np.save(tmp_path / "object.npy", np.array([["a", 1, None]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="only arrays of integers can be streamed"):
        tc.open_triplets(tmp_path / "object.npy")
    np.save(tmp_path / "cut.npy", answers(100).array)
    content = (tmp_path / "cut.npy").read_bytes()
    (tmp_path / "cut.npy").write_bytes(content[:-100])
    with pytest.raises(InputError, match="shorter than its header says"):
        tc.open_triplets(tmp_path / "cut.npy")
    np.save(tmp_path / "empty.npy", np.zeros((0, 3), dtype=int))
    with pytest.raises(InputError, match="has no answers"):
        tc.open_triplets(tmp_path / "empty.npy")


def test_a_folder_that_cannot_be_written_says_so(tmp_path):
    tc.write_triplets(answers(100), tmp_path / "a.parquet")
    (tmp_path / "file").write_text("")
    with pytest.raises(TercetError, match="give another folder as cache"):
        tc.open_triplets(tmp_path / "a.parquet", cache=tmp_path / "file")


def test_a_file_that_shrinks_later_says_so(tmp_path):
    stream = saved(answers(100), tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", answers(50).array)
    with pytest.raises(TercetError, match="has become shorter"):
        stream[:]
    (tmp_path / "a.npy").unlink()
    with pytest.raises(TercetError, match="can no longer be read"):
        stream[:]


@pytest.mark.parametrize("given", [None, 7, np.array([[0, 1, 2]]), [["a.npy"]]])
def test_what_is_no_name_says_so(given):
    with pytest.raises(InputError, match="takes the name of a file or a folder"):
        tc.open_triplets(given)


def test_half_a_copy_of_a_killed_process_does_not_stay(tmp_path):
    tc.write_triplets(answers(100), tmp_path / "a.parquet")
    tc.open_triplets(tmp_path / "a.parquet")
    (copy,) = tmp_path.glob("*.tercet")
    old, young = (copy.with_name(f".{copy.name}.{pid}.part") for pid in (1, 2))
    shutil.copytree(copy, young)
    copy.rename(old)
    for path in (*old.iterdir(), old):
        os.utime(path, (0, 0))
    tc.open_triplets(tmp_path / "a.parquet")
    assert copy.exists()
    assert not old.exists()
    assert young.exists()  # somebody may be writing it now


def test_a_copy_that_is_damaged_is_told(tmp_path):
    """Whatever somebody else left under its name, which can be known before."""
    triplets = answers(100)
    weighted = tc.Triplets(triplets.array, weights=np.full(100, 2.5))
    tc.write_triplets(weighted, tmp_path / "a.parquet")
    tc.open_triplets(tmp_path / "a.parquet")
    (copy,) = tmp_path.glob("*.tercet")
    about = json.loads((copy / "about.json").read_text())
    texts = ["", "[]", "[" * 5000, "5", "{}"]
    for field, value in {
        "length": 99,
        "n_objects": -1,
        "names": ["a", "a"],
        "least_weight": "x",
    }.items():
        texts.append(json.dumps(about | {field: value}))
    for text in texts:
        (copy / "about.json").write_text(text)
        with pytest.raises(InputError, match=r"the copy to stream from, is damaged\. Delete it"):
            tc.open_triplets(tmp_path / "a.parquet")
    (copy / "about.json").write_text(json.dumps(about))
    (copy / "weights.npy").write_bytes(b"")
    with pytest.raises(InputError, match=r"is damaged\. Delete it"):
        tc.open_triplets(tmp_path / "a.parquet")
    shutil.rmtree(copy)
    assert len(tc.open_triplets(tmp_path / "a.parquet")) == 100


def test_objects_that_were_not_there_when_answers_were_checked(tmp_path):
    stream = saved(answers(100), tmp_path / "a.npy")
    array = np.load(tmp_path / "a.npy")
    array[50, 2] = 2**31
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(TercetError, match=r"has changed since it was checked.*object 2147483648"):
        tc.STE(2, random_state=0).fit(stream)


@pytest.mark.parametrize("header", [b"-" * 9000 + b"1", b"(" * 9000, b"{", b"", b"\xff" * 9])
def test_an_array_with_a_header_that_is_none(header, tmp_path):
    size = len(header).to_bytes(2, "little")
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + size + header)
    with pytest.raises(InputError, match=r"is a damaged \.npy file"):
        tc.open_triplets(tmp_path / "a.npy")


def test_an_array_of_less_than_no_rows(tmp_path):
    text = b"{'descr': '<i8', 'fortran_order': False, 'shape': (-2, 3), }"
    size = len(text).to_bytes(2, "little")
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + size + text)
    with pytest.raises(InputError, match=r"is a damaged \.npy file"):
        tc.open_triplets(tmp_path / "a.npy")


def test_a_slice_is_that_of_triplets(tmp_path, small_blocks):
    triplets = answers(200)
    stream = saved(triplets, tmp_path / "a.npy")
    for start, stop in [(None, None), (50, 120), (-3, None), (190, 300), (5, 2), (0, 0)]:
        part = slice(start, stop)
        np.testing.assert_array_equal(stream[part].array, triplets[part].array)


@pytest.mark.parametrize("name", ["a.npy", "a.parquet"])
def test_a_stream_is_read_from_any_folder(name, tmp_path, monkeypatch):
    triplets = answers(100, weights=np.arange(1.0, 101.0))
    monkeypatch.chdir(tmp_path)
    stream = saved(triplets, Path(name))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    np.testing.assert_array_equal(stream[:].array, triplets.array)
    if name == "a.parquet":
        np.testing.assert_array_equal(stream[:].weights, triplets.weights)


def test_threads_may_open_a_file_together(tmp_path, monkeypatch):
    path, triplets = tmp_path / "a.parquet", answers(200)
    tc.write_triplets(triplets, path)
    together, copy = Barrier(4), io_stream._copy

    def slowly(*given):
        together.wait(10)
        return copy(*given)

    monkeypatch.setattr(io_stream, "_copy", slowly)
    with ThreadPoolExecutor(4) as pool:
        streams = list(pool.map(lambda _: tc.open_triplets(path), range(4)))
    for stream in streams:
        np.testing.assert_array_equal(stream[:].array, triplets.array)
    assert sorted(entry.suffix for entry in tmp_path.iterdir()) == [".parquet", ".tercet"]


def test_screens_are_said_to_be_ignored(tmp_path):
    tc.write_triplets(answers(10, screens=np.arange(10) // 2), tmp_path / "a.parquet")
    with pytest.warns(DataWarning, match="answers of one screen are one choice"):
        tc.open_triplets(tmp_path / "a.parquet")


def test_what_needs_all_answers_in_memory_says_what_to_do(tmp_path):
    stream = saved(answers(300), tmp_path / "a.npy")
    with pytest.raises(InputError, match=r"Use Bootstrap, .* or Posterior\(...\).fit\(stream\[:\]"):
        tc.Posterior(tc.STE(2)).fit(stream)
    for use in (tc.Triplets, tc.as_triplets, tc.check_answers, np.asarray):
        with pytest.raises(TercetError, match=r"use stream\[:\]"):
            use(stream)
    with pytest.raises(InputError, match="direct=True"):
        tc.GNMDS(2).fit(stream)
    with pytest.raises(InputError, match="reverse them in the file"):
        tc.STE(2).fit(stream, np.ones(300))
    with pytest.raises(TypeError, match="by blocks"):
        list(stream)
    with pytest.raises(IndexError, match="sliced"):
        stream[3]


# --- one evaluation ---------------------------------------------------------------------------


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("made", [answers, quadruplets])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_and_gradient_are_those_in_memory(
    table, made, weighted, tmp_path, monkeypatch, small_blocks
):
    triplets = made()
    if weighted:
        weights = np.random.default_rng(0).random(len(triplets)) + 0.1
        triplets = tc.Triplets(triplets, weights=weights)
    stream = saved(triplets, tmp_path / "a.parquet")
    monkeypatch.setattr(blocks, "TABLE_PER_COMPONENT", 99 if table else 1)
    for model in (tc.STE().model(), tc.CKL().model(), tc.SOE().model()):
        objective = Objective(model, 3, 0.1)
        X = np.random.default_rng(1).normal(size=(triplets.n_objects, 3))
        problem = build_problem(triplets.array, triplets.n_objects, triplets.weights)
        loss, gradient = evaluate(objective, problem, X)
        found, slope = evaluate(objective, stream, X)
        assert found == pytest.approx(loss, rel=1e-13)
        np.testing.assert_allclose(slope, gradient, rtol=1e-10, atol=1e-12 * np.abs(gradient).max())


@pytest.mark.parametrize("table", [False, True])
def test_threads_do_not_change_the_bits(table, tmp_path, monkeypatch, small_blocks):
    stream = saved(answers(), tmp_path / "a.npy")
    monkeypatch.setattr(blocks, "TABLE_PER_COMPONENT", 99 if table else 1)
    X, found = np.random.default_rng(1).normal(size=(40, 2)), []
    for n_threads in (1, 3):
        gradient = np.empty_like(X)
        with ThreadPoolExecutor(n_threads) as pool:
            arguments = Objective(tc.STE().model(), 2, 0.1).arguments
            loss = loss_over_blocks(*arguments, stream, 2, pool.map)(X, gradient)
            start = spectral_start_of_blocks(stream, 2, np.random.default_rng(0), pool.map)
        found.append((loss, gradient.tobytes(), start.tobytes()))
    assert found[0] == found[1]


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("made", [answers, quadruplets])
def test_the_spectral_start_is_that_in_memory(table, made, tmp_path, monkeypatch, small_blocks):
    triplets = made()
    monkeypatch.setattr(blocks, "TABLE_OBJECTS", 99 if table else 1)
    stream = saved(triplets, tmp_path / "a.npy")
    problem = build_problem(triplets.array, triplets.n_objects)
    start = spectral_start(problem, 2, np.random.default_rng(0))
    with ThreadPoolExecutor(2) as pool:
        found = spectral_start_of_blocks(stream, 2, np.random.default_rng(0), pool.map)
    np.testing.assert_allclose(found, start, atol=1e-6)


# --- fits -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        tc.STE(2, penalty=1 / 30, random_state=0),
        tc.TSTE(2, penalty=1 / 30, random_state=0),
        tc.CKL(2, penalty=1 / 30, random_state=0),
        tc.SOE(2, n_init=1, random_state=0),
        tc.GNMDS(2, C=1.0, direct=True, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_the_map_is_that_in_memory(estimator, tmp_path, small_blocks):
    """Losses agree to the optimiser's tolerance, distances to the root of it."""
    triplets = answers(3000, names=NAMES)
    stream = saved(triplets, tmp_path / "a.parquet")
    loss = estimator.fit(triplets).loss_
    score, shape = estimator.score(triplets), distances(estimator.embedding_)
    estimator.fit(stream)
    hinge = isinstance(estimator, tc.GNMDS)  # follows a rounded corner
    assert estimator.loss_ == pytest.approx(loss, rel=1e-4 if hinge else 1e-8)
    np.testing.assert_allclose(
        distances(estimator.embedding_), shape, atol=(1e-2 if hinge else 2e-4) * shape.max()
    )
    assert estimator.score(stream) == pytest.approx(score, abs=2 / 3000)
    assert np.array_equal(estimator.predict(stream), estimator.predict(triplets))
    assert estimator.predict([["img0", "img1", "img2"]]).shape == (1,)
    assert estimator.n_objects_ == 40


def test_the_same_steps_are_taken_from_the_same_start(tmp_path, small_blocks):
    """Few steps leave no room for rounding to grow."""
    triplets = quadruplets()
    stream = saved(triplets, tmp_path / "a.npy")
    init = np.random.default_rng(0).normal(size=(30, 2))
    made = []
    for data in (triplets, stream):
        with pytest.warns(tc.errors.ConvergenceWarning):
            made.append(tc.STE(2, max_iter=5).fit(data, init=init).embedding_)
    np.testing.assert_allclose(made[1], made[0], rtol=1e-9, atol=1e-11)


def test_a_stream_without_a_maximum_is_recognised(tmp_path, small_blocks):
    points = np.random.default_rng(0).normal(size=(12, 2))
    triplets = tc.simulate.noisy_triplets(points, 300, noise=0.0, random_state=0)
    stream = saved(triplets, tmp_path / "a.npy")
    with pytest.warns(tc.SeparableWarning):
        fitted = tc.STE(2, random_state=0).fit(stream)
    assert fitted.separable_


def test_weights_count_in_the_score(tmp_path, small_blocks):
    triplets = answers(weights=np.random.default_rng(0).random(1500) + 0.1)
    stream = saved(triplets, tmp_path / "a.parquet")
    fitted = tc.STE(2, random_state=0, penalty=0.1).fit(stream)
    assert fitted.score(stream) == pytest.approx(fitted.score(triplets), rel=1e-12)


def test_more_objects_than_occur(tmp_path):
    stream = saved(answers(), tmp_path / "a.npy")
    with pytest.warns(DataWarning, match="2 objects are never mentioned"):
        assert tc.STE(2, penalty=0.1).fit(stream, n_objects=42).embedding_.shape == (42, 2)
    with pytest.raises(InputError, match="the stream has 40 objects"):
        tc.STE(2).fit(stream, n_objects=30)


@pytest.mark.parametrize("seed", range(5))
def test_a_stream_is_diagnosed_like_triplets(seed, tmp_path, small_blocks):
    """Objects that are never mentioned, and parts that share no object."""
    rng = np.random.default_rng(seed)
    group = rng.integers(6, size=400)
    rows = 7 * group[:, None] + np.array([rng.choice(6, 3, replace=False) for _ in group])
    rows[rng.integers(400, size=seed), 2] = rng.integers(43, 50, size=seed)  # joins a stranger
    triplets = tc.Triplets(rows, n_objects=50)
    found = diagnose(saved(triplets, tmp_path / "a.npy").with_objects(50))
    assert found == diagnose(triplets)
    assert any("never mentioned" in message for message in found)
    assert any("parts that share no object" in message for message in found)


# --- memory -----------------------------------------------------------------------------------

PEAK = """
import json, sys, warnings
import tercet as tc
warnings.simplefilter("ignore")
stream = tc.open_triplets(sys.argv[1], cache=sys.argv[2])
quick = tc.STE(2, max_iter=1, start="random", random_state=0)
fitted = quick.fit(stream)
boot = tc.Bootstrap(quick, n_samples=1, fraction=0.4, random_state=0).fit(stream)
peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")][0]
print(json.dumps({"megabytes": int(peak.split()[1]) / 1024, "score": fitted.score(stream)}))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_memory_does_not_grow_with_the_answers(kind, tmp_path):
    """The larger file has 54 MB more answers as they are copied, 108 MB as an array of int64."""
    peaks, sizes = [], []
    for m in (300_000, 5_000_000):
        file = tmp_path / f"{m}.{kind}"
        rng = np.random.default_rng(0)
        anchor = rng.integers(100, size=m)
        near = (anchor + rng.integers(1, 50, size=m)) % 100
        far = (anchor + rng.integers(50, 100, size=m)) % 100
        if kind == "npy":
            np.save(file, np.stack([anchor, near, far], axis=1))
        else:
            pq.write_table(pa.table({"anchor": anchor, "near": near, "far": far}), file)
        command = [sys.executable, "-c", PEAK, str(file), str(tmp_path / "kept")]
        # The peak of a process varies with the timing of its threads: the smaller of two counts.
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in "12"]
        said = [json.loads(run.stdout) for run in runs]
        peaks.append(min(each["megabytes"] for each in said))
        sizes.append(12 * m / 2**20)
        assert all(0.3 < each["score"] < 0.7 for each in said)
    assert sizes[1] - sizes[0] > 50
    assert peaks[1] - peaks[0] < 20, peaks


# --- bootstrap --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"fraction": 0.4}, {}, {"fraction": 0.5, "replace": True}])
@pytest.mark.parametrize("weights", [None, "votes", "weights"])
def test_a_replicate_has_the_right_answers(settings, weights, tmp_path, small_blocks):
    rng = np.random.default_rng(0)
    given = {"votes": rng.integers(1, 5, size=600), "weights": rng.random(600) + 0.5}
    triplets = answers(600, weights=given.get(weights))
    stream = saved(triplets, tmp_path / "a.parquet")
    boot = tc.Bootstrap(tc.STE(2, penalty=0.1), n_samples=3, random_state=0, **settings)
    made = boot.fit(stream).ensemble_
    assert made.provenance["n_answers"] == triplets.n_answers
    replicate = replicates(stream, **settings)[0]
    blocks_read = [replicate.read(k) for k in range(replicate.n_blocks)]
    again = [replicate.read(k) for k in range(replicate.n_blocks)]
    for one, other in zip(blocks_read, again, strict=True):
        assert all(map(np.array_equal, one, other))
    rows = np.concatenate([rows for rows, _ in blocks_read])
    expected = int(settings.get("fraction", 1.0) * triplets.n_answers)
    if weights != "weights":
        total = sum(w.sum() if len(w) else len(r) for r, w in blocks_read)
        assert total == expected
    drawn = {tuple(row) for row in rows.tolist()}
    assert drawn <= {tuple(row) for row in triplets.array.tolist()}
    if settings == {"fraction": 0.4} and weights == "weights":
        assert len(rows) == expected


def replicates(stream, fraction=1.0, replace=None, count=3, seed=0):
    from tercet.bootstrap.streamed import StreamReplicates

    replace = fraction == 1.0 if replace is None else replace
    keys = [(0, k) for k in range(count)]
    return StreamReplicates(stream, fraction, replace, seed, keys)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("votes", [False, True])
def test_how_often_answers_are_drawn(replace, votes, tmp_path, small_blocks):
    """Means, variances and covariances of the counts, against those of sampling in one go."""
    size = 250
    counts = np.random.default_rng(0).integers(1, 4, size=size) if votes else np.ones(size, int)
    triplets = answers(size, n=12, weights=counts if votes else None)
    index = {tuple(row): k for k, row in enumerate(triplets.array.tolist())}
    assert len(index) == size  # every row tells which it is
    stream = saved(triplets, tmp_path / "a.parquet")
    many = replicates(stream, 0.4, replace, count=1500)
    table = np.zeros((len(many), size))
    for row, replicate in zip(table, many, strict=True):
        for number in range(replicate.n_blocks):
            rows, weights = replicate.read(number)
            places = [index[tuple(each)] for each in rows.tolist()]
            row[places] = weights if len(weights) else 1.0
    total = int(counts.sum())
    drawn = int(0.4 * total)
    assert (table.sum(axis=1) == drawn).all()
    share, left = counts / total, 1.0 if replace else (total - drawn) / (total - 1)
    variance = drawn * share * (1.0 - share) * left
    error = np.sqrt(variance / len(many))
    assert np.abs((table.mean(axis=0) - drawn * share) / error).max() < 4.5
    # The first block as a whole, where drawing per block could go wrong.
    block = share[:97].sum()
    first = table[:, :97].sum(axis=1)
    expected = drawn * block * (1.0 - block) * left
    assert first.var() == pytest.approx(expected, rel=5 * np.sqrt(2 / len(many)))


@pytest.mark.slow
def test_seeds_not_threads_nor_backends_decide(tmp_path, small_blocks):
    from joblib import parallel_config

    stream = saved(answers(), tmp_path / "a.npy")
    boot = tc.Bootstrap(tc.STE(2, penalty=0.1), n_samples=3, fraction=0.4, random_state=3)
    draws = boot.fit(stream).ensemble_.draws
    assert not np.array_equal(draws[0], draws[1])
    assert np.array_equal(boot.fit(stream).ensemble_.draws, draws)
    with parallel_config(backend="threading"):
        assert np.array_equal(boot.set_params(n_jobs=2).fit(stream).ensemble_.draws, draws)


@pytest.mark.slow
def test_the_spread_is_that_in_memory(tmp_path, small_blocks):
    triplets = answers(1300, n=15)
    stream = saved(triplets, tmp_path / "a.npy")
    boot = tc.Bootstrap(tc.STE(2, penalty=0.1), n_samples=20, fraction=0.4, random_state=0)
    memory = boot.fit(triplets).ensemble_.distances().std(axis=0).mean()
    assert boot.fit(stream).ensemble_.distances().std(axis=0).mean() == pytest.approx(
        memory, rel=0.2
    )
    boot.set_params(correction=True)
    assert boot.fit(stream).ensemble_.distances().std(axis=0).mean() < 0.95 * memory


def test_warm_starts_work_and_units_do_not(tmp_path):
    stream = saved(answers(), tmp_path / "a.npy")
    boot = tc.Bootstrap(tc.STE(2, penalty=0.1), n_samples=2, warm_start=True, random_state=0)
    assert len(boot.fit(stream).ensemble_) == 2
    for wrong in ({"unit": "observer"}, {"parametric": True}):
        other = tc.Bootstrap(tc.STE(2, penalty=0.1), n_samples=2, **wrong)
        with pytest.raises(InputError, match="resampled answer by answer"):
            other.fit(stream)


def test_more_answers_than_numpy_draws_from_are_drawn_in_groups(monkeypatch):
    from tercet.bootstrap import streamed as replicate

    rng = np.random.default_rng(0)
    units = np.full(20, 131_072 * 1000)  # 2.6e9
    sizes = replicate.share_out(rng, units, 10**9, replace=False)
    assert sizes.sum() == 10**9
    assert np.abs(sizes / 5e7 - 1).max() < 0.001
    assert replicate.share_out(rng, units, 10**9, replace=True).sum() == 10**9


def test_a_block_is_a_constant():
    """Other blocks would be other bits, and other replicates."""
    assert streamed.BLOCK_ROWS == 2**17


@pytest.mark.slow
def test_a_bootstrap_of_a_stream_goes_on_from_its_checkpoint(tmp_path, monkeypatch, small_blocks):
    stream = saved(answers(), tmp_path / "a.npy")
    boot = tc.Bootstrap(tc.STE(2, penalty=0.1), 4, fraction=0.4, correction=True, random_state=0)
    expected = boot.fit(stream).ensemble_
    boot.set_params(checkpoint=tmp_path / "run.ckpt")
    fitted = []

    def stop_at_the_third(work, number):
        if len(fitted) == 2:
            raise KeyboardInterrupt
        fitted.append(number)
        return solve(work, number)

    solve = replicates_of_streams._solve
    with monkeypatch.context() as patch:
        patch.setattr(replicates_of_streams, "_solve", stop_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            boot.fit(stream)
    with monkeypatch.context() as patch:
        patch.setattr(
            replicates_of_streams, "_solve", lambda work, k: fitted.append(k) or solve(work, k)
        )
        found = boot.fit(stream).ensemble_
    assert fitted == [0, 1, 2, 3]
    np.testing.assert_array_equal(found.draws, expected.draws)
    np.testing.assert_array_equal(found.samples, expected.samples)
    other = saved(answers(seed=1), tmp_path / "b.npy")
    with pytest.raises(InputError, match="other comparisons"):
        boot.fit(other)


def test_a_stream_stays_on_the_cpu(tmp_path, monkeypatch, small_blocks):
    monkeypatch.setenv("TERCET_JAX_PLATFORM", "cpu")
    stream = saved(answers(), tmp_path / "a.npy")
    with pytest.raises(InputError, match="fitted on the CPU"):
        tc.STE(2, device="gpu").fit(stream)
    auto = tc.STE(2, device="auto", random_state=0).fit(stream)
    cpu = tc.STE(2, random_state=0).fit(stream)
    np.testing.assert_array_equal(auto.embedding_, cpu.embedding_)


def test_columns_that_are_no_mapping_are_refused(tmp_path):
    tc.write_triplets(answers(50), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="must map our words to the file's titles"):
        tc.open_triplets(tmp_path / "a.parquet", columns=["probe"])

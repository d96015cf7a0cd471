"""Maps that somebody else made: refused in words that name what is wrong, or as good as any."""

import json
import zipfile
from io import BytesIO

import numpy as np
import pytest

import tercet as tc
from tercet import Ensemble, InputError
from tercet.cli.main import main
from tercet.models import CKLModel, Model, SOEModel, STEModel, TSTEModel

DRAWS = np.random.default_rng(0).normal(size=(6, 5, 2))
COLUMNS = {"lapse": np.full(6, 0.1), "exponent": np.full(6, 2.5), "mu": np.full(6, 0.1)}
Q = [[0, 1, 2], [1, 2, 3], [4, 0, 3]]
CHOICES = tc.Choices.concatenate(
    [
        tc.Choices.odd_one_out(Q),
        tc.Choices.most_central(Q),
        tc.Choices.nearest([0], [[1, 2, 3, 4]], [[1, 2]]),
        tc.Choices.ranking([0], [[1, 2, 3, 4]]),
        tc.Choices.best_worst([0], [[1, 2, 3, 4]], [1], [2]),
    ]
)


def whole():
    return Ensemble(
        DRAWS,
        parameters=COLUMNS,
        statistics={"loss": np.ones(6)},
        model=CKLModel(),
        names=["ant", "bee", "cat", "dog", "eel"],
        centre=DRAWS[0],
        spread=0.5,
        provenance={"source": "posterior", "seed": "3"},
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "map.npz"


def parts_of(path):
    whole().save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    return json.loads(str(arrays.pop("header"))), arrays


def used(ensemble):
    """Whatever can be asked of a map, in numbers that mean something."""
    for method in ("paper", "joint", "vote"):
        p = ensemble.triplet_probability(Q, method)
        assert ((p >= 0.0) & (p <= 1.0)).all()
    assert np.isfinite(ensemble.distances()).all()
    if ensemble.kind == "points":
        assert np.isfinite(ensemble.samples).all()
        assert np.isfinite(ensemble.point_covariance()).all()
    strategies = ["uncertainty"]
    if ensemble.model is not None and ensemble.model.is_probability:
        for p in (ensemble.answer_probability(Q), ensemble.choice_probability(CHOICES)):
            assert ((p >= 0.0) & (p <= 1.0)).all()
        strategies += ["mutual_information", "information_gain"]
    for strategy in strategies:
        found = tc.suggest(ensemble, 4, strategy, triplets=Q, random_state=0)
        assert len(found) == 4
        assert np.isfinite(found.scores).all()
    ensemble.provenance  # noqa: B018
    repr(ensemble)


def loaded(path):
    """What is said of a file; nothing where it is used instead."""
    try:
        ensemble = Ensemble.load(path)
    except InputError as error:
        told = str(error)
    else:
        used(ensemble)
        return ""
    assert str(path) in told
    return told


# --- headers ----------------------------------------------------------------------------------


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


ANY = [None, True, -1, 0, 2, 1e400, float("nan"), 10**30, 10**400, "x", "", [], {}, [1], {"a": 1}]
ANY += [deep(90), deep(300), ["a"] * 5, ["a", "b", "c", "d", "\ud800"], "rotate", "STEModel"]


@pytest.mark.parametrize(
    "field", ["format", "version", "model", "kind", "names", "alignment", "spread", "provenance"]
)
def test_any_header_is_refused_or_used(field, path):
    header, arrays = parts_of(path)
    for value in ANY:
        np.savez(path, header=np.array(json.dumps(header | {field: value})), **arrays)
        told = loaded(path)
        assert told or (field, value) in [
            *(("version", 2), ("model", None), ("names", None), ("alignment", "rotate")),
            *(("spread", 2), ("provenance", {}), ("provenance", {"a": 1})),
        ], value
        assert len(told) < 1000 + 5 * 300


@pytest.mark.parametrize("version", [float("inf"), float("nan"), "1", 1.0, True, 0, -1, None])
def test_a_version_is_a_number_from_1(version, path):
    header, arrays = parts_of(path)
    np.savez(path, header=np.array(json.dumps(header | {"version": version})), **arrays)
    with pytest.raises(InputError, match="or it is damaged"):
        Ensemble.load(path)


@pytest.mark.parametrize("text", ["", "x", "[" * 200_000, "[]", "5", '"x"', "null", '{"a": 1}'])
def test_a_header_of_another_kind(text, path):
    _, arrays = parts_of(path)
    np.savez(path, header=np.array(text), **arrays)
    with pytest.raises(InputError, match="or it is damaged"):
        Ensemble.load(path)


@pytest.mark.parametrize(
    ("description", "told"),
    [
        ({"class": "CKLModel", "fields": {"mu": -1}}, "mu must be zero or a positive number"),
        ({"class": "CKLModel", "fields": {"mu": 1e200}}, "1e\\+100 at most, got 1e\\+200"),
        ({"class": "CKLModel", "fields": {"mu": "x"}}, "mu must be .* got 'x'"),
        ({"class": "CKLModel", "fields": {"mu": None}}, "mu must be .* got None"),
        ({"class": "CKLModel", "fields": {"mu": True}}, "mu must be .* got True"),
        ({"class": "CKLModel", "fields": {"exponent": 1e400}}, "exponent must be .* got inf"),
        ({"class": "TSTEModel", "fields": {"alpha": 0}}, "alpha must be a positive number"),
        ({"class": "TSTEModel", "fields": {"alpha": 1e-200}}, "1e-100 at least"),
        ({"class": "STEModel", "fields": {"alpha": 1}}, "damaged"),
        ({"class": "Model", "fields": {}}, "the model 'Model', which this version of tercet lacks"),
        ({"class": ["STEModel"], "fields": {}}, "damaged"),
        ({"class": "STEModel", "fields": []}, "damaged"),
        ({"fields": {}}, "damaged"),
        ("STEModel", "damaged"),
    ],
)
def test_a_model_is_one_that_could_be_made(description, told, path):
    header, arrays = parts_of(path)
    np.savez(path, header=np.array(json.dumps(header | {"model": description})), **arrays)
    with pytest.raises(InputError, match=told):
        Ensemble.load(path)


# --- arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["draws", "chains", "centre", "parameters/lapse", "parameters/mu", "statistics/loss"]
)
def test_any_array_is_refused_or_used(name, path):
    header, arrays = parts_of(path)
    array = arrays[name]
    for value in [
        *(np.full(array.shape, x) for x in (np.nan, np.inf, 1e200, -1e200, 5.0, 0.0, -1.0)),
        np.full(array.shape, 2**63, dtype=np.uint64),
        np.asfortranarray(array),
        array.astype(array.dtype.newbyteorder(">")),
        array.astype(np.complex128),
        array.astype(str),
        array.astype("datetime64[s]"),
        np.full(array.shape, None),
        np.zeros(array.shape, dtype=[("a", "<f8")]),
        np.array(["x"]),
        array[..., None],
        array.ravel()[:-1],
        array[:0],
        np.array(1.0),
    ]:
        np.savez(path, header=np.array(json.dumps(header)), **arrays | {name: value})
        loaded(path)


@pytest.mark.parametrize("name", ["more", "more/x", "parameters", "parameters/", "/", "draws/x"])
def test_arrays_of_other_names(name, path):
    header, arrays = parts_of(path)
    np.savez(path, header=np.array(json.dumps(header)), **arrays | {name: np.zeros(6)})
    loaded(path)


def test_a_file_without_one_of_its_arrays(path):
    header, arrays = parts_of(path)
    del arrays["draws"]
    np.savez(path, header=np.array(json.dumps(header)), **arrays)
    assert "damaged" in loaded(path)


# --- the archive ------------------------------------------------------------------------------


def repacked(path, change=None, **more):
    """The members of a map packed in another way."""
    whole().save(path)
    with zipfile.ZipFile(path) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", **more) as archive:
        for name, content in members if change is None else change(members):
            archive.writestr(name, content)
    path.write_bytes(packed.getvalue())


def test_a_map_that_was_packed_tighter_is_a_map(path):
    repacked(path, compression=zipfile.ZIP_DEFLATED)
    assert loaded(path) == ""


@pytest.mark.parametrize("way", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_map_that_was_packed_in_another_way(way, path):
    repacked(path, compression=way)
    assert "is not compressed by NumPy" in loaded(path)


@pytest.mark.parametrize(
    ("at", "value", "told"),
    [
        (8, 1, "is encrypted"),
        (10, 97, "not compressed by NumPy"),
        (6, 99, "damaged"),
        (24, 255, "damaged"),
    ],
)
def test_a_map_whose_members_say_something_else(at, value, told, path):
    """The flags, the compression, the version and the size in the list of members."""
    whole().save(path)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + at] = value
    path.write_bytes(content)
    assert told in loaded(path)


def test_a_map_with_two_arrays_of_one_name(path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        repacked(path, lambda members: members + [m for m in members if m[0] == "draws.npy"])
    assert "two arrays named 'draws'" in loaded(path)


def test_a_small_file_does_not_fill_the_memory(path, monkeypatch):
    """Of a file a hundredth as large nothing is unpacked, but for the first gigabyte."""
    monkeypatch.setattr("tercet.arrays._HARMLESS", 2**20)
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("draws.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(2):
            member.write(bytes(2**20))
    assert "would decompress to 2,097,152" in loaded(path)


@pytest.mark.parametrize("shape", ["10**15", "9" * 30, "-1", "(3,)", "True", "2**62, 0"])
def test_an_array_that_is_not_as_large_as_it_says(shape, path):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape},), }}".encode()
    array = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    repacked(path, lambda members: [(n, array if n == "draws.npy" else c) for n, c in members])
    assert "'draws'" in loaded(path)


@pytest.mark.parametrize("header", [b"-" * 9000 + b"1", b"(" * 9000, b"{" * 300, b"\xff" * 50])
def test_an_array_with_a_deep_header(header, path):
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    repacked(path, lambda members: [(n, array if n == "draws.npy" else c) for n, c in members])
    assert "'draws' is damaged" in loaded(path)


def test_letters_that_do_not_exist(path):
    _, arrays = parts_of(path)
    header = np.array([2**31, 65], dtype="<u4").view("<U2").reshape(())
    np.savez(path, header=header, **arrays)
    assert "contains invalid characters" in loaded(path)


def test_a_map_that_was_cut_or_changed_anywhere(path):
    whole().save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.choice(len(content), 60, replace=False).tolist():
        path.write_bytes(content[:at])
        assert loaded(path)
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        loaded(path)


@pytest.mark.parametrize("command", ["suggest", "predict"])
def test_on_the_command_line_that_is_bad_input(command, path, tmp_path, capsys):
    questions = tmp_path / "questions.csv"
    questions.write_text("anchor,near,far\nant,bee,cat\n")
    more = [str(questions)] if command == "predict" else []
    header, arrays = parts_of(path)
    for array in (np.full(6, 5.0), np.full(6, np.nan)):
        changed = arrays | {"parameters/lapse": array}
        np.savez(path, header=np.array(json.dumps(header)), **changed)
        assert main([command, str(path), *more]) == 2
        told = capsys.readouterr().err
        assert "parameters['lapse'] of draw 0" in told
        assert "a share from 0 to 1" in told


# --- the same, made directly ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("lapse", 5.0, "a share from 0 to 1, got 5.0"),
        ("lapse", -0.1, "a share from 0 to 1, got -0.1"),
        ("lapse", np.nan, "got nan"),
        ("exponent", 0.0, "a positive number, got 0.0"),
        ("exponent", np.inf, "a positive number, got inf"),
        ("mu", -1.0, "zero or a positive number, got -1.0"),
        ("mu", 1e200, "1e\\+100 at most, got 1e\\+200"),
        ("alpha", 0.0, "a positive number"),
        ("variance", 0.0, "a positive number"),
        ("anything", np.inf, "a finite number"),
    ],
)
def test_a_parameter_of_a_draw_is_one_that_its_model_could_have(name, value, told):
    column = np.full(6, 0.5)
    column[4] = value
    with pytest.raises(InputError, match=rf"parameters\['{name}'\] of draw 4 .* must be .*{told}"):
        Ensemble(DRAWS, parameters={name: column})


def test_the_ends_of_a_share_are_shares():
    used(Ensemble(DRAWS, parameters={"lapse": np.ones(6)}, model=STEModel()))


@pytest.mark.parametrize("value", [1e101, -1e101, 1e200, np.inf, np.nan])
@pytest.mark.parametrize("kind", ["points", "distances"])
def test_draws_beyond_all_measure(kind, value):
    draws = DRAWS.copy() if kind == "points" else np.ones((6, 5, 5))
    draws[3, 1, 1] = value
    with pytest.raises(InputError, match=rf"draw 3 .* has the value {value:g}".replace("+", r"\+")):
        Ensemble(draws, kind=kind)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"centre": np.full((5, 2), 1e101)}, "centre must be finite .* the value 1e\\+101"),
        ({"reference": np.full((5, 2), np.inf)}, "reference must be finite .* inf"),
        ({"reference": [["x", "y"]] * 5}, "reference must be numbers"),
        ({"spread": 1e11}, "spread must be a positive number, 1e\\+10 at most"),
        ({"spread": True}, "spread must be a positive number"),
        ({"provenance": {"a": deep(300)}}, "provenance must be"),
        ({"provenance": {"a": deep(3000)}}, "provenance is nested too deeply"),
        ({"parameters": {"mu": ["x"] * 6}}, r"parameters\['mu'\] must be numbers"),
    ],
)
def test_other_fields_beyond_all_measure(options, told):
    with pytest.raises(InputError, match=told):
        Ensemble(DRAWS, **options)


def test_provenance_does_not_grow_too_deep_to_be_read_again():
    one, other = Ensemble(DRAWS, provenance={"a": deep(97)}), Ensemble(DRAWS)
    assert Ensemble.concatenate([one, one]).provenance == one.provenance
    with pytest.raises(InputError, match="nested more than 100 deep"):
        Ensemble.concatenate([one, other])


LARGE = DRAWS / np.abs(DRAWS).max() * 1e100
EXTREMES = {
    "large": LARGE,
    "tiny": 1e-200 * DRAWS,
    "equal": 0.0 * DRAWS,
    "first equal": np.concatenate([0.0 * DRAWS[:1], DRAWS[1:]]),
    "first tiny": np.concatenate([1e-170 * DRAWS[:1], DRAWS[1:]]),
    "mixed": np.concatenate([1e-160 * DRAWS[:1], LARGE[1:]]),
    "shifted": DRAWS + 1e15,
}


@pytest.mark.parametrize("alignment", ["none", "rotate", "scale"])
@pytest.mark.parametrize("name", EXTREMES)
def test_any_finite_draws_can_be_used(name, alignment):
    for model in (STEModel(), TSTEModel(), TSTEModel(1e-100), CKLModel(0.0, 3.0), SOEModel()):
        used(Ensemble(EXTREMES[name], model=model, alignment=alignment))
    columns = {"mu": np.full(6, 1e100), "exponent": np.full(6, 1e100)}
    used(Ensemble(EXTREMES[name], model=CKLModel(), parameters=columns, alignment=alignment))


def test_a_model_without_numbers_does_not_make_suggest_search_for_ever():
    class Blank(Model):
        code = 99
        __dataclass_fields__ = STEModel.__dataclass_fields__

        @staticmethod
        def kernel(p, q, near, far, loss, d_near, d_far):
            loss[:] = np.nan

        @staticmethod
        def similarity(p, q, squared, log_s, slope):
            log_s[:] = np.nan

    ensemble = Ensemble(DRAWS, model=Blank())
    with pytest.raises(InputError, match=r"of some comparisons is not a number.*Try strategy"):
        tc.suggest(ensemble, 3, "mutual_information")
    assert len(tc.suggest(ensemble, 3, "uncertainty")) == 3

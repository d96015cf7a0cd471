"""What the loaders return is what was published; people's answers are compared row by row."""

import gzip
import json

import numpy as np
import pytest
from benchmarks.data import find_data
from benchmarks.peer import ROOT

import tercet as tc
from tercet import datasets
from tercet.datasets.catalogue import CATALOGUE

DATA = find_data()
needs_data = pytest.mark.usefixtures("data_folder")

LOADERS = {name: getattr(datasets, f"load_{name}") for name in CATALOGUE if name != "mlds"}


def converted(folder, file, *columns, kind=int):
    """Columns of a converted file, (m, k), read in another way than the loaders do."""
    path = DATA / folder / file
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as stream:
        header = stream.readline().strip().split(",")
        return np.loadtxt(
            stream,
            dtype="U120" if kind is str else kind,
            delimiter=",",
            quotechar='"',
            comments=None,
            usecols=[header.index(name) for name in columns],
            ndmin=2,
        )


TRIPLET = ("anchor", "closer", "farther")


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", LOADERS)
def test_sizes_are_those_of_the_catalogue(name):
    data, entry = LOADERS[name](), CATALOGUE[name]
    assert data.n_objects == entry.objects
    answers = 0 if data.triplets is None else data.triplets.n_answers
    assert answers == entry.answers
    assert (0 if data.observers is None else len(np.unique(data.observers))) == entry.observers
    assert (data.features is None) == (entry.answers > 0)
    for part in (entry.title, entry.citation, entry.licence):
        assert part in repr(data)


@needs_data
def test_digits():
    data = datasets.load_mnist_digits()
    assert data.features.shape == (11769, 784)
    assert (data.features.min(), data.features.max()) == (0, 255)
    assert np.unique(data.labels, return_counts=True)[1].tolist() == [5918, 5851]
    with np.load(DATA / "mnist_6_8" / "mnist_train_6_8.npz", allow_pickle=False) as stored:
        assert (data.features == stored["images"]).all()
    sixes = datasets.load_mnist_digits(6)
    assert (sixes.features == data.features[data.labels == 6]).all()


@needs_data
@pytest.mark.parametrize(
    ("split", "file", "counts"),
    [
        ("train", "sat.trn.gz", [1072, 479, 961, 415, 470, 1038]),
        ("test", "sat.tst.gz", [461, 224, 397, 211, 237, 470]),
    ],
)
def test_satellite(split, file, counts):
    data = datasets.load_satellite(split)
    stored = np.loadtxt(DATA / "landsat_satellite" / file)
    assert (np.column_stack([data.features, data.labels]) == stored).all()
    assert np.unique(data.labels, return_counts=True)[1].tolist() == counts
    assert set(data.label_names) == set(data.labels.tolist())


def test_breast_cancer_needs_no_file(monkeypatch):
    monkeypatch.delenv("TERCET_DATA", raising=False)
    data = datasets.load_breast_cancer()
    assert data.features.shape == (569, 30)
    assert len(data.feature_names) == 30
    assert np.bincount(data.labels).tolist() == [212, 357]
    assert "malignant 212, benign 357" in repr(data)


@pytest.mark.slow
@needs_data
def test_food():
    data = datasets.load_food()
    columns = (*TRIPLET, "worker", "screen", "grid_size", "n_chosen", "repetition")
    stored = converted("food100", "triplets.csv.gz", *columns)
    triplets = data.triplets
    assert (triplets.array == stored[:, :3]).all()
    assert (triplets.observers == stored[:, 3]).all()
    assert (triplets.screens == stored[:, 4]).all()
    assert (np.column_stack(list(data.columns.values())) == stored[:, 5:]).all()
    assert len(np.unique(triplets.array, axis=0)) == 190376  # the authors' README
    objects = converted("food100", "objects.csv", "image", "dish_name", kind=str)
    for name, (image, dish) in zip(data.names, objects, strict=True):
        assert name == (dish or image.removeprefix("images/").removesuffix(".jpg"))


@needs_data
def test_cars():
    data = datasets.load_cars()
    stored = converted("car60", "triplets.csv.gz", *TRIPLET, "statement", "survey_round")
    assert (data.triplets.array == stored[:, :3]).all()
    assert (data.triplets.screens == stored[:, 3]).all()
    assert (data.triplets.observers == stored[:, 4]).all()
    seconds = converted("car60", "central_statements.csv.gz", "response_time_s", kind=float)
    assert data.columns["response_time"] == pytest.approx(np.repeat(seconds, 2))
    classes = converted("car60", "objects.csv", "class", kind=str)[:, 0]
    assert (data.labels == np.where(classes == "offroad_suv", "off-road", classes)).all()


@pytest.mark.slow
@needs_data
def test_material_keeps_the_votes_of_the_minority():
    data = datasets.load_material()
    stored = converted("material_appearance", "triplets.csv.gz", *TRIPLET, "count")
    split = converted("material_appearance", "triplets.csv.gz", "split", kind=str)[:, 0]
    assert (data.triplets.array == stored[:, :3]).all()
    assert (data.triplets.votes == stored[:, 3]).all()
    assert (data.columns["split"] == split).all()
    votes = data.triplets.votes
    assert votes[split == "train"].sum() == 92892  # cblearn's documented numbers
    assert votes[split == "test"].sum() == 11800
    both = {tuple(row) for row in data.triplets.array.tolist()}
    assert sum((i, l, j) in both for i, j, l in both) > 10000


@needs_data
def test_names_of_materials_and_what_is_not_sure_of_them():
    """With their suffix, two image files sort the other way round."""
    data = datasets.load_material()
    stored = converted("material_appearance", "objects.csv", "material", kind=str)[:, 0]
    assert list(data.names) == stored.tolist()
    by_file = sorted(data.names, key=lambda name: f"{name}.jpg")
    unsure = {name for name, other in zip(data.names, by_file, strict=True) if name != other}
    assert unsure == {"chrome", "chrome-steel"}
    assert all(name in data.notes[1] for name in unsure)


@needs_data
def test_music_leaves_out_artists_compared_with_themselves():
    data = datasets.load_music()
    stored = converted("music_aset400", "triplets.csv.gz", *TRIPLET)
    i, j, l = stored.T
    assert (data.triplets.array == stored[(i != j) & (i != l) & (j != l)]).all()
    assert "17 rows" in data.notes[0]
    artists = converted("music_aset400", "objects.csv", "artist_inferred", kind=str)[:, 0]
    assert list(data.names) == artists.tolist()


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("which", "file"),
    [("random", "oddoneout_random50k.csv.gz"), ("participants", "oddoneout_by_participant.csv.gz")],
)
def test_things(which, file):
    data = datasets.load_things(which)
    a, b, odd = converted("things_oddoneout", file, "similar1", "similar2", "odd").T
    array, screens = data.triplets.array, data.triplets.screens
    assert (array[0::2] == np.column_stack([a, b, odd])).all()
    assert (array[1::2] == np.column_stack([b, a, odd])).all()
    assert (screens == np.repeat(np.arange(len(a)), 2)).all()
    assert data.names[0] == "aardvark"
    if which == "random":
        assert data.observers is None
        assert not data.columns
    else:
        people = converted("things_oddoneout", file, "participant")[:, 0]
        split = converted("things_oddoneout", file, "split", kind=str)[:, 0]
        assert (data.observers == np.repeat(people, 2)).all()
        assert (data.columns["split"] == np.repeat(split, 2)).all()


@needs_data
def test_alien_eggs():
    data = datasets.load_alien_eggs()
    stored = converted("alien_eggs", "triplets_n30.csv.gz", *TRIPLET, "participant", "order")
    assert (data.triplets.array == stored[:, :3]).all()
    assert (data.observers == stored[:, 3]).all()
    assert (data.columns["order"] == stored[:, 4]).all()
    chosen = data.columns["sampling"] == "RandomSampling"
    i, j, l = data.stimuli[data.triplets.array[chosen]].T
    right = np.mean(abs(i - j) < abs(i - l))
    assert right == pytest.approx(0.8347996, abs=1e-7)  # Noise-model.ipynb of Salmon
    assert data.names[data.stimuli.argmax()] == "i0572"


@needs_data
@pytest.mark.parametrize("which", ["kk1", "kk2", "kk3", "AutumnLab", "Transparency"])
def test_quadruplets(which):
    data = datasets.load_mlds(which)
    columns = ("dataset", "observer", "near1", "near2", "far1", "far2")
    stored = converted("mlds_examples", "quadruples.csv", *columns, kind=str)
    stored = stored[stored[:, 0] == which]
    assert (data.triplets.array == stored[:, 2:].astype(int)).all()
    assert (data.observers == stored[:, 1]).all()
    assert data.stimuli == pytest.approx(stimuli(which))


@needs_data
def test_triads():
    data = datasets.load_mlds("kktriad")
    stored = converted("mlds_examples", "triads_kktriad.csv", *TRIPLET)
    assert (data.triplets.array == stored).all()
    assert data.stimuli == pytest.approx(stimuli("kktriad"))


def stimuli(which):
    rows = converted("mlds_examples", "stimuli.csv", "dataset", "stimulus_value", kind=str)
    return [float(value) for sets, value in rows if which in sets.split("|")]


@needs_data
def test_arrays_cannot_be_changed():
    data = datasets.load_alien_eggs()
    with pytest.raises(ValueError, match="read-only"):
        data.stimuli[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        data.columns["order"][0] = 1
    with pytest.raises(TypeError):
        data.columns["order"] = None
    with pytest.raises(AttributeError):
        data.source = "elsewhere"


def test_the_catalogue_is_a_table():
    shown = repr(datasets.list_datasets()).splitlines()
    assert shown[0].split() == ["name", "objects", "answers", "observers", "licence"]
    assert [line.split()[0] for line in shown[1:]] == list(CATALOGUE)
    assert {len(line.split("  ")[0]) <= 14 for line in shown} == {True}
    assert all(hasattr(datasets, f"load_{entry.name}") for entry in datasets.list_datasets())


def test_the_page_says_what_the_catalogue_says():
    page = (ROOT / "docs" / "datasets.md").read_text("utf-8")
    wrong = []
    for name, entry in CATALOGUE.items():
        counts = [f"{n:,}".replace(",", " ") if n else "–" for n in (entry.objects, entry.answers)]
        row = "".join(line for line in page.splitlines() if line.startswith(f"| `load_{name}("))
        table = f"| {entry.title} | {counts[0]} | {counts[1]} | {entry.observers or '–'} |"
        wrong += [f"{name}: {told}" for told in (table, entry.licence) if told not in row]
        source = f"- `{name}`: {entry.citation}. [Home]({entry.home})"
        folder = f"| `{name}` | `{entry.folder}/` |"
        wrong += [told for told in (source, folder) if told not in page]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (lambda: datasets.load_mnist_digits(6, 11), "from 0 to 9, got 11"),
        (lambda: datasets.load_mnist_digits("6"), "from 0 to 9, got '6'"),
        (lambda: datasets.load_satellite("all"), "'train' or 'test', got 'all'"),
        (lambda: datasets.load_things("all"), "'random' or 'participants', got 'all'"),
        (lambda: datasets.load_mlds("kk4"), "kk1, kk2, kk3, kktriad.* got 'kk4'"),
    ],
)
def test_a_choice_that_does_not_exist(load, message):
    with pytest.raises(tc.InputError, match=message):
        load()


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder of one's own."""
    monkeypatch.setenv("TERCET_DATA", str(tmp_path))
    return tmp_path


def put(folder, name, content):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_folder_that_does_not_exist(monkeypatch, tmp_path):
    monkeypatch.setenv("TERCET_DATA", str(tmp_path / "typo"))
    with pytest.raises(tc.InputError, match="typo', which is no folder"):
        datasets.load_cars()


def test_a_file_that_is_missing(own):
    (own / "car60").mkdir()
    with pytest.raises(tc.InputError, match=r"car60 has no file original_survey_data\.csv"):
        datasets.load_cars()


HEADER = "survey_round,chosen_center,triplet_object_1,triplet_object_2,triplet_object_3"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "cannot be read"),
        (f"{HEADER}\n1,2,1,2,3\n", "has no column 'response_time'; it has 'survey_round', "),
        (f"{HEADER},response_time\n1,2,1,2\n", "row 2: 4 cells where the header has 6"),
        (f"{HEADER},response_time\n1,2,1,2,x,1.5\n", "cannot be read .*'x'"),
        (f"{HEADER},response_time\n1,9,1,2,3,1.5\n", "cannot be read"),  # 9 was not shown
        (f"{HEADER},response_time\n1,2,1,2,99,1.5\n", "98"),  # no such car
    ],
)
def test_a_table_that_is_malformed(own, content, message):
    put(own, "car60/original_survey_data.csv", content.encode())
    with pytest.raises(tc.InputError, match=message):
        datasets.load_cars()


@pytest.mark.parametrize(
    ("file", "content", "load"),
    [
        ("landsat_satellite/sat.trn", b"1 2 x\n", datasets.load_satellite),
        ("landsat_satellite/sat.trn", b"1 2 3\n", datasets.load_satellite),
        ("landsat_satellite/sat.trn", b"", datasets.load_satellite),
        ("landsat_satellite/sat.trn.gz", b"no gzip", datasets.load_satellite),
        ("mnist_6_8/mnist_train_6_8.npz", b"no zip", datasets.load_mnist_digits),
        ("music_aset400/original_music_triplets.mat", b"no mat", datasets.load_music),
        ("food100/original_raw-json.tar.xz", b"no tar", datasets.load_food),
        (
            "mlds_examples/kk1.csv",
            b"resp,s1,s2,s3,s4\n2,1,2,3,4\n",
            lambda: datasets.load_mlds("kk1"),
        ),
    ],
)
def test_a_file_that_is_damaged_is_named(own, file, content, load):
    path = put(own, file, content)
    put(own, "food100/original_ingredients.json", b"{}")
    with pytest.raises(tc.InputError, match=str(path)):
        load()


def test_a_pickle_is_not_loaded(own):
    folder = own / "mnist_6_8"
    folder.mkdir()
    images = np.array([{"an": "object"}], dtype=object)
    np.savez(folder / "mnist_train_6_8.npz", images=images, labels=np.array([6]))
    with pytest.raises(tc.InputError, match="Python objects, which are never loaded"):
        datasets.load_mnist_digits()


def test_votes_that_do_not_fit_the_questions(own):
    said = {"answers": [[0, 1, 2], [1, 2, 3]], "agreement": [[3, 1]]}
    for split in ("train", "test"):
        name = f"material_appearance/original_answers_processed_{split}.json"
        path = put(own, name, json.dumps(said).encode())
    with pytest.raises(tc.InputError, match=str(path.parent)):
        datasets.load_material()


@needs_data
def test_files_may_be_unpacked(own):
    folder = own / "landsat_satellite"
    folder.mkdir()
    with gzip.open(DATA / "landsat_satellite" / "sat.tst.gz") as packed:
        (folder / "sat.tst").write_bytes(packed.read())
    assert datasets.load_satellite("test").features.shape == (2000, 36)

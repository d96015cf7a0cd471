import base64
import dataclasses
import hashlib
import json
import os
import re
import threading
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from jinja2 import UndefinedError
from markupsafe import Markup
from matplotlib import pyplot, rc_context

from tercet import Ensemble, Triplets, certainty
from tercet.analysis.from_answers import describe_objects
from tercet.analysis.numbers import tables
from tercet.analysis.words import summary
from tercet.errors import InputError
from tercet.io import Skipped
from tercet.plots.maps import expected_distances, read_space, view
from tercet.posterior.diagnostics import Diagnostics
from tercet.report import check_target, page, pictures, write_report
from tercet.report import write as writing
from tercet.report.page import as_data, format_number, prose, readable, templates
from tercet.report.pictures import draw_pictures
from tercet.uses.compare.comparison import LackOfFit
from tercet.uses.dimension.evidence import NOTHING, DimensionEstimate, DimensionRow, Measured

pytestmark = pytest.mark.slow

SECTIONS = [
    "map",
    "data",
    "comparisons",
    "trust",
    "abstain",
    "dimension",
    "observers",
    "questions",
    "methods",
    "downloads",
]


class Read(HTMLParser):
    """A page as a browser takes it apart."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.words, self.scripts, self._inside = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = tag

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.words.append(data)

    def handle_endtag(self, tag):
        self._inside = None

    def all(self, tag):
        return [attributes for each, attributes in self.tags if each == tag]

    @property
    def text(self):
        return "".join(self.words)


@pytest.fixture(scope="module")
def text(analysis):
    return page(analysis)


@pytest.fixture(scope="module")
def read(text):
    return Read(text)


# --- the whole --------------------------------------------------------------------------------


def test_sections_come_in_their_order(read):
    assert [each["id"] for each in read.all("section")] == ["summary", *SECTIONS]
    linked = [each["href"] for each in read.all("a") if each["href"].startswith("#")]
    assert linked == [f"#{key}" for key in SECTIONS]


def test_nothing_comes_from_outside(read):
    for tag, attributes in read.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "image"), tag
        for key, value in attributes.items():
            assert not key.startswith("on"), key
            if key in ("src", "href", "xlink:href", "action"):
                assert value.startswith(("#", "data:text/csv", "data:application/json")), value
    assert not re.findall(r"url\((?!#)|@import", "".join(str(each) for each in read.tags))


def test_the_policy_allows_the_script_of_the_page_and_no_other(read):
    data, script = read.scripts
    json.loads(data)
    policy = next(m["content"] for m in read.all("meta") if "http-equiv" in m)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")


def test_the_same_findings_give_the_same_bytes(analysis, text):
    before = pyplot.get_fignums()
    with rc_context({"svg.fonttype": "none", "font.size": 20.0, "lines.linewidth": 9.0}):
        assert page(analysis) == text
    assert pyplot.get_fignums() == before


def test_ids_are_unique_and_links_lead_somewhere(text, read):
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text):
        assert "".join(target) in ids


def test_the_file_is_named_without_its_folders(text, read):
    assert "my <b>answers.csv" in read.text
    assert "anna" not in text
    assert "secret" not in text


# --- names ------------------------------------------------------------------------------------


def test_names_stay_text(analysis, text, read):
    assert len(read.all("script")) == 2
    assert not read.all("img")
    assert "<script>alert" not in text
    for name in analysis.names:
        if "\u2028" not in name:
            assert name in read.text, name
    assert "Observer 'P<1>' & others: <be careful>." in read.text


def test_hovering_has_the_names_exactly(analysis, read):
    shown = json.loads(read.scripts[0])
    objects = shown["objects"]
    assert [each["name"] for each in objects] == list(analysis.names)
    first = analysis.objects[0]
    assert f"in {first.answers} answers" in objects[0]["facts"]
    assert [n["object"] for n in objects[0]["neighbours"]] == [n.object for n in first.neighbours]
    assert not re.search("[<>&\u2028\u2029]", read.scripts[0])


def test_tables_to_save_are_exact(analysis, read):
    links = {each["download"]: each["href"] for each in read.all("a") if "download" in each}
    for key, table in tables(analysis).items():
        coded = links[f"{key}.csv"].partition(";base64,")[2]
        assert base64.b64decode(coded).decode("utf-8") == table.csv()
    everything = json.loads(base64.b64decode(links["report.json"].partition(";base64,")[2]))
    assert everything["file"] == "my <b>answers.csv"


# --- what is told -----------------------------------------------------------------------------


def test_every_picture_has_words_and_numbers(text, read):
    drawn = re.findall(r'<figure id="([a-z]+)-picture".*?</figure>(.*?<details.{0,20})', text, re.S)
    assert [key for key, _ in drawn] == [
        "map",
        "certainty",
        "calibration",
        "coverage",
        "observers",
    ]
    for key, after in drawn:
        assert after.endswith('<details class="behind" open'), key
        assert "<h3" not in after, key
    described = [each for each in read.all("div") if each.get("class") == "drawing"]
    assert all(each["aria-label"] for each in described)


def test_every_object_of_the_map_has_its_marks(analysis, read):
    ids = {attributes.get("id") for _, attributes in read.tags}
    for i in range(len(analysis.objects)):
        assert {f"map-object-{i}", f"map-ellipse-{i}"} <= ids


def test_what_is_found_is_told(analysis, read):
    for said in (
        *analysis.reading.sentences(),
        "catch trials passed",
        "1.010",
        "noise ceiling of a model that does not know who answers",
        "tercet report 'my <b>answers.csv' --format tidy --dim 2 --samples 40 "
        "--uncertainty bootstrap",
    ):
        assert said in read.text.replace("\u00a0", " "), said
    assert "nan" not in re.findall(r"[a-z]+", read.text)
    assert "None" not in read.text
    assert "no model" not in read.text


def test_more_than_the_noise_ceiling_is_explained(analysis):
    ceiling = analysis.check.ceiling.accuracy
    for share, said in (ceiling - 0.01, False), (ceiling + 0.01, True):
        told = analysis.held_out._replace(accuracy=share)
        shown = Read(page(dataclasses.replace(analysis, held_out=told)))
        assert ("That is above the ceiling" in shown.text) == said


def test_an_ellipse_is_said_to_be_conditional(read):
    text = read.text.replace("\u00a0", " ")
    assert (
        "95 % credible region of its position on the pooled map of these observers, if the model"
        in text
    )
    assert "Overlap of two ellipses is not a test" in text


def test_the_command_says_how_the_file_was_read(analysis):
    given = dataclasses.replace(
        analysis.reading,
        columns={"anchor": "my probe", "near": "a"},
        named=True,
        left_out=("P1", "P2"),
        skip_invalid=True,
    )
    read = Read(page(dataclasses.replace(analysis, reading=given)))
    assert "--format tidy --columns 'anchor=my probe,near=a' --names names.txt " in read.text
    assert "--leave-out P1,P2 --skip-invalid --dim" in read.text


def test_rows_that_were_left_out_are_listed(analysis):
    left = Skipped("whose winner was not shown", 2, "line 340", ("line 340", "line 715"))
    reading = dataclasses.replace(analysis.reading, skipped=(left,), doubts=("A <doubt>.",))
    given = dataclasses.replace(analysis, reading=reading)
    read = Read(page(given))
    assert "Left out: 2 rows whose winner was not shown (line 340, line 715)." in read.text
    assert "A <doubt>." in read.text
    (skipped,) = given.to_dict()["skipped"]
    assert skipped["places"] == ["line 340", "line 715"]


def test_of_observers_with_few_answers_nothing_is_claimed(by_many):
    assert "cannot tell" in {each.verdict for each in by_many.check.observers}
    read = Read(page(by_many))
    assert "guessed cannot be determined" in read.text
    assert "No observer appears to guess" not in read.text


def test_why_there_is_no_ceiling_is_told_as_it_is(analysis):
    why = "the weights are not whole numbers, so they do not count answers"
    read = Read(page(dataclasses.replace(analysis, ceiling=None, no_ceiling=why)))
    assert f"The noise ceiling is unknown: {why}." in read.text


def test_the_shares_are_those_of_the_sentence(analysis):
    shares = dict(analysis.certainty.shares)
    assert shares[0.95] == analysis.certainty.share
    assert sorted(shares.values(), reverse=True) == list(shares.values())


@pytest.fixture(scope="module")
def unsettled(analysis):
    """The same, but the chains ended in different maps."""
    chains = Diagnostics(2.9, 6.0, 6.0, "distances", 0, 4, 1000)
    lack = LackOfFit(100.0, 100.0, 0.5, 50, 200, 20, 30, analysis.check.ceiling)
    return dataclasses.replace(analysis, diagnostics=chains, lack_of_fit=lack)


def test_nothing_is_certain_where_the_chains_did_not_agree(analysis, unsettled):
    why = "Provisional: the chains did not converge (R-hat 2.90, should be below 1.05)."
    settled, doubtful = (
        Read(page(each)).text.replace("\u00a0", " ") for each in (analysis, unsettled)
    )
    assert why in doubtful
    assert "A map of 12 objects, provisional" in doubtful
    assert "This cannot be stated, because the chains did not converge" in doubtful
    for claim in (
        "Most certain",
        "are more than 95 % certain",
        "and how certain it is",
        "is the most certain",
        "No lack of fit was found",
        "Most informative next question",
    ):
        assert claim not in doubtful, claim
    assert "Most certain" in settled
    assert "provisional" not in settled.lower()
    assert "certainty" not in draw_pictures(unsettled)
    assert "comparisons" not in tables(unsettled)
    drawn = draw_pictures(unsettled)["map"]
    assert drawn.draw().get_suptitle() == why[:-1]
    assert not draw_pictures(analysis)["map"].draw().get_suptitle()
    everything = unsettled.to_dict()
    assert everything["provisional"] is True
    assert everything["certainty"] is everything["lack_of_fit"] is None
    assert "The chains did not converge" in everything["methods"]
    assert analysis.to_dict()["certainty"]["share"] == analysis.certainty.share


def tried(dimension, verdict, undecided_at=None, most=6):
    measured = {
        "training_loss": NOTHING,
        "log_loss": Measured(0.5, 0.01),
        "p_value": 0.5,
        "left_out": NOTHING,
        "gain": NOTHING,
        "bootstrap": NOTHING,
        "posterior": NOTHING,
        "k_hat": 0.0,
    }
    rows = tuple(
        DimensionRow(
            dimension=d,
            accuracy=Measured(0.7 + 0.01 * d, 0.01),
            r_hat=2.9 if d == undecided_at else 1.0,
            agrees=d != undecided_at,
            **measured,
        )
        for d in range(1, most + 1)
    )
    return DimensionEstimate(dimension, verdict, "Because.", rows, "comparison", 400, undecided_at)


def test_a_dimension_that_is_not_decided_is_not_stated(analysis):
    estimated = dataclasses.replace(analysis.settings, dimension=None)
    given = dataclasses.replace(
        analysis, dimension=tried(None, "not decided", 2), settings=estimated
    )
    read = Read(page(given)).text.replace("\u00a0", " ")
    assert "Provisional: the number of dimensions is undecided." in read
    assert "shown; how many are needed is undecided" in read
    assert (
        "Of single maps, those in 6 dimensions predict held-out answers best (76 % correct" in read
    )
    assert "The number of dimensions is undecided; the map shows 2." in read
    assert "Hollow points are from chains that ended in different maps" in read
    assert "none could be chosen (2 are shown)" in read
    assert "Most certain" not in read
    coins = dataclasses.replace(analysis, dimension=tried(None, "cannot tell"))
    assert "Provisional: held-out answers are predicted at chance level." in Read(
        page(coins)
    ).text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            tried(2, "at least", most=2),
            "At least two dimensions: fewer predict held-out answers worse, more were not tried (1",
        ),
        (
            dataclasses.replace(tried(2, "at least"), by_chains=False),
            "is unclear from these answers (1 to 6 tried, by cross-validation alone).",
        ),
        (tried(1, "decided"), "dimensions: more do not predict held-out answers better (1 to 6"),
        (
            tried(2, "decided"),
            "Two dimensions: fewer predict held-out answers worse, more do not help (1 to 6 tried)",
        ),
        (tried(2, "at least"), "answers worse; whether 3 predict better is unclear from these"),
        (
            tried(2, "at least", 3),
            "worse; whether 3 predict better is undecided, because the chains ended in different "
            "maps in 3 dimensions (1 to 6 tried).",
        ),
        (tried(None, "cannot tell"), "by default: held-out answers are predicted at chance level"),
    ],
)
def test_the_summary_says_what_was_tried(analysis, found, said):
    assert said in summary(dataclasses.replace(analysis, dimension=found))[1]


def test_a_dimension_at_the_limit_is_told_as_such(analysis):
    most = Read(page(dataclasses.replace(analysis, dimension=tried(2, "at least", most=2)))).text
    assert "at least; more were not tried" in most
    assert "at least; more" not in Read(page(analysis)).text


def test_the_level_is_that_of_every_picture(analysis):
    given = dataclasses.replace(
        analysis,
        settings=dataclasses.replace(analysis.settings, level=0.8),
        certainty=certainty(analysis.ensemble, level=0.8),
    )
    (legend,) = draw_pictures(given)["certainty"].draw().axes[0].get_legend().get_texts()
    assert legend.get_text().endswith("more than 80% certain")


def test_a_scale_is_drawn_row_by_row(on_a_line):
    read = Read(page(on_a_line))
    ids = {attributes.get("id") for _, attributes in read.tags}
    assert {"map-object-11", "map-ellipse-11", "map-name-11"} <= ids
    assert "A scale of 12 objects" in read.text
    assert "It is not known who gave each answer" in read.text


def test_of_more_dimensions_two_are_drawn_and_the_others_can_be_chosen(in_space):
    read = Read(page(in_space))
    ids = {attributes.get("id") for _, attributes in read.tags}
    assert {"map-object-11", "map-ellipse-11", "distances-picture"} <= ids
    scene = json.loads(read.scripts[0])
    space = read_space(in_space.ensemble, None, 0.95)
    for dimensions in (0, 1), (2, 0), (1, 2):
        expected = view(space, 0.95, dimensions).ellipses
        for i, each in enumerate(scene["objects"]):
            at = np.array(each["at"])[list(dimensions)]
            covariance = np.zeros((3, 3))
            covariance[np.triu_indices(3)] = each["covariance"]
            covariance = np.maximum(covariance, covariance.T) + np.minimum(covariance, covariance.T)
            covariance -= np.diag(covariance.diagonal()) / 2
            seen = covariance[np.ix_(dimensions, dimensions)]
            lengths = scene["reach"] * np.sqrt(np.linalg.eigvalsh(seen)[::-1])
            np.testing.assert_allclose(at, expected.centres[i], rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(lengths, expected.half_lengths[i], rtol=5e-3)


def test_a_heat_map_has_all_distances(in_space):
    heat = json.loads(Read(page(in_space)).scripts[0])["heat"]
    mean = expected_distances(in_space.ensemble).mean
    assert sorted(heat["order"]) == list(range(12))
    steps = np.frombuffer(base64.b64decode(heat["steps"]), np.uint8)
    found = heat["largest"] * steps / 255
    np.testing.assert_allclose(found, mean[np.triu_indices(12, 1)], atol=mean.max() / 500)


def test_nearest_neighbours_are_listed(in_space):
    rows = re.findall(r'<th scope="row">.*?</tr>', page(in_space), re.S)
    assert len(rows) == 12
    for row, each in zip(rows, in_space.objects, strict=True):
        assert Read(row).text.startswith(each.name)
        for other in each.neighbours:
            assert in_space.names[other.object] in Read(row).text


def test_quadruplets_have_no_questions(of_pairs):
    read = Read(page(of_pairs))
    assert "these answers are about four" in read.text
    assert "never asked" not in read.text


def test_what_is_unknown_is_said(analysis):
    bare = dataclasses.replace(
        analysis, held_out=None, lack_of_fit=None, suggestions=None, cautions=()
    )
    read = Read(page(bare))
    assert "too few answers to hold some out" in read.text
    assert "Nothing in these answers calls for special care." in read.text
    assert "abstain" not in [each["id"] for each in read.all("section")]


def test_a_page_of_many_objects_is_small(analysis):
    rng = np.random.default_rng(0)
    points = 3.0 * rng.normal(size=(100, 2))
    draws = points + 0.3 * rng.normal(size=(40, 100, 2))
    ensemble = Ensemble(draws, names=[f"a longer name, number {i}" for i in range(100)])
    triplets = Triplets(analysis.triplets.array, n_objects=100)
    objects = describe_objects(ensemble, triplets, certainty(ensemble))
    large = dataclasses.replace(analysis, ensemble=ensemble, objects=objects)
    assert len(page(large).encode()) < 1_500_000


# --- pieces -----------------------------------------------------------------------------------


def test_text_has_nothing_that_a_browser_would_not_show():
    assert readable("a\x00b\x7fc\ud800") == "a\ufffdb\ufffdc?"
    assert readable(Markup("<b>\x01")) == "<b>\x01"
    assert readable(3) == 3


def test_templates_escape_whatever_they_are_given():
    template = templates().from_string("<p title='{{ x }}'>{{ x }}")
    assert template.render(x="<a href='y'>\"&") == (
        "<p title='&lt;a href=&#39;y&#39;&gt;&#34;&amp;'>&lt;a href=&#39;y&#39;&gt;&#34;&amp;"
    )
    with pytest.raises(UndefinedError):
        templates().from_string("{{ nothing }}").render()


def test_data_cannot_end_a_script():
    value = {"</script><b>": "<!-- & \u2028"}
    coded = as_data(value)
    assert not re.search("[<>&\u2028]", coded)
    assert json.loads(coded) == value


def test_cells_are_written_by_their_kind():
    cells = templates().get_template("pieces.html").module.cell
    made = [str(cells(value)).strip() for value in ("<b>", 3, -0.123456, None, float("nan"))]
    assert made == [
        "<td><bdi>&lt;b&gt;</bdi></td>",
        '<td class="number">3</td>',
        '<td class="number">−0.1235</td>',
        "<td>–</td>",
        "<td>–</td>",
    ]
    assert format_number(-2) == "−2"
    assert prose("80 % of { %s }") == "80\u00a0% of { %s }"


def test_ids_of_two_pictures_never_clash(analysis):
    pictures = draw_pictures(analysis)
    one, other = (pictures[key].inline() for key in ("calibration", "coverage"))
    assert "<?xml" not in one
    assert "<style" not in one
    first, second = (set(re.findall(r'\bid="([^"]+)"', each)) for each in (one, other))
    assert first
    assert second
    assert not first & second


# --- writing ----------------------------------------------------------------------------------


def test_a_page_is_one_file(analysis, text, tmp_path):
    target = tmp_path / "new" / "report.html"
    assert write_report(analysis, target) == [target]
    assert target.read_text("utf-8") == text
    assert list(target.parent.iterdir()) == [target]


def test_a_folder_has_pictures_and_tables_too(analysis, text, tmp_path):
    written = write_report(analysis, tmp_path / "results")
    assert written[0].read_text("utf-8") == text
    assert sorted(written) == sorted((tmp_path / "results").iterdir())
    found = {path.name: path.read_bytes() for path in written}
    assert found["map.png"].startswith(b"\x89PNG")
    assert b"<svg" in found["map.svg"]
    for key, table in tables(analysis).items():
        assert found[f"{key}.csv"].decode("utf-8") == table.csv()
    assert json.loads(found["report.json"])["dimension"]["used"] == 2
    again = Ensemble.load(tmp_path / "results" / "map.npz")
    np.testing.assert_array_equal(again.samples, analysis.ensemble.samples)


def test_nothing_is_written_where_something_fails(analysis, tmp_path, monkeypatch):
    def fail(analysis):
        raise ZeroDivisionError

    monkeypatch.setattr(writing, "tables", fail)
    with pytest.raises(ZeroDivisionError):
        write_report(analysis, tmp_path / "results")
    assert not list(tmp_path.iterdir())


def test_where_a_report_can_be_written_is_checked_first(tmp_path):
    answers = tmp_path / "answers.html"
    answers.write_text("")
    check_target(tmp_path / "report.html", answers)
    check_target(tmp_path / "new" / "folder", answers)
    (tmp_path / "study.v2").mkdir()
    check_target(tmp_path / "study.v2")
    for target, match in (
        (tmp_path / "report.pdf", "ends in '.pdf'"),
        (answers, "would overwrite"),
        (answers / "results", "is a file, not a folder"),
    ):
        with pytest.raises(InputError, match=match):
            check_target(target, answers)


def test_the_names_of_all_pictures_are_known():
    source = Path(pictures.__file__).read_text("utf-8")
    assert set(re.findall(r'Picture\(\s*"(\w+)"', source)) == set(pictures.KEYS)


def test_a_folder_in_which_a_file_cannot_be_written_is_refused_before_the_work(tmp_path):
    (tmp_path / "map.png").mkdir()
    with pytest.raises(InputError, match=r"map.png cannot be written: it is a folder"):
        check_target(tmp_path)
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(InputError, match="a broken link"):
        check_target(tmp_path / "link")


def test_a_page_goes_into_a_pipe(analysis, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_target(pipe)
    got = []
    thread = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    thread.start()
    assert write_report(analysis, pipe) == [pipe]
    thread.join(10)
    assert got[0].startswith(b"<!doctype html>")
    assert pipe.is_fifo()


def test_the_answers_are_never_overwritten_by_a_table(analysis, tmp_path):
    for file in (
        "report.html",
        "map.svg",
        "residuals.png",
        "report.json",
        "map.npz",
        "observers.csv",
        "scale.csv",
    ):
        with pytest.raises(InputError, match="would overwrite"):
            check_target(tmp_path, tmp_path / file)
    check_target(tmp_path, tmp_path / "answers.csv")
    (tmp_path / "link.csv").symlink_to("map.svg")
    for file in {path.name for path in write_report(analysis, tmp_path)} | {"link.csv"}:
        with pytest.raises(InputError, match="would overwrite"):
            check_target(tmp_path, tmp_path / file)

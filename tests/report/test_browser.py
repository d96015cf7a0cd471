"""The page in a real browser. TERCET_REQUIRE_BROWSER=1 makes a missing browser a failure."""

import dataclasses
import os
import shutil
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from tercet import Ensemble, Triplets, certainty
from tercet.analysis.from_answers import describe_objects
from tercet.analysis.numbers import tables
from tercet.plots.maps import expected_distances, read_space, view
from tercet.report import page as make_page
from tercet.report import read_appearance

pytestmark = pytest.mark.slow

LEFT_OUT = "no Chromium here: the browser tests were left out"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
]
WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 375, "height": 812}


def find_chromium():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def browser():
    path = find_chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        if os.environ.get("TERCET_REQUIRE_BROWSER") == "1":
            pytest.fail("TERCET_REQUIRE_BROWSER is 1, and there is no Chromium or no playwright")
        pytest.skip(LEFT_OUT)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def crowd(analysis):
    """A map of 350 objects in five dimensions."""
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(350, 5)) * [3, 2, 2, 1, 1] + 0.3 * rng.normal(size=(40, 350, 5))
    ensemble = Ensemble(draws, names=[f"object {i}" for i in range(350)], alignment="none")
    triplets = Triplets(analysis.triplets.array, n_objects=350)
    objects = describe_objects(ensemble, triplets, certainty(ensemble))
    return dataclasses.replace(analysis, ensemble=ensemble, objects=objects)


@pytest.fixture(scope="module")
def files(analysis, on_a_line, in_space, crowd, tmp_path_factory):
    """Pages by the number of their dimensions, of a crowd, and with groups and pictures."""
    folder = tmp_path_factory.mktemp("pages")
    shown = {"1": on_a_line, "2": analysis, "3": in_space, "crowd": crowd}
    for name, found in shown.items():
        (folder / f"{name}.html").write_text(make_page(found), encoding="utf-8")
    paths = {}
    for i, name in enumerate(in_space.names):
        paths[name] = folder / f"{i}.png"
        Image.new("RGB", (200, 100), (20 * i, 100, 0)).save(paths[name])
    groups = ["<b>one", "</script>"] * 6
    looks = read_appearance(in_space.names, groups, paths)
    (folder / "looks.html").write_text(make_page(in_space, looks), encoding="utf-8")
    return folder


class Visit:
    """A page that was opened, and what happened on it."""

    def __init__(self, browser, file, viewport, **options):
        self.context = browser.new_context(viewport=viewport, **options)
        self.trouble, self.outside = [], []
        self.context.route("**/*", self._route)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.trouble.append(message.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.goto(file.as_uri())

    def _route(self, route):
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            self.outside.append(route.request.url)
            route.abort()

    def _dialog(self, dialog):
        self.trouble.append(dialog.message)
        dialog.dismiss()

    def save(self, selector):
        """What clicking there saves: the name of the file, and its bytes."""
        with self.page.expect_download() as saved:
            self.page.click(selector)
        with open(saved.value.path(), "rb") as file:
            return saved.value.suggested_filename, file.read()


@pytest.fixture
def visit(browser, files):
    visits = []

    def open_page(d=2, viewport=WIDE, **options):
        visits.append(Visit(browser, files / f"{d}.html", viewport, **options))
        return visits[-1]

    yield open_page
    for each in visits:
        trouble, outside = list(each.trouble), list(each.outside)
        each.context.close()
        assert not trouble
        assert not outside


def marks(page, kind, number):
    return page.locator(f"#map-{kind}-{number}")


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("d", [1, 2, 3, "crowd", "looks"])
def test_a_page_fits_its_window(visit, d, viewport):
    page = visit(d, viewport).page
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    for details in page.locator("details.behind").all():
        details.locator("summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    box = page.locator("#map-picture .drawing > svg").bounding_box()
    assert box["width"] > 0.8 * min(viewport["width"], 750 if d == 1 else 900)
    assert box["x"] + box["width"] <= viewport["width"]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_hovering_tells_an_object(visit, analysis, on_a_line, in_space, d):
    found = (on_a_line, analysis, in_space)[d - 1]
    page = visit(d).page
    tip = page.locator("#map-tip")
    assert tip.is_hidden()
    for number in (0, 5):
        each = found.objects[number]
        marks(page, "object", number).hover()
        assert tip.is_visible()
        assert tip.locator("strong").text_content() == each.name
        shown = tip.text_content()
        assert f"in {each.answers} answers" in shown
        for at, (low, high) in zip(each.position, each.interval, strict=True):
            assert f"{at:.2f} ({low:.2f} to {high:.2f})".replace("-", "−") in shown
        near = [found.names[other.object] for other in each.neighbours]
        assert tip.locator("td:first-child").all_text_contents() == near
        ellipse = marks(page, "ellipse", number)
        assert "here" in ellipse.get_attribute("class").split()
        other = marks(page, "object", each.neighbours[0].object)
        assert "near" in other.get_attribute("class").split()
    page.locator("h1").hover()
    assert tip.is_hidden()
    assert page.locator(".here, .near").count() == 0


@pytest.mark.parametrize("d", [2, "looks"])
def test_the_tip_stays_in_a_narrow_window(visit, d):
    page = visit(d, NARROW, has_touch=True).page
    for number in range(12):
        page.locator("h1").tap()  # or a tap on a point that covers this one might close its tip
        point = marks(page, "object", number)
        point.scroll_into_view_if_needed()
        box = point.bounding_box()
        page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        tip = page.locator("#map-tip")
        box = tip.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= NARROW["width"]
        assert tip.evaluate("each => each.scrollWidth <= each.clientWidth")


@pytest.mark.parametrize("d", [1, 2, 3])
def test_every_object_can_be_reached_by_keys(visit, analysis, on_a_line, in_space, d):
    found = (on_a_line, analysis, in_space)[d - 1]
    page = visit(d).page
    stops = page.locator('#map-picture svg [tabindex="0"]')
    assert stops.count() == 1
    stops.focus()
    seen = []
    for _ in found.objects:
        seen.append(page.locator("#map-tip strong").text_content())
        page.keyboard.press("ArrowRight")
    assert sorted(seen) == sorted(found.names)
    page.keyboard.press("Escape")
    assert page.locator("#map-tip").is_hidden()


# --- choosing dimensions ----------------------------------------------------------------------


def drawn(page, number):
    """Centre, half-lengths and angle of an ellipse, in pixels, as the page draws it."""
    found = page.evaluate(
        """number => {
          const each = document.getElementById(`map-ellipse-${number}`);
          const {a, b, e, f} = each.transform.baseVal.consolidate().matrix;
          return [e, f, each.rx.baseVal.value, each.ry.baseVal.value, Math.atan2(b, a)];
        }""",
        number,
    )
    return np.array(found)


def expect_view(page, found, dimensions):
    """Compare the ellipses of a page with those that Python works out, up to size and place."""
    ellipses = view(read_space(found.ensemble, None, 0.95), 0.95, dimensions).ellipses
    shown = np.array([drawn(page, i) for i in range(len(found.objects))])
    lengths, expected = shown[:, 2:4], ellipses.half_lengths
    scale = lengths.sum() / expected.sum()
    np.testing.assert_allclose(lengths, scale * expected, rtol=0.02, atol=0.1)
    centres = ellipses.centres * [scale, -scale]
    moved = shown[:, :2] - centres
    np.testing.assert_allclose(moved, np.broadcast_to(moved[0], moved.shape), atol=0.5)
    turned = np.sin(shown[:, 4] + ellipses.angles)  # downwards on a page, upwards in Python
    round_ones = expected[:, 0] < 1.1 * expected[:, 1]
    np.testing.assert_allclose(turned[~round_ones], 0.0, atol=0.03)


def test_other_dimensions_can_be_chosen(visit, in_space):
    page = visit(3).page
    expect_view(page, in_space, (0, 1))
    assert page.locator("#map-picture svg text", has_text="dimension 1 (").count() == 1
    page.select_option("#map-up", "2")
    expect_view(page, in_space, (0, 2))
    assert page.locator("#map-picture svg text", has_text="dimension 2 (").count() == 0
    page.select_option("#map-across", "2")  # which is up: the two change places
    assert page.input_value("#map-up") == "0"
    expect_view(page, in_space, (2, 0))
    marks(page, "object", 4).hover()
    assert page.locator("#map-tip strong").text_content() == in_space.names[4]


def test_a_map_of_three_dimensions_can_be_turned(visit, in_space):
    page = visit(3).page
    before = drawn(page, 2)
    page.locator("#map-turn").fill("90")
    page.wait_for_timeout(100)
    assert abs(drawn(page, 2)[0] - before[0]) > 1
    expect_view(page, in_space, (2, 1))


def test_two_dimensions_are_not_chosen(visit, analysis):
    page = visit(2).page
    assert page.locator("#map-picture select, #map-turn").count() == 0
    expect_view(page, analysis, (0, 1))


@pytest.mark.parametrize("d", [2, 3, "looks"])
def test_without_scripts_the_first_two_dimensions_are_a_picture(visit, d):
    page = visit(d, java_script_enabled=False).page
    box = page.locator("#map-picture .drawing > svg").bounding_box()
    assert box["width"] > 500
    assert page.locator("#map-picture [id^=map-object-]").count() == 12
    assert page.locator("select").count() == 0
    assert page.locator("#distances-picture svg").count() == (d != 2)
    assert page.locator("#map .neighbours tbody tr").count() == 12
    assert page.locator("#map .neighbours img").count() == (12 if d == "looks" else 0)


def test_the_map_is_enlarged(visit):
    page = visit(2).page
    before = drawn(page, 0)
    for _ in range(2):
        page.click("#map-picture button[aria-label='Zoom in']")
    page.wait_for_timeout(100)
    np.testing.assert_allclose(drawn(page, 0)[2:4], 2.25 * before[2:4], rtol=0.01)
    page.click("#map-picture button[aria-label='Show all']")
    page.wait_for_timeout(100)
    np.testing.assert_allclose(drawn(page, 0), before, atol=0.02)


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("d", [2, 3, "crowd"])
def test_names_cover_neither_each_other_nor_points(visit, d, viewport):
    page = visit(d, viewport).page
    boxes = """kind => [...document.querySelectorAll(`#map-picture .${kind}`)].map(each => {
      const {x, y, width, height} = each.getBoundingClientRect();
      return [x, y, x + width, y + height];
    })"""
    names, points = page.evaluate(boxes, "name"), page.evaluate(boxes, "object")
    assert len(names) >= (12 if d != "crowd" and viewport is WIDE else 5)

    def apart(one, other, by):
        return (
            min(one[2], other[2]) - max(one[0], other[0]) < by
            or min(one[3], other[3]) - max(one[1], other[1]) < by
        )

    assert all(apart(*pair, by=3.5) for pair in combinations(names, 2))
    assert all(apart(name, point, by=3.5) for name in names for point in points)


def test_of_a_crowd_only_the_ellipse_that_is_looked_at_is_shown(visit, crowd):
    page = visit("crowd").page
    visible = """() => [...document.querySelectorAll('#map-picture .ellipse')]
      .filter(each => getComputedStyle(each).visibility === 'visible').length"""
    assert page.evaluate(visible) == 0
    marks(page, "object", 7).focus()
    assert page.evaluate(visible) == 1 + len(crowd.objects[7].neighbours)
    assert page.locator("#map-picture .name.here").text_content() == "object 7"
    page.keyboard.press("Escape")
    assert page.evaluate(visible) == 0
    assert page.locator("#distances-picture text", has_text="object").count() == 0
    for _ in range(6):
        page.click("#distances-picture button[aria-label='Zoom in']")
    assert page.locator("#distances-picture text", has_text="object").count() > 10


def test_the_heat_map_tells_pairs(visit, in_space):
    page = visit(3).page
    mean, order = expected_distances(in_space.ensemble)
    cells = page.locator("#distances-picture svg svg image")
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    row, column = 2, 9
    page.mouse.move(
        box["x"] + (column + 0.5) * box["width"] / 12, box["y"] + (row + 0.5) * box["height"] / 12
    )
    tip = page.locator("#distances-tip").text_content()
    first, second = (in_space.names[order[k]] for k in (row, column))
    assert tip.startswith(f"{first} and {second}: expected distance ")
    told = float(tip.rpartition(" ")[2])
    assert told == pytest.approx(mean[order[row], order[column]], abs=mean.max() / 255 + 0.01)


def test_groups_have_colours_and_objects_their_pictures(visit, in_space):
    page = visit("looks").page
    legend = page.locator("#map-picture .legend li")
    assert sorted(legend.all_text_contents()) == ["</script>", "<b>one"]
    fills = [marks(page, "ellipse", i).get_attribute("fill") for i in range(12)]
    assert len(set(fills)) == 2
    assert fills[::2] == 6 * [fills[0]]
    sources = page.locator("#map .neighbours img").evaluate_all("all => all.map(each => each.src)")
    assert len(set(sources)) == 12
    images = page.locator("#map-picture .object image")
    assert images.evaluate_all("all => all.map(each => each.getAttribute('href'))") == sources
    box = marks(page, "object", 3).locator("image").bounding_box()
    assert box["width"] == pytest.approx(2 * box["height"], rel=0.02)
    marks(page, "object", 3).focus()
    assert page.locator("#map-tip img").get_attribute("src") == sources[3]
    assert page.locator("#map-tip li").first.text_content() == "</script>"


# --- the rest ---------------------------------------------------------------------------------


def test_names_do_not_run(visit, analysis):
    page = visit().page
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    page.locator("details.behind summary", has_text="Objects").click()
    cells = page.locator("#map details tbody tr td:first-child bdi").all_text_contents()
    assert cells == list(analysis.names)


def test_tables_are_saved_from_the_page(visit, analysis):
    opened = visit()
    for key, table in tables(analysis).items():
        name, content = opened.save(f'a[download="{key}.csv"]')
        assert name == f"{key}.csv"
        assert content.decode("utf-8") == table.csv()


def test_pictures_are_saved_from_the_page(visit):
    name, content = visit().save("#map-picture button.save")
    assert name == "map.svg"
    root = ElementTree.fromstring(content)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert any(each.get("id") == "map-ellipse-3" for each in root.iter())


def test_the_methods_are_copied(visit):
    opened = visit()
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = opened.page
    page.click("button.copy")
    page.locator("button.copy", has_text="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.split() == page.locator("#methods-text").inner_text().split()


def test_tables_are_folded_by_the_script_only(visit):
    folded = "details.behind table"
    page = visit().page
    assert not any(each.is_visible() for each in page.locator(folded).all())
    bare = visit(java_script_enabled=False).page
    assert bare.locator(folded).count() > 3
    assert all(each.is_visible() for each in bare.locator(folded).all())
    assert bare.locator("button.copy").is_hidden()


def test_paper_shows_everything(visit):
    page = visit(viewport={"width": 700, "height": 1000}).page
    page.emulate_media(media="print")
    for each in page.locator("details.behind table").all():
        assert each.bounding_box()["height"] > 20
    assert page.locator("nav").is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert not page.evaluate("document.querySelector('details.behind').open")

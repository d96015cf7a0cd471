"""The page in a real browser. TERCET_REQUIRE_BROWSER=1 makes a missing browser a failure."""

import os
import shutil
from xml.etree import ElementTree

import pytest

from tercet.analysis.tables import tables
from tercet.report import page as make_page

pytestmark = pytest.mark.slow

LEFT_OUT = "no Chromium here: the browser tests were left out"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
]
WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 390, "height": 844}


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


@pytest.fixture(scope="module")
def files(analysis, on_a_line, in_space, tmp_path_factory):
    """Pages by the number of their dimensions."""
    folder = tmp_path_factory.mktemp("pages")
    for d, found in enumerate((on_a_line, analysis, in_space), start=1):
        (folder / f"{d}.html").write_text(make_page(found), encoding="utf-8")
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


def marks(page, kind, number, d=2):
    suffix = "-0-1" if d == 3 else ""
    return page.locator(f"#map-{kind}-{number}{suffix}")


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_page_fits_its_window(visit, d, viewport):
    page = visit(d, viewport).page
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    for details in page.locator("details.behind").all():
        details.locator("summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    box = page.locator("#map-picture svg").bounding_box()
    assert box["width"] > 0.8 * min(viewport["width"], 900)
    assert box["x"] + box["width"] <= viewport["width"]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_hovering_tells_an_object(visit, analysis, on_a_line, in_space, d):
    found = (on_a_line, analysis, in_space)[d - 1]
    page = visit(d).page
    tip = page.locator("#map-tip")
    assert tip.is_hidden()
    for number in (0, 5):
        each = found.objects[number]
        marks(page, "object", number, d).hover()
        assert tip.is_visible()
        assert tip.locator("strong").text_content() == each.name
        shown = tip.text_content()
        assert f"in {each.answers} answers" in shown
        for at, (low, high) in zip(each.position, each.interval, strict=True):
            assert f"{at:.2f} ({low:.2f} to {high:.2f})".replace("-", "−") in shown
        near = [found.names[other.object] for other in each.neighbours]
        assert tip.locator("td:first-child").all_text_contents() == near
        ellipse = marks(page, "ellipse", number, d)
        assert "here" in ellipse.get_attribute("class").split()
        other = marks(page, "object", each.neighbours[0].object, d)
        assert "near" in other.get_attribute("class").split()
    page.locator("h1").hover()
    assert tip.is_hidden()
    assert page.locator(".here, .near").count() == 0


def test_the_tip_stays_in_a_narrow_window(visit):
    page = visit(2, NARROW, has_touch=True).page
    for number in range(12):
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


def test_names_do_not_run(visit, analysis):
    page = visit().page
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    page.locator("details.behind summary").first.click()
    cells = page.locator("#map details tbody tr td:first-child").all_text_contents()
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

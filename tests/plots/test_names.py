"""Names beside points: what is written, where, and what an SVG file makes of it."""

import io
import itertools
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.text import Text

from tercet.ensemble import Ensemble
from tercet.plots import axes as fonts
from tercet.plots import plot_map
from tercet.plots.axes import drawable, families
from tercet.plots.names import find_ends, find_places

HARD = [
    "<script>alert(1)</script>",
    "a & b",
    "$5",
    r"$\frac$",
    "two\nlines",
    "日本語",
    "😀🦄",
    "-->",
]


def ensemble(n, d=2, names=None, noise=0.1):
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(n, d)) + noise * rng.normal(size=(100, n, d))
    return Ensemble(draws, alignment="none", names=names or [f"object {i}" for i in range(n)])


def drawn(thing, names=None, figsize=(6, 6)):
    ax = plot_map(thing, names, ax=Figure(figsize=figsize, layout="constrained").subplots())
    ax.figure.draw_without_rendering()
    return ax


def boxes(ax):
    return [Text.get_window_extent(text) for text in ax.texts]


def dots(ax):
    return {
        int(line.get_gid().removeprefix("object-")): ax.transData.transform(line.get_xydata()[0])
        for line in ax.lines
        if line.get_gid().startswith("object-")
    }


# --- where they are written -------------------------------------------------------------------


@pytest.mark.parametrize(("n", "at_least"), [(10, 10), (30, 27), (100, 50), (400, 20)])
def test_names_cover_nothing(n, at_least):
    ax = drawn(ensemble(n))
    found = boxes(ax)
    assert at_least <= len(found) <= n
    assert not any(a.overlaps(b) for a, b in itertools.combinations(found, 2))
    frame = ax.get_window_extent()
    for box in found:
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
        assert frame.y0 <= box.y0 <= box.y1 <= frame.y1
        assert not any(box.contains(*dot) for dot in dots(ax).values())


def test_lines_to_names_cover_no_name_and_no_other_point():
    ax = drawn(ensemble(60))
    places, led = dots(ax), 0
    found = dict(zip((text.get_gid() for text in ax.texts), boxes(ax), strict=True))
    for text in ax.texts:
        if text.arrow_patch is None:
            continue
        led += 1
        i = int(text.get_gid().removeprefix("name-"))
        assert text.arrow_patch.get_gid() == f"line-{i}"
        box = found[text.get_gid()]
        end = np.clip(places[i], [box.x0, box.y0], [box.x1, box.y1])  # the nearest of the name
        way = np.linspace(places[i], end, 200)[:-1]
        for gid, other in found.items():
            assert gid == text.get_gid() or not any(other.contains(*at) for at in way)
        for k, dot in places.items():
            assert k == i or np.linalg.norm(way - dot, axis=1).min() > 2.0
    assert led >= 3


def test_a_name_stands_at_its_point():
    ax = drawn(ensemble(10))
    places = dots(ax)
    for text, box in zip(ax.texts, boxes(ax), strict=True):
        i = int(text.get_gid().removeprefix("name-"))
        assert text.get_text() == f"object {i}"
        x, y = places[i]
        away = np.hypot(max(box.x0 - x, 0, x - box.x1), max(box.y0 - y, 0, y - box.y1))
        assert away < 70


def test_where_there_is_no_room_names_are_left_out():
    ax = drawn(np.zeros((60, 2)), [f"name {i}" for i in range(60)])
    found = boxes(ax)
    assert 1 <= len(found) < 60
    assert not any(a.overlaps(b) for a, b in itertools.combinations(found, 2))


@pytest.mark.parametrize("n", [8, 30, 90])
def test_on_a_line_names_cover_no_interval(n):
    ax = drawn(ensemble(n, 1))
    found = boxes(ax)
    assert len(found) >= min(n, 15)
    assert not any(a.overlaps(b) for a, b in itertools.combinations(found, 2))
    for line in ax.lines:
        if line.get_gid().startswith("ellipse-"):
            ends = ax.transData.transform(line.get_xydata())
            assert not any(b.y0 < ends[0, 1] < b.y1 and b.x0 < ends[2, 0] and b.x1 > ends[0, 0]
                           for b in found)  # fmt: skip


@pytest.mark.parametrize("n", [3, 9, 20])
def test_on_a_line_the_last_row_has_room_for_its_name(n):
    ax = plot_map(ensemble(n, 1))  # in a figure of its own, as high as it needs
    rows = [line for line in ax.lines if line.get_gid().startswith("ellipse-")]
    lowest = min(ax.transData.transform(line.get_xydata())[0, 1] for line in rows)
    assert lowest - ax.bbox.y0 > 0.4 * max(box.height for box in boxes(ax))


def test_on_a_line_without_intervals_names_stand_above():
    ax = drawn(np.arange(12.0)[:, None], [f"name {i}" for i in range(12)])
    assert len(ax.texts) == 12
    assert all(text.xyann[1] > 0 for text in ax.texts)


def test_room_beside_the_point_comes_first():
    inside = np.array([0.0, 0.0, 200.0, 200.0])
    points, sizes = np.array([[100.0, 100.0]]), np.array([[30.0, 8.0]])
    (place,) = find_places(points, sizes, inside)
    assert not place.led
    assert place.right > 0
    assert place.up > 0
    (place,) = find_places(np.array([[199.0, 1.0]]), sizes, inside)
    assert place.right < 0  # the frame is at the right
    assert find_places(points, np.array([[300.0, 8.0]]), inside) == [None]
    right, left, none = find_ends(
        np.array([[20.0, 50.0], [150.0, 90.0], [5.0, 120.0]]),
        np.array([[60.0, 50.0], [190.0, 90.0], [195.0, 120.0]]),
        np.array([[30.0, 8.0]] * 3),
        inside,
    )
    assert right.right > 0
    assert left.right < 0
    assert none is None


# --- what is written --------------------------------------------------------------------------


def test_names_are_plain():
    assert drawable("cost $5") == r"cost \$5"
    assert drawable("two\nlines\tand  more ") == "two lines and more"
    assert drawable("a\x00b\u200d") == "ab"
    assert drawable(7) == "7"
    assert drawable("naïve Ω") == "naïve Ω"


def test_long_names_are_cut_in_the_middle():
    assert drawable("x" * 24, 24) == "x" * 24
    assert drawable("stimulus_in_condition_a_0001.png", 24) == "stimulus_in_co…_0001.png"
    (text,) = drawn([[0.0, 0.0]], ["n" * 300]).texts
    assert len(text.get_text()) == 24


def test_letters_without_a_font_are_boxes():
    shown = drawable("日本 a")
    assert shown in ("日本 a", "□□ a")  # where a font has them, they are written
    assert drawable("\U000f0000") == "□"


def test_another_font_is_taken_where_it_has_the_letter(monkeypatch):
    known = tuple((family, fonts._file_of(family)) for family in ("cmss10", "DejaVu Sans"))
    monkeypatch.setattr(fonts, "_fonts", lambda: known)
    assert drawable("Ж") == "Ж"
    assert families(["Ж"])[-1] == "DejaVu Sans"
    assert families(["a"]) == families([])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("d", [1, 2, 3])
def test_names_of_any_kind_can_be_drawn(d):
    ax = drawn(ensemble(len(HARD), d, names=HARD))
    assert len(ax.texts) == len(HARD)
    ax.figure.savefig(io.BytesIO(), format="png")


# --- SVG --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fonttype", ["path", "none"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_an_svg_file_has_an_id_for_everything(d, fonttype):
    names = [*HARD, *(f"n{i}" for i in range(12))]
    ax = drawn(ensemble(20, d, names=names))
    file = io.BytesIO()
    with rc_context({"svg.fonttype": fonttype}):
        ax.figure.savefig(file, format="svg")
    svg = ElementTree.fromstring(file.getvalue())
    groups = [g.get("id") for g in svg.iter("{http://www.w3.org/2000/svg}g") if g.get("id")]
    assert len(groups) == len(set(groups))
    for what in ("object", "ellipse"):
        assert {g for g in groups if g.startswith(f"{what}-")} == {f"{what}-{i}" for i in range(20)}
    written = {g for g in groups if g.startswith("name-")}
    assert written == {text.get_gid() for text in ax.texts}
    assert len(written) >= 15
    assert not re.search("<script", file.getvalue().decode())
    if fonttype == "none":
        shown = {"".join(t.itertext()) for t in svg.iter("{http://www.w3.org/2000/svg}text")}
        assert "a & b" in shown
        assert "$5" in shown or any("5" in text for text in shown)


def test_without_matplotlib_words_wait(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError):
        drawable("a")

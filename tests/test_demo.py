import re
from html.parser import HTMLParser

import pytest

from tercet import demo


def test_the_demonstration_leaves_a_map_and_a_page(tmp_path, capsys):
    assert demo.main(["--out", str(tmp_path / "new" / "folder")]) == 0
    folder = tmp_path / "new" / "folder"
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "report.html").read_text("utf-8")
    assert "training\nerror" in page or "training error" in page
    assert str(folder / "map.png") in capsys.readouterr().out


def test_the_page_needs_nothing_from_outside(tmp_path):
    demo.main(["--out", str(tmp_path)])
    page = (tmp_path / "report.html").read_text("utf-8")
    sources = re.findall(r'(?:src|href)="([^"]{0,30})', page)
    assert sources
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "<script" not in page
    HTMLParser().feed(page)


def test_the_map_beats_its_answers():
    world = demo.make_world(0)
    best = demo.best_of(demo.embed_world(world, 0))
    assert best.true_error < 0.5 * best.training_error


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as stopped:
        demo.main(["--out", str(tmp_path / "file")])
    assert stopped.value.code == 2
    assert "cannot write to" in capsys.readouterr().err

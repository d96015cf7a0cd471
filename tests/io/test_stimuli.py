import pytest

from tercet.io.stimuli import short_names


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("cat", "cat"),
        ("cat.png", "cat"),
        ("img/big/cat.JPG", "cat"),
        (r"C:\stimuli\cat 2.wav", "cat 2"),
        ("https://example.org/cat.png?v=2", "cat"),
        ("<img src='/static/targets/i0126.png' />", "i0126"),
        ('<p>Look:</p><IMG width=3 SRC = "a/cat&amp;dog.svg">', "cat&dog"),
        ("<video><source src=clip.mp4 type=video/mp4></video>", "clip"),
        ("<p style='color: red'>  red <b>word</b></p>", "red word"),
        ("<b></b>", "<b></b>"),
        ("&lt;script&gt;", "&lt;script&gt;"),
        ("<i>&lt;script&gt;</i>", "<script>"),
        ("1 < 2", "1 < 2"),
        ("0.05", "0.05"),
        ("and/or", "and/or"),
        (".png", ".png"),
        ("", ""),
    ],
)
def test_names_of_stimuli(cell, name):
    assert short_names([cell]) == {cell: name}


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["faces/1.png", "houses/1.png", "2.png"], ["faces/1.png", "houses/1.png", "2"]),
        (["img/1.png", "1.png", "/static/img/1.png", "1"], ["1", "1", "1", "1"]),
        (["1.png", "1.jpg"], ["1.png", "1.jpg"]),
        (["<b>red</b>", "red"], ["red", "red"]),
        (["<b>red</b>", "<i>red</i>"], ["<b>red</b>", "<i>red</i>"]),
        (['<img src="1.png" width=3>', '<img src="1.png">'], ["1", "1"]),
    ],
)
def test_two_stimuli_never_get_one_name(cells, names):
    assert list(short_names(cells).values()) == names


def test_known_names_stay():
    assert short_names(["a/1.png", "a/2.png"], known=["a/1.png"]) == {
        "a/1.png": "a/1.png",
        "a/2.png": "2",
    }

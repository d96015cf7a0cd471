import base64
import io
import struct
import zlib

import pytest
from PIL import Image

import tercet.analysis
from tercet.cli import main
from tercet.errors import InputError
from tercet.report import page, read_appearance, write_report
from tercet.report.appearance import MOST_GROUPS, Appearance
from tercet.report.pictures import draw_pictures

NAMES = ("cat", "dog", "a <b>, c")


def write_pictures(folder, names=NAMES, ending="png", size=(300, 200)):
    for i, name in enumerate(names):
        Image.new("RGB", size, (80 * i, 0, 200)).save(folder / f"{name}.{ending}")
    return folder


def opened(thumbnail):
    kind, _, coded = thumbnail.address.removeprefix("data:image/").partition(";base64,")
    image = Image.open(io.BytesIO(base64.b64decode(coded)))
    assert image.format == kind.upper()
    assert image.size == thumbnail[1:]
    return image


# --- groups -----------------------------------------------------------------------------------


def test_groups_are_given_in_three_ways(tmp_path):
    table = tmp_path / "groups.csv"
    table.write_text(
        'Object;GROUP;more\n"a <b>, c";x;1\n\ndog;y;2\n cat ;x;\n', encoding="utf-8-sig"
    )
    expected = Appearance(("x", "y", "x"))
    for groups in (["x", "y", "x"], {"dog": "y", "a <b>, c": "x", "cat": "x"}, table, str(table)):
        assert read_appearance(NAMES, groups) == expected
    assert expected.group_names == ("x", "y")
    assert read_appearance(NAMES) == Appearance()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("object,group\ncat,x\ndog,x\n", r"there is no group for 'a <b>, c'; every object needs"),
        ("object,group\ncat,x\ndgo,x\n", r"line 3: .*'dgo', which is not an .* mean 'dog'\?"),
        ("object,group\ncat,x\ncat,y\n", r"line 3: the object 'cat' has two groups, 'x' and 'y'"),
        ("object,group\ncat,\n", r"line 2: the object 'cat' has no group"),
        ("object,group\ncat\n", r"line 2: the object 'cat' has no group"),
        ("name,group\ncat,x\n", r"line 1: the column 'object' is missing.* object,group"),
        ("", r"line 1: the column 'object' is missing"),
    ],
)
def test_a_file_of_groups_that_is_wrong_is_refused(tmp_path, text, said):
    path = tmp_path / "groups.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_appearance(NAMES, path)


def test_groups_that_are_wrong_are_refused(tmp_path):
    with pytest.raises(InputError, match="there are 3 objects, but groups for 2"):
        read_appearance(NAMES, ["x", "y"])
    with pytest.raises(InputError, match=r"a group for 'cta', which is not .* mean 'cat'\?"):
        read_appearance(NAMES, {"cat": 1, "cta": 2})
    with pytest.raises(InputError, match="there is no file"):
        read_appearance(NAMES, tmp_path / "nowhere.csv")
    many = [str(i) for i in range(MOST_GROUPS + 1)]
    with pytest.raises(InputError, match=f"distinguish at most {MOST_GROUPS};"):
        read_appearance(many, many)


# --- pictures ---------------------------------------------------------------------------------


def test_pictures_are_found_by_their_names(tmp_path):
    folder = write_pictures(tmp_path)
    (folder / "notes.txt").write_text("not a picture")
    write_pictures(folder, ["nobody"])
    found = read_appearance(NAMES, pictures=folder).pictures
    assert [opened(each).size for each in found] == 3 * [(160, 107)]
    assert len(set(found)) == 3
    (folder / "table.csv").write_text('object,path\ncat,cat.png\ndog,dog.png\n"a <b>, c",dog.png\n')
    listed = read_appearance(NAMES, pictures=folder / "table.csv").pictures
    assert listed == (found[0], found[1], found[1])
    assert read_appearance(["img/cat.png", "dog.png"], pictures=folder).pictures == found[:2]
    paths = {name: folder / f"{name}.png" for name in NAMES}
    assert read_appearance(NAMES, pictures=paths).pictures == found


@pytest.mark.parametrize("ending", ["jpg", "gif", "webp", "bmp"])
def test_pictures_are_of_several_kinds(tmp_path, ending):
    write_pictures(tmp_path, ["cat"], ending)
    assert opened(read_appearance(["cat"], pictures=tmp_path).pictures[0]).size == (160, 107)


def test_what_is_transparent_stays_so_and_what_is_secret_goes(tmp_path):
    Image.new("RGBA", (40, 40), (255, 0, 0, 0)).save(tmp_path / "cat.png")
    secret = Image.Exif()
    secret[0x010E] = "where I live"
    secret[0x0112] = 6  # turned
    Image.new("RGB", (60, 40)).save(tmp_path / "dog.jpg", exif=secret)
    cat, dog = read_appearance(["cat", "dog"], pictures=tmp_path).pictures
    assert opened(cat).getpixel((5, 5))[3] == 0
    assert opened(dog).size == (40, 60)
    assert b"where I live" not in base64.b64decode(dog.address.partition(",")[2])


def test_of_many_objects_pictures_are_smaller(tmp_path):
    names = [str(i) for i in range(101)]
    write_pictures(tmp_path, names)
    assert opened(read_appearance(names, pictures=tmp_path).pictures[0]).size == (96, 64)


def huge(side):
    """A PNG of which only the head says how large it is."""
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not in a supported format \\(PNG"),
        (b"", "not in a supported format"),
        (huge(8000), "has 8000 × 8000 pixels, more than 50,000,000"),
        (huge(60_000), "too many pixels"),
        (huge(100), "cannot be read"),
    ],
    ids=["svg", "empty", "large", "bomb", "damaged"],
)
def test_a_picture_that_cannot_be_used_is_named(tmp_path, content, said):
    write_pictures(tmp_path)
    (tmp_path / "dog.png").write_bytes(content)
    with pytest.raises(InputError, match=rf"the picture of 'dog', .*dog.png, .*{said}"):
        read_appearance(NAMES, pictures=tmp_path)


def test_pictures_that_are_missing_are_named(tmp_path):
    write_pictures(tmp_path, NAMES[1:])
    with pytest.raises(InputError, match=r"has no picture of 'cat': .* such as 'cat.png'"):
        read_appearance(NAMES, pictures=tmp_path)
    write_pictures(tmp_path, ["cat"])
    write_pictures(tmp_path, ["cat"], "jpg")
    with pytest.raises(InputError, match=r"more than one picture of the object 'cat': cat\.jpg"):
        read_appearance(NAMES, pictures=tmp_path)
    with pytest.raises(InputError, match="there is no picture for 'dog', 'a <b>, c'"):
        read_appearance(NAMES, pictures={"cat": tmp_path / "cat.png"})
    with pytest.raises(InputError, match=r"the picture of 'cat', .*nowhere.png, does not exist"):
        read_appearance(["cat"], pictures={"cat": tmp_path / "nowhere.png"})
    with pytest.raises(InputError, match="there is no file"):
        read_appearance(NAMES, pictures=tmp_path / "nowhere")


def test_a_name_leads_to_no_other_folder(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    write_pictures(tmp_path, ["cat"])
    with pytest.raises(InputError, match="has no picture of"):
        read_appearance(["../cat.png"], pictures=inside)


# --- on the page ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_page_and_a_folder_show_them(analysis, tmp_path):
    groups = ["<i>one", "two"] * 6
    stimuli = tmp_path / "stimuli"
    stimuli.mkdir()
    paths = {}
    for i, name in enumerate(analysis.names):
        paths[name] = stimuli / f"{i}.png"
        Image.new("RGB", (20, 20), (20 * i, 0, 0)).save(paths[name])
    looks = read_appearance(analysis.names, groups, paths)
    text = page(analysis, looks)
    assert text.count('<img id="picture-') == 12
    assert all(each.address in text for each in looks.pictures)
    assert "&lt;i&gt;one" in text
    assert "<i>one" not in text
    assert "--groups groups.csv --pictures pictures" in text
    written = write_report(analysis, tmp_path / "results", looks)
    assert written[0].read_text("utf-8") == text
    figure = draw_pictures(analysis, looks)["map"].draw()
    assert [each.get_text() for each in figure.legends[0].get_texts()] == ["<i>one", "two"]
    assert not draw_pictures(analysis)["map"].draw().legends


@pytest.mark.parametrize("which", ["on_a_line", "in_space"])
def test_groups_are_told_in_every_picture_of_objects(request, which):
    analysis = request.getfixturevalue(which)
    looks = read_appearance(analysis.names, [str(i % 9) for i in range(12)])
    figure = draw_pictures(analysis, looks)["map"].draw()
    assert len(figure.legends[0].get_texts()) == 9


# --- the command ------------------------------------------------------------------------------


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """A file of answers, in a command that stops where the work would begin."""

    def stop(*given, **settings):
        raise InputError("the work begins")

    monkeypatch.setattr(tercet.analysis, "analyse", stop)
    path = tmp_path / "answers.csv"
    path.write_text("anchor,near,far\ncat,dog,cow\ndog,cow,cat\ncow,cat,dog\n")
    return path


def test_the_command_reads_groups_and_pictures_before_the_work(answers, tmp_path, capsys):
    groups, stimuli = tmp_path / "groups.csv", tmp_path / "stimuli"
    stimuli.mkdir()
    write_pictures(stimuli, ["cat", "dog"])
    command = ["report", str(answers), "--quiet", "-o", str(tmp_path / "page.html")]

    def say(*more):
        assert main([*command, *map(str, more)]) == 2
        return capsys.readouterr().err

    assert "has no picture of 'cow'" in say("--pictures", stimuli)
    groups.write_text("object,group\ncat,x\ndog,x\ncow,y\n")
    assert "the work begins" in say("--groups", groups)
    groups.write_text("object,group\ncat,x\ndog,x\ncwo,y\n")
    assert "line 4: there is a group for 'cwo'" in say("--groups", groups)
    assert "there is no file" in say("--groups", tmp_path / "nowhere.csv")


def test_the_command_overwrites_no_picture(answers, tmp_path, capsys):
    write_pictures(tmp_path, ["cat", "dog", "cow", "map"])
    assert main(["report", str(answers), "--pictures", str(tmp_path), "-o", str(tmp_path)]) == 2
    assert "would overwrite" in capsys.readouterr().err

"""Tables of 3 or 4 columns whose titles are not known: refused, with what is likely meant."""

import ast
import re
import shlex

import numpy as np
import pytest

from tercet.cli.main import main
from tercet.errors import InputError
from tercet.io import read_file, read_triplets

ANSWERS = [["cat", "dog", "car"], ["car", "bus", "dog"], ["dog", "cat", "bus"]]


def named(T):
    return [[T.names[i] for i in row] for row in T.array.tolist()]


def sides(titles, left, right):
    return f"{titles}\ncat,dog,car,{left}\ncar,dog,bus,{right}\ndog,cat,bus,{left}\n"


def near_far(titles, mark=",", end=("", "", "")):
    rows = (mark.join(row) + tail for row, tail in zip(ANSWERS, end, strict=True))
    return "\n".join([titles, *rows]) + "\n"


FILES = {
    "sides": sides("Standard,Left,Right,Response", "Left", "Right"),
    "options": sides("target,option1,option2,choice", "option1", "option2"),
    "numbers of options": sides("target,option1,option2,choice", "1", "2"),
    "letters of options": sides("target,option A,option B,choice", "A", "B"),
    "more and less": near_far("artist,more similar,less similar"),
    "observers": near_far(
        "Reference photo;More similar;Less similar;VP-Nr", ";", (";7", ";8", ";7")
    ),
    "an anchor of another name": sides("Bild,left,right,response", "left", "right"),
    "sides by a letter": sides("probe,imgL,imgR,answer", "L", "R"),
    "in German": sides("Bild,links,rechts,Antwort", "links", "rechts"),
    "a title with a comma": near_far('"artist, first","the more similar, of two",less similar'),
    "a quote in a title": near_far("it's,more similar,less similar"),
    "more columns": "trial,ref,comp1,comp2,choice,Subject ID\n"
    "1,cat,dog,car,comp1,7\n2,car,dog,bus,comp2,8\n3,dog,cat,bus,comp1,7\n",
    "the stimulus itself": "probe,left,right,chosen\n"
    "cat,dog,car,dog\ncar,dog,bus,bus\ndog,cat,bus,cat\n",
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES.keys())
def test_what_is_offered_reads_the_file(save, content, capsys):
    path = save(content)
    with pytest.raises(InputError, match=r"columns found: .*Likely: columns=\{") as caught:
        read_file(path)
    columns = ast.literal_eval(re.search(r"columns=(\{.*?\})\.", str(caught.value))[1])
    T = read_triplets(path, columns=columns)
    assert named(T) == ANSWERS
    if "observer" in columns:
        assert T.observers.tolist() == [7, 8, 7]

    out = path.with_name("out.csv")
    assert main(["convert", str(path), str(out)]) == 2
    said = capsys.readouterr().err
    assert "columns={" not in said
    assert not out.exists()
    offered = shlex.split(re.search(r"Likely: (--columns .*?)\.(?: If|\n)", said)[1])
    assert main(["convert", str(path), str(out), *offered]) == 0
    assert named(read_triplets(out)) == ANSWERS


@pytest.mark.parametrize(
    ("content", "offer"),
    [
        (
            "Object 1,Object 2,Object 3,Odd\ncat,dog,car,car\ndog,car,bus,dog\n",
            {"object1": "Object 1", "object2": "Object 2", "object3": "Object 3", "odd": "Odd"},
        ),
        (
            "person,stimA,stimB,stimC,odd_one\n1,cat,dog,car,car\n2,dog,car,bus,dog\n",
            {
                **{"object1": "stimA", "object2": "stimB", "object3": "stimC"},
                **{"odd": "odd_one", "observer": "person"},
            },
        ),
    ],
)
def test_odd_ones_out_are_offered(save, content, offer):
    path = save(content)
    with pytest.raises(InputError, match=re.escape(f"Likely: columns={offer!r}.")):
        read_file(path)
    reading = read_file(path, columns=offer)
    assert reading.format == "odd-one-out"
    assert named(reading.triplets)[:2] == [["cat", "dog", "car"], ["dog", "cat", "car"]]


def test_an_anchor_that_is_missing_is_asked_for(save):
    path = save("left,right,response\ncat,dog,left\ndog,car,right\n")
    with pytest.raises(InputError, match=r"'anchor': '…', 'left': 'left'.* where … is the column"):
        read_file(path)


@pytest.mark.parametrize(
    "content",
    [
        "x,y,z\ncat,dog,car\ndog,car,bus\n",
        "x,y,z\ncat,dog,car\ndog,car,bus\nx,y,z\ncar,bus,cat\n",  # joined
        "x,y,z,w\ncat,dog,car,bus\ndog,car,bus,cat\n",
        "index,image,smoothness\n0,a.png,1.5\n1,b.png,2.5\n2,c.png,3.5\n",
        "x,y,z\n0,1,2\n2,1,0\n",
        "subject,a,b,c\np1,a,b,c\np2,b,c,a\n",
        "Standard,Left,Right\n",
        "cat,dog,car\n",  # one line of words may be an answer, or titles without answers
        "cat,dog,car\nbus,tree,house\n",
    ],
)
def test_words_that_occur_nowhere_else_are_titles(save, content):
    with pytest.raises(InputError, match=r"line 1: the header must have .*columns found: "):
        read_file(save(content))


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize("numbers", [True, False])
def test_answers_without_titles_are_read(save, mark, width, numbers):
    rng = np.random.default_rng(width)
    rows = [rng.permutation(12)[:width].tolist() for _ in range(40)]
    word = "{}" if numbers else "image{}"
    content = "".join(mark.join(word.format(i) for i in row) + "\n" for row in rows)
    reading = read_file(save(content))
    T = reading.triplets
    found = T.array.tolist() if numbers else [[int(n[5:]) for n in row] for row in named(T)]
    assert found == rows
    words = "anchor, near, far" if width == 3 else "a, b, c, d"
    assert reading.note.startswith(f"There are no titles: the columns are assumed to be {words}.")
    assert ("odd one out" in reading.note) == (words == "anchor, near, far")


@pytest.mark.parametrize(
    "content", ["0,1,2\n", "0.1,0.5,0.9\n", "7,8,9,6\n", "0.0e+00 1.0e+00 2.0e+00 3.0e+00\n"]
)
def test_numbers_are_no_titles(save, content):
    assert len(read_triplets(save(content))) == 1


def test_words_that_are_usual_in_titles_may_be_objects(save):
    content = "left,right,key\nkey,left,far\nfar,key,right\nright,far,left\n"
    assert len(read_triplets(save(content))) == 4


def test_an_object_that_occurs_just_once_may_be_in_the_first_row(save):
    content = "cat,dog,emu\ndog,cat,car\ncar,dog,cat\nbus,car,dog\n"
    assert len(read_triplets(save(content))) == 4


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("{0},{1},{2},p{p}", 4),
        ("{0},{1},{2},10{p}", 4),
        ("p{p},{0},{1},{2}", 1),
        ("{0},{1},{side}", 3),
        ("{0} {1} {2} 10{p}", 4),
        ("100,{0},{1}", 1),
    ],
)
def test_a_column_that_shares_nothing_with_the_others_is_no_object(save, row, column):
    rng = np.random.default_rng(0)
    rows = [rng.permutation(9)[:3] for _ in range(20)]
    lines = [row.format(*each, p=i % 4, side="LR"[i % 2]) for i, each in enumerate(rows)]
    with pytest.raises(InputError, match=f"no titles, and column {column} shares no value"):
        read_file(save("\n".join(lines) + "\n"))


def test_observers_beside_few_answers_are_no_objects(save):
    path = save("cat,dog,car,eve\ncar,bus,dog,bob\n")
    with pytest.raises(InputError, match="column 4 shares no value with the others: 'eve', 'bob'"):
        read_file(path)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("cat,dog,car\nbus,tree,house\n", "anchor,near,far"),
        ("cat,dog,car,bus\n", "a,b,c,d"),
        ("cat,dog,car,eve\ncar,bus,dog,bob\n", "anchor,near,far,observer"),
    ],
)
def test_the_line_that_the_message_names_helps(save, content, line):
    path = save(content)
    with pytest.raises(InputError, match=line):
        read_file(path)
    T = read_triplets(save(f"{line}\n{content}"))
    assert len(T) == content.count("\n")


def test_names_say_what_is_an_object(save):
    names = ["cat", "dog", "car", "bus", "tree", "house"]
    T = read_triplets(save("cat,dog,car\nbus,tree,house\n"), names=names)
    assert T.array.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(InputError, match="columns found: 'x', 'dog', 'y'"):
        read_triplets(save("x,dog,y\nbus,dog,cat\ncat,dog,bus\n"), names=names)


@pytest.mark.parametrize(
    "file", ["alien_eggs/objects_n30.csv", "car60/objects.csv", "mlds_examples/stimuli.csv"]
)
def test_tables_of_objects_are_no_answers(data_folder, file):
    with pytest.raises(InputError, match="the header must have the columns"):
        read_file(data_folder / file)

"""Files that were put together: a header that comes again."""

import pytest

from tercet.errors import InputError
from tercet.io import read_file, read_triplets

TIDY = "anchor,near,far,observer\na,b,c,eve\n"


@pytest.mark.parametrize(
    ("again", "format"),
    [
        ("anchor,near,far,observer", "tidy"),
        ("\ufeffanchor,near,far,observer", "tidy"),
        ('\ufeff"anchor","near","far","observer"', "tidy"),
        ("Anchor,NEAR,Far,Observer", "tidy"),
        ("observer,anchor,far,near", "tidy"),
        ("\ufeffObserver,Far,Near,Anchor", "tidy"),
        ("probe,closer,farther,participant", "tidy"),
    ],
)
def test_a_second_header_is_refused_with_its_line(save, again, format):  # noqa: A002
    path = save(f"{TIDY}{again}\nb,c,a,bob\n")
    with pytest.raises(InputError, match=r"line 3: the header is repeated \(1 in all\)"):
        read_file(path)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("similar1,similar2,odd\n0,1,2\n\ufeffODD,Similar1,similar2\n0,2,1\n", 3),
        ("head,left,right,winner\n0,1,2,1\nHead,Right,Left,Winner\n0,1,2,2\n", 3),
        ("resp,S1,S2,S3\n1,1,2,3\n0,1,2,3\nresp,s1,s2,s3\n", 4),
        ("i,j,k,response\n0,1,2,1\nresponse,i,j,k\n", 3),
    ],
)
def test_in_other_formats_too(save, content, line):
    with pytest.raises(InputError, match=f"line {line}: the header is repeated"):
        read_file(save(content))


def test_a_file_joined_without_its_header_keeps_its_objects(save):
    T = read_triplets(save('anchor,near,far\na,b,c\n\ufeffa,c,b\n\ufeff"b",c,a\n'))
    assert T.names == ("a", "b", "c")
    assert len(T) == 3


def test_objects_that_are_called_like_titles_of_one_letter(save):
    T = read_triplets(save("a,b,c,d\nb,a,d,c\nd,c,a,b\n"))
    assert T.names == ("a", "b", "c", "d")
    assert len(T) == 2

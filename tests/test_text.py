"""Words about numbers, lists and names."""

import subprocess
import sys

import pytest

from tercet.text import counted, joined, percent, plural, printable, were, wrap


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 answers"), (1, "1 answer"), (2, "2 answers"), (-1, "-1 answers")]
)
def test_one_is_singular_and_all_others_plural(number, words):
    assert counted(number, "answer") == words
    assert plural(number, "answer") == words.split()[1]
    assert were(number) == ("was" if number == 1 else "were")


def test_shares_have_three_digits():
    assert [percent(share) for share in (0.0, 0.001234, 0.5, 0.99949, 1.0)] == [
        *("0 %", "0.123 %", "50 %", "99.9 %", "100 %")
    ]


def test_words_are_joined_as_in_a_sentence():
    assert joined(["a"]) == "a"
    assert joined(["a", "b"]) == "a and b"
    assert joined([1, 2, 3]) == "1, 2 and 3"


def test_a_line_never_begins_with_a_percent_sign_nor_breaks_a_name():
    text = wrap("About 95 % of the left-out answers are predicted", width=14, indent="  ")
    lines = text.splitlines()
    assert " ".join(text.split()) == "About 95 % of the left-out answers are predicted"
    assert all(line.startswith("  ") for line in lines[1:])
    assert not any(line.strip().startswith("%") or line.endswith("-") for line in lines)
    assert max(map(len, lines)) <= 14


def test_what_a_terminal_obeys_is_spelled_out():
    assert printable("a\x1b[31m\nb") == "a\\x1b[31m\\nb"


def test_words_need_no_arrays():
    """The command line says its help before NumPy is loaded."""
    code = "import sys, tercet.text, tercet.tables; print('numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"

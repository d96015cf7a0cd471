"""The examples of README and docs run, and print what the page shows.

``TERCET_REMAKE=1 pytest -n 0 tests/docs tests/test_demo.py`` writes what they print
now into the pages; read them before they are kept.
"""

import pytest
from benchmarks.data import HOW_TO_FIND, find_data
from tests.pages import (
    DOCS,
    NUMBER,
    ROOT,
    UNITS,
    agree,
    broken_links,
    check_unrun,
    last_digit,
    number,
    run_page,
    skipped,
    steps,
    unknown_blocks,
)

README = ROOT / "README.md"
TUTORIAL = DOCS / "tutorial.md"  # with the how-tos in test_howto.py
PAGES = [README, *(page for page in sorted(DOCS.glob("*.md")) if page != TUTORIAL)]
ALL = [*PAGES, TUTORIAL, *sorted((DOCS / "howto").glob("*.md"))]


def has_examples(page):
    return any(not step.reason for step in steps(page.read_text("utf-8")))


@pytest.mark.slow
@pytest.mark.usefixtures("computed_once", "headless")
@pytest.mark.parametrize("page", [*filter(has_examples, PAGES)], ids=lambda page: page.name)
def test_a_page_shows_what_its_examples_print(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = find_data()
    if data is not None:
        monkeypatch.setenv("TERCET_DATA", str(data))
    if left_out := run_page(page, capsys, data):
        pytest.skip(f"{left_out} blocks were left out. {HOW_TO_FIND}")


@pytest.mark.parametrize("step", skipped(ALL))
def test_an_example_that_is_not_run_could_be(step):
    check_unrun(step)
    pytest.skip(step.reason)


def test_every_block_is_run_or_says_why_not():
    """By a language that is not looked at, an example would be left out without a word."""
    wrong = list(unknown_blocks(ALL))
    assert not wrong, "\n".join(wrong)


def test_the_pages_have_examples_and_what_they_print():
    found = [step for page in ALL for step in steps(page.read_text("utf-8"))]
    kinds = [step.kind for step in found if not step.reason]
    assert kinds.count("console") >= 25
    assert kinds.count("python") >= 100
    assert sum(bool(step.shown) and not step.reason for step in found) >= 80


def test_links_lead_somewhere():
    wrong = list(broken_links(ALL))
    assert not wrong, "\n".join(wrong)


def test_all_pages_are_linked_from_the_readme():
    readme = README.read_text("utf-8")
    wrong = [page.name for page in DOCS.glob("*.md") if f"](docs/{page.name})" not in readme]
    assert not wrong, "\n".join(wrong)


# --- a wrong figure is noticed ------------------------------------------------------------------

PRINTED = (
    "the map is sure of 74.6 % of 12180 comparisons (p = 0.48)\n- wolf is known best, −0.021, "
    "1.05e-05, 0.6 and 28 of 30\n"
)


def each_changed(text, change):
    """The text once for every number in it, with that number changed."""
    for found in NUMBER.finditer(text):
        yield text[: found.start()] + change(found[0]) + text[found.end() :]


def one_digit_more(text):
    """The number with its last digit raised by one, or lowered from 9."""
    digits, e, power = text.partition("e")
    return f"{digits[:-1]}{(int(digits[-1]) + 1) % 10}{e}{power}"


def test_where_the_pages_were_made_every_digit_counts():
    changed = list(each_changed(PRINTED, one_digit_more))
    assert len(changed) == 8
    for shown in changed:
        with pytest.raises(AssertionError):
            agree(PRINTED, shown, exactly=True)
    with pytest.raises(AssertionError):
        agree(PRINTED, PRINTED.replace("wolf", "eel"), exactly=True)


def a_quarter_more(text):
    """The number grown by a quarter, and by more than what its last digit may differ."""
    value, places = number(text), len(text.partition("e")[0].partition(".")[2])
    more = max(0.25 * abs(value), (UNITS + 1) * last_digit(text))
    return f"{value + more:.{places}e}" if "e" in text else f"{value + more:.{places}f}"


def test_elsewhere_a_number_that_is_off_by_a_quarter_is_noticed():
    for shown in each_changed(PRINTED, a_quarter_more):
        with pytest.raises(AssertionError):
            agree(PRINTED, shown, exactly=False)


def test_elsewhere_other_animals_and_last_digits_may_come_out():
    other = PRINTED.replace("wolf", "eel").replace("74.6", "74.9").replace("0.48", "0.46")
    agree(other, PRINTED, exactly=False)


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("shown", ["a 1 fox", "1.1 a", "a 3", "a 1 b", "…\nb 1\n"])
def test_a_page_that_shows_something_else_is_found(shown, exactly):
    with pytest.raises(AssertionError):
        agree("a 1", shown, exactly=exactly)


def test_lines_that_a_page_leaves_out():
    agree("first\nmore\nand more\nlast 2", "first\n…\nlast 2\n", exactly=True)
    with pytest.raises(AssertionError):
        agree("first\nmore\nand more\nlast 2", "first\n…\nlast 3\n", exactly=True)


def test_seconds_that_rounds_took_are_not_compared():
    table = "round  answers  seconds\n    0      150     0.38\n    1      165     0.40\nend 5\n"
    agree(table.replace("0.38", "17.1"), table, exactly=True)
    for other in ("150", "165", "5\n"):
        with pytest.raises(AssertionError):
            agree(table.replace(other, "7"), table, exactly=True)

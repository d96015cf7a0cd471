"""Every command has help, a section in docs/commands.md, and examples that run."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from tercet.cli import main
from tercet.cli.main import COMMANDS, build_parser
from tercet.cli.reference import write_reference

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
GROUPS = build_parser()[1]
ALL = [command for group in GROUPS.values() for command in group]

# Parsed, but not run here, and why.
LONG = {
    "tercet reproduce$": "takes minutes",
    "tercet reproduce .*--full": "takes hours",
    "tercet report .*--": "takes long; a report without options is run",
    "tercet compare .*tste": "takes long; another comparison is run",
    "tercet plan --objects": "takes long; a plan from a pilot is run",
}
# Parsed, and run by another test.
ELSEWHERE = {"tercet demo": "the tutorial runs it"}
# Made shorter: what they find does not matter here.
SHORTER = {"plan": ["--repeats", "6", "--limit", "200"]}
NEEDS_DATA = ("tercet datasets cars", "tercet datasets mlds")


def is_long(example):
    """Why the example is run nowhere; None if it is."""
    return next((why for pattern, why in LONG.items() if re.match(pattern, example)), None)


def is_elsewhere(example):
    """Where the example is run; None if it is here."""
    return next((why for start, why in ELSEWHERE.items() if example.startswith(start)), None)


def examples(command):
    """The examples in the help of a command; what they do follows after two spaces."""
    text = command.parser.format_help()
    lines = text[text.index("examples:") :].splitlines()[1:]
    return [line.strip().split("  ")[0] for line in lines if line.startswith("  tercet ")]


EXAMPLES = [(command.name, example) for command in ALL for example in examples(command)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the examples speak of, made by the commands themselves."""
    here = tmp_path_factory.mktemp("examples")
    simulated = here / "simulated.csv"
    size = ["--objects", "8", "--answers", "160", "--observers", "4"]
    assert main(["simulate", "-o", str(simulated), *size, "--quiet"]) == 0
    header, *rows = simulated.read_text().splitlines()
    assert header == "anchor,near,far,observer"
    rows = [f"{row},{','.join(row.split(',')[:3])}" for row in rows]
    (here / "answers.csv").write_text("\n".join([f"{header},probe,chosen,other", *rows]) + "\n")
    (here / "questions.csv").write_text("anchor,near,far\n0,1,2\n3,4,5\n")
    (here / "stimuli.csv").write_text("name,value\n" + "".join(f"{i},{i * i}\n" for i in range(8)))
    for name in ("features", "spose", "vice"):
        np.save(here / f"{name}.npy", np.random.default_rng(0).normal(size=(8, 3)))
    (here / "machine.csv").write_text((here / "answers.csv").read_text())
    model = ["--model", "ste", "--samples", "200", "--chains", "2", "--quiet"]
    made = ["posterior", str(here / "answers.csv"), *model, "-o", str(here / "map.npz")]
    assert main(made) == 0
    return here


@pytest.mark.slow
@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_the_examples_of_the_help_run(name, example, folder, monkeypatch, capsys, request):
    program, command, *arguments = shlex.split(example)
    assert (program, command) == ("tercet", name)
    if "--formats" not in arguments:
        build_parser()[0].parse_args([command, *arguments])
    if why := is_long(example) or is_elsewhere(example):
        pytest.skip(why)
    if example.startswith(NEEDS_DATA):
        request.getfixturevalue("data_folder")
    monkeypatch.chdir(folder)
    try:
        code = main([command, *arguments, *SHORTER.get(name, [])])
    except SystemExit as stop:  # --formats, like --help
        code = stop.code
    said = capsys.readouterr()
    assert code in (0, None), said.err
    assert said.out or said.err
    if "-o" in arguments:
        assert (folder / arguments[arguments.index("-o") + 1]).exists()


def test_every_command_has_help_a_section_and_an_example_that_runs():
    wrong = []
    for command in ALL:
        if not (command.help and command.parser.description):
            wrong.append(f"tercet {command.name} has no help")
        if f"### tercet {command.name}\n" not in PAGE.read_text("utf-8"):
            wrong.append(f"tercet {command.name} has no section in docs/commands.md")
        run = [example for example in examples(command) if not is_long(example)]
        if all(example.startswith(NEEDS_DATA) for example in run):
            wrong.append(f"tercet {command.name} has no example that is run everywhere")
    assert not wrong, "\n".join(wrong)


def test_every_option_is_explained():
    wrong = [
        f"tercet {command.name}: {action.option_strings or action.dest}"
        for command in ALL
        for action in command.parser._actions
        if not action.help
    ]
    assert not wrong, "\n".join(wrong)


def test_every_command_that_reads_answers_can_leave_observers_out():
    """As docs/howto/leave_out.md says."""
    options = {
        command.name: {name for action in command.parser._actions for name in action.option_strings}
        for command in ALL
    }
    wrong = [name for name, has in options.items() if ("--format" in has) != ("--leave-out" in has)]
    assert not wrong, "\n".join(wrong)


def test_every_module_adds_its_command():
    assert sorted(command.name for command in ALL) == sorted(
        module.__name__.rpartition(".")[2] for module in COMMANDS
    )


def test_the_page_is_what_the_help_says():
    """Remake it with ``python -m tercet.cli.reference > docs/commands.md``."""

    def without_spaces(text):  # versions of Python break lines in other places
        return re.sub(r"\s+", " ", text)

    assert without_spaces(PAGE.read_text("utf-8")) == without_spaces(write_reference())


def test_the_list_of_commands_is_in_groups(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    places = [text.index(f"{title}:") for title in GROUPS]
    assert places == sorted(places)
    for command in ALL:
        assert f"\n  {command.name} " in text

import errno
import os
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

import tercet
from tercet.cli import main
from tercet.cli.common import (
    columns,
    count,
    dimensions,
    jobs,
    natural_number,
    positive,
    read_names,
    several,
    share_of_one,
    words,
)
from tercet.cli.main import INTERRUPTED, build_parser
from tercet.cli.output import Result, emit, harmless, one_line, printable, with_options
from tercet.cli.paths import input_file, input_place, output_file, output_place
from tercet.errors import DataWarning, InputError, TercetError


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "tercet", *arguments], capture_output=True, text=True
    )


def test_version_and_help(capsys):
    for arguments, expected in ((["--version"], tercet.__version__), (["--help"], "reproduce")):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
        assert expected in capsys.readouterr().out


def test_the_help_has_every_exit_code(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out.partition("Exit codes: ")[2]
    assert re.findall(r"\d+", said) == ["0", "1", "2", str(INTERRUPTED)]


def test_nothing_heavy_is_loaded_for_help():
    code = (
        "import sys, tercet.cli\n"
        "try: tercet.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'numba', 'sklearn', 'pandas', 'matplotlib', 'tqdm'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_reproduce_says_where_everything_is(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert main(["reproduce", "1", "mixture", "--out", str(out), "--jobs", "1"]) == 0
    text = capsys.readouterr().out
    assert "0 of 23 claims hold, 23 not run." in text
    assert str(out) in text
    assert (out / "reproduction.md").exists()
    assert (out / "figure_1.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "7"], "no figure '7'"),
        (["reproduce", "1", "2x"], "no figure '2x'"),
    ],
)
def test_bad_input_is_told_in_a_line(arguments, message, capsys, tmp_path):
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tercet reproduce: ")
    assert message in error
    assert "Traceback" not in error


def test_bad_usage_from_a_shell():
    for arguments in (
        [],
        ["fly"],
        ["reproduce", "--quick", "--full"],
        ["reproduce", "--jobs", "0"],
        ["fit", "answers.csv", "--json", "--csv"],
        ["fit", "answers.csv", "--dim", "two"],
    ):
        done = run(*arguments)
        assert done.returncode == 2
        assert "usage" in done.stderr
        assert "Traceback" not in done.stderr


def test_an_interruption_is_no_traceback(monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tercet.paper.reproduce.reproduce", stop)
    assert main(["reproduce"]) == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["tercet.cli", "tercet.cli.plan", "sklearn", "numpy"])
def test_an_interruption_while_it_is_being_loaded_is_no_traceback(module):
    code = f"""
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
sys.meta_path.insert(0, Interrupting())
sys.argv = ["tercet", "check", "none.csv"]
from tercet.__main__ import main
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr.strip() == "tercet: interrupted."


@pytest.mark.slow
def test_an_interruption_that_is_to_be_ignored_is():
    code = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from tercet.__main__ import main
os.kill(os.getpid(), signal.SIGINT)
sys.argv = ["tercet", "check", "none.csv"]
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is no file none.csv" in done.stderr


def test_the_command_begins_with_the_module_that_handles_interruptions():
    with open(Path(__file__).parents[2] / "pyproject.toml", "rb") as file:
        scripts = tomllib.load(file)["project"]["scripts"]
    assert scripts == {"tercet": "tercet.__main__:main"}


def test_without_a_command_the_help_is_printed(capsys):
    assert main([]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert "posterior" in said.err


# --- whatever happens is told in a line -------------------------------------------------------


@pytest.fixture
def happens(monkeypatch):
    """Let the command ``check`` do something else."""

    def happens(what):
        from tercet.cli import check

        monkeypatch.setattr(check, "run", what)

    return happens


def raising(error):
    def run(options):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("line 3 is odd."), 2, "tercet check: line 3 is odd."),
        (TercetError("it\nfailed."), 1, "tercet check: it failed."),
        (
            PermissionError(13, "Permission denied", "a\x1b[31m.csv"),
            1,
            "tercet check: a\\x1b[31m.csv: Permission denied.",
        ),
        (OSError("disk"), 1, "tercet check: disk."),
        (
            ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib"),
            1,
            "tercet check: this needs matplotlib, which is not installed: pip install matplotlib.",
        ),
        (
            MemoryError(),
            2,
            "tercet check: not enough memory. Fewer objects, answers, dimensions "
            "or draws need less.",
        ),
        (
            MemoryError("Unable to allocate 931. GiB for an array with shape (9, 9)"),
            2,
            "tercet check: not enough memory (931 GiB needed at once). Fewer "
            "objects, answers, dimensions or draws need less.",
        ),
        (
            OSError(errno.ENOMEM, "Cannot allocate memory"),
            2,
            "tercet check: not enough memory. Fewer objects, answers, dimensions "
            "or draws need less.",
        ),
    ],
)
def test_errors_are_told_in_a_line(error, code, line, happens, capsys):
    happens(raising(error))
    assert main(["check", "answers.csv"]) == code
    assert capsys.readouterr().err == f"{line}\n"


def test_a_mistake_of_ours_is_no_traceback_unless_wanted(happens, capsys, monkeypatch):
    happens(raising(KeyError("names")))
    assert main(["check", "answers.csv"]) == 1
    said = capsys.readouterr().err
    assert "KeyError: 'names'" in said
    assert "Please report" in said
    assert "Traceback" not in said
    monkeypatch.setenv("TERCET_TRACEBACK", "1")
    assert main(["check", "answers.csv"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_warnings_are_lines_too_and_told_once(happens, capsys):
    def run(options):
        for _ in range(2):
            warnings.warn("few\x1b answers", DataWarning, stacklevel=1)
        return 0

    before = warnings.showwarning
    happens(run)
    assert main(["check", "answers.csv"]) == 0
    assert capsys.readouterr().err == "tercet check: warning: few\\x1b answers\n"
    assert warnings.showwarning is before


SHELL = "import sys; from tercet.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.slow
def test_a_closed_pipe_is_quiet():
    for arguments in (["datasets"], ["--help"]):
        command = [sys.executable, "-c", SHELL, *arguments]
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipe) as process:
            process.stdout.close()  # before anything is printed
            assert process.stderr.read() == ""
            assert process.wait() == 0


@pytest.mark.slow
def test_no_output_stream_at_all_is_fine():
    code = f"import sys; sys.stdout = None; sys.argv[1:] = ['datasets']; {SHELL}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_that_lacks_letters_gets_their_numbers(monkeypatch):
    command = [sys.executable, "-c", SHELL, "--help"]
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tercet COMMAND \\u2026" in done.stdout


# --- what is printed --------------------------------------------------------------------------


def test_what_a_terminal_would_obey_is_spelled_out():
    assert harmless("a\x1b[31mb\nc\x07\u202e") == "a\\x1b[31mb\nc\\x07\\u202e"
    assert printable("two\nlines") == "two\\nlines"
    assert one_line("two\nlines\t") == "two lines\\t"
    assert harmless("π ≥ ½ é 猫 👽") == "π ≥ ½ é 猫 👽"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no terminals to try")
@pytest.mark.parametrize("form", ["--csv", "--json"])
def test_what_a_terminal_would_obey_is_spelled_out_in_every_form(form, happens, monkeypatch):
    """In a pipe names stay as they are, so that they can be read again."""
    evil = "\x1b]0;owned\x07 \x9b2J\x7f"
    happens(lambda options: emit(options, Result("", {"name": evil}, [{"name": evil}])) or 0)
    ours, theirs = os.openpty()
    with open(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        assert main(["check", "answers.csv", form]) == 0
        shown = os.read(ours, 1000).decode()
    os.close(ours)
    assert "owned" in shown
    assert not set(shown) & set("\x1b\x07\x9b\x7f")


def test_csv_in_a_pipe_keeps_names_as_they_are(happens, capsys):
    evil = "\x1b]0;owned\x07 \x9b2J\x7f"
    happens(lambda options: emit(options, Result("", {}, [{"name": evil}])) or 0)
    assert main(["check", "answers.csv", "--csv"]) == 0
    assert capsys.readouterr().out == f"name\n{evil}\n"


def test_usage_errors_are_harmless(capsys):
    """Names of files may be anything, and a shell may fill in many."""
    with pytest.raises(SystemExit):
        main(["check", "answers.csv", "\x1b]0;owned\x07.csv"])
    said = capsys.readouterr().err
    assert "\\x1b]0;owned\\x07.csv" in said
    assert "\x1b" not in said


def actions():
    for commands in build_parser()[1].values():
        for command in commands:
            yield from ((command.name, action) for action in command.parser._actions)


def test_every_option_that_names_a_file_says_what_becomes_of_it():
    kinds = {input_file, input_place, output_file, output_place}
    files = {"FILE", "PATH", "DIR", "COMPARISONS", "OUT"}
    seen = [(name, action) for name, action in actions() if action.metavar in files]
    assert len(seen) > 30
    for name, action in seen:
        assert action.type in kinds, (name, action.dest)
    for name, action in actions():
        assert action.type is not Path, (name, action.dest)


# --- what options mean ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (count, "3", 3),
        (several, "2", 2),
        (natural_number, "0", 0),
        (jobs, "-1", -1),
        (positive, "0.5", 0.5),
        (positive, "1/4", 0.25),
        (share_of_one, "1", 1.0),
        (words, "ste, ckl", ("ste", "ckl")),
        (words, "none", ()),
        (dimensions, "1-3,5", [1, 2, 3, 5]),
        (columns, "anchor=the probe, near=a=b", {"anchor": "the probe", "near": "a=b"}),
    ],
)
def test_values_of_options(kind, text, value):
    assert kind(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (count, "0"),
        (count, "1.5"),
        (count, "1" + "0" * 30),
        (several, "1"),
        (natural_number, "-1"),
        (jobs, "-2"),
        (positive, "nan"),
        (positive, "1/0"),
        (positive, "1e400"),
        (positive, "inf"),
        (share_of_one, "1.1"),
        (words, "ste,,ckl"),
        (dimensions, "3-1"),
        (dimensions, "1-"),
        (dimensions, "1-100000000"),
        (columns, "anchor"),
        (columns, "anchor="),
        (columns, "anchor=a,anchor=b"),
    ],
)
def test_wrong_values_of_options(kind, text):
    import argparse

    with pytest.raises(argparse.ArgumentTypeError):
        kind(text)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("raise n_samples and warmup", "raise --samples and warmup"),
        ("lower n_components, or unit='screen'.", "lower --dim, or --unit screen."),
        ("use repeats=True.", "use --repeats."),
        ("n_samples=40 of 0.5.", "--samples 40 of 0.5."),
        ("add a penalty: penalty=1/30 is the MAP", "add a penalty: --penalty 1/30 is the MAP"),
        ("add one (in Python: penalty=1/30), or not", "add one (--penalty 1/30), or not"),
        ("use repeats (in\nPython: method='a'; b).", "use repeats."),
        ("another (in Python: model=Posterior(CKL(1))).", "another."),
        ("5 more (in Python: table())", "5 more (--csv prints all)"),
        ("n_objects (2) is small", "n_objects (2) is small"),  # it has no such option
        (
            "a repeats=3 of 'unit=x' and strategy='a'",
            "a --repeats 3 of 'unit=x' and strategy='a'",
        ),
    ],
)
def test_messages_speak_of_options(message, expected):
    import argparse

    has = {"samples": None, "dim": 2, "unit": None, "repeats": True, "penalty": 0, "model": "ste"}
    assert with_options(message, argparse.Namespace(**has)) == expected


def test_names_of_objects_end_where_lines_do(tmp_path):
    (tmp_path / "names.txt").write_text("a\u2028b\r\nc\n\nd\x0ce\n", newline="", encoding="utf-8")
    assert read_names(tmp_path / "names.txt") == ["a\u2028b", "c", "d\x0ce"]

import json
import re
import subprocess
import sys
import warnings

import pytest

import tercet
from tercet.cli import main
from tercet.cli.common import (
    columns,
    count,
    dimensions,
    jobs,
    natural,
    positive,
    several,
    share,
    words,
)
from tercet.cli.main import COMMANDS, INTERRUPTED
from tercet.cli.output import (
    cell,
    check_out,
    harmless,
    one_line,
    plain,
    to_csv,
    to_json,
    with_options,
)
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


@pytest.mark.parametrize("module", COMMANDS)
def test_every_command_has_help_with_an_example(module, capsys):
    name = module.__name__.rpartition(".")[2]
    with pytest.raises(SystemExit):
        main([name, "--help"])
    text = capsys.readouterr().out
    assert f"  tercet {name}" in text
    assert "examples:" in text


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
        (MemoryError(), 1, "tercet check: there is not enough memory for this."),
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


def test_a_closed_pipe_is_quiet():
    for arguments in (["datasets"], ["--help"]):
        command = [sys.executable, "-c", SHELL, *arguments]
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipe) as process:
            process.stdout.close()  # before anything is printed
            assert process.stderr.read() == ""
            assert process.wait() == 0


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
    assert cell("two\nlines") == "two\\nlines"
    assert one_line("two\nlines\t") == "two lines\\t"
    assert harmless("π ≥ ½ é 猫 👽") == "π ≥ ½ é 猫 👽"


def test_json_knows_numbers_and_null():
    import numpy as np

    from tercet.uses.dimension.table import Measured

    record = {
        "array": np.array([1.5, np.nan, np.inf]),
        "count": np.int64(3),
        "yes": np.bool_(True),
        "nothing": None,
        "pair": Measured(1.0, float("nan")),
        "names": ("a", "\x1b"),
        5: {"deep": [np.float64(0.1)]},
    }
    text = to_json(record)
    assert text.isascii()
    assert json.loads(text) == {
        "array": [1.5, None, None],
        "count": 3,
        "yes": True,
        "nothing": None,
        "pair": {"value": 1.0, "error": None},
        "names": ["a", "\x1b"],
        "5": {"deep": [0.1]},
    }
    assert plain(InputError("x")) == "x"


def test_csv_leaves_what_is_no_number_empty():
    rows = [{"name": 'a, "b"', "x": float("nan")}, {"name": 3, "x": None}, {"name": "c", "x": 0.1}]
    assert to_csv(rows) == 'name,x\n"a, ""b""",\n3,\nc,0.1\n'
    assert to_csv([]) == ""


def test_files_that_cannot_be_written_are_refused_before_the_work(tmp_path):
    check_out(None)
    check_out(tmp_path / "new.csv")
    check_out(tmp_path / "new.csv", tmp_path / "old.csv", None)
    with pytest.raises(InputError, match="would be overwritten"):
        check_out(tmp_path / "old.csv", None, tmp_path / "." / "old.csv")
    with pytest.raises(InputError, match="is a folder"):
        check_out(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        check_out(tmp_path / "none" / "new.csv")


# --- what options mean ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (count, "3", 3),
        (several, "2", 2),
        (natural, "0", 0),
        (jobs, "-1", -1),
        (positive, "0.5", 0.5),
        (positive, "1/4", 0.25),
        (share, "1", 1.0),
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
        (natural, "-1"),
        (jobs, "-2"),
        (positive, "nan"),
        (positive, "1/0"),
        (positive, "1e400"),
        (positive, "inf"),
        (share, "1.1"),
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
        ("or model=Posterior(CKL(1)).", "or model=Posterior(CKL(1))."),
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

import subprocess
import sys

import pytest

import tercet
from tercet.cli import main
from tercet.cli.main import COMMANDS


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
        "print(sorted({'numpy', 'numba', 'sklearn', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # The errors know scikit-learn's warning, and with it numpy.
    assert "numba" not in done.stdout.splitlines()[-1]
    assert "matplotlib" not in done.stdout.splitlines()[-1]


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

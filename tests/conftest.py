"""What tests of many parts use: people's answers, the command line, pictures that nobody sees."""

import os

import numpy as np
import pytest
from benchmarks.data import HOW_TO_FIND, find_data

import tercet as tc

pytest.register_assert_rewrite("tests.pages")


@pytest.fixture
def data_folder(monkeypatch):
    """The folder of people's answers, which the loaders are told of; without it, a skip."""
    folder = find_data()
    if folder is None:
        pytest.skip(HOW_TO_FIND)
    monkeypatch.setenv("TERCET_DATA", str(folder))
    return folder


@pytest.fixture
def kk(data_folder):
    """990 quadruplets of Knoblauch & Maloney, J. Stat. Software 25(2), 2008, and the stimuli."""
    folder = data_folder / "mlds_examples"
    files = [folder / f"kk{k}.csv" for k in (1, 2, 3)]
    table = np.concatenate([np.loadtxt(file, int, delimiter=",", skiprows=1) for file in files])
    rows = table[:, 1:] - 1
    answers = np.where(table[:, :1] == 1, rows, rows[:, [2, 3, 0, 1]])
    return tc.Triplets(answers), np.append(np.arange(10) / 10, 0.98)


@pytest.fixture(scope="module")
def computed_once(tmp_path_factory):
    """Chains and maps are computed by the first page that wants them, for all processes."""
    from tests.once import computed_once

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # whose own folder is within that of all
        folder = folder.parent
    with computed_once(folder / "computed"):
        yield


@pytest.fixture
def tercet(capsys):
    """Run a command in this process: its exit code, what it printed, what it remarked."""
    from tercet.cli import main

    def run(*arguments):
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:  # of the parser
            code = stop.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def ax():
    """Axes of a figure that Pyplot does not know."""
    from matplotlib.figure import Figure

    return Figure(figsize=(5, 5)).subplots()


@pytest.fixture
def headless():
    """Pyplot without windows; what it opened is closed."""
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")

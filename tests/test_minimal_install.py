"""Installed without extras, tercet does its work, and says which extra brings what is missing.

Packages that pip would not install with tercet alone are hidden from a new Python: it does not
find them, and neither do the programs that it starts.
"""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.requirements import CORE, EXTRA, PROJECT

import tercet

pytestmark = pytest.mark.slow

HIDING = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] in HIDDEN
        return None if hidden else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""

COMMANDS = ("simulate", "check", "convert", "fit", "bootstrap", "posterior", "suggest", "report")
# What people do with tercet: every result is a pair of an exit code and what was remarked.
WORK = """
import contextlib, io, json, sys
import tercet as tc
from tercet.cli import main

def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*arguments])
    return code, out.getvalue() + err.getvalue()

few = ["--samples", "40", "--jobs", "1", "--quiet"]
found = {
    "simulate": run("simulate", "-o", "answers.csv", "--objects", "6", "--answers", "80"),
    "check": run("check", "answers.csv"),
    "convert": run("convert", "answers.csv", "answers.npz"),
    "fit": run("fit", "answers.csv"),
    "bootstrap": run("bootstrap", "answers.csv", "-o", "boot.npz", *few),
    "posterior": run("posterior", "answers.csv", "-o", "map.npz", "--chains", "2", *few),
    "suggest": run("suggest", "map.npz"),
    "report": run("report", "answers.csv", "-o", "report.html", "--dim", "2", *few),
    "parquet": run("convert", "answers.csv", "answers.parquet"),
    "gpu": run("fit", "answers.csv", "--device", "gpu"),
    "datasets": run("datasets", "cars", "-o", "cars.csv"),
}
try:
    tc.Ensemble.load("map.npz").to_arviz()
except tc.TercetError as error:
    found["arviz"] = 1, str(error)
found["loaded"] = sorted({name.partition(".")[0] for name in sys.modules})
json.dump(found, open("found.json", "w"))
"""


def plain(name):
    """The name of a distribution as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def brought(requirements, extras=("",), found=None):
    """The distributions that pip installs for these requirements, and for theirs."""
    found = set() if found is None else found
    for one in map(Requirement, requirements):
        asked = one.marker is None or any(one.marker.evaluate({"extra": each}) for each in extras)
        if asked and plain(one.name) not in found:
            found.add(plain(one.name))
            brought(metadata.requires(one.name) or (), tuple(one.extras) or ("",), found)
    return found


def packages_that_do_not_come_along():
    """Names under which everything else that is installed here is imported."""
    along = brought(PROJECT["dependencies"]) | {"tercet"}
    return {
        package
        for package, distributions in metadata.packages_distributions().items()
        if not along & set(map(plain, distributions))
    } - sys.stdlib_module_names


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What came of the work without the packages that do not come along."""
    folder = tmp_path_factory.mktemp("minimal")
    hidden = packages_that_do_not_come_along()
    assert not hidden & CORE
    (folder / "sitecustomize.py").write_text(f"HIDDEN = {sorted(hidden)!r}\n{HIDING}", "utf-8")
    here = [str(folder), str(Path(tercet.__file__).parents[1])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(here), "TERCET_CACHE": str(folder)}
    environment.pop("TERCET_DATA", None)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WORK],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder, json.loads((folder / "found.json").read_text("utf-8"))


def test_the_commands_do_their_work(found):
    folder, said = found
    commands = (
        "simulate",
        "check",
        "convert",
        "fit",
        "bootstrap",
        "posterior",
        "suggest",
        "report",
    )
    wrong = [f"{name}: {said[name][1]}" for name in commands if said[name][0] != 0]
    assert not wrong, "\n".join(wrong)
    assert (folder / "report.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("extra", ["parquet", "gpu", "datasets", "arviz"])
def test_what_is_missing_is_named_with_the_extra_that_brings_it(found, extra):
    code, said = found[1][extra]
    assert code in (1, 2)
    assert f"pip install 'tercet[{extra}]'" in said
    assert extra in PROJECT["optional-dependencies"]


def test_nothing_else_was_there(found):
    """Negative control: the packages were hidden, and those of the core were not."""
    loaded = set(found[1]["loaded"])
    assert not loaded & EXTRA
    assert {"numpy", "scipy", "numba", "sklearn", "matplotlib"} <= loaded
    assert {"pytest", "hypothesis"} <= packages_that_do_not_come_along()

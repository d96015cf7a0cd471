"""Imports point one way, heavy ones wait, and files stay short enough to read."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tercet

PACKAGE = Path(tercet.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {
    ".".join(("tercet", *f.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): f
    for f in FILES
}

# A part of the package imports only parts of the layers above it here.
LAYERS = [
    {"text"},
    {"errors", "compiled", "files", "limits", "npz", "progress", "tables"},
    {"bounded", "observers", "refusals", "titles"},
    {"checks", "memory", "parallel", "provenance"},
    {"triplets", "checkpoint"},
    {"answers", "streamed"},
    {"diagnosis", "io", "models"},
    {"align", "engine"},
    {"accelerator", "metrics", "uncertainty"},
    {"simulate", "datasets", "embedder"},
    {"estimators", "ensemble"},
    {"bootstrap", "posterior"},
    {"uses"},
    {"plots", "analysis"},
    {"report", "paper"},
    {"demo"},
    {"cli"},
    {"__main__"},
]
# An analysis hands on what is said of it: its methods import that when they are called.
HANDS_ON = {"tercet.analysis.result"}
# What others may import before anybody asks for an accelerator.
WITHOUT_JAX = {"tercet.accelerator", "tercet.accelerator.device"}
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}


def part(module):
    return module.split(".")[1] if "." in module else "tercet"


def imports(tree, package):
    """Modules that the code imports, wherever it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {package}"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module for name in names)


def top_level(tree):
    """The statements that run at import; not those for type checkers alone."""
    statements = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING")
        and not isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    return ast.Module(statements, [])


@pytest.mark.parametrize("module", sorted(set(MODULES) - {"tercet"}))
def test_imports_point_one_way(module):
    here = part(module)
    assert here in LEVEL, f"{here} has no place in LAYERS yet"
    tree = ast.parse(MODULES[module].read_text())
    for name in imports(top_level(tree) if module in HANDS_ON else tree, module):
        if name.split(".")[0] != "tercet":
            continue
        there = part(name)
        if there == "tercet":  # the package itself, for those who use it as its users do
            assert LEVEL[here] >= LEVEL["report"], f"{module} imports the package itself"
            continue
        assert there == here or LEVEL[there] < LEVEL[here], f"{module} imports {name}"


def test_no_two_modules_import_each_other():
    trees = {module: ast.parse(f.read_text()) for module, f in MODULES.items()}
    trees |= {module: top_level(trees[module]) for module in HANDS_ON}
    graph = {
        module: {name for name in imports(tree, module) if name in MODULES} - {module}
        for module, tree in trees.items()
        if module != "tercet"
    }
    while free := [m for m, needed in graph.items() if not needed & graph.keys()]:
        for module in free:
            del graph[module]
    assert not graph


def test_the_engine_does_not_know_triplets():
    """Arrays go in: what calls the engine checks them first."""
    for module, file in MODULES.items():
        if part(module) in ("engine", "models"):
            for name in imports(ast.parse(file.read_text()), module):
                assert part(name) not in ("triplets", "streamed", "checks", "diagnosis", "io"), (
                    module
                )


@pytest.mark.parametrize("module", sorted(MODULES))
def test_optional_packages_wait_until_they_are_needed(module):
    tree = top_level(ast.parse(MODULES[module].read_text()))
    roots = {name.split(".")[0] for name in imports(tree, module)}
    optional = {"pandas", "matplotlib", "polars", "jax", "torch", "pooch", "pyarrow"}
    optional |= {"dask", "distributed", "ray"}
    if part(module) == "accelerator" and module not in WITHOUT_JAX:
        optional -= {"jax"}  # its own modules wait, see below
    assert not roots & optional


@pytest.mark.parametrize("module", sorted(MODULES))
def test_the_accelerator_waits_until_it_is_asked_for(module):
    if part(module) == "accelerator" and module not in WITHOUT_JAX:
        return
    tree = top_level(ast.parse(MODULES[module].read_text()))
    assert {n for n in imports(tree, module) if part(n) == "accelerator"} <= WITHOUT_JAX


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, json, tercet; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    loaded = {name.split(".")[0] for name in json.loads(output)}
    assert "tercet" in loaded
    assert not loaded & {"numba", "sklearn", "scipy", "pandas", "numpy", "matplotlib"}


@pytest.mark.parametrize("name", tercet.__all__)
def test_every_public_name_resolves(name):
    assert getattr(tercet, name) is not None
    assert name in dir(tercet)


def test_public_names_are_listed_once():
    assert sorted(set(tercet.__all__)) == sorted(tercet.__all__)
    assert set(tercet.__all__) == set(tercet._HOMES)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_what_a_module_promises_it_has(module):
    found = importlib.import_module(module)
    for name in getattr(found, "__all__", ()):
        assert hasattr(found, name), name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'tercet' has no attribute 'STEE'"):
        _ = tercet.STEE


@pytest.mark.parametrize("module", sorted(MODULES))
def test_files_stay_short(module):
    lines = MODULES[module].read_text().count("\n")
    assert lines <= 600, f"{lines} lines: ask what two things it is"

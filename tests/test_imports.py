"""Rules of the repository, one test each: it names all that break the rule.

Imports point one way and are of what pyproject.toml declares, heavy ones wait, names lead
somewhere, and files stay short enough to read.
"""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.requirements import CORE, EXTRA

import tercet

PACKAGE = Path(tercet.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {
    ".".join(("tercet", *f.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): f
    for f in FILES
}
TREES = {module: ast.parse(file.read_text("utf-8")) for module, file in MODULES.items()}

# A part of the package imports only parts of the layers above it here.
LAYERS = [
    {"arrays", "errors", "kinds", "text"},
    {"compiled", "files", "tables"},
    {"running"},
    {"answers"},
    {"io", "models"},
    {"align", "engine"},
    {"accelerator", "metrics", "uncertainty"},
    {"datasets", "embedder", "simulate"},
    {"ensemble", "estimators"},
    {"likelihood", "makers"},
    {"posterior"},
    {"bootstrap"},
    {"held_out"},
    {"uses"},
    {"analysis", "plots"},
    {"paper", "report"},
    {"demo"},
    {"cli"},
    {"__main__"},
]
# An analysis hands on what is said of it: its methods import that when they are called.
HANDS_ON = {"tercet.analysis.analysis"}
# What others may import before anybody asks for an accelerator.
WITHOUT_JAX = {"tercet.accelerator", "tercet.accelerator.device"}
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
LONGEST = 600  # lines of a file


def part(module):
    return module.split(".")[1] if "." in module else "tercet"


def imports(tree, package):
    """Modules that the code imports, wherever and however it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {package}"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module for name in names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
            yield from (name.value for name in node.args if isinstance(name, ast.Constant))


def top_level(tree):
    """The statements that run at import; not those for type checkers alone."""
    statements = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING")
        and not isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    return ast.Module(statements, [])


def own(names):
    return [name for name in names if name.split(".")[0] == "tercet"]


def others(names):
    """What is imported from other projects than ours and Python's."""
    roots = {name.split(".")[0] for name in names}
    return roots - {"tercet", "__future__"} - sys.stdlib_module_names


def is_accelerated(module):
    return part(module) == "accelerator" and module not in WITHOUT_JAX


# --- the rules: each yields what breaks it -----------------------------------------------------


def pointing_up(trees):
    """Imports of a part by one that stands above it or beside it."""
    for module, tree in trees.items():
        here = part(module)
        if here == "tercet":  # which names the homes of what it offers
            continue
        if here not in LEVEL:
            yield f"{module}: {here} has no place in LAYERS yet"
            continue
        for name in own(imports(top_level(tree) if module in HANDS_ON else tree, module)):
            there = part(name)
            if there == "tercet":  # the package itself, for those who use it as its users do
                if LEVEL[here] < LEVEL["report"]:
                    yield f"{module} imports the package itself"
            elif there != here and LEVEL.get(there, len(LAYERS)) >= LEVEL[here]:
                yield f"{module} imports {name}"


def undeclared(trees):
    """Imports of what no dependency in pyproject.toml brings."""
    for module, tree in trees.items():
        for name in sorted(others(imports(tree, module)) - CORE - EXTRA):
            yield f"{module} imports {name}, which is not in pyproject.toml"


def hasty(trees):
    """Imports that should wait for their use: of extras, of what is slow to load, of JAX."""
    for module, tree in trees.items():
        names = list(imports(top_level(tree), module))
        allowed = {"jax"} if is_accelerated(module) else set()
        for name in sorted(others(names) & (EXTRA | {"matplotlib"}) - allowed):
            yield f"{module} imports {name} at once"
        if not is_accelerated(module):
            for name in own(names):
                if is_accelerated(name):
                    yield f"{module} imports {name} at once"


def knowing_triplets(trees):
    """Imports of what checks answers in the engine, where arrays go in that were checked before."""
    for module, tree in trees.items():
        for name in own(imports(tree, module)):
            if part(module) in ("engine", "models") and part(name) in ANSWERS:
                yield f"{module} imports {name}"


def using_another_use(trees):
    """Imports of one use by another: what two of them need stands above them."""
    for module, tree in trees.items():
        for name in own(imports(tree, module)):
            if (there := use(name)) and (here := use(module)) and there != here:
                yield f"{module} imports {name}"


def use(module):
    """The use that a module belongs to; None if it belongs to none."""
    names = module.split(".")
    return names[2] if names[1:2] == ["uses"] and len(names) > 2 else None


ANSWERS = ("answers", "io")
RULES = [pointing_up, undeclared, hasty, knowing_triplets, using_another_use]


@pytest.mark.parametrize("rule", RULES)
def test_imports_follow_the_rule(rule):
    wrong = list(rule(TREES))
    assert not wrong, "\n".join(wrong)


BREAKING = {
    "from tercet.uses import dimension": pointing_up,
    "def f():\n    import tercet as tc": pointing_up,
    "def f():\n    import polars": undeclared,
    "def f():\n    return import_module('polars')": undeclared,
    "import pandas as pd": hasty,
    "from matplotlib.figure import Figure": hasty,
    "import jax.numpy as jnp": hasty,
    "from tercet.accelerator.solver import OnDevice": hasty,
    "from tercet.answers.triplets import Triplets": knowing_triplets,
}


@pytest.mark.parametrize(("code", "rule"), BREAKING.items())
def test_what_breaks_a_rule_is_found(code, rule):
    tree = ast.parse(code)
    trees = {"tercet.engine.new": tree, "tercet.models.new": tree}
    assert [line.split(":")[0].split()[0] for line in rule(trees)] == list(trees)


def test_a_use_that_imports_another_is_found():
    trees = {"tercet.uses.active.new": ast.parse("from tercet.uses.abstain import hold_out")}
    assert list(using_another_use(trees))


def test_no_two_modules_import_each_other():
    trees = TREES | {module: top_level(TREES[module]) for module in HANDS_ON}
    graph = {
        module: {name for name in imports(tree, module) if name in MODULES} - {module}
        for module, tree in trees.items()
        if module != "tercet"
    }
    while free := [m for m, needed in graph.items() if not needed & graph.keys()]:
        for module in free:
            del graph[module]
    assert not graph, "\n".join(graph)


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, json, tercet; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    loaded = {name.split(".")[0] for name in json.loads(output)}
    assert "tercet" in loaded
    assert not loaded & (CORE | EXTRA)


def test_every_public_name_resolves_and_is_listed_once():
    assert sorted(set(tercet.__all__)) == sorted(tercet.__all__)
    assert set(tercet.__all__) == set(tercet._HOMES)
    wrong = [n for n in tercet.__all__ if getattr(tercet, n, None) is None or n not in dir(tercet)]
    assert not wrong, "\n".join(wrong)


def test_what_a_module_promises_it_has():
    found = {module: importlib.import_module(module) for module in MODULES}
    promised = [(m, name) for m, each in found.items() for name in getattr(each, "__all__", ())]
    wrong = [f"{m} has no {name}" for m, name in promised if not hasattr(found[m], name)]
    assert not wrong, "\n".join(wrong)
    assert len(promised) > 100


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'tercet' has no attribute 'STEE'"):
        _ = tercet.STEE


# Files of one name: a command and what it runs, and code for the CPU and for an accelerator.
COMMANDS = {"bootstrap", "check", "demo", "plan", "posterior", "reproduce", "scale"}
TWINS = {"lbfgs", "lists", "relocation", "target"}


def test_a_file_name_is_used_twice_for_a_reason_only():
    files = [f for f in MODULES.values() if f.stem != "__init__"]
    homes = {f.stem: {g.parent.name for g in files if g.stem == f.stem} for f in files}
    twice = {name: parents for name, parents in homes.items() if len(parents) > 1}
    assert twice.keys() == COMMANDS | TWINS
    assert all("cli" in twice[name] for name in COMMANDS)
    assert all(twice[name] - {"engine", "posterior"} == {"accelerator"} for name in TWINS)


def test_warnings_are_hidden_and_collected_in_one_place():
    found = [m for m, file in MODULES.items() if "catch_warnings" in file.read_text("utf-8")]
    assert found == ["tercet.cli.main", "tercet.errors"]


def test_files_stay_short():
    lines = {module: file.read_text("utf-8").count("\n") for module, file in MODULES.items()}
    wrong = [
        f"{module}: {n} lines; ask what two things it is"
        for module, n in lines.items()
        if n > LONGEST
    ]
    assert not wrong, "\n".join(wrong)

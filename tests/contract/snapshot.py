"""What tercet promises, as text: the names it offers, and the keys of its JSON.

``python -m tests.contract.snapshot`` writes the stored files anew, all of them or those named
(``interface``, ``json_keys``); commit what changed together with the reason. What ``--help`` says
is ``docs/commands.md``, which ``python -m tercet.cli.reference`` makes.

Nothing here knows in which module a thing lives: only names that users write.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

import tercet as tc
from tercet.__main__ import main

__all__ = ["SNAPSHOTS", "interface", "json_keys", "shapes", "stored"]

HERE = Path(__file__).parent
RENEW = "python -m tests.contract.snapshot"
WIDTH = 100


# --- names and signatures ---------------------------------------------------------------------


def interface() -> str:
    """Every public name with its parameters and defaults, and what the results of calls have."""
    public = dict(_public())
    results = {kind.__name__: kind for value in public.values() for kind in _returned(value)}
    for kind in public.values():
        results.pop(getattr(kind, "__name__", ""), None)
    lines = [line for name, value in public.items() for line in _described(name, value)]
    lines += ["", "# Results, by the name of their class"]
    for name, kind in sorted(results.items()):
        lines += ["", name, *_members_of(kind)]
    return "\n".join(lines) + "\n"


def _public() -> Iterator[tuple[str, Any]]:
    """The names of tercet, and those of its namespaces after a dot."""
    for name in sorted(tc.__all__):
        value = getattr(tc, name)
        if isinstance(value, ModuleType):
            yield from ((f"{name}.{part}", getattr(value, part)) for part in sorted(value.__all__))
        else:
            yield name, value


def _described(name: str, value: Any) -> list[str]:
    if not inspect.isclass(value):
        return _call(name, value)
    if issubclass(value, Exception):
        others = [kind.__name__ for kind in value.__mro__[1:] if kind is not object]
        return [f"{name}: {', '.join(others)}"]
    return [*_call(name, value), *_members_of(value)]


def _members_of(kind: type) -> list[str]:
    """A class's public attributes and methods, a line each."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    lines = {each.name: [f"    .{each.name}"] for each in fields if each.name[0] != "_"}
    for part, member in _members(kind):
        is_method = callable(member) and not isinstance(member, property | cached_property)
        lines[part] = _call(f"    .{part}", member) if is_method else [f"    .{part}"]
    return [line for part in sorted(lines) for line in lines[part]]


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods and attributes that are tercet's own, not those of libraries."""
    for part in sorted(dir(kind)):
        owner = next((each for each in kind.__mro__ if part in vars(each)), object)
        of_sklearn = part.startswith("set_") and part.endswith("_request")
        if not part.startswith("_") and _is_ours(owner) and not of_sklearn:
            found = inspect.getattr_static(kind, part)
            bound = isinstance(found, classmethod | staticmethod)
            yield part, getattr(kind, part) if bound else found


def _is_ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "tercet"


def _call(name: str, value: Any) -> list[str]:
    """A signature without types, on one line or on one for each parameter."""
    signature = inspect.signature(value)
    bare = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    text = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    if len(name + text) <= WIDTH:
        return [name + text]
    margin = " " * (4 + len(name) - len(name.lstrip()))
    parts = [str(each) for each in bare]
    named = next((i for i, each in enumerate(bare) if each.kind is each.KEYWORD_ONLY), None)
    if named is not None and not any(each.kind is each.VAR_POSITIONAL for each in bare):
        parts.insert(named, "*")
    return [f"{name}(", *(f"{margin}{part}," for part in parts), f"{margin})"]


def _returned(value: Any) -> Iterator[type]:
    """Classes of tercet that a function, or a method, returns.

    What an estimator's methods return is the engine's, and promised to nobody.
    """
    if not inspect.isclass(value):
        calls = [value]
    elif hasattr(value, "get_params"):
        calls = []
    else:
        calls = [getattr(member, "fget", member) for _, member in _members(value)]
    for call in calls:
        if inspect.isfunction(call) or inspect.ismethod(call):
            names = _our_classes() | vars(sys.modules[call.__module__])
            hint = inspect.formatannotation(inspect.signature(call).return_annotation)
            found = (names.get(word) for word in re.findall(r"\w+", hint))
            yield from (kind for kind in found if inspect.isclass(kind) and _is_ours(kind))


def _our_classes() -> dict[str, type]:
    """All that are loaded: some annotations name what only type checkers import."""
    ours = [module for name, module in sys.modules.items() if name.split(".")[0] == "tercet"]
    found = [value for module in ours for value in vars(module).values() if inspect.isclass(value)]
    return {kind.__name__: kind for kind in found if _is_ours(kind)}


# --- keys of JSON -----------------------------------------------------------------------------

_FILE, _LINE, _ROUGH = "answers.csv", "line.csv", "rough.csv"
_SHORT = ["--samples", "20"]
_FOLDS = ["--dimensions", "1-2", "--folds", "2", "--repeats", "1"]
# Of each command as many runs as it takes to meet its keys.
COMMANDS: Mapping[str, Sequence[Sequence[str]]] = {
    "check": [["check", _FILE], ["check", _ROUGH, "--skip-invalid"]],
    "fit": [["fit", _FILE]],
    "bootstrap": [["bootstrap", _FILE, "--samples", "5"]],
    "posterior": [["posterior", _FILE, *_SHORT, "--warmup", "20", "-o", "map.npz"]],
    "dimension": [["dimension", _FILE, *_FOLDS]],
    "compare": [["compare", _FILE, "--models", "ste,soe", "--method", "kfold", "--folds", "2"]],
    "scale": [["scale", _LINE, *_SHORT], ["scale", _LINE, *_SHORT, "--lapse"]],
    "predict": [["predict", "map.npz", _FILE]],
    "score": [
        ["score", "points.npy", _LINE],
        ["score", "--agreement", _FILE, _FILE],
    ],
    "suggest": [["suggest", "map.npz", "--answers", _FILE, "-k", "2"]],
    "plan": [["plan", "--objects", "7", "--repeats", "6", "--answers", "30,300"]],
    "datasets": [["datasets"]],
    "report": [
        ["report", _FILE, "--dim", "2", "--samples", "250"],
        ["report", _FILE, "--dimensions", "1-2", *_SHORT],
        ["report", _ROUGH, "--dim", "2", "--uncertainty", "bootstrap", *_SHORT, "--skip-invalid"],
        ["report", _LINE, "--uncertainty", "scale", *_SHORT],
    ],
}


def json_keys() -> str:
    """The keys that ``--json`` prints, nested, with types and without values."""
    lines = ["# tercet COMMAND --json: keys and types; [] are the items of a list"]
    with _small_world():
        for title, runs in COMMANDS.items():
            lines += ["", f"## {title}", *shapes(*(run_json(each) for each in runs))]
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def _small_world() -> Iterator[None]:
    """A folder with files of answers: with names and times, with numbers, and with a wrong row."""
    rng = np.random.default_rng(0)
    asked = tc.simulate.random_comparisons(7, 250, replace=True, random_state=0)
    answered = tc.simulate.answer(rng.normal(size=(7, 2)), asked, noise=0.3, random_state=0)
    answered[200:, 1:] = rng.permuted(answered[200:, 1:], axis=1)  # the last observer guesses
    about = {"observers": np.repeat(list("abcde"), 50), "names": [f"tone {i}" for i in range(7)]}
    times = rng.uniform(0.5, 2.0, 250)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        tc.write_triplets(tc.Triplets(answered, **about, response_times=times), _FILE)
        tc.write_triplets(tc.Triplets(answered, observers=about["observers"]), _LINE)
        np.save("points.npy", rng.normal(size=(7, 2)))
        head, *rows = Path(_FILE).read_text("utf-8").splitlines()
        wrong = rows[0].replace(f"tone {answered[0, 1]}", f"tone {answered[0, 0]}")
        Path(_ROUGH).write_text("\n".join([head, *rows, wrong, ""]), "utf-8")
        yield


def run_json(command: Sequence[str]) -> Any:
    """What a command prints with --json."""
    printed, remarks = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(),
        patch.object(sys, "argv", ["tercet", *command, "--json", "--quiet", "--seed", "0"]),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(remarks),
    ):
        if command[0] in {"datasets", "predict"}:  # in which nothing is random
            del sys.argv[-2:]
        code = main()
    if code != 0:
        raise RuntimeError(f"tercet {' '.join(command)} ended with {code}: {remarks.getvalue()}")
    return json.loads(printed.getvalue())


def shapes(*values: Any) -> list[str]:
    """A line for each key of JSON values, indented as it is nested, with the types it has."""
    return list(_shapes(values, 0))


def _shapes(values: Sequence[Any], depth: int) -> Iterator[str]:
    """The keys of several values that stand in the same place."""
    objects = [value for value in values if isinstance(value, dict)]
    for key in dict.fromkeys(key for each in objects for key in each):
        found = [each[key] for each in objects if key in each]
        maybe = "" if len(found) == len(objects) else " (not always)"
        items, brackets = found, ""
        while any(isinstance(item, list) for item in items):
            items = [part for each in items for part in (each if type(each) is list else [each])]
            brackets += "[]"
        kinds = " or ".join(sorted({_kind(item) for item in items})) or "nothing"
        yield f"{'  ' * depth}{key}{brackets}: {kinds}{maybe}"
        yield from _shapes(items, depth + 1)


def _kind(value: Any) -> str:
    kinds = {bool: "true/false", int: "number", float: "number", str: "text", dict: "object"}
    return kinds.get(type(value), "null")


# --- stored files -----------------------------------------------------------------------------

SNAPSHOTS: Mapping[str, Callable[[], str]] = {"interface": interface, "json_keys": json_keys}


def stored(name: str) -> Path:
    """The file in which a snapshot is kept."""
    return HERE / "snapshots" / f"{name}.txt"


if __name__ == "__main__":
    for name in sys.argv[1:] or SNAPSHOTS:
        stored(name).parent.mkdir(exist_ok=True)
        stored(name).write_text(SNAPSHOTS[name](), "utf-8")
        print(f"{os.path.relpath(stored(name))}: written; see git diff")

"""Compiled arithmetic against extended precision, and a disk cache that notices every edit."""

import ast
import errno
import importlib.util
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import tercet
from tercet import compiled
from tercet.models import CKLModel, TSTEModel

PACKAGE = Path(tercet.__file__).parent
HASHED = ("compiled.py", "kinds.py", "models", "engine", "uncertainty.py", "posterior", "uses")


@numba.njit(nogil=True)
def _evaluate(x, exp, log, softplus, logistic):
    for t in range(x.size):
        exp[t] = compiled.exp(x[t])
        log[t] = compiled.log(abs(x[t]))
        softplus[t], logistic[t] = compiled.softplus(x[t])


def evaluate(x):
    """exp(x), log(abs(x)), softplus(x) and its slope."""
    x = np.asarray(x, dtype=np.float64)
    out = np.empty((4, x.size))
    _evaluate(x, *out)
    return out


def ulps(found, exact):
    """Largest error in units in the last place of the exact value."""
    return float(np.max(np.abs(found - exact) / np.spacing(np.abs(exact.astype(np.float64)))))


def wide(low, high):
    rng = np.random.default_rng(0)
    everywhere, near_zero = rng.uniform(low, high, 100_000), rng.normal(size=20_000)
    return np.concatenate([everywhere, near_zero, 1e-8 * near_zero, [0.0, low, high]])


# ---- arithmetic


def test_exp_is_exact_to_two_ulp():
    x = wide(-708.0, 709.0)
    assert ulps(evaluate(x)[0], np.exp(x.astype(np.longdouble))) < 2


def test_log_is_exact_to_three_ulp():
    rng = np.random.default_rng(1)
    powers, near_one = 10.0 ** rng.uniform(-307, 308, 100_000), rng.normal(size=20_000)
    y = np.concatenate([powers, 1 + 0.1 * near_one, 1 + 1e-9 * near_one])
    y = y[y > 0]
    assert ulps(evaluate(y)[1], np.log(y.astype(np.longdouble))) < 3


def test_softplus_keeps_relative_precision_in_both_tails():
    z = wide(-708.0, 1e6)
    _, _, value, slope = evaluate(z)
    exact = np.logaddexp(np.longdouble(0), z.astype(np.longdouble))
    assert ulps(value, exact) < 5
    assert ulps(slope, 1 / (1 + np.exp(-z.astype(np.longdouble)))) < 5


def test_far_tails_are_zero_one_or_the_identity():
    exp, _, value, slope = evaluate([-800.0, -1e300, -np.inf])
    assert np.all(exp < 1e-306)
    assert np.all(value < 1e-306)
    assert np.all(slope < 1e-306)
    _, _, value, slope = evaluate([800.0, 1e300, np.inf])
    assert value.tolist() == [800.0, 1e300, np.inf]
    assert slope.tolist() == [1.0, 1.0, 1.0]


def test_not_a_number_stays_not_a_number():
    exp, _, value, slope = evaluate([np.nan])
    assert np.isnan([exp, value, slope]).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_logarithm_of_no_number_is_not_finite(value):
    assert not np.isfinite(evaluate([value])[1])


@pytest.mark.parametrize("model", [TSTEModel(), CKLModel(), CKLModel(exponent=1.0)])
def test_models_built_on_the_logarithm_pass_nan_on(model):
    assert np.isnan(model.loss([np.nan, 1.0], [1.0, np.nan])[0]).all()


# ---- the key of the disk cache


@pytest.fixture
def package(tmp_path):
    """A copy of the package that tests may edit."""
    return Path(
        shutil.copytree(
            PACKAGE, tmp_path / "src" / "tercet", ignore=shutil.ignore_patterns("__pycache__")
        )
    )


@pytest.fixture
def key(package, monkeypatch):
    """The source hash of the copy, computed afresh at each call."""
    monkeypatch.setattr(compiled, "__file__", str(package / "compiled.py"))
    return compiled.source_hash.__wrapped__


def sources(package, layer):
    path = package / layer
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


@pytest.mark.parametrize("layer", range(len(HASHED)))
def test_an_edit_changes_the_keys_of_the_code_that_may_call_it_and_no_other(package, key, layer):
    modules = [f"tercet.{name.removesuffix('.py')}" for name in HASHED]
    files = sources(package, HASHED[layer])
    keys = [[key(module) for module in modules]]
    for file in files:
        file.write_text(file.read_text() + "\n# edited\n")
        keys.append([key(module) for module in modules])
    for k, column in enumerate(zip(*keys, strict=True)):
        assert len(set(column)) == (len(files) + 1 if k >= layer else 1), modules[k]


def test_there_are_many_compiled_sources():
    assert sum(len(sources(PACKAGE, layer)) for layer in HASHED) > 20


@pytest.mark.parametrize(
    ("module", "layer"),
    [
        ("tercet.engine.kernels", "tercet.engine"),
        ("tercet.posterior.target", "tercet.posterior"),
        ("tercet.models.ste", "tercet.models"),
        ("tests.test_compiled", "tercet.uses"),  # a stranger may call everything
        ("__main__", "tercet.uses"),
        ("tercet.uses.active.scores", "tercet.uses"),
    ],
)
def test_a_module_has_the_key_of_its_layer(key, module, layer):
    assert key(module) == key(layer)


def test_compiled_functions_carry_the_key_of_their_own_module():
    from tercet.engine.kernels import edge_weights
    from tercet.posterior.target import split_energy

    for function in (edge_weights, split_energy):
        stamp = function._cache._cache_file._source_stamp
        assert stamp == compiled.source_hash(function.__module__)
    keys = {compiled.source_hash(f.__module__) for f in (edge_weights, split_energy)}
    assert len(keys) == 2


def test_a_new_compiled_source_changes_the_key(package, key):
    before = key("tercet.posterior.target")
    (package / "posterior" / "fresh.py").write_text("x = 1\n")
    assert key("tercet.posterior.target") != before


def test_other_files_do_not_change_the_key(package, key):
    before = key("tercet.posterior")
    (package / "estimators.py").write_text("")
    assert key("tercet.posterior") == before


def test_every_compiled_function_lives_in_a_hashed_file():
    for file in PACKAGE.rglob("*.py"):
        names = {
            alias.name.split(".")[0] if isinstance(node, ast.Import) else node.module or ""
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        if names & {"numba", "tercet.compiled"}:
            assert file.relative_to(PACKAGE).parts[0] in HASHED, file


def test_compiled_layers_import_only_those_before_them():
    """Else an edit in what they call would go unnoticed."""
    names = [name.removesuffix(".py") for name in HASHED]
    assert tuple(names) == compiled._LAYERS
    for layer, name in enumerate(names):
        for file in sources(PACKAGE, HASHED[layer]):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ImportFrom) and node.module.startswith("tercet."):
                    part = node.module.split(".")[1]
                    assert part not in names or names.index(part) <= layer, (name, node.module)


# ---- the cache at work, each time in a new process

SCRIPT = """
from tercet.models import STEModel
loss = STEModel().loss(2.0, 1.0)[0]
stats = STEModel.kernel.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), float(loss))
"""


def run_in_new_process(package, cache):
    environment = os.environ | {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(cache)}
    output = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    ).stdout
    hits, misses, loss = output.split()
    return int(hits), int(misses), float(loss)


@pytest.mark.slow
def test_cached_code_is_used_until_a_file_it_calls_is_edited(package, tmp_path):
    exact = np.log1p(np.e)
    hits, misses, loss = run_in_new_process(package, tmp_path / "cache")
    assert (hits, misses) == (0, 1)
    assert loss == pytest.approx(exact, rel=1e-14)

    assert run_in_new_process(package, tmp_path / "cache") == (1, 0, loss)

    source = package / "compiled.py"  # ste.py itself stays as it was
    edited, count = re.subn(
        r"return max\(z, 0\.0\)", "return 1.0 + max(z, 0.0)", source.read_text()
    )
    assert count == 1
    source.write_text(edited)
    hits, misses, loss = run_in_new_process(package, tmp_path / "cache")
    assert (hits, misses) == (0, 1)
    assert loss == pytest.approx(1.0 + exact, rel=1e-14)


# ---- a cache that is damaged, or cannot be written


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Compile a small function as at a new start, with a cache folder of its own."""
    source = tmp_path / "tiny.py"
    source.write_text("from tercet.compiled import jit\n@jit\ndef double(x):\n    return 2.0 * x\n")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    compiled._tell_once.cache_clear()

    def start():
        spec = importlib.util.spec_from_file_location("tiny", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.double

    return start


def kept_in(folder, ending):
    (path,) = (folder / "cache").rglob(f"*{ending}")
    return path


def hits_and_misses(function):
    stats = function.stats
    return sum(stats.cache_hits.values()), sum(stats.cache_misses.values())


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "cut off": cut,
    "garbage": lambda path: path.write_bytes(b"\x80garbage" * 20),
    "a bit": flip,
    "missing": lambda path: path.unlink(),
    "without a checksum": lambda path: path.write_bytes(path.read_bytes()[32:]),
    "something else": lambda path: path.write_bytes(pickle.dumps(["something", "else"])),
}


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_cache_is_noticed_and_made_anew(tiny, tmp_path, damage, ending):
    assert tiny()(1.5) == 3.0
    again = tiny()
    assert again(1.5) == 3.0
    assert hits_and_misses(again) == (1, 0)
    damage(kept_in(tmp_path, ending))
    after = tiny()
    assert after(1.5) == 3.0
    assert hits_and_misses(after) == (0, 1)
    healed = tiny()
    assert healed(1.5) == 3.0
    assert hits_and_misses(healed) == (1, 0)


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_a_cache_that_cannot_be_written_is_named_and_done_without(tiny, tmp_path, ending):
    tiny()(1.5)
    path = kept_in(tmp_path, ending)
    path.unlink()
    path.mkdir()
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as told:
        found = [tiny()(1.5) for _ in range(2)]
    assert found == [3.0, 3.0]
    assert len(told) == 1
    assert str(path.parent) in str(told[0].message)


def test_a_full_disk_is_named(tiny, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(compiled._CacheFile, "_open_for_write", full)
    with pytest.warns(UserWarning, match=f"{tmp_path}.*No space left on device"):
        assert tiny()(1.5) == 3.0


def test_code_of_another_signature_is_not_used(tiny, tmp_path):
    """Two processes may give the same number to what they keep, at the same time."""
    tiny()(1.5)
    mine = kept_in(tmp_path, ".nbc")
    one = mine.read_bytes()
    mine.unlink()
    kept_in(tmp_path, ".nbi").unlink()
    tiny()(2)
    kept_in(tmp_path, ".nbc").write_bytes(one)
    after = tiny()
    assert after(2) == 4.0
    assert hits_and_misses(after) == (0, 1)


def test_without_any_folder_there_is_no_cache(tiny, monkeypatch, capsys):
    def no_folder(function):
        raise RuntimeError("cannot cache function")

    monkeypatch.setattr(compiled, "_Cache", no_folder)
    function = tiny()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    compiled.announce_compilation(function)
    assert "NUMBA_CACHE_DIR to one" in capsys.readouterr().err
    assert function(1.5) == 3.0

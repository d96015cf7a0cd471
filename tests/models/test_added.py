"""Adding a model takes its file, its line and its twins: proved on a copy of the package.

The model is a power law, s = (1 + d**2)**(-exponent/2), which tercet does not ship.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tercet

pytestmark = pytest.mark.slow  # compiles the engine anew

FILE = '''
"""A similarity with tails as heavy as its exponent is small."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tercet.compiled import exp, jit, log, softplus
from tercet.models.base import CORNER, POSITIVE, ROUNDED_POWER, Learned, Model, Parameter


@jit
def power_law(p, q, near, far, loss, d_near, d_far):
    """-log p_ijl = log(1 + ((near + CORNER) / (far + CORNER))**(q/2))."""
    for t in range(near.size):
        a, b = near[t] + CORNER, far[t] + CORNER
        loss[t], slope = softplus(0.5 * q * log(a / b))
        d_near[t] = 0.5 * q * slope / a
        d_far[t] = -0.5 * q * slope / b


@jit
def power_law_similarity(p, q, squared, log_s, slope):
    """Log s = -q/2 log(squared + CORNER)."""
    for t in range(squared.size):
        log_s[t] = -0.5 * q * log(squared[t] + CORNER)
        slope[t] = -0.5 * q / (squared[t] + CORNER)


@dataclass(frozen=True)
class PowerLawModel(Model):
    """s = (squared distance + CORNER)**(-exponent / 2)."""

    exponent: float = 1.0

    kernel = power_law
    similarity = power_law_similarity
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "exponent": Parameter(POSITIVE, Learned(ROUNDED_POWER, prior=(1.0, 0.5)))
    }

    def constants(self, n_components):
        """Return zero and the exponent."""
        return 0.0, self.exponent
'''
LINE = '    "PowerLaw": "power_law",\n'
TWINS = """

@_loss_of("PowerLaw")
def _power_law(p, q, near, far):
    a, b = near + CORNER, far + CORNER
    loss, slope = _softplus(0.5 * q * jnp.log(a / b))
    return loss, 0.5 * q * slope / a, -0.5 * q * slope / b


@_similarity_of("PowerLaw")
def _power_law_similarity(p, q, squared):
    return -0.5 * q * jnp.log(squared + CORNER)
"""
USE = """
import contextlib, io, json, pickle, sys, warnings
import numpy as np
from sklearn.base import clone
import tercet as tc
from tercet.cli import main
from tercet.engine.search import Objective, evaluate
from tercet.engine.problem import build_problem
from tercet.estimators import PowerLaw
from tercet.models import PowerLawModel

warnings.simplefilter("ignore")
found = {"package": tc.__file__}
truth, _ = tc.simulate.gaussian_mixture(12, random_state=0)
answers = tc.simulate.noisy_triplets(truth, 400, noise=0.3, random_state=0)

# the compiled engine: the loss, and its gradient against central differences
objective = Objective(PowerLawModel(1.3), 2, 0.1)
for use_edges in (True, False):
    problem = build_problem(answers.array, 12, use_edges=use_edges)
    loss, gradient = evaluate(objective, problem, truth)
    i, j, l = answers.array.T
    s_near, s_far = ((1e-4 + np.sum((truth[i] - truth[k]) ** 2, axis=1)) ** -0.65 for k in (j, l))
    formula = -np.log(s_near / (s_near + s_far)).sum() + 0.1 * np.sum(truth**2)
    step = np.zeros_like(truth)
    step[3, 1] = 1e-6
    sides = [evaluate(objective, problem, truth + sign * step)[0] for sign in (1, -1)]
    slope = (sides[0] - sides[1]) / 2e-6
    found[f"edges {use_edges}"] = [loss, formula, gradient[3, 1], slope]

# the estimator: its parameters, fit, copies
estimator = PowerLaw(2, exponent=1.5, penalty=1 / 30, random_state=0)
found["parameters"] = sorted(estimator.get_params())
found["copies"] = [repr(clone(estimator)), repr(pickle.loads(pickle.dumps(estimator)))]
found["score"] = estimator.fit(answers).score(answers)
found["model"] = repr(estimator.model())
try:
    PowerLaw(2, exponent=-1.0).fit(answers)
except tc.InputError as error:
    found["refused"] = str(error)

# ensembles: made, kept, read again, asked
boot = tc.Bootstrap(estimator, n_samples=4, random_state=0, progress=False).fit(answers).ensemble_
found["bootstrap"] = [len(boot), repr(boot.model)]
maker = tc.Posterior(
    PowerLaw(2), learn=("exponent", "lapse"), n_samples=60, n_chains=2, warmup=90, random_state=0,
    progress=False,
)
drawn = maker.fit(answers).ensemble_
drawn.save(sys.argv[1])
again = tc.Ensemble.load(sys.argv[1])
found["kept"] = [repr(again.model), sorted(again.parameters)]
row = answers.array[:1]
p = again.answer_probability(row)[0]
a, b, c = row[0]
X, q, lapse = drawn.samples, drawn.parameters["exponent"], drawn.parameters["lapse"]
s_near, s_far = ((1e-4 + np.sum((X[:, a] - X[:, k]) ** 2, axis=1)) ** (-q / 2) for k in (b, c))
found["answer"] = [p, np.mean(lapse / 2 + (1 - lapse) * s_near / (s_near + s_far))]
found["exponents"] = [float(q.min()), float(q.max())]
found["accuracy"] = float(np.mean(again.answer_probability(answers.array) > 0.5))

# the command line
tc.write_triplets(answers, sys.argv[2])
with contextlib.redirect_stdout(io.StringIO()) as printed:
    found["command"] = main(["fit", sys.argv[2], "--model", "powerlaw", "--json"])
found["commanded"] = json.loads(printed.getvalue())["model"]
for command in ("fit", "posterior"):
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        main([command, "--help"])
    found[f"{command} knows it"] = "powerlaw" in printed.getvalue()
print(json.dumps(found))
"""
ON_DEVICE = """
import json
import jax, numpy as np
from tercet.accelerator.twins import log_similarity, model_loss
from tercet.engine.kernels import code_of
from tercet.models import PowerLawModel
jax.config.update("jax_enable_x64", True)
near, far = np.random.default_rng(0).exponential(size=(2, 50))
model = PowerLawModel(1.3)
known = code_of(model), *model.constants(2), jax.numpy.asarray(near)
theirs = *model_loss(*known, far), log_similarity(*known)
ours = *model.loss(near, far), model.log_similarity(near)[0]
print(json.dumps([float(np.abs(a - b).max()) for a, b in zip(theirs, ours)]))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a copy of the package, with the three edits."""
    home = tmp_path_factory.mktemp("added")
    package = home / "tercet"
    source = Path(tercet.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "models" / "power_law.py").write_text(FILE)
    known, twins = package / "models" / "__init__.py", package / "accelerator" / "twins.py"
    before = known.read_text()
    after = before.replace('    "CKL": "ckl",\n', f'    "CKL": "ckl",\n{LINE}')
    assert after.count("\n") == before.count("\n") + 1
    known.write_text(after)
    twins.write_text(twins.read_text() + TWINS)
    return home


def run(home, code, *arguments):
    """What a program prints that uses the copy."""
    environment = os.environ | {"PYTHONPATH": str(home), "JAX_PLATFORMS": "cpu"}
    environment.pop("NUMBA_CACHE_DIR", None)
    environment["NUMBA_OPT"] = "0"  # most of the time goes into compiling
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=home,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_model_is_its_file_its_line_and_its_twins(home, tmp_path):
    found = run(home, USE, str(tmp_path / "map.npz"), str(tmp_path / "answers.csv"))
    assert Path(found["package"]).parent == home / "tercet"
    for form in ("edges True", "edges False"):
        loss, formula, slope, difference = found[form]
        assert loss == pytest.approx(formula, rel=1e-12)
        assert slope == pytest.approx(difference, rel=1e-6)
    assert {"exponent", "n_components", "penalty", "start", "device"} <= set(found["parameters"])
    assert set(found["copies"]) == {
        "PowerLaw(exponent=1.5, penalty=0.03333333333333333, random_state=0)"
    }
    assert found["score"] > 0.8
    assert found["model"] == "PowerLawModel(exponent=1.5)"
    assert found["refused"] == "The parameter exponent must be a positive number, got -1.0."
    assert found["bootstrap"] == [4, "PowerLawModel(exponent=1.5)"]
    assert found["kept"] == ["PowerLawModel(exponent=1.0)", ["exponent", "lapse", "variance"]]
    asked, formula = found["answer"]
    assert asked == pytest.approx(formula, rel=1e-9)
    least, most = found["exponents"]
    assert 0.0 < least < most
    assert found["accuracy"] > 0.8
    assert (found["command"], found["commanded"]) == (0, "PowerLaw")
    assert found["fit knows it"]
    assert found["posterior knows it"]


def test_its_twins_are_the_compiled_ones(home):
    pytest.importorskip("jax")
    assert max(run(home, ON_DEVICE)) < 1e-12

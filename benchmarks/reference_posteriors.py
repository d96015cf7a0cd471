"""Long runs of NumPyro's NUTS on small problems: what the posterior tests compare ours with.

Runs in the samplers' own virtual environment and imports nothing of tercet, so that the figures
owe nothing to the code they judge. From the root of the repository:

    .venv-samplers/bin/python benchmarks/reference_posteriors.py [NAME ...]
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from arviz_stats.base import array_stats
from numpyro.infer import MCMC, NUTS, init_to_sample

FOLDER = Path(__file__).parents[1] / "tests" / "statistical" / "reference"
N, D, M = 8, 2, 60
CHAINS, WARMUP, DRAWS, TARGET = 4, 2_000, 25_000, 0.9
LARGEST_RHAT = 1.005
DIGITS = 6


@dataclass(frozen=True)
class Problem:
    """A model, its priors, and how its answers were simulated."""

    model: str  # "ste", "tste" or "ckl"
    seed: int
    truth: float  # variance of the true points: small enough for noisy answers
    variance: float | None = None  # of the prior; None: learned
    log_variance: tuple[float, float] | None = None  # mean and sd of its logarithm, if learned
    lapse: tuple[float, float] | None = None  # of the beta prior
    true_lapse: float = 0.0
    mu: float = 0.05
    exponent: float = 2.0
    log_mu: tuple[float, float] | None = None
    log_exponent: tuple[float, float] | None = None


LEARNED = (float(np.log(4.0)), 1.0)
PROBLEMS = {
    "ste_fixed": Problem("ste", 1, truth=0.5, variance=4.0),
    "ste_learned": Problem("ste", 2, truth=0.5, log_variance=LEARNED),
    "ste_lapse": Problem("ste", 3, truth=1.0, variance=4.0, lapse=(1.0, 9.0), true_lapse=0.1),
    "tste_fixed": Problem("tste", 4, truth=2.0, variance=4.0),
    "tste_learned": Problem("tste", 5, truth=2.0, log_variance=LEARNED),
    "ckl_fixed": Problem("ckl", 6, truth=1.0, variance=1.0),
    "ckl_learned": Problem(
        "ckl",
        7,
        truth=1.0,
        variance=1.0,
        log_mu=(float(np.log(0.05)), 1.0),
        log_exponent=(float(np.log(2.0)), 0.5),
    ),
}


def log_odds(model, near, far, mu, exponent):
    """Log-odds of the answer "near", given two squared distances, for d = 2."""
    if model == "ste":
        return far - near
    if model == "tste":
        alpha = max(D - 1, 1)
        return (alpha + 1) / 2 * jnp.log((alpha + far) / (alpha + near))
    return jnp.log((far ** (exponent / 2) + mu) / (near ** (exponent / 2) + mu))


def simulate(problem):
    """Answers (M, 3) of the model to random comparisons of random points."""
    rng = np.random.default_rng(problem.seed)
    points = np.sqrt(problem.truth) * rng.standard_normal((N, D))
    rows = np.array([rng.choice(N, 3, replace=False) for _ in range(M)])
    odds = log_odds(problem.model, *squared(points, rows), problem.mu, problem.exponent)
    p = 1 / (1 + np.exp(-np.asarray(odds)))
    p = (1 - problem.true_lapse) * p + problem.true_lapse / 2
    swapped = rng.random(M) >= p
    rows[swapped] = rows[swapped][:, [0, 2, 1]]
    return rows


def squared(points, rows):
    """Squared distances from anchors to near and to far objects, for points (..., n, d)."""
    anchor, near, far = (points[..., rows[:, k], :] for k in range(3))
    return ((anchor - near) ** 2).sum(-1), ((anchor - far) ** 2).sum(-1)


def posterior(problem, rows):
    """The model as NumPyro knows it; the points are √v times standard normal ones."""
    if problem.log_variance is None:
        variance = problem.variance
    else:
        log_variance = numpyro.sample("log_variance", dist.Normal(*problem.log_variance))
        variance = jnp.exp(log_variance)
    mu, exponent = problem.mu, problem.exponent
    if problem.log_mu is not None:
        mu = jnp.exp(numpyro.sample("log_mu", dist.Normal(*problem.log_mu)))
    if problem.log_exponent is not None:
        exponent = jnp.exp(numpyro.sample("log_exponent", dist.Normal(*problem.log_exponent)))
    z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([N, D]).to_event(2))
    points = numpyro.deterministic("points", jnp.sqrt(variance) * z)
    odds = log_odds(problem.model, *squared(points, rows), mu, exponent)
    if problem.lapse is None:
        log_p = jax.nn.log_sigmoid(odds)
    else:
        lapse = numpyro.sample("lapse", dist.Beta(*problem.lapse))
        log_p = jnp.log((1 - lapse) * jax.nn.sigmoid(odds) + lapse / 2)
    numpyro.factor("answers", log_p.sum())


def run(name):
    """Sample one problem, check the chains, and return what its file holds."""
    problem = PROBLEMS[name]
    rows = simulate(problem)
    kernel = NUTS(posterior, target_accept_prob=TARGET, init_strategy=init_to_sample)
    mcmc = MCMC(kernel, num_warmup=WARMUP, num_samples=DRAWS, num_chains=CHAINS, progress_bar=False)
    mcmc.run(jax.random.key(problem.seed), problem, jnp.asarray(rows), extra_fields=("diverging",))
    drawn = {key: np.asarray(value) for key, value in mcmc.get_samples(True).items() if key != "z"}
    points = drawn.pop("points")  # (chains, draws, n, d)
    quantities = {"distances": _distances(points), "sum_of_squares": _sum_of_squares(points)}
    quantities |= drawn
    figures = {key: _summary(value) for key, value in quantities.items()}
    near, far = squared(points, rows)
    checks = {
        "largest_rhat": max(np.max(figure.pop("rhat")) for figure in figures.values()),
        "smallest_ess": min(np.min(figure.pop("ess")) for figure in figures.values()),
        "divergences": int(np.sum(mcmc.get_extra_fields()["diverging"])),
        "fewest_violated_answers": int((near > far).sum(-1).min()),
    }
    if checks["largest_rhat"] >= LARGEST_RHAT:
        raise RuntimeError(f"{name}: the chains disagree, {checks}; take another seed")
    return {
        "source": f"NumPyro {version('numpyro')} NUTS on JAX {version('jax')}, float64, {CHAINS} "
        f"chains from prior draws, {WARMUP} warm-up and {DRAWS} kept draws each, "
        f"target_accept_prob {TARGET}, diagonal mass, seed {problem.seed}; "
        "made by benchmarks/reference_posteriors.py",
        "problem": {"n_objects": N, "n_components": D, **vars(problem)},
        "checks": _rounded(checks),
        "figures": _rounded(figures),
        "triplets": rows.tolist(),
    }


def _distances(points):
    """All distances in condensed order; shape (chains, draws, pairs)."""
    first, second = np.triu_indices(N, 1)
    return np.sqrt(((points[..., first, :] - points[..., second, :]) ** 2).sum(-1))


def _sum_of_squares(points):
    centred = points - points.mean(axis=-2, keepdims=True)
    return (centred**2).sum(axis=(-2, -1))


def _summary(draws):
    """Mean and standard deviation over draws (chains, draws, ...), and their standard errors."""
    axes = {"chain_axis": 0, "draw_axis": 1}
    return {
        "mean": draws.mean(axis=(0, 1)),
        "sd": draws.std(axis=(0, 1)),
        "mcse_mean": array_stats.mcse(draws, method="mean", **axes),
        "mcse_sd": array_stats.mcse(draws, method="sd", **axes),
        "rhat": array_stats.rhat(draws, **axes),
        "ess": np.minimum(
            array_stats.ess(draws, method="bulk", **axes),
            array_stats.ess(draws, method="tail", prob=(0.05, 0.95), **axes),
        ),
    }


def _rounded(value):
    """Numbers with few digits, arrays as lists."""
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    if np.ndim(value):
        return [_rounded(entry) for entry in value]
    return value if isinstance(value, int) else float(f"{value:.{DIGITS}g}")


def _text(content):
    """JSON with one line per list of numbers."""
    lines = []
    for key, value in content.items():
        if key == "figures":
            inner = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()]
            lines.append(f"{json.dumps(key)}: {{\n" + ",\n".join(inner) + "\n}")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    """Make the files named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PROBLEMS)}")
    arguments = parser.parse_args()
    numpyro.enable_x64()
    numpyro.set_host_device_count(CHAINS)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or PROBLEMS:
        content = run(name)
        (FOLDER / f"{name}.json").write_text(_text(content))
        print(name, content["checks"], flush=True)


if __name__ == "__main__":
    main()

"""Effective sample size per second of chains in lockstep on an accelerator, and on the CPU.

    python -m benchmarks.accelerator_chains            1000 chains on the accelerator
    python -m benchmarks.accelerator_chains --cpu      Posterior(STE(2)), 4 chains, all cores

The last figure of a line stands for all draws: the same again where the same seed gives the same
bits.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from typing import Any, NamedTuple

import numpy as np

import tercet as tc
from tercet.arrays import Floats
from tercet.posterior.draw import SUPERCHAINS, build_target, draw
from tercet.posterior.mode import find_modes, jittered
from tercet.running.threads import count_threads
from tercet.simulate import gaussian_mixture, noisy_triplets

N, D, M, NOISE = 50, 2, 2_000, 0.3
PAIRS = 50


class Quality(NamedTuple):
    """Smallest effective sample sizes, and the largest nested R-hat."""

    ess: float  # of everything
    of_distances: float
    of_size: float
    of_log_posterior: float
    rhat: float


def main() -> None:
    """Read the command line and do what it asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--cpu", action="store_true", help="measure the CPU's sampler")
    parser.add_argument("--chains", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--warmup", type=int, default=200)
    parser.add_argument("--dtypes", default="float32,float64")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    points, _ = gaussian_mixture(N, random_state=rng)
    answers = noisy_triplets(points, M, noise=NOISE, random_state=rng)
    if options.cpu:
        on_the_cpu(answers, options.repeats)
        return
    from tercet.accelerator.device import computing_on, find_device

    device = find_device("gpu")
    print(f"device: {device.device_kind}")
    with computing_on(device):
        for dtype in options.dtypes.split(","):
            on_the_accelerator(answers, dtype, options)


def on_the_accelerator(answers: tc.Triplets, dtype: str, options: argparse.Namespace) -> None:
    """Warm up and sample, and print time and quality."""
    from tercet.accelerator.sampling import draw_chains, make_sampler, start_chains, warm_up
    from tercet.posterior.draw import convert

    plan = tc.Posterior(tc.STE(D), device="gpu", n_chains=options.chains)._plan()
    target, rngs = build_target(plan, answers), np.random.default_rng(0).spawn(SUPERCHAINS)
    hill = find_modes(target, plan.model, np.empty(0), D, rngs)
    starts = np.array([jittered(hill, k, rng)[0] for k, rng in enumerate(rngs)])
    form, data = convert(target, D, dtype, relocating=True)
    X, theta = starts[np.arange(options.chains) % SUPERCHAINS], np.empty((options.chains, 0))
    print(f"\n{dtype}: {_microseconds(form, data, X):.1f} µs per gradient of all chains")
    for seed in range(options.repeats + 1):
        sampler = make_sampler(form, data, np.random.SeedSequence(seed), lambda count: None)
        began = time.perf_counter()
        tuned = start_chains(sampler, hill.A, np.empty(0), X, theta)
        tuned = warm_up(sampler, tuned, options.warmup, SUPERCHAINS)
        warm = time.perf_counter()
        tuned, kept = draw_chains(sampler, tuned, options.draws)
        done = time.perf_counter()
        if seed == 0:
            print(f"  with compiling: {done - began:.1f} s")
            continue
        quality = judge(kept.points, -kept.energies, SUPERCHAINS)
        seconds = done - warm
        print(
            f"  warm-up {warm - began:.2f} s, sampling {seconds:.3f} s; length {tuned.length:g}, "
            f"step {float(tuned.state.step):.2f}, gradients per draw {2 * kept.steps.mean():.1f}, "
            f"accepted {kept.accepted.mean():.2f}, divergent {int(kept.divergent.sum())}; "
            f"ESS {_words(quality)}; ESS/s {quality.ess / seconds:.4g} "
            f"(distances {quality.of_distances / seconds:.4g}; "
            f"with warm-up {quality.ess / (done - began):.4g}); "
            f"draws {hashlib.sha256(kept.points.tobytes()).hexdigest()[:8]}",
            flush=True,
        )


def _microseconds(form: Any, data: Any, X: Floats, count: int = 200) -> float:
    """One gradient of all chains, among many in one program."""
    import jax

    from tercet.accelerator.target import gradients

    sizes = np.sqrt(np.sum(X**2, axis=(1, 2)) / form.freedom)
    Y = np.moveaxis(X / sizes[:, None, None], 0, -1).astype(form.dtype)
    eta = np.log(sizes)[None]

    def downhill(_: Any, at: tuple[Any, Any]) -> tuple[Any, Any]:
        by_Y, by_eta = gradients(form, data, *at)
        return at[0] - 1e-6 * by_Y, at[1] - 1e-6 * by_eta

    run = jax.jit(lambda Y, eta, count: jax.lax.fori_loop(0, count, downhill, (Y, eta)))
    jax.block_until_ready(run(Y, eta, 1))
    began = time.perf_counter()
    jax.block_until_ready(run(Y, eta, count))
    return (time.perf_counter() - began) / count * 1e6


def on_the_cpu(answers: tc.Triplets, repeats: int) -> None:
    """Sample the same posterior with tercet's own engine."""
    draws, chains = 1000, 4
    for seed in range(repeats + 1):
        seconds = []
        for count in (4, draws):  # the first is the warm-up
            plan = tc.Posterior(tc.STE(D), n_chains=chains, n_samples=count)._plan()
            began = time.perf_counter()
            drawn = draw(plan, answers, seed, count_threads(None), False)
            seconds.append(time.perf_counter() - began)
        if seed == 0:
            continue  # compiles
        points = drawn.draws.reshape(chains, draws, N, D)
        log_posterior = drawn.statistics["log_posterior"].reshape(chains, draws)
        quality = judge(points, log_posterior, chains)
        took = seconds[1] - seconds[0]
        print(
            f"CPU: warm-up {seconds[0]:.2f} s, sampling {took:.2f} s; ESS {_words(quality)}; "
            f"ESS/s {quality.ess / took:.4g} (distances {quality.of_distances / took:.4g}; "
            f"with warm-up {quality.ess / seconds[1]:.4g})"
        )


def judge(points: Floats, log_posterior: Floats, groups: int) -> Quality:
    """Effective sample sizes and nested R-hat of draws (C, S, n, d) of chains in groups."""
    points = points - points.mean(axis=2, keepdims=True)
    first, second = np.triu_indices(points.shape[2], 1)
    chosen = np.random.default_rng(0).choice(len(first), PAIRS, replace=False)
    apart = points[:, :, first[chosen]] - points[:, :, second[chosen]]
    watched = [*np.moveaxis(np.linalg.norm(apart, axis=3), 2, 0)]
    watched += [np.sum(points**2, axis=(2, 3)), log_posterior]
    sizes = [effective(values) for values in watched]
    rhat = max(nested_rhat(values, groups) for values in watched)
    return Quality(min(sizes), min(sizes[:PAIRS]), sizes[PAIRS], sizes[PAIRS + 1], rhat)


def effective(values: Floats) -> float:
    """Effective sample size of draws (chains, draws), split, by Geyer's sequence.

    As in Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), without ranks.
    """
    half = values.shape[1] // 2
    split = np.concatenate([values[:, :half], values[:, -half:]])
    means, centred = split.mean(axis=1), split - split.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * half, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :half].mean(axis=0) / half
    within = covariance[0] * half / (half - 1.0)
    total = within * (half - 1.0) / half + np.var(means, ddof=1)
    rho = 1.0 - (within - covariance * half / (half - 1.0)) / total
    rho[0] = 1.0
    sums = rho[: half // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = np.cumprod(sums > 0).astype(bool)
    smooth = np.minimum.accumulate(sums[positive])
    return split.size / max(-1.0 + 2.0 * float(smooth.sum()), 1.0 / np.log10(split.size))


def nested_rhat(values: Floats, groups: int) -> float:
    """Nested R-hat of draws (chains, draws); chains c, c + groups, ... began at the same point.

    Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari & Gelman (2024), equation 8.
    """
    each = len(values) // groups
    table = values[: each * groups].reshape(each, groups, -1)
    means = table.mean(axis=2)
    within = table.var(axis=2, ddof=1).mean()
    between = means.var(axis=0, ddof=1).mean() if each > 1 else 0.0
    return float(np.sqrt(1.0 + means.mean(axis=0).var(ddof=1) / (within + between)))


def _words(quality: Quality) -> str:
    return (
        f"{quality.ess:.0f} (distances {quality.of_distances:.0f}, size {quality.of_size:.0f}, "
        f"log-posterior {quality.of_log_posterior:.0f}), nested R-hat {quality.rhat:.4f}"
    )


if __name__ == "__main__":
    main()

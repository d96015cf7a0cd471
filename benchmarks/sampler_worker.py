"""The peers' side of the sampler benchmark: NumPyro's NUTS and BlackJAX's elliptical slice.

Runs in a virtual environment of its own, so it imports nothing of tercet. Its argument is the
number of chains. It takes jobs from standard input as peer_worker.py does: a line of JSON with the
name of a task, its options and two .npz files. The answer has the seconds of compiling, of warm-up
and of sampling; a task writes the draws (chains, draws, n, d).

Everything is in float64. Every chain has a device of its own; each stage is compiled ahead, so
that no compiling is in the other two times.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
import warnings
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.infer.hmc import hmc

TARGET_ACCEPT = 0.8  # NumPyro's default
EVALUATIONS, REPEATS = 200, 5  # to see which form of the likelihood is the faster


def versions(arrays):
    """Return the versions of what is measured."""
    names = ("numpyro", "blackjax", "jax", "numpy")
    return {}, {name: np.array(version(name)) for name in names}


def nuts(arrays, n_warmup, n_draws, seed, variance):
    """Sample the posterior of STE with NUTS: diagonal mass, adapted in warm-up."""
    start, keys = arrays["start"], _keys(seed, len(arrays["start"]))
    form, loss = _faster_form(arrays["triplets"], start, gradient=True)

    def potential(x):
        return loss(x) + (x * x).sum() / (2.0 * variance)

    init_kernel, sample_kernel = hmc(potential, algo="NUTS")

    def warm_up(key, x):
        state = init_kernel(x, n_warmup, target_accept_prob=TARGET_ACCEPT, rng_key=key)
        return jax.lax.fori_loop(0, n_warmup, lambda _, s: sample_kernel(s), state)

    def sample(state):
        def step(state, _):
            state = sample_kernel(state)
            return state, (state.z, state.num_steps, state.diverging)

        return jax.lax.scan(step, state, length=n_draws)[1]

    compiling_warm_up, state, warming = _compile_and_run(warm_up, keys, start)
    compiling, (draws, steps, diverging), sampling = _compile_and_run(sample, state)
    seconds = {"compile": compiling_warm_up + compiling, "warmup": warming, "sampling": sampling}
    result = {
        "draws": draws,
        "steps_per_draw": np.mean(steps),
        "divergences": np.sum(diverging),
        "form": np.array(form),
    }
    return seconds, result


def elliptical_slice(arrays, n_warmup, n_draws, seed, variance):
    """Sample the same posterior with elliptical slice sampling; warm-up is what is thrown away."""
    import blackjax  # starts JAX, after which the number of devices is fixed

    start, keys = arrays["start"], _keys(seed, len(arrays["start"]))
    form, loss = _faster_form(arrays["triplets"], start, gradient=False)
    size = start[0].size
    algorithm = blackjax.elliptical_slice(
        lambda x: -loss(x), mean=jnp.zeros(size), cov=jnp.full(size, variance)
    )

    def warm_up(key, x):
        def step(i, state):
            return algorithm.step(jax.random.fold_in(key, i), state)[0]

        return jax.lax.fori_loop(0, n_warmup, step, algorithm.init(x))

    def sample(key, state):
        def step(state, i):
            state, info = algorithm.step(jax.random.fold_in(key, i), state)
            return state, (state.position, info.subiter)

        return jax.lax.scan(step, state, n_warmup + jnp.arange(n_draws))[1]

    compiling_warm_up, state, warming = _compile_and_run(warm_up, keys, start)
    compiling, (draws, steps), sampling = _compile_and_run(sample, keys, state)
    seconds = {"compile": compiling_warm_up + compiling, "warmup": warming, "sampling": sampling}
    result = {"draws": draws, "steps_per_draw": np.mean(steps), "form": np.array(form)}
    return seconds, result


def _keys(seed, n_chains):
    return jax.random.split(jax.random.PRNGKey(seed), n_chains)


def _compile_and_run(function, *arguments):
    """Compile for one chain a device, then run; return both times and the result."""
    start = time.perf_counter()
    compiled = jax.pmap(function).lower(*arguments).compile()
    ready = time.perf_counter()
    result = jax.block_until_ready(compiled(*arguments))
    return ready - start, result, time.perf_counter() - ready


def _faster_form(triplets, start, gradient):
    """Name and function of the faster of two forms of the negative log-likelihood of STE.

    They are timed as they will be used, with all chains at work.
    """
    forms = {"edges": _by_edges(triplets, start.shape[1]), "matrix": _by_matrix(triplets)}
    runs = {}
    for name, loss in forms.items():

        def repeat(x, loss=loss):
            # Every evaluation needs the one before, so that none can be left out. NUTS asks for
            # value and gradient together; the gradient alone is compiled to other, slower code.
            def step(_, x):
                value, slope = jax.value_and_grad(loss)(x) if gradient else (loss(x), 0.0)
                return x - 1e-12 * (value + slope)

            return jax.lax.fori_loop(0, EVALUATIONS, step, x)

        runs[name] = jax.pmap(repeat)
        jax.block_until_ready(runs[name](start))
    seconds = {name: [] for name in forms}
    for _ in range(REPEATS):
        for name, run in runs.items():
            began = time.perf_counter()
            jax.block_until_ready(run(start))
            seconds[name].append(time.perf_counter() - began)
    fastest = min(forms, key=lambda name: min(seconds[name]))
    return fastest, forms[fastest]


def _by_edges(triplets, n):
    """Squared lengths of the pairs that occur, two look-ups a triplet."""
    pairs = np.sort(np.concatenate([triplets[:, [0, 1]], triplets[:, [0, 2]]]), axis=1)
    numbers, edges = np.unique(pairs @ [n, 1], return_inverse=True)
    first, second = (column.astype(np.int32) for column in np.divmod(numbers, n))
    near, far = np.split(edges.ravel().astype(np.int32), 2)

    def loss(x):
        squared = ((x[first] - x[second]) ** 2).sum(axis=1)
        return jax.nn.softplus(squared[near] - squared[far]).sum()

    return loss


def _by_matrix(triplets):
    """All squared distances by one matrix product, two look-ups a triplet."""
    anchor, near, far = triplets.astype(np.int32).T

    def loss(x):
        norms = (x * x).sum(axis=1)
        squared = (norms[:, None] + norms - 2.0 * x @ x.T).ravel()
        n = len(x)
        return jax.nn.softplus(squared[anchor * n + near] - squared[anchor * n + far]).sum()

    return loss


TASKS = {"versions": versions, "nuts": nuts, "elliptical_slice": elliptical_slice}


def main():
    """Answer every line of standard input with a line of JSON."""
    answers, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    numpyro.enable_x64()
    numpyro.set_host_device_count(int(sys.argv[1]))
    for line in sys.stdin:
        job = json.loads(line)
        try:
            with np.load(job["arrays"]) as file:
                arrays = dict(file)
            seconds, result = TASKS[job["task"]](arrays, **job["options"])
            np.savez(job["result"], **result, **seconds)
            answer = {"seconds": sum(seconds.values()), **seconds}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

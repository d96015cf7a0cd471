"""Chains in lockstep on an accelerator: from a target and starts to chains as the CPU's are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tercet.accelerator.device import computing_on, find_device, memory_of
from tercet.errors import TercetError
from tercet.models.base import Array
from tercet.posterior.chains import Chain, Hill
from tercet.posterior.running import Tick
from tercet.posterior.target import Target

if TYPE_CHECKING:
    from tercet.accelerator.target import Data, Form


def run_in_lockstep(
    target: Target,
    hill: Hill,
    starts: list[tuple[Array, Array]],
    rngs: list[np.random.Generator],
    warmup: int,
    n_samples: int,
    seed: np.random.SeedSequence,
    tick: Tick,
) -> list[Chain]:
    """Warm up and run chains; chain c begins at points and theta of start c modulo their number.

    Chains that begin at the same point are a superchain, as nested R-hat wants them. All chains
    have random numbers of one seed, so that a chain depends on how many there are; ``rngs``, one a
    chain, are for what is drawn apart.
    """
    device, n_chains = find_device("gpu"), len(rngs)
    from tercet.accelerator.sampling import draw_chains, make_sampler, start_chains, warm_up
    from tercet.accelerator.target import bytes_a_chain

    form, data = convert(target, hill.mode.X.shape[1])
    if (needed := n_chains * bytes_a_chain(form, data)) > (there := memory_of(device)):
        fitting = max(1, there * n_chains // needed)
        raise TercetError(
            f"{n_chains} chains need about {needed / 2**30:.1f} GiB on the device, which has "
            f"{there / 2**30:.1f}: use n_chains={fitting} or fewer, or device='cpu'."
        )
    X = np.array([points for points, _ in starts])
    theta = np.array([numbers for _, numbers in starts])
    numbers = np.arange(n_chains) % len(starts)
    A = hill.A[0] if len(hill.A) == 1 else hill.A
    with computing_on(device):
        sampler = make_sampler(form, data, seed, tick)
        tuned = start_chains(sampler, A, hill.widths, X[numbers], theta[numbers])
        tuned = warm_up(sampler, tuned, warmup, len(starts))
        _, kept = draw_chains(sampler, tuned, n_samples)
    unknown = np.full(n_samples, np.nan)
    return [
        Chain(points.astype(np.float64), etas[:, 1:], unknown, -energies, int(divergent.sum()), rng)
        for points, etas, energies, divergent, rng in zip(
            kept.points, kept.etas, kept.energies, kept.divergent, rngs, strict=True
        )
    ]


def convert(target: Target, n_components: int, dtype: str = "float32") -> tuple[Form, Data]:
    """What the accelerator's program depends on, and what it is given, of comparisons by edges."""
    from tercet.accelerator.target import Form, make_data

    problem = target.problem
    form = Form(
        int(target.code),
        tuple(int(name) for name in target.learned),
        problem.n_objects,
        n_components,
        target.scale_sd > 0.0,
        dtype,
    )
    return form, make_data(
        form,
        problem.edges,
        problem.near,
        problem.far,
        problem.weights,
        (target.p, target.q),
        target.precision,
        (target.scale_mean, target.scale_sd),
        target.priors,
    )

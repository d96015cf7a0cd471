"""Replica exchange: chains that pass between maps too far apart for any other move.

A chain is a ladder of replicas, each at a power of the likelihood from 1 down to `LOWEST`. After
every draw of all replicas, neighbours exchange their maps with the probability that leaves the
product of their posteriors invariant (Geyer 1991). A map thus climbs to small powers, at which
groups of objects change sides freely, and returns as another one. Pairs of replicas take turns,
first all that begin at an even number, then all others, which moves maps up and down faster than
pairs at random (Okabe, Kawata, Okamoto & Mikami 2001; Syed, Bouchard-Côté, Deligiannidis & Doucet
2022). The draws are those of the replica at power 1.

The log-likelihood of normal posteriors of K coordinates varies by about sqrt(K / 2) / power, so
powers in constant ratios exchange maps equally often. At powers below 1 the parameters of the model
are held near those of the annealed chains, more so the smaller the power: otherwise parameters at
which answers are mere chance would win there (see `annealing`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tercet.models.base import LAPSE, Array
from tercet.posterior.annealing import heated_metric
from tercet.posterior.chains import Arrays, Chain, ChainDraws, ChainState, DrawShapes, Phase
from tercet.posterior.hamiltonian import (
    DIVERGENT,
    Hamiltonian,
    Metric,
    draw_block,
    refine,
    start_tuning,
    tuned_step,
)
from tercet.posterior.target import Target, log_likelihoods

LOWEST = 0.2
APART = 1.2  # difference of neighbours' powers, in standard deviations of the log-likelihood

_POSITION = ("Y", "eta", "step", "tuner", "first")  # of all replicas; which pairs are next


class Ladder(NamedTuple):
    """Powers of the likelihood, and what holds the parameters."""

    powers: Array  # (L,) from 1 to `LOWEST`
    centre: Array  # (k,)
    precision: Array  # (L, k), 0 at power 1


def make_ladder(target: Target, theta: Array, widths: Array, size: int) -> Ladder:
    """A ladder for maps of ``size`` coordinates; parameters are held near theta, by its widths."""
    ratio = 1.0 + APART / math.sqrt(0.5 * size)
    count = 1 + math.ceil(-math.log(LOWEST) / math.log(ratio))
    powers = LOWEST ** np.linspace(0.0, 1.0, count)
    held = np.where(target.learned == LAPSE, 0.0, widths**-2.0)
    return Ladder(powers, theta, np.outer(1.0 / powers - 1.0, held))


def replica_target(target: Target, ladder: Ladder, level: int) -> Target:
    """The posterior of a replica: the prior of each parameter times a normal density."""
    priors, more = target.priors.copy(), ladder.precision[level]
    for k in np.flatnonzero(more > 0.0):
        mean, sd = target.priors[k]
        precision = sd**-2.0 + more[k]
        priors[k] = (mean * sd**-2.0 + ladder.centre[k] * more[k]) / precision, precision**-0.5
    return target._replace(power=float(ladder.powers[level]), priors=priors)


def log_ratios(ladder: Ladder, likelihoods: Array, thetas: Array, first: int) -> Array:
    """Log acceptance ratios of exchanges of replicas first, first + 2, ... with the next ones.

    Parameters
    ----------
    ladder : Ladder
    likelihoods : (L,) array
        Log-likelihood, at power 1, of the map of each replica.
    thetas : (L, k) array
    first : int
        0 or 1.
    """
    low = np.arange(first, len(likelihoods) - 1, 2)
    high = low + 1
    held = 0.5 * (thetas - ladder.centre) ** 2
    gained = (ladder.powers[low] - ladder.powers[high]) * (likelihoods[high] - likelihoods[low])
    tighter = ladder.precision[low] - ladder.precision[high]
    return np.asarray(gained - np.sum(tighter * (held[high] - held[low]), axis=1))


class Tempered(NamedTuple):
    """Replica exchange of Hamiltonian chains, with everything these share."""

    single: Hamiltonian
    ladder: Ladder

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Those of a single chain."""
        return self.single.phases

    @property
    def block(self) -> int:
        """That of a single chain: the metrics of all replicas are computed once for a block."""
        return self.single.block

    @property
    def shapes(self) -> DrawShapes:
        """Those of a single chain."""
        return self.single.shapes

    def check(self, state: ChainState) -> None:
        """Metric, sizes and steps must be valid."""
        self.single.check(state)

    def start(self, k: int, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        """Start all replicas where the single chain k would."""
        position, adapted = self.single.start(k, rng)
        count = len(self.ladder.powers)
        repeated = {name: np.repeat(array[None], count, axis=0) for name, array in position.items()}
        return repeated | {"first": np.zeros(())}, adapted

    def advance(
        self, state: ChainState, count: int, rng: np.random.Generator
    ) -> tuple[Arrays, ChainDraws]:
        """Draw a block: every replica moves, then neighbours exchange maps."""
        target, ladder = self.single.target, self.ladder
        position = {name: array.copy() for name, array in state.position.items()}
        Y, eta, step, tuner, first = (position[name] for name in _POSITION)
        levels = range(len(ladder.powers))
        targets = [replica_target(target, ladder, level) for level in levels]
        metrics = [
            heated_metric(state.adapted["A"], state.adapted["widths"], power)
            for power in ladder.powers[1:]
        ]
        metrics = [Metric(**state.adapted), *metrics]
        points = np.empty(Y.shape)
        draws, one = self.shapes.empty(count), self.shapes.empty(1)
        for draw in range(count):
            divergent = 0.0
            for level in levels:
                step[level] = draw_block(
                    self.single._replace(target=targets[level]),
                    metrics[level],
                    Y[level],
                    eta[level],
                    step[level],
                    state.phase,
                    tuner[level],
                    rng,
                    one,
                )
                points[level] = one.points[0]
                if level == 0:
                    divergent = one.notes[0, DIVERGENT]
            thetas = np.ascontiguousarray(eta[:, 1:])
            likelihoods = log_likelihoods(target, points, thetas)
            ratios = log_ratios(ladder, likelihoods, thetas, int(first))
            yes = np.log(rng.random(len(ratios))) < ratios
            for low in int(first) + 2 * np.flatnonzero(yes):
                both, other = [low, low + 1], [low + 1, low]
                Y[both], eta[both], points[both] = Y[other], eta[other], points[other]
            first[...] = 1.0 - first
            draws.points[draw], draws.others[draw] = points[0], eta[0]
            draws.notes[draw] = 0.0
            draws.notes[draw, DIVERGENT] = divergent
        return position, draws

    def adapt(self, state: ChainState, draws: ChainDraws) -> tuple[Arrays, Arrays]:
        """Take the tuned steps and, once, refine the metric by the draws at power 1."""
        metric = Metric(**state.adapted)
        if state.phase == 1:
            metric = refine(metric, draws.points, draws.others)
        steps = np.array([tuned_step(tuner) for tuner in state.position["tuner"]])
        tuners = np.array([start_tuning(step) for step in steps])
        return state.position | {"step": steps, "tuner": tuners}, metric._asdict()

    def chain(self, draws: ChainDraws, rng: np.random.Generator) -> Chain:
        """Variances are still to be drawn, and the log-posterior to be computed."""
        unknown = np.full(len(draws.points), np.nan)
        return self.single.chain(draws, rng)._replace(log_posterior=unknown)

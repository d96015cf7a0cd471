"""Maps of a growing set of answers: chains go on where they ended, or start again.

After a few more answers the posterior has hardly moved, so the last state of every chain, with its
metric and step, is a start that needs neither a search nor a long warm-up.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import NamedTuple

from tercet.answers.diagnosis import warn_about
from tercet.answers.either import Answers
from tercet.bootstrap import Bootstrap
from tercet.ensemble import Ensemble
from tercet.errors import DataWarning, ignored
from tercet.posterior import Posterior
from tercet.posterior.draw import Begun

WARMUP = 20  # draws of each chain that are discarded when it goes on
DRAWS = 200  # of all chains together; `suggest` uses as many
GROWTH = 1.25  # times the answers of the last new start, after which there is another
DISAGREE = 1.3  # R-hat of chains that went on, above which they start again
DIVERGENT = 0.05  # the same for the share of divergent transitions


class Fit(NamedTuple):
    """The maps of some answers, and how to go on."""

    ensemble: Ensemble
    chains: Begun | None  # if they can go on
    started_with: int  # answers, when the chains last started anew


def fit_again(
    maker: Posterior | Bootstrap,
    answers: Answers,
    before: Fit | None,
    *,
    warm: bool = True,
    told: bool = False,
) -> Fit:
    """Fit the maker, unfitted and with a seed of its own, to answers.

    Parameters
    ----------
    maker : Posterior or Bootstrap
    answers : Triplets or Choices
    before : Fit, optional
        Of all but the last of these answers.
    warm : bool
        Whether chains may go on from those before.
    told : bool
        Whether it was said what the answers do not determine: the next questions are about that.
    """
    quietly = ignored(DataWarning) if told else nullcontext()
    if not isinstance(maker, Posterior) or not warm or not _goes_on(maker, answers):
        with quietly:
            fitted = maker.fit(answers, n_objects=answers.n_objects)
        return Fit(fitted.ensemble_, None, len(answers))
    if before is not None and before.chains is not None:
        few = len(answers) <= GROWTH * before.started_with
        if few and before.ensemble.n_objects == answers.n_objects:
            went_on = maker._update_quietly(answers, before.chains, DRAWS, WARMUP)
            if went_on is not None and _is_sound(maker):
                return Fit(maker.ensemble_, went_on, before.started_with)
    if not told:
        warn_about(answers, min_answers=maker.embedder.n_components + 1, stacklevel=5)
    chains = maker._begin_quietly(answers)
    if maker.diagnostics_ is not None and not maker.diagnostics_.agree:
        maker._warn_about_chains(chains.plan)  # few effective draws are enough to choose by
    return Fit(maker.ensemble_, chains, len(answers))


def _goes_on(maker: Posterior, answers: Answers) -> bool:
    """Whether the chains of this posterior can go on from others."""
    plan = maker.settle(answers)._plan()
    return plan.sampler == "hmc" and plan.device == "cpu" and maker.checkpoint is None


def _is_sound(maker: Posterior) -> bool:
    """Whether the few draws of chains that went on may be used."""
    found = maker.diagnostics_
    if found is None:
        return True
    few = found.divergences <= DIVERGENT * found.n_chains * found.n_samples
    return few and (found.n_chains == 1 or found.r_hat < DISAGREE)

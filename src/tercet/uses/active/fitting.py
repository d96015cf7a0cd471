"""Maps of a growing set of answers: reweighted, or drawn by chains that go on or start again.

After an answer more, each draw has the weight of that answer's probability in it. As long as the
weights are about equal, drawing from the draws by weight is enough. After a few more the posterior
has still hardly moved, so that the last state of every chain, with its metric and step, is a start
that needs neither a search nor a long warm-up.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from tercet.answers.choices import Choices
from tercet.answers.diagnosis import warn_about
from tercet.answers.either import Answers
from tercet.bootstrap import Bootstrap
from tercet.ensemble import Ensemble
from tercet.errors import DataWarning, ignored
from tercet.posterior import Posterior
from tercet.posterior.draw import Begun

EFFECTIVE = 0.5  # share of the draws that the weights must leave effective
MOST = 1000  # draws to reweight
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
    drawn: Ensemble | None = None  # by the chains, at most `MOST` of them
    drawn_with: int = 0  # answers, when they were drawn


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
            if (weighted := _reweighted(before, answers)) is not None:
                return before._replace(ensemble=weighted)
            went_on = maker._update_quietly(answers, before.chains, DRAWS, WARMUP)
            if went_on is not None and _is_sound(maker):
                return _drawn_now(maker, went_on, before.started_with, answers)
    if not told:
        warn_about(answers, min_answers=maker.embedder.n_components + 1, stacklevel=5)
    chains = maker._begin_quietly(answers)
    if maker.diagnostics_ is not None and not maker.diagnostics_.agree:
        maker._warn_about_chains(chains.plan)  # few effective draws are enough to choose by
    return _drawn_now(maker, chains, len(answers), answers)


def _drawn_now(maker: Posterior, chains: Begun, started_with: int, answers: Answers) -> Fit:
    ensemble = maker.ensemble_
    some = ensemble[:: -(-len(ensemble) // MOST)]
    return Fit(ensemble, chains, started_with, some, len(answers))


def _reweighted(before: Fit, answers: Answers) -> Ensemble | None:
    """The last draws of the chains, drawn again by the weight that the answers since give them.

    None if the weights leave too few of them effective, or if a tie is new.
    """
    drawn, since = before.drawn, answers[before.drawn_with :]
    assert drawn is not None
    ties = isinstance(since, Choices) and bool(since.may_tie.any())
    if not len(since) or (ties and "tie" not in drawn.parameters):
        return None
    log_weight = drawn.log_likelihood(since).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    size = len(drawn)
    if np.sum(weight**2) * EFFECTIVE * size > 1.0:
        return None
    places = (np.arange(size) + 0.5) / size  # systematic: each draw as often as its weight says
    return drawn[np.minimum(np.searchsorted(np.cumsum(weight), places), size - 1)]


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

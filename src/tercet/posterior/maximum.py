"""Where the maximum of the recommended posterior puts what is learned with the points."""

from __future__ import annotations

import numpy as np

from tercet.estimators import CKL
from tercet.parallel import one_blas_thread
from tercet.posterior.draw import build_target
from tercet.posterior.mode import find_modes
from tercet.posterior.posterior import Posterior
from tercet.posterior.settings import first_theta, natural
from tercet.recommended import LEARNED, PENALTY
from tercet.triplets import Triplets

__all__ = ["model_at_maximum"]

_SEARCHES = 4  # from different starts; the best counts
_DIGITS = 4  # of the parameters: nobody knows them better


def model_at_maximum(triplets: Triplets, n_components: int) -> CKL:
    """The crowd kernel with its exponent and mu at the maximum of the recommended posterior.

    Fits of one map have no lapse rate, so the posterior is that without one: answers given at
    random make the exponent smaller instead. The maximum is searched for from the same starts
    whatever the seed: it belongs to the answers and not to the draws.

    Parameters
    ----------
    triplets : Triplets
        Weighed as in the posterior, see `Posterior.weigh`.
    n_components : int
    """
    learned = tuple(name for name in LEARNED if name != "lapse")
    plan = Posterior(CKL(n_components), learn=learned)._plan()
    rngs = [np.random.default_rng(k) for k in range(_SEARCHES)]
    with one_blas_thread():
        target = build_target(plan, triplets)
        theta = first_theta(plan.learn, plan.model)
        best = find_modes(target, plan.model, theta, n_components, rngs, n_jobs=1).mode
    found = natural(plan.learn, best.theta[None])
    exponent, mu = (float(f"{found[name][0]:.{_DIGITS}g}") for name in ("exponent", "mu"))
    return CKL(n_components, exponent=exponent, mu=mu, penalty=PENALTY)

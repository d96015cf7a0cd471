"""Simulation-based calibration of the samplers, and broken ones that it must catch."""

import pytest
from studies import sbc

from tercet.models import CKLModel, STEModel, TSTEModel
from tercet.posterior.draw import draw

pytestmark = pytest.mark.slow

N, D, ANSWERS, REPEATS = 5, 2, 25, 200

# Thirty-five p-values are looked at: by chance one is below this once in 10 000 runs.
LIMIT = 1e-4 / 35


def smallest(model, learned=False, repeats=REPEATS, **settings):
    p = sbc.p_values(sbc.run(model, learned, N, D, ANSWERS, repeats, seed=1, **settings))
    return min((value, name) for name, value in p.items())


@pytest.mark.parametrize("model", [STEModel(), TSTEModel()], ids=str)
@pytest.mark.parametrize("learned", [False, True])
def test_truths_are_draws_from_their_own_posterior(model, learned):
    assert smallest(model, learned) > (LIMIT, "")


def test_learned_parameters_too():
    learn = {"lapse": (2.0, 8.0), "exponent": (2.0, 0.5)}
    assert smallest(CKLModel(), learn=learn) > (LIMIT, "")


def test_elliptical_slices_too():
    assert smallest(STEModel(), True, 100, sampler="elliptical_slice") > (LIMIT, "")


# ---- what must be caught


def test_a_prior_variance_half_as_large_again_is_caught():
    assert smallest(STEModel(), repeats=2 * REPEATS, wrong=1.5) < (LIMIT, "")


def test_another_model_is_caught():
    def sample(plan, *arguments):
        return draw(plan._replace(model=TSTEModel()), *arguments)

    assert smallest(STEModel(), sample=sample) < (LIMIT, "")


def test_answers_counted_twice_are_caught():
    """The posterior is then too narrow, around the right place."""

    def sample(plan, triplets, *arguments):
        return draw(plan, triplets[[*range(ANSWERS), *range(ANSWERS)]], *arguments)

    assert smallest(STEModel(), sample=sample) < (LIMIT, "")

"""Simulation-based calibration of the samplers, and broken ones that it must catch."""

import numpy as np
import pytest

from studies import sbc
from tercet import Choices, Triplets
from tercet.answers.choices import restore
from tercet.models import CKLModel, STEModel, TSTEModel
from tercet.posterior.draw import draw

pytestmark = pytest.mark.slow

N, D, ANSWERS, REPEATS = 5, 2, 25, 200

# Fifty p-values are looked at: by chance one is below this once in 10 000 runs.
LIMIT = 1e-4 / 50


def smallest(model, learned=False, repeats=REPEATS, n=N, **settings):
    p = sbc.p_values(sbc.run(model, learned, n, D, ANSWERS, repeats, seed=1, **settings))
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


def odd_one_out(rng):
    rows = np.array([rng.permutation(N)[:3] for _ in range(ANSWERS)])
    return Choices.odd_one_out(rows, n_objects=N)


def three_of_nine(rng):
    """Six screens about ten objects."""
    rows = np.array([rng.permutation(10) for _ in range(6)])
    return Choices.nearest(rows[:, 0], rows[:, 1:], rows[:, 1:4])


def test_choices_of_the_odd_one_out_too():
    learn = {"lapse": (2.0, 8.0)}
    assert smallest(STEModel(), ask=odd_one_out, learn=learn) > (LIMIT, "")


def test_choices_of_three_among_nine_too():
    assert smallest(STEModel(), n=10, ask=three_of_nine) > (LIMIT, "")


def shown_anywhere(rng):
    """Odd ones out at known positions."""
    rows = np.array([rng.permutation(N)[:3] for _ in range(ANSWERS)])
    shown = np.array([rng.permutation(3) for _ in range(ANSWERS)])
    return Choices.odd_one_out(rows, n_objects=N, positions=shown)


TIES = {"tie": (1.0, 0.8), "bias": (1.0, 0.7)}


def test_ties_and_sides_too():
    assert smallest(STEModel(), ask=shown_anywhere, learn=TIES) > (LIMIT, "")


# ---- what must be caught


def test_ties_that_are_left_out_are_caught():
    """The posterior of the rest has no fewer ties to explain, but pairs are too far apart."""

    def sample(plan, choices, *arguments):
        few = choices[~choices.tied]
        return draw(plan, few if len(few) else choices, *arguments)

    assert smallest(STEModel(), ask=shown_anywhere, learn=TIES, repeats=120, sample=sample) < (
        LIMIT,
        "",
    )


def test_sides_that_are_mistaken_are_caught():
    def sample(plan, choices, *arguments):
        turned = choices._fields._replace(positions=(choices.positions + 1) % 3)
        return draw(plan, restore(turned), *arguments)

    assert smallest(STEModel(), ask=shown_anywhere, learn=TIES, repeats=120, sample=sample) < (
        LIMIT,
        "",
    )


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


@pytest.mark.parametrize(("ask", "n"), [(odd_one_out, N), (three_of_nine, 10)])
def test_choices_split_into_independent_comparisons_are_caught(ask, n):
    """One choice is less than so many independent comparisons: the posterior is too narrow."""

    def sample(plan, choices, *arguments):
        return draw(plan, Triplets(choices.triplets().array, n_objects=n), *arguments)

    assert smallest(STEModel(), repeats=2 * REPEATS, n=n, ask=ask, sample=sample) < (LIMIT, "")

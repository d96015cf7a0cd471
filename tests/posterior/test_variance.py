"""The learned scale: summed out against quadrature, drawn against its exact distribution."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from tercet.posterior.variance import draw_variance, draw_variances, mode_of_log, sum_out

SQUARES = [1e-6, 0.1, 1.0, 30.0, 1e4]
FREEDOMS = [2.0, 8.0, 98.0]


def log_density(u, s, freedom, mean, sd):
    return -0.5 * ((u - mean) / sd) ** 2 - 0.5 * freedom * u - 0.5 * s * np.exp(-u)


def exact(function, s, freedom, mean, sd):
    """Integral over u of function(u) times the density, which is 1 at its mode."""
    mode, width = mode_of_log(s, freedom, mean, sd)
    top = log_density(mode, s, freedom, mean, sd)

    def integrand(u):
        return function(u) * np.exp(log_density(u, s, freedom, mean, sd) - top)

    places = mode + width * np.array([-60.0, -8.0, -3.0, 0.0, 3.0, 8.0, 16.0, 80.0])
    parts = [quad(integrand, a, b, epsabs=0, epsrel=1e-11)[0] for a, b in pairwise(places)]
    return sum(parts), top


@pytest.mark.parametrize("s", SQUARES)
@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("sd", [0.3, 1.5])
def test_the_mode_is_one(s, freedom, sd):
    mode, width = mode_of_log(s, freedom, 0.7, sd)
    h = 1e-4
    at = [log_density(mode + k * h, s, freedom, 0.7, sd) for k in (-1, 0, 1)]
    slope, bend = (at[2] - at[0]) / (2 * h), (at[0] - 2 * at[1] + at[2]) / h**2
    assert slope * width == pytest.approx(0.0, abs=1e-6)
    assert bend * width**2 == pytest.approx(-1.0, rel=1e-3)


@pytest.mark.parametrize("s", SQUARES)
@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize(("sd", "rel"), [(0.3, 1e-11), (1.0, 1e-8), (1.5, 5e-7), (3.0, 5e-3)])
def test_summed_out_it_is_the_integral(s, freedom, sd, rel):
    energy, slope = sum_out(s, freedom, 0.7, sd)
    total, top = exact(lambda u: 1.0, s, freedom, 0.7, sd)
    half_precision, _ = exact(lambda u: 0.5 * np.exp(-u), s, freedom, 0.7, sd)
    assert energy == pytest.approx(-top - np.log(total), abs=10 * rel, rel=1e-13)
    assert slope == pytest.approx(half_precision / total, rel=rel)


@pytest.mark.parametrize("s", SQUARES)
@pytest.mark.parametrize("freedom", FREEDOMS)
def test_the_slope_is_that_of_the_energy(s, freedom):
    h = 1e-4 * s
    rise = sum_out(s + h, freedom, -1.0, 0.8)[0] - sum_out(s - h, freedom, -1.0, 0.8)[0]
    assert sum_out(s, freedom, -1.0, 0.8)[1] == pytest.approx(rise / (2 * h), rel=1e-5)


def test_no_spread_to_speak_of_is_a_known_variance():
    energies = [sum_out(s, 8.0, np.log(4.0), 1e-4) for s in (3.0, 11.0)]
    assert energies[1][0] - energies[0][0] == pytest.approx((11.0 - 3.0) / 8.0, rel=1e-5)
    assert energies[0][1] == pytest.approx(1.0 / 8.0, rel=1e-5)


def test_points_that_coincide_have_a_finite_energy():
    energy, slope = sum_out(0.0, 8.0, 0.0, 1.5)
    assert np.isfinite([energy, slope]).all()


@pytest.mark.parametrize(
    ("s", "freedom", "mean", "sd"),
    [(1.0, 2.0, 0.0, 1.5), (20.0, 8.0, 1.0, 0.5), (1e-3, 14.0, 0.0, 1.5), (5e3, 98.0, 0.0, 3.0)],
)
def test_variances_drawn_have_the_exact_distribution(s, freedom, mean, sd):
    rng = np.random.default_rng(1)
    drawn = np.log([draw_variance(s, freedom, mean, sd, rng) for _ in range(20_000)])
    mode, width = mode_of_log(s, freedom, mean, sd)
    u = mode + width * np.linspace(-15.0, 40.0, 20_001)
    density = np.exp(log_density(u, s, freedom, mean, sd) - log_density(mode, s, freedom, mean, sd))
    cumulated = np.cumsum(density) / density.sum()
    # Kolmogorov's test; one set in 100 000 would be as far off.
    assert stats.kstest(drawn, lambda x: np.interp(x, u, cumulated)).pvalue > 1e-5


def test_many_variances_are_those_drawn_one_by_one():
    one, many = np.random.default_rng(3), np.random.default_rng(3)
    squares = np.geomspace(0.1, 100.0, 20)
    expected = [draw_variance(s, 14.0, 0.0, 1.5, one) for s in squares]
    np.testing.assert_array_equal(draw_variances(squares, 14.0, 0.0, 1.5, many), expected)
    assert one.random() == many.random()


@pytest.mark.parametrize("s", SQUARES)
@pytest.mark.parametrize("freedom", [2.0, 4.0, 14.0])
@pytest.mark.parametrize("sd", [0.3, 1.5, 100.0])
def test_the_density_lies_below_what_it_is_drawn_from(s, freedom, sd):
    mode, width = mode_of_log(s, freedom, 0.0, sd)
    t = np.concatenate([np.linspace(-20.0, 20.0, 4001), np.geomspace(20.0, 1e3, 200)])
    density = log_density(mode + 1.5 * width * t, s, freedom, 0.0, sd)
    top = log_density(mode, s, freedom, 0.0, sd)
    assert np.all(density - top <= -2.0 * np.log1p(t * t / 3.0) + 1e-9)


@pytest.mark.parametrize("s", [0.0, 1e-320, 1e200, np.inf, np.nan])
def test_any_squares_have_a_variance_or_none_at_once(s):
    """Rejection would go on for ever where nothing can be accepted."""
    found = draw_variance(s, 10.0, 0.0, 1.0, np.random.default_rng(0))
    assert (found > 0.0) == np.isfinite(s)

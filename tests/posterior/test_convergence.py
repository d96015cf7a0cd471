"""R-hat and effective sample sizes of many quantities at once are those of ArviZ."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy import stats

from tercet.posterior import convergence as module
from tercet.posterior.convergence import convergence

AXES = {"chain_axis": 1, "draw_axis": 2}


def quantities(chains, draws, seed=0):
    """Chains that alternate, wander, stick, stand still, are elsewhere, wider or on their way."""
    values = np.random.default_rng(seed).standard_normal((12, chains, draws))
    memory = np.array([-0.9, -0.5, 0.0, 0.5, 0.9, 0.99, 0.3, 0.7, 0.0, 0.0, 0.3, 0.0])[:, None]
    for t in range(1, draws):
        values[:, :, t] = memory * values[:, :, t - 1] + np.sqrt(1 - memory**2) * values[:, :, t]
    values[6] = np.round(values[6], 1)  # ties
    values[7] = np.round(values[7])
    values[8] = 3.0
    values[9] = np.arange(chains)[:, None]
    values[10, 0] = 4.0 * values[10, 0] + 2.0
    values[11] += np.linspace(0.0, 3.0, draws)
    return values


def arviz(values):
    with np.errstate(divide="ignore", invalid="ignore"):  # chains that stand still
        return (
            array_stats.rhat(values, **AXES),
            array_stats.ess(values, method="bulk", **AXES),
            array_stats.ess(values, method="tail", prob=(0.05, 0.95), **AXES),
        )


@pytest.mark.parametrize("chains", [1, 2, 5, 40])
@pytest.mark.parametrize("draws", [3, 4, 5, 6, 7, 8, 9, 12, 13, 50, 301])
def test_the_numbers_are_those_of_arviz(chains, draws):
    values = quantities(chains, draws)
    for name, found, expected in zip(
        ("r_hat", "bulk", "tail"), convergence(values), arviz(values), strict=True
    ):
        if chains > 1 or name != "r_hat":  # ArviZ has none of a single chain
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_single_chain_is_compared_with_itself_half_with_half():
    """As ArviZ compares two chains without splitting them."""
    values = np.random.default_rng(0).standard_normal((6, 1, 100)) + np.linspace(0.0, 1.0, 100)
    halves = values.reshape(6, 2, 50)
    scores = stats.norm.ppf((stats.rankdata(halves.reshape(6, -1), axis=1) - 0.375) / 100.25)
    apart = np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True)).reshape(6, -1)
    folded = stats.norm.ppf((stats.rankdata(apart, axis=1) - 0.375) / 100.25)
    expected = [
        array_stats.rhat(each.reshape(6, 2, 50), method="identity", **AXES)
        for each in (scores, folded)
    ]
    found = convergence(values).r_hat
    np.testing.assert_allclose(found, np.max(expected, axis=0), rtol=1e-12)
    assert found.max() > 1.05


def test_quantities_in_pieces(monkeypatch):
    """Many do not go into memory together, and cannot tell how they were cut."""
    values = quantities(4, 60)
    whole = convergence(values)
    monkeypatch.setattr(module, "_TOGETHER", 5 * 4 * 60)
    for pieces, expected in zip(convergence(values), whole, strict=True):
        np.testing.assert_array_equal(pieces, expected)


def test_what_is_not_a_number_spoils_its_own_quantity_alone():
    values = quantities(4, 60)
    expected = convergence(values[[0, 2]])
    values[1, 2, 3] = np.nan
    for found, others in zip(convergence(values[:3]), expected, strict=True):
        assert np.isnan(found[1])
        np.testing.assert_array_equal(found[[0, 2]], others)


def test_infinite_draws():
    """A chain of infinite log-posteriors is larger than the others, however far."""
    values = quantities(2, 60)[:4]
    values[:2, 0] = np.inf  # half of the draws: their median is infinite
    values[2, 0, :7] = -np.inf
    for found, expected in zip(convergence(values), arviz(values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("superchains", [2, 3, 8])
@pytest.mark.parametrize("draws", [4, 7, 21])
def test_nested_r_hat_is_that_of_arviz(superchains, draws):
    """Of 19 chains the last are left out; from 8 draws on, halves are compared, too."""
    values = quantities(19, draws)[:8]
    whole = 19 // superchains * superchains
    expected = array_stats.rhat_nested(values[:, :whole], np.arange(whole) % superchains, **AXES)
    if draws >= 8:
        half = draws // 2
        halves = np.concatenate([values[:, :, :half], values[:, :, -half:]], axis=1)
        of_halves = array_stats.rhat_nested(halves, np.repeat([0, 1], 19), **AXES)
        expected = np.maximum(expected, of_halves)
    np.testing.assert_allclose(convergence(values, superchains).r_hat, expected, rtol=1e-12)

"""Choices among more than two alternatives on the accelerator, against those of the CPU.

JAX's CPU device stands for a GPU where there is none.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.accelerator.test_target import assert_same

import tercet as tc
from tercet.accelerator.device import PLATFORM
from tercet.accelerator.lists import Group, loss_and_slopes
from tercet.answers.choices import BEST_WORST, FARTHEST, ORDERED, UNORDERED
from tercet.models import CKLModel, ShepardModel, STEModel, TSTEModel, luce

pytestmark = pytest.mark.slow

N = 9
GROUPS = [
    (ORDERED, 1, 3),
    (ORDERED, 2, 8),
    (ORDERED, 7, 8),
    (UNORDERED, 2, 5),
    (UNORDERED, 4, 6),
    (UNORDERED, 5, 7),
    (UNORDERED, 9, 12),
    (FARTHEST, 1, 4),
    (BEST_WORST, 2, 3),
    (BEST_WORST, 2, 5),
]
MODELS = [STEModel(), TSTEModel(), CKLModel(), CKLModel(0.0, exponent=1.5), ShepardModel(1.3)]
CASES = [
    *((model, ()) for model in MODELS),
    (STEModel(), ("lapse",)),
    (TSTEModel(), ("lapse",)),
    (CKLModel(), ("lapse", "exponent", "mu")),
    (ShepardModel(), ("lapse", "gamma")),
]


@pytest.fixture(autouse=True)
def _an_accelerator(monkeypatch):
    if jax.default_backend() == "cpu":
        monkeypatch.setenv(PLATFORM, "cpu")
    with jax.enable_x64(True):
        yield


def shown(rng, count, size):
    return np.array([rng.permutation(N)[:size] for _ in range(count)])


def of_every_kind(weighted=True, comparisons=True, each=8):
    """Choices of all kinds among the objects, and comparisons."""
    rng = np.random.default_rng(0)
    place = np.zeros(each, dtype=int)
    screens = shown(rng, each, 8)
    anchors, rest = screens[:, 0], screens[:, 1:]
    parts = [
        tc.Choices.odd_one_out(shown(rng, each, 3), place, n_objects=N),
        tc.Choices.odd_one_out(shown(rng, each, 3), place + 1, n_objects=N),
        tc.Choices.most_central(shown(rng, each, 3), place, n_objects=N),
        tc.Choices.most_central(shown(rng, each, 5), place, n_objects=N),
    ]
    return rng, parts, anchors, rest


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_a_choice_is_that_of_the_cpu(group, spread):
    kind, chosen, size = group
    rng = np.random.default_rng(0)
    u = (spread * rng.standard_normal((size, 50))).astype(np.float32).astype(np.float64)
    loss, slopes = np.empty(50), np.empty_like(u)
    for c in range(50):
        slope = np.empty(size)
        loss[c] = luce.choice_loss(kind, chosen, np.ascontiguousarray(u[:, c]), slope)
        slopes[:, c] = slope
    for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-5)):
        found = loss_and_slopes(Group(*group), jnp.asarray(u, dtype))
        assert found[0].dtype == found[1].dtype == dtype
        assert_same(found, (loss, slopes), tolerance)

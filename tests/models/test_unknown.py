"""A model that the engine does not know is refused, whoever is asked to fit it."""

from dataclasses import dataclass

import numpy as np
import pytest

import tercet as tc
from tercet.engine.kernels import code_of
from tercet.errors import InputError
from tercet.models import Model, STEModel, TSTEModel, known_models
from tercet.models.tste import tste_similarity

ROWS = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 2, 1]])


def flat(p, q, near, far, loss, d_near, d_far):
    """Nothing is told apart."""
    loss[:], d_near[:], d_far[:] = np.log(2.0), 0.0, 0.0


@dataclass(frozen=True)
class OwnKernel(Model):
    """A kernel that the engine has not compiled."""

    kernel = flat
    similarity = tste_similarity


@dataclass(frozen=True)
class OtherKernel(STEModel):
    """A known model with a kernel of its own."""

    kernel = flat


@dataclass(frozen=True)
class OwnLoss(STEModel):
    """A loss that only Python knows."""

    def loss(self, near, far, n_components=2):
        """Twice that of STE."""
        return tuple(2.0 * part for part in super().loss(near, far, n_components))


@dataclass(frozen=True)
class OtherSimilarity(STEModel):
    """A known model with the similarity of another one."""

    similarity = tste_similarity


UNKNOWN = [OwnKernel(), OtherKernel(), OwnLoss(), OtherSimilarity()]


class Own(tc.STE):
    """An estimator of some model."""

    def __init__(self, chosen=None, penalty=0.0, **more):
        super().__init__(**more)
        self.chosen, self.penalty = chosen, penalty

    def model(self):
        """The one chosen."""
        return self.chosen


@pytest.mark.parametrize("model", UNKNOWN, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    "fit",
    [
        lambda own: own.fit(ROWS),
        lambda own: tc.Bootstrap(own, n_samples=2, progress=False).fit(ROWS),
        lambda own: tc.Posterior(own, n_samples=4, n_chains=1, progress=False).fit(ROWS),
    ],
    ids=["estimator", "bootstrap", "posterior"],
)
@pytest.mark.filterwarnings("ignore")
def test_a_model_that_the_engine_does_not_know_is_refused(model, fit):
    said = rf"{type(model).__name__} is not a model that the engine can fit.*CONTRIBUTING\.md"
    with pytest.raises(InputError, match=said):
        fit(Own(model, n_components=2, penalty=0.1))


def test_the_models_of_the_engine_have_their_codes():
    codes = [code_of(kind()) for kind in known_models().values()]
    assert codes == list(range(len(known_models())))


@dataclass(frozen=True)
class Fixed(TSTEModel):
    """A known model with constants of its own."""

    alpha: float | None = 3.0


def test_other_constants_are_no_other_model():
    assert code_of(Fixed()) == code_of(TSTEModel())

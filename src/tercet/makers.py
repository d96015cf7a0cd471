"""What Bootstrap and Posterior share, and the recommended settings an integer stands for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from tercet.answers.choices import Choices
from tercet.answers.either import Answers
from tercet.answers.streams import StreamedTriplets
from tercet.arrays import Floats
from tercet.embedder import Embedder, refuse_choices, score_of
from tercet.ensemble.answering import in_portions
from tercet.ensemble.ensemble import LARGEST_TABLE, Ensemble
from tercet.estimators import Shepard
from tercet.metrics import predicted_correctly
from tercet.models.luce import agreement_with
from tercet.running.checkpoint import Checkpoint, PathLike, open_checkpoint
from tercet.running.provenance import Seed, describe

__all__ = [
    "LEARNED",
    "QUICK",
    "REPLICATES",
    "Maker",
    "Sizes",
    "chain_sizes",
    "resolve",
]

LEARNED = ("gamma", "tail", "lapse")
REPLICATES = 200  # of a bootstrap: 95 % intervals are read off the fifth from either end

MANY = 30_000  # answers above which two chains are the default
MOST_ANSWERS, MOST_OBJECTS = 300_000, 300  # above which chains take very long to converge

# For choosing among numbers of answers: many short runs of the same model.
QUICK: dict[str, Any] = {"n_samples": 250, "n_chains": 2, "warmup": 250}


class Sizes(NamedTuple):
    """Length and number of the chains of a posterior."""

    n_samples: int  # of each chain
    n_chains: int


def chain_sizes(n_rows: int) -> Sizes:
    """Default sizes for a number of rows: with many answers, fewer draws are enough."""
    return Sizes(500, 2) if n_rows > MANY else Sizes(1000, 4)


def resolve(estimator: Embedder | int) -> Embedder:
    """The estimator; a number stands for the recommended one of that dimension."""
    return estimator if isinstance(estimator, Embedder) else Shepard(int(estimator))


# --- the base class of both ---------------------------------------------------------------------


class Maker(BaseEstimator, ABC):  # type: ignore[misc]
    """A scikit-learn estimator whose ``fit`` turns answers into an ``ensemble_``.

    ``fit`` is for users: it checks the answers and warns about problems with them and with the
    result. ``_fit_quietly`` does the same without warnings, for answers already checked.
    """

    ensemble_: Ensemble
    classes_: NDArray[np.int64]
    estimator: Embedder | int
    random_state: Seed
    checkpoint: PathLike | None

    def predict_proba(self, Q: Any) -> Floats:
        """Probability (m, 2) that the next person answers "far" and "near"; not of a loss."""
        check_is_fitted(self, "ensemble_")
        refuse_choices(Q)
        near = self.ensemble_.answer_probability(Q)
        return np.stack([1.0 - near, near], axis=1)

    def predict(self, Q: Any) -> NDArray[np.int64]:
        """The more likely answer (m,), +1 for near and -1 for far; by π if there is no model.

        For Choices, +1 where what was chosen is the most likely outcome, else -1.
        ``ensemble_.predict`` abstains where it is uncertain.
        """
        check_is_fitted(self, "ensemble_")
        ensemble = self.ensemble_
        if isinstance(Q, StreamedTriplets):
            return np.concatenate([self.predict(block) for block in Q.blocks()])
        if isinstance(Q, Choices):
            return np.where(predicts_choices(ensemble, Q) > 0.5, 1, -1)
        by_model = ensemble.model is not None and ensemble.model.is_probability
        probability = ensemble.answer_probability if by_model else ensemble.triplet_probability
        return np.where(probability(Q) > 0.5, 1, -1)

    def score(self, X: Any, y: ArrayLike | None = None) -> float:
        """Weighted share of the answers whose more likely outcome is predicted correctly.

        Parameters
        ----------
        X : Choices, Triplets, (m, 3) or (m, 4) array, or StreamedTriplets
            Of choices the whole outcome is predicted.
        y : (m,) array of +1 and -1, optional
            -1 reverses a row, as in ``fit``.
        """
        return score_of(self.predict, X, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True  # objects are numbered from 0
        tags.target_tags.required = False
        tags.estimator_type = "classifier"  # of rows: +1 near, -1 far
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    @property
    def embedder(self) -> Embedder:
        """The estimator; a number stands for the recommended one."""
        return resolve(self.estimator)

    def in_dimension(self, n_components: int) -> Self:
        """An unfitted copy for maps of that dimension."""
        key = "estimator__n_components" if isinstance(self.estimator, Embedder) else "estimator"
        copy: Self = clone(self).set_params(**{key: n_components})
        return copy

    @abstractmethod
    def _fit_quietly(self, answers: Answers) -> Self:
        """Fit to answers that are already checked, without warnings."""

    def _open_checkpoint(
        self, answers: Answers | StreamedTriplets, more: Mapping[str, Any]
    ) -> Checkpoint:
        """The checkpoint of a fit to these answers; ``more`` is anything else it depends on."""
        data = {"number of objects": answers.n_objects, "names of objects": answers.names, **more}
        if isinstance(answers, Choices):
            data |= {"alternatives": answers.pairs, "weights": answers.weights}
            data |= {"sizes": answers.cuts, "kinds": answers.kinds, "chosen": answers.n_chosen}
            if answers.positions is not None:
                data["positions"] = answers.positions
        elif isinstance(answers, StreamedTriplets):
            data["comparisons"] = None if self.checkpoint is None else answers.digest()
        else:
            data |= {"comparisons": answers.array, "weights": answers.weights}
        return open_checkpoint(self.checkpoint, describe(self), data, self.random_state)


def predicts_choices(ensemble: Ensemble, choices: Choices) -> Floats:
    """Whether the most likely outcome of each choice (m,) is what was chosen.

    1, 0, or a share if several outcomes are as likely. For models without a likelihood, whether
    every comparison within the choice is more likely true than not; "cannot tell" has none and is
    never predicted.
    """
    if ensemble.model is None or not ensemble.model.is_probability:
        split, found = choices.triplets(), np.where(choices.tied, 0.0, 1.0)
        right = predicted_correctly(ensemble.triplet_probability(split))
        assert split.screens is not None  # the numbers of the choices
        np.minimum.at(found, split.screens, right)
        return found
    parts = []
    for part in in_portions(choices, LARGEST_TABLE // len(ensemble)):
        first = ensemble.choice_tables(part)[1].mean(axis=1)
        right, in_order = np.empty(len(part)), np.empty(len(part))
        agreement_with(part.kinds, part.cuts, part.n_chosen, first, right, in_order)
        parts.append(right)
    return np.concatenate(parts)

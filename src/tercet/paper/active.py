"""Active learning: one run on one data set, and the tasks its embeddings are tested on.

A run starts with answers to random comparisons, embeds them, chooses the next batch by one of the
strategies, and so on until the budget is spent (paper, sections 4.4 and 5.5).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier

from tercet import simulate
from tercet.answers.triplets import Triplets
from tercet.arrays import Bools, Floats, Index
from tercet.datasets import Dataset, load_breast_cancer, load_mnist_digits, load_satellite
from tercet.embedder import Embedder
from tercet.ensemble import Ensemble
from tercet.errors import ignored
from tercet.paper.experiments import Result, Row
from tercet.paper.methods import (
    CHOICE,
    ESTIMATORS,
    LABELS,
    METHOD,
    NOISE,
    PI,
    POINTS,
    RECOMMENDED,
    draw_ensemble,
    score_probabilities,
    stream,
)
from tercet.paper.settings import (
    ACTIVE_CHAINS,
    ACTIVE_DIMENSION,
    ACTIVE_NOISE,
    GRAPH_NEIGHBOURS,
    NEIGHBOURS,
)
from tercet.uses.active import suggest

__all__ = [
    "DATASETS",
    "FEATURES",
    "INFORMATION_GAIN",
    "RANDOM",
    "SATELLITE",
    "PaperWorld",
    "classify",
    "cluster",
    "load",
    "run",
    "true_triplet_error",
    "try_features",
]


SATELLITE, MNIST, BREAST_CANCER = "Satellite", "MNIST", "Breast Cancer"
DATASETS: dict[str, Callable[[], Dataset]] = {
    SATELLITE: load_satellite,
    MNIST: partial(load_mnist_digits, 6, 8),
    BREAST_CANCER: load_breast_cancer,
}
RANDOM, INFORMATION_GAIN = "random", "information gain"
FEATURES = "features"  # no embedding: the tasks on the data themselves


class PaperWorld(NamedTuple):
    """Objects that are compared."""

    number: int  # of the data set, part of the key of every seed
    points: Floats  # (n, p)
    labels: Index  # (n,)


def load(dataset: str, points: int) -> PaperWorld:
    """The objects of a data set that are compared: the same in all repeats."""
    found = DATASETS[dataset]()
    features, labels = found.features, found.labels
    assert features is not None
    assert labels is not None
    number = list(DATASETS).index(dataset)
    chosen = stream(0, POINTS, number).choice(len(features), points, replace=False)
    return PaperWorld(number, features[chosen], labels[chosen])


# --- the tasks --------------------------------------------------------------------------------


def all_squared_distances(points: Floats) -> Floats:
    """Squared distances (n, n) of all pairs, rounded as those of `tercet.metrics`."""
    return np.stack([np.einsum("ij,ij->i", step, step) for step in (points - x for x in points)])


def nearer(lengths: Floats) -> Bools:
    """Whether j is nearer to i than l is, (n, n, n) in this order; False where i is j or l."""
    blank = lengths.copy()
    np.fill_diagonal(blank, np.nan)
    return np.asarray(blank[:, :, np.newaxis] < blank[:, np.newaxis, :])


def true_triplet_error(embedding: Floats, true: Bools) -> float:
    """Share of the true triplets that an embedding does not satisfy (section 5.5).

    As `tercet.metrics.triplet_error`, but for all triplets at once, not one row for each.

    Parameters
    ----------
    embedding : (n, d) array
    true : (n, n, n) boolean array
        What `nearer` says of the true distances.
    """
    wrong = true & ~nearer(all_squared_distances(embedding))
    return float(np.count_nonzero(wrong) / np.count_nonzero(true))


def classify(points: Floats, world: PaperWorld, repeat: int) -> float:
    """Error of a nearest-neighbour classifier that learns from half of each class."""
    order = stream(repeat, LABELS, world.number).permutation(len(points))
    order = order[np.argsort(world.labels[order], kind="stable")]
    learnt, asked = order[::2], order[1::2]
    classifier = KNeighborsClassifier(NEIGHBOURS).fit(points[learnt], world.labels[learnt])
    return float(np.mean(classifier.predict(points[asked]) != world.labels[asked]))


def cluster(points: Floats, world: PaperWorld, repeat: int) -> float:
    """Adjusted Rand index of normalised spectral clustering against the labels."""
    clustering = SpectralClustering(
        len(np.unique(world.labels)),
        affinity="nearest_neighbors",
        n_neighbors=GRAPH_NEIGHBOURS,
        random_state=int(stream(repeat, LABELS, world.number, 1).integers(2**31)),
        n_jobs=1,
    )
    # Disconnected groups of points do no harm to clustering.
    with ignored(UserWarning, "Graph is not fully connected"):
        return float(adjusted_rand_score(world.labels, clustering.fit_predict(points)))


def try_tasks(points: Floats, world: PaperWorld, repeat: int) -> Row:
    """Classification and clustering."""
    return {
        "kNN error": classify(points, world, repeat),
        "ARI": cluster(points, world, repeat),
    }


def try_features(dataset: str, points: int, repeat: int) -> Result:
    """Both tasks on the features themselves, for comparison."""
    world = load(dataset, points)
    return {"rows": [{"strategy": FEATURES} | try_tasks(world.points, world, repeat)]}


# --- the run ----------------------------------------------------------------------------------


def run(
    dataset: str,
    model: str,
    strategy: str,
    points: int,
    seed_answers: int,
    batch: int,
    budget: int,
    repeat: int,
    draws: int = 0,
    noise: float = ACTIVE_NOISE,
    dimension: int = ACTIVE_DIMENSION,
) -> Result:
    """A learning curve; all strategies of a repeat start from the same answers.

    Every step embeds all answers with the model, whatever chose them. The recommended strategy
    has beside it the error of what its own posterior predicts.
    """
    world = load(dataset, points)
    true = nearer(np.sqrt(all_squared_distances(world.points)))
    answers: Index = np.empty((0, 3), dtype=np.int64)
    seed = stream(repeat, CHOICE, world.number, 0)
    asked = simulate.random_comparisons(points, seed_answers, replace=True, random_state=seed)
    rows: list[Row] = []
    last = (budget - seed_answers) // batch
    for step in range(last + 1):
        key = (world.number, step)
        given = simulate.answer(
            world.points, asked, noise=noise, random_state=stream(repeat, NOISE, *key)
        )
        answers = np.concatenate([answers, given])
        triplets = Triplets(answers, n_objects=points)
        estimator = ESTIMATORS[model](dimension, random_state=stream(repeat, METHOD, *key))
        embedding = estimator.fit(triplets).embedding_
        row: Row = {"answers": len(answers), "triplet error": true_triplet_error(embedding, true)}
        row |= try_tasks(embedding, world, repeat)
        rows.append(row)
        if step == last and strategy != RECOMMENDED:
            break
        ensemble = believe(strategy, model, estimator, triplets, repeat, draws, key)
        if strategy == RECOMMENDED:
            row["triplet error of the posterior"] = posterior_error(ensemble, true)
        if step < last:
            seed = stream(repeat, CHOICE, world.number, step + 1)
            asked = choose_batch(strategy, ensemble, triplets, batch, seed)
    return {"rows": rows}


def believe(
    strategy: str,
    model: str,
    estimator: Embedder,
    triplets: Triplets,
    repeat: int,
    draws: int,
    key: tuple[int, int],
) -> Ensemble:
    """The ensemble by which a strategy chooses: draws of its method, or the one embedding."""
    if strategy in (RANDOM, INFORMATION_GAIN):
        return Ensemble(estimator.embedding_[np.newaxis], model=estimator.model())
    d = estimator.n_components
    return draw_ensemble(strategy, model, d, triplets, repeat, draws, *key, chains=ACTIVE_CHAINS)


def choose_batch(
    strategy: str,
    ensemble: Ensemble,
    triplets: Triplets,
    batch: int,
    seed: np.random.Generator,
) -> Index:
    """The next comparisons (batch, 3).

    The paper's strategies may repeat questions, without a limit per anchor;
    the recommended one asks nothing twice, and of no anchor more than twice its share.
    """
    n = triplets.n_objects
    options: dict[str, Any]
    if strategy == RANDOM:
        return simulate.random_comparisons(n, batch, replace=True, random_state=seed)
    if strategy == RECOMMENDED:
        options = {"strategy": "mutual_information", "per_anchor": -(-2 * batch // n)}
    elif strategy == INFORMATION_GAIN:
        options = {"strategy": "information_gain", "per_anchor": batch, "repeats": True}
    else:
        options = {"strategy": "uncertainty", "method": PI[strategy], "repeats": True}
    chosen = suggest(ensemble, batch, triplets=triplets, random_state=seed, n_jobs=1, **options)
    return chosen.array


def posterior_error(ensemble: Ensemble, true: Bools) -> float:
    """Share of the true triplets that the vote of the draws has wrong, ties counting half."""
    votes = ensemble.all_probabilities(PI[RECOMMENDED], n_jobs=1)
    pi = np.concatenate([p[true[anchor]] for anchor, p in votes])
    error: float = score_probabilities(pi)["error"]
    return error

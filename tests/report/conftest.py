"""Analysis to make reports of: small, quick, and with names that are hard to write."""

import dataclasses

import numpy as np
import pytest

import tercet as tc
from tercet.analysis import analyse
from tercet.analysis.from_answers import describe_objects
from tercet.io.reading import Catch, Reading, Skipped
from tercet.posterior.diagnostics import Diagnostics

NAMES = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</script>",
    "$x^2$ & y",
    "=cmd|' /C calc'!A0",
    "日本語",
    "line\nbreak",
    "]]>" + 12 * "0123",
    "--><b>",
    "{0} %s \\u003c",
    "a name that goes on and on and on and on and on and on and never stops",
    "\u202eturned around\u2028",
)


def answers(n=12, d=2, m=400, observers=8, names=NAMES, seed=0):
    """Noisy answers about points in d dimensions, a third of them to comparisons asked before."""
    rng = np.random.default_rng(seed)
    points = 1.5 * rng.normal(size=(n, d))
    rows = tc.simulate.random_comparisons(n, m - m // 3, replace=True, random_state=rng)
    rows = np.concatenate([rows, rows[: m // 3]])
    near, far = (np.linalg.norm(points[rows[:, 0]] - points[rows[:, k]], axis=1) for k in (1, 2))
    said = np.log(far / near) + 0.4 * rng.normal(size=m) > 0.0
    who = None if observers is None else [f"P<{k}>" for k in rng.integers(observers, size=m)]
    turned = np.where(said[:, None], rows, rows[:, [0, 2, 1]])
    return tc.Triplets(turned, n_objects=n, names=names, observers=who)


def find(triplets, *, dimension=2, catch=None, skipped=()):
    """Analysis from a quick bootstrap."""
    path, rows = "/home/anna/secret/my <b>answers.csv", len(triplets)
    reading = Reading(triplets, path, "tidy", "CSV with named columns", rows, skipped, catch)
    how = {"dimension": dimension, "uncertainty": "bootstrap", "samples": 40}
    return analyse(reading, **how, n_jobs=1, progress=False)


@pytest.fixture(scope="session")
def analysis():
    """A map of two dimensions; all that a report may show of a posterior."""
    catch = Catch(np.array([True, True, False]), np.array(["P<0>", "P<1>", "P<1>"]))
    found = find(answers(), catch=catch, skipped=(Skipped("have no answer", 3, "line 12"),))
    worried = ("Observer 'P<1>' & others: <be careful>.",)
    chains = Diagnostics(1.01, 900.0, 800.0, "distances", 0, 4, 1000)
    return dataclasses.replace(found, kind="posterior", diagnostics=chains, cautions=worried)


@pytest.fixture(scope="session")
def on_a_line():
    """A scale, of nameless objects, by nobody known: the first dimension of a map."""
    found = find(answers(names=None, observers=None))
    line = found.ensemble.samples[:, :, :1]
    ensemble = tc.Ensemble(line, alignment="none", provenance=found.ensemble.provenance)
    certain = tc.certainty(ensemble, found.triplets)
    objects = describe_objects(ensemble, found.triplets, certain)
    return dataclasses.replace(found, ensemble=ensemble, objects=objects, certainty=certain)


@pytest.fixture(scope="session")
def in_space():
    """A map of three dimensions."""
    return find(answers(d=3, seed=1), dimension=3)


@pytest.fixture(scope="session")
def of_pairs():
    """A map from quadruplets, its dimension estimated from too few answers."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(10, 2))
    rows = np.array([rng.permutation(10)[:4] for _ in range(300)])
    one, two = (np.linalg.norm(points[rows[:, k]] - points[rows[:, k + 1]], axis=1) for k in (0, 2))
    return find(tc.Triplets(np.where((one < two)[:, None], rows, rows[:, [2, 3, 0, 1]])))


@pytest.fixture(scope="session")
def by_many():
    """A map of few answers, each observer having given one or two."""
    return find(answers(m=60, observers=40))

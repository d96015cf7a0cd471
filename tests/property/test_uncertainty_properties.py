"""What must hold for every ensemble, whatever its draws."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group

from tercet.ensemble import Ensemble
from tercet.models import CKLModel, STEModel, TSTEModel
from tercet.uncertainty import METHODS

seeds = st.integers(0, 2**32 - 1)
methods = st.sampled_from(METHODS)
untimed = settings(deadline=None)  # the first example compiles


@st.composite
def ensembles(draw, **options):
    size, n, d = draw(st.integers(2, 12)), draw(st.integers(3, 8)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(seeds))
    points = rng.normal(size=(1, n, d)) + draw(st.floats(0.1, 2.0)) * rng.normal(size=(size, n, d))
    return Ensemble(points, **options)


def all_comparisons(n):
    i, j, l = np.indices((n, n, n)).reshape(3, -1)
    return np.stack([i, j, l], axis=1)[(i != j) & (i != l) & (j != l)]


def moved(ensemble, rng):
    """Every draw turned and shifted on its own."""
    size, _, d = ensemble.draws.shape
    turns = [
        np.sign(rng.normal(size=(1, 1))) if d == 1 else ortho_group.rvs(d, random_state=rng)
        for _ in range(size)
    ]
    return Ensemble(ensemble.draws @ np.array(turns) + rng.normal(size=(size, 1, d)))


@untimed
@given(ensembles(), seeds, st.sampled_from(["paper", "joint"]))
def test_turning_and_shifting_draws_changes_no_probability(ensemble, seed, method):
    Q = all_comparisons(ensemble.n_objects)
    other = moved(ensemble, np.random.default_rng(seed))
    assert_allclose(
        other.triplet_probability(Q, method), ensemble.triplet_probability(Q, method), atol=1e-6
    )
    assert_allclose(other.distances(), ensemble.distances(), rtol=1e-6, atol=1e-9)


@untimed
@given(ensembles(), seeds)
def test_turning_and_shifting_draws_changes_no_vote(ensemble, seed):
    Q = all_comparisons(ensemble.n_objects)
    other = moved(ensemble, np.random.default_rng(seed))
    assert_allclose(
        other.triplet_probability(Q, "vote"), ensemble.triplet_probability(Q, "vote"), atol=1e-12
    )


@untimed
@given(ensembles(), seeds, methods)
def test_new_numbers_for_the_objects_change_nothing_else(ensemble, seed, method):
    n = ensemble.n_objects
    order = np.random.default_rng(seed).permutation(n)
    other = Ensemble(ensemble.draws[:, order])  # its object k is object order[k]
    Q = all_comparisons(n)
    assert_array_equal(
        other.triplet_probability(Q, method), ensemble.triplet_probability(order[Q], method)
    )
    assert_allclose(
        other.average_uncertainty(method=method), ensemble.average_uncertainty(method=method)
    )


@untimed
@given(ensembles(), methods)
def test_a_comparison_and_its_reverse_share_certainty(ensemble, method):
    Q = all_comparisons(ensemble.n_objects)
    p = ensemble.triplet_probability(Q, method)
    assert_array_equal(p + ensemble.triplet_probability(Q[:, [0, 2, 1]], method), 1.0)
    assert ((p >= 0) & (p <= 1)).all()


@untimed
@given(ensembles(), methods, st.integers(1, 3))
def test_all_probabilities_are_those_of_explicit_comparisons(ensemble, method, n_jobs):
    n = ensemble.n_objects
    expected = np.full((n, n, n), np.nan)
    Q = all_comparisons(n)
    expected[tuple(Q.T)] = ensemble.triplet_probability(Q, method)
    anchors, matrices = zip(*ensemble.all_probabilities(method, n_jobs), strict=True)
    assert anchors == tuple(range(n))
    off = ~np.eye(n, dtype=bool)
    assert_array_equal(np.array(matrices)[:, off], expected[:, off])
    p = expected[tuple(Q.T)]
    expected = np.minimum(p, 1 - p).mean()
    assert_allclose(ensemble.average_uncertainty(method=method), expected, atol=1e-15)


@untimed
@given(ensembles(model=STEModel()))
def test_answers_share_certainty_too_and_do_not_see_alignment(ensemble):
    Q = all_comparisons(ensemble.n_objects)
    p = ensemble.answer_probability(Q)
    assert_allclose(p + ensemble.answer_probability(Q[:, [0, 2, 1]]), 1.0, atol=1e-12)
    scaled = Ensemble(ensemble.draws, alignment="scale", model=STEModel())
    assert_array_equal(scaled.answer_probability(Q), p)


@untimed
@given(
    ensembles(),
    st.sampled_from([None, STEModel(), TSTEModel(2.5), TSTEModel(), CKLModel(0.0, 1.5)]),
    st.sampled_from(["none", "rotate", "scale"]),
    st.booleans(),
    st.booleans(),
)
def test_what_is_saved_comes_back(ensemble, model, alignment, named, centred):
    size, n = ensemble.draws.shape[:2]
    original = Ensemble(
        ensemble.draws,
        chains=np.arange(size) % 2,
        parameters={"lapse": np.linspace(0, 0.1, size)},
        statistics={"log_posterior": np.arange(size)},
        model=model,
        names=[f"ö {i}" for i in range(n)] if named else None,
        alignment=alignment,
        reference=ensemble.draws[0],
        centre=ensemble.draws[-1] if centred else None,
        spread=0.8,
        provenance={"source": "test", "settings": {"fraction": 0.4, "seeds": [1, 2]}},
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "map.npz"
        original.save(path)
        copy = Ensemble.load(path)
        assert [file.name for file in Path(folder).iterdir()] == ["map.npz"]
    for field in ("kind", "names", "model", "alignment", "provenance"):
        assert getattr(copy, field) == getattr(original, field)
    for field in ("draws", "chains", "samples"):
        assert_array_equal(getattr(copy, field), getattr(original, field))
    assert_array_equal(copy.distances(), original.distances())
    assert_array_equal(copy.parameters["lapse"], original.parameters["lapse"])
    assert_array_equal(copy.statistics["log_posterior"], original.statistics["log_posterior"])


@untimed
@given(ensembles(), st.data())
def test_pieces_put_together_are_the_whole(ensemble, data):
    cut = data.draw(st.integers(1, len(ensemble) - 1))
    pieces = [ensemble[:cut], ensemble[cut:]]
    whole = Ensemble.concatenate(pieces)
    assert_array_equal(whole.draws, ensemble.draws)
    assert_array_equal(whole.chains, np.repeat([0, 1], [cut, len(ensemble) - cut]))
    Q = all_comparisons(ensemble.n_objects)
    for method in METHODS:
        assert_array_equal(
            whole.triplet_probability(Q, method), ensemble.triplet_probability(Q, method)
        )

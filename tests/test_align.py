import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh, orthogonal_procrustes
from scipy.spatial import procrustes as scipy_procrustes
from scipy.spatial.distance import pdist
from scipy.stats import ortho_group

from tercet.align import align, generalised_procrustes, procrustes
from tercet.errors import ConvergenceWarning, InputError

seeds = st.integers(0, 2**32 - 1)
dimensions = st.integers(1, 4)


def orthogonal(d, rng):
    return np.sign(rng.normal(size=(1, 1))) if d == 1 else ortho_group.rvs(d, random_state=rng)


def test_rotation_is_scipys_orthogonal_procrustes():
    rng = np.random.default_rng(0)
    X, reference = rng.normal(size=(2, 12, 3))
    expected, trace = orthogonal_procrustes(X, reference)
    fit = procrustes(X, reference, translate=False)
    np.testing.assert_allclose(fit.rotation, expected, atol=1e-12)
    np.testing.assert_allclose(
        fit.distance, np.sum(X**2) + np.sum(reference**2) - 2 * trace, rtol=1e-12
    )
    assert fit.scale == 1.0
    np.testing.assert_array_equal(fit.shift, 0.0)


def test_scaled_distance_is_scipys_disparity():
    rng = np.random.default_rng(1)
    X, reference = rng.normal(size=(2, 9, 2))
    standard, _, disparity = scipy_procrustes(reference, X)
    fit = procrustes(X, standard, scale=True)
    np.testing.assert_allclose(fit.distance, disparity, rtol=1e-10)


@settings(deadline=None)
@given(seed=seeds, d=dimensions, size=st.floats(0.01, 100.0))
def test_undoes_any_similarity(seed, d, size):
    rng = np.random.default_rng(seed)
    reference = rng.normal(size=(d + 3, d))
    rotation, shift = orthogonal(d, rng), 10 * rng.normal(size=d)
    moved = (reference @ rotation + shift) * size
    fit = procrustes(moved, reference, scale=True)
    np.testing.assert_allclose(fit.aligned, reference, atol=1e-9)
    np.testing.assert_allclose(fit.rotation, rotation.T, atol=1e-6)
    np.testing.assert_allclose(fit.scale, 1 / size, rtol=1e-9)
    np.testing.assert_allclose(fit.scale * moved @ fit.rotation + fit.shift, fit.aligned, atol=1e-9)


@settings(deadline=None)
@given(seed=seeds, d=dimensions, n=st.integers(1, 6), scale=st.booleans())
def test_nothing_nearby_or_random_fits_better(seed, d, n, scale):
    rng = np.random.default_rng(seed)
    X, reference = rng.normal(size=(2, n, d))
    fit = procrustes(X, reference, scale=scale)
    np.testing.assert_allclose(fit.rotation @ fit.rotation.T, np.eye(d), atol=1e-12)
    for _ in range(5):
        factor = fit.scale * rng.uniform(0.8, 1.2) if scale else 1.0
        shift = fit.shift + 0.1 * rng.normal(size=d)
        other = factor * X @ orthogonal(d, rng) + shift
        assert fit.distance <= np.sum((other - reference) ** 2) + 1e-12


def test_reflection_is_allowed():
    reference = np.random.default_rng(2).normal(size=(8, 2))
    fit = procrustes(reference * [1.0, -1.0], reference)
    assert np.linalg.det(fit.rotation) == pytest.approx(-1.0)
    assert fit.distance == pytest.approx(0.0, abs=1e-20)


def test_translation_and_scale_only_when_asked():
    reference = np.random.default_rng(3).normal(size=(8, 2))
    assert procrustes(reference + 5.0, reference, translate=False).distance > 10.0
    assert procrustes(reference * 3.0, reference).distance > 10.0


@pytest.mark.parametrize("translate", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_align_is_procrustes_for_every_sample(translate, scale):
    rng = np.random.default_rng(4)
    samples, reference = rng.normal(size=(6, 7, 3)), rng.normal(size=(7, 3))
    aligned = align(samples, reference, translate=translate, scale=scale)
    for sample, one in zip(samples, aligned, strict=True):
        expected = procrustes(sample, reference, translate=translate, scale=scale).aligned
        np.testing.assert_allclose(one, expected, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3])
@pytest.mark.parametrize("d", [1, 3])
def test_equal_points_keep_their_scale_and_land_on_the_centre(value, d):
    reference = np.random.default_rng(5).normal(size=(7, d))
    fit = procrustes(np.full((7, d), value), reference, scale=True)
    assert fit.scale == 1.0
    np.testing.assert_allclose(fit.aligned, np.tile(reference.mean(axis=0), (7, 1)), atol=1e-8)


def test_fewer_points_than_dimensions():
    rng = np.random.default_rng(6)
    reference = rng.normal(size=(2, 5))
    fit = procrustes(reference @ orthogonal(5, rng) + 1.0, reference)
    np.testing.assert_allclose(fit.aligned, reference, atol=1e-12)


@pytest.mark.parametrize("scale", [True, False])
def test_generalised_brings_copies_together(scale):
    rng = np.random.default_rng(7)
    shape = rng.normal(size=(10, 3))
    sizes = rng.uniform(0.2, 5.0, size=8) if scale else np.ones(8)
    copies = np.stack([s * shape @ orthogonal(3, rng) + rng.normal(size=3) for s in sizes])
    aligned, mean = generalised_procrustes(copies, scale=scale)
    np.testing.assert_allclose(aligned, np.broadcast_to(mean, aligned.shape), atol=1e-8)
    np.testing.assert_allclose(aligned.mean(axis=1), 0.0, atol=1e-12)
    centred = copies - copies.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(np.sum(aligned**2), np.sum(centred**2), rtol=1e-12)
    if not scale:
        np.testing.assert_allclose(pdist(mean), pdist(shape), rtol=1e-8)


@settings(deadline=None)
@given(seed=seeds, scale=st.booleans())
def test_generalised_beats_aligning_to_one(seed, scale):
    rng = np.random.default_rng(seed)
    samples = rng.normal(size=(10, 2)) + 0.3 * rng.normal(size=(5, 10, 2))
    aligned, mean = generalised_procrustes(samples, scale=scale)
    np.testing.assert_allclose(mean, aligned.mean(axis=0), atol=1e-12)
    to_first = align(samples, samples[0])
    assert np.sum((aligned - mean) ** 2) <= np.sum((to_first - to_first.mean(axis=0)) ** 2) + 1e-9
    if not scale:
        for before, after in zip(samples, aligned, strict=True):
            np.testing.assert_allclose(pdist(after), pdist(before), rtol=1e-9)


@settings(deadline=None)
@given(seed=seeds)
def test_generalised_is_blind_to_how_each_sample_is_turned(seed):
    rng = np.random.default_rng(seed)
    samples = rng.normal(size=(10, 2)) + 0.3 * rng.normal(size=(5, 10, 2))
    moved = np.stack([x @ orthogonal(2, rng) + rng.normal(size=2) for x in samples])
    expected = generalised_procrustes(samples)[1]
    mean = generalised_procrustes(moved)[1]
    np.testing.assert_allclose(pdist(mean), pdist(expected), atol=1e-7)


def test_generalised_scales_are_ten_berges():
    # ten Berge (1977): with the rotations fixed, the best scales √size_k·s_k are the leading
    # eigenvector of the matrix of inner products of embeddings of unit size.
    rng = np.random.default_rng(8)
    samples = rng.normal(size=(12, 2)) + 0.2 * rng.normal(size=(4, 12, 2))
    aligned, _ = generalised_procrustes(samples, scale=True, tol=0.0, max_iter=2000)
    flat = aligned.reshape(4, -1)
    sizes = np.linalg.norm(flat, axis=1)
    leading = np.abs(eigh((flat / sizes[:, None]) @ (flat / sizes[:, None]).T)[1][:, -1])
    np.testing.assert_allclose(sizes / np.linalg.norm(sizes), leading, rtol=1e-6)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("shape", [(3, 4, 1), (1, 5, 2), (3, 2, 4), (2, 1, 1)])
def test_generalised_degenerate_shapes(scale, shape):
    samples = np.random.default_rng(9).normal(size=shape)
    aligned, mean = generalised_procrustes(samples, scale=scale)
    assert aligned.shape == shape
    assert mean.shape == shape[1:]
    assert np.isfinite(aligned).all()


@pytest.mark.parametrize("scale", [True, False])
def test_generalised_survives_collapsed_samples(scale):
    aligned, mean = generalised_procrustes(np.ones((3, 4, 2)), scale=scale)
    np.testing.assert_array_equal(aligned, 0.0)
    np.testing.assert_array_equal(mean, 0.0)


def test_generalised_says_when_it_stopped_early():
    samples = np.random.default_rng(10).normal(size=(5, 6, 2))
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        generalised_procrustes(samples, max_iter=1)


@pytest.mark.parametrize(
    ("X", "reference", "message"),
    [
        (np.zeros((4, 2)), np.zeros((5, 2)), r"\(4, 2\) and the reference \(5, 2\)"),
        (np.zeros((4, 2)), np.zeros((4, 3)), "same number of dimensions"),
        (np.zeros(4), np.zeros(4), "shape"),
        (np.zeros((0, 2)), np.zeros((0, 2)), "shape"),
        ([[0.0], [np.nan]], [[0.0], [1.0]], "row 1"),
        ([[0.0], [1.0]], [[np.inf], [1.0]], "the reference .* row 0"),
    ],
)
def test_unusable_input_is_named(X, reference, message):
    with pytest.raises(InputError, match=message):
        procrustes(X, reference)


def test_unusable_samples_are_named():
    with pytest.raises(InputError, match="samples must be"):
        align(np.zeros((4, 2)), np.zeros((4, 2)))
    with pytest.raises(InputError, match="same objects"):
        align(np.zeros((3, 4, 2)), np.zeros((5, 2)))
    with pytest.raises(InputError, match="sample 1"):
        generalised_procrustes([[[0.0]], [[np.nan]]])

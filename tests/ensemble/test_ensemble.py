import json
import os
import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist, squareform

from tercet import Choices, Ensemble, InputError, Triplets, align
from tercet.answers.either import with_weights
from tercet.errors import TercetError
from tercet.models import CKLModel, SOEModel, STEModel, TSTEModel
from tercet.uncertainty import METHODS

NAMES = ("ant", "bee", "cat", "dog", "eel")
Q = np.array([[0, 1, 2], [3, 4, 0], [2, 0, 1]])


def points(size=12, n=5, d=2, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(1, n, d)) + noise * rng.normal(size=(size, n, d))


def matrices(draws):
    return np.array([squareform(pdist(draw)) for draw in draws])


# --- what it holds ----------------------------------------------------------------------------


def test_it_holds_what_it_was_given():
    draws = points()
    made = Ensemble(
        draws,
        chains=[0, 1] * 6,
        parameters={"lapse": np.zeros(12)},
        statistics={"loss": np.ones(12)},
        model=STEModel(),
        names=NAMES,
        provenance={"source": "posterior", "seed": 3},
    )
    assert_array_equal(made.draws, draws)
    assert (made.n_samples, made.n_objects, made.n_components, made.n_chains) == (12, 5, 2, 2)
    assert len(made) == 12
    assert made.kind == "points"
    assert made.names == NAMES
    assert made.model == STEModel()
    assert made.provenance == {"source": "posterior", "seed": 3}
    assert repr(made) == (
        "Ensemble(12 draws of 5 objects in 2 dimensions, 2 chains, STEModel(), from posterior)"
    )


def test_nothing_can_be_changed():
    draws = points()
    made = Ensemble(draws, parameters={"mu": np.ones(12)}, provenance={"a": [1]})
    draws[:] = 0.0
    assert made.draws.any()
    for array in (made.draws, made.samples, made.chains, made.parameters["mu"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    made.parameters.clear()
    made.provenance["a"].append(2)
    assert list(made.parameters) == ["mu"]
    assert made.provenance == {"a": [1]}


def test_it_survives_pickling():
    made = Ensemble(points(), names=NAMES, parameters={"mu": np.ones(12)})
    copy = pickle.loads(pickle.dumps(made))
    assert_array_equal(copy.draws, made.draws)
    assert copy.names == NAMES
    assert not copy.draws.flags.writeable
    assert not copy.parameters["mu"].flags.writeable


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "maps"}, "kind must be one of 'points', 'distances', got 'maps'"),
        ({"alignment": "turn"}, "alignment must be one of 'none', 'rotate', 'scale'"),
        ({"chains": [0, 1]}, "chains must be one whole number per draw, 12 in all"),
        ({"chains": np.zeros(12)}, "of type float64"),
        ({"parameters": {"mu": [1.0]}}, r"parameters\['mu'\] must be one number per draw, 12"),
        ({"statistics": {"loss": 1.0}}, r"statistics\['loss'\] must be one number per draw"),
        ({"names": ["a", "b"]}, "2 names for 5 objects"),
        ({"names": ["a", "b", "c", "d", "a"]}, "the name 'a' occurs twice"),
        ({"names": "abcde"}, "the one string 'abcde'"),
        ({"reference": np.zeros((5, 3))}, r"reference must be finite coordinates .* \(5, 2\)"),
        ({"centre": np.full((5, 2), np.nan)}, "centre must be finite"),
        ({"spread": 0.0}, "spread must be a positive number, got 0.0"),
        ({"provenance": {"a": object()}}, "provenance must be numbers, text"),
        ({"model": "STE"}, "model must be a model such as"),
    ],
)
def test_what_cannot_be_used_is_named(options, message):
    with pytest.raises(InputError, match=message):
        Ensemble(points(), **options)


@pytest.mark.parametrize(
    ("draws", "kind", "message"),
    [
        (np.zeros((4, 3)), "points", r"shape \(draws, objects, dimensions\), got \(4, 3\)"),
        (np.zeros((0, 3, 2)), "points", r"got \(0, 3, 2\)"),
        (np.zeros((4, 2, 2)), "points", "three objects or more, got 2"),
        (np.zeros((4, 3, 2)), "distances", r"\(draws, objects, objects\)"),
        (np.arange(18.0).reshape(2, 3, 3), "distances", "draw 0 .* is not a symmetric"),
        (np.array([np.zeros((3, 2)), np.full((3, 2), np.nan)]), "points", "draw 1 .* not finite"),
    ],
)
def test_draws_that_cannot_be_used(draws, kind, message):
    with pytest.raises(InputError, match=message):
        Ensemble(draws, kind=kind)


# --- samples and points -----------------------------------------------------------------------


def test_samples_are_laid_on_each_other():
    draws = points()
    shared, mean = align.generalised_procrustes(draws)
    assert_array_equal(Ensemble(draws, alignment="none").samples, draws)
    assert_array_equal(Ensemble(draws).samples, shared)
    assert_allclose(Ensemble(draws).point_mean(), mean)
    scaled = align.generalised_procrustes(draws, scale=True)[0]
    assert_array_equal(Ensemble(draws, alignment="scale").samples, scaled)
    onto = align.align(draws, draws[3], scale=True)
    assert_array_equal(Ensemble(draws, alignment="scale", reference=draws[3]).samples, onto)


def test_only_scaling_changes_distances():
    draws = points()
    expected = [pdist(draw) for draw in draws]
    for alignment in ("none", "rotate"):
        assert_allclose(Ensemble(draws, alignment=alignment).distances(), expected, rtol=1e-12)
    made = Ensemble(draws, alignment="scale", reference=2.0 * draws[0])
    assert_allclose(made.distances(), [pdist(draw) for draw in made.samples], rtol=1e-12)
    assert_allclose(made.distances()[0], 2.0 * expected[0])


@pytest.mark.parametrize("alignment", ["none", "rotate", "scale"])
def test_principal_axes_turn_all_draws_alike(alignment):
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(20, 9, 3)) * 0.1 + rng.normal(size=(9, 3)) * [1.0, 5.0, 2.0]
    made = Ensemble(draws, alignment=alignment, names=list("abcdefghi"))
    turned = made.in_principal_axes()
    assert_allclose(turned.distances(), made.distances(), rtol=1e-10)
    mean = turned.point_mean()
    mean = mean - mean.mean(axis=0)
    scatter = mean.T @ mean
    assert_allclose(scatter, np.diag(np.diag(scatter)), atol=1e-8 * scatter.max())
    assert (np.diff(np.diag(scatter)) < 0).all()
    assert (np.arange(9) @ mean >= 0).all()
    assert turned.names == made.names


def test_draws_can_be_laid_in_another_way():
    draws = np.random.default_rng(0).normal(size=(10, 6, 2))
    made = Ensemble(draws, alignment="rotate", statistics={"loss": np.arange(10.0)})
    scaled = made.realigned("scale")
    assert_array_equal(scaled.samples, Ensemble(draws, alignment="scale").samples)
    assert_array_equal(scaled.statistics["loss"], np.arange(10.0))
    Q = [[0, 1, 2], [3, 4, 5]]
    assert_array_equal(scaled.triplet_probability(Q, "vote"), made.triplet_probability(Q, "vote"))
    with pytest.raises(InputError, match="alignment must be one of"):
        made.realigned("turn")
    matrices = np.abs(draws[:, :, :1] - draws[:, :, :1].transpose(0, 2, 1))
    with pytest.raises(InputError, match="has distances, no points"):
        Ensemble(matrices, kind="distances").realigned("scale")


@pytest.mark.parametrize("alignment", ["none", "rotate", "scale"])
def test_subsamples_are_drawn_towards_their_centre(alignment):
    draws, centre = points(), points(size=1, seed=9)[0]
    plain = Ensemble(draws, alignment=alignment, reference=centre)
    made = Ensemble(draws, alignment=alignment, centre=centre, spread=0.5)
    assert_allclose(made.samples, (centre + plain.samples) / 2)
    assert_allclose(made.distances(), (pdist(centre) + plain.distances()) / 2)
    assert_allclose(made.distances().std(axis=0), plain.distances().std(axis=0) / 2, rtol=1e-10)
    unmoved = Ensemble(draws, alignment=alignment, centre=centre)
    assert_allclose(unmoved.samples, plain.samples, atol=1e-12)
    assert_allclose(unmoved.triplet_probability(Q, "paper"), plain.triplet_probability(Q, "paper"))


def test_points_have_mean_covariance_and_percentiles():
    made = Ensemble(points(size=200))
    samples = made.samples
    assert_allclose(made.point_mean(), samples.mean(axis=0))
    assert_allclose(made.point_covariance()[3], np.cov(samples[:, 3].T))
    assert_allclose(made.point_percentile(50), np.median(samples, axis=0))
    assert made.point_percentile([5, 95]).shape == (2, 5, 2)
    interval = made.point_interval(0.9)
    assert interval.shape == (5, 2, 2)
    inside = (samples >= interval[..., 0]) & (samples <= interval[..., 1])
    assert_allclose(inside.mean(axis=0), 0.9, atol=0.011)
    assert_allclose(made.ellipses().centres, made.point_mean())


def test_ellipses_are_for_the_plane():
    with pytest.raises(InputError, match="two dimensions, and this one has 3"):
        Ensemble(points(d=3)).ellipses()
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        Ensemble(points()).ellipses(level=95)


# --- distances --------------------------------------------------------------------------------


def test_distances_of_chosen_pairs():
    made = Ensemble(points(), names=NAMES)
    expected = matrices(made.draws)[:, [4, 0], [1, 2]]
    assert_allclose(made.distances([[4, 1], [0, 2]]), expected)
    assert_allclose(made.distances([["eel", "bee"], ["ant", "cat"]]), expected)
    low, high = made.distance_interval([[4, 1], [0, 2]], level=0.5).T
    assert_allclose(low, np.quantile(expected, 0.25, axis=0))
    assert_allclose(high, np.quantile(expected, 0.75, axis=0))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 1, 2]], "two columns"),
        ([[0.5, 1.0]], "of type float64"),
        ([[0, 1], [2, 5]], "row 1 .* 5 is not an object; there are 5, numbered 0 to 4"),
        ([["ant", "fly"]], "'fly'"),
    ],
)
def test_pairs_that_do_not_exist(pairs, message):
    with pytest.raises(InputError, match=message):
        Ensemble(points(), names=NAMES).distances(pairs)


# --- comparisons ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_questions_may_be_numbers_names_triplets_or_quadruplets(method):
    made = Ensemble(points(), names=NAMES)
    expected = made.triplet_probability(Q, method)
    named = np.array(NAMES)[Q]
    other = Triplets(named, names=NAMES[::-1])
    for question in (named, named.tolist(), Triplets(Q, names=NAMES), other, Q[:, [0, 1, 0, 2]]):
        assert_array_equal(made.triplet_probability(question, method), expected)


def test_questions_that_cannot_be_asked():
    made = Ensemble(points())
    with pytest.raises(InputError, match="far is 7, but there are only 5 objects"):
        made.triplet_probability([[0, 1, 7]])
    with pytest.raises(InputError, match="have only numbers"):
        made.triplet_probability([["ant", "bee", "cat"]])


@pytest.mark.parametrize("method", METHODS)
def test_distances_say_the_same_as_the_points_they_come_from(method):
    made = Ensemble(points())
    matrix = Ensemble(matrices(made.draws), kind="distances")
    assert_allclose(
        matrix.triplet_probability(Q, method), made.triplet_probability(Q, method), rtol=1e-10
    )
    assert_allclose(
        matrix.average_uncertainty(method=method), made.average_uncertainty(method=method)
    )
    assert_allclose(matrix.distances(), made.distances())


def test_distances_have_no_points():
    made = Ensemble(matrices(points()), kind="distances", model=TSTEModel())
    for ask in (lambda: made.samples, lambda: made.n_components, made.point_mean, made.ellipses):
        with pytest.raises(InputError, match="has distances, no points"):
            ask()
    with pytest.raises(InputError, match="set alpha"):
        made.answer_probability(Q)
    with pytest.raises(InputError, match="reference and centre are points"):
        Ensemble(made.draws, kind="distances", centre=np.zeros((5, 5)))
    assert repr(made).startswith("Ensemble(12 draws of 5 objects as distances")


@pytest.mark.parametrize("method", METHODS)
def test_large_questions_are_answered_in_parts(method, monkeypatch):
    made = Ensemble(points(n=9))
    rng = np.random.default_rng(0)
    questions = np.array([rng.permutation(9)[:4] for _ in range(40)])
    whole = made.triplet_probability(questions, method)
    monkeypatch.setattr("tercet.ensemble.ensemble.LARGEST_TABLE", 12 * 10)  # ten pairs
    assert_array_equal(made.triplet_probability(questions, method), whole)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_all_probabilities_in_blocks(method, n_jobs, monkeypatch):
    made = Ensemble(points(n=9))
    whole = list(made.all_probabilities(method, 1))
    monkeypatch.setattr("tercet.ensemble.ensemble.BLOCK", 9 * 12 * 2)  # two anchors
    for (anchor, found), (same, expected) in zip(
        made.all_probabilities(method, n_jobs), whole, strict=True
    ):
        assert anchor == same
        assert_array_equal(found, expected)
        assert np.isnan(found[anchor]).all()
        assert np.isnan(found[:, anchor]).all()
    one = made.average_uncertainty(method=method, n_jobs=1)
    assert made.average_uncertainty(method=method, n_jobs=n_jobs) == one


def test_average_uncertainty_over_given_comparisons():
    made = Ensemble(points())
    p = made.triplet_probability(Q)
    assert made.average_uncertainty(Q) == pytest.approx(np.mean(1 - p))
    weighted = Triplets(Q, n_objects=5, weights=[1, 2, 5])
    assert made.average_uncertainty(weighted) == pytest.approx(np.average(1 - p, weights=[1, 2, 5]))


def test_an_unknown_method_fails_at_once():
    with pytest.raises(InputError, match="got 'median'"):
        Ensemble(points()).all_probabilities("median")


def test_it_abstains_when_unsure():
    near = np.array([[0.0], [1.0], [2.0], [1.4]])
    draws = near + np.random.default_rng(1).normal(scale=0.3, size=(400, 4, 1))
    made = Ensemble(draws)
    questions = [[0, 1, 2], [0, 2, 1], [0, 1, 3]]
    assert_array_equal(made.predict(questions, threshold=0.95), [1, -1, 0])
    assert_array_equal(made.predict(questions, threshold=0.5), [1, -1, 1])
    for threshold in (0.4, 1.0):
        with pytest.raises(InputError, match=r"threshold must lie in \[0.5, 1\)"):
            made.predict(questions, threshold=threshold)


def test_answers_see_the_draws_as_drawn():
    draws = points()
    squared = matrices(draws) ** 2
    model = CKLModel()
    lapse, mu = np.linspace(0, 0.3, 12), np.linspace(0.1, 1, 12)
    made = Ensemble(
        draws,
        model=model,
        parameters={"lapse": lapse, "mu": mu},
        alignment="scale",
        centre=draws[0],
        spread=0.5,
    )
    i, j, l = Q.T
    a, b = squared[:, i, j] + mu[:, None], squared[:, i, l] + mu[:, None]
    expected = ((1 - lapse[:, None]) * b / (a + b) + lapse[:, None] / 2).mean(axis=0)
    assert_allclose(made.answer_probability(Q), expected, rtol=1e-12)
    as_matrices = Ensemble(
        matrices(draws), kind="distances", model=model, parameters=made.parameters
    )
    assert_allclose(as_matrices.answer_probability(Q), expected, rtol=1e-10)


def test_answers_of_every_draw(monkeypatch):
    draws = points()
    squared = matrices(draws) ** 2
    lapse, mu, exponent = np.linspace(0, 0.3, 12), np.linspace(0.1, 1, 12), np.linspace(1, 3, 12)
    made = Ensemble(
        draws,
        model=CKLModel(),
        parameters={"lapse": lapse, "mu": mu, "exponent": exponent},
        names=NAMES,
    )
    found = made.answer_probability(Q, by_draw=True)
    assert found.shape == (12, 3)
    for s in range(12):
        i, j, l = Q.T
        p = CKLModel(mu=mu[s], exponent=exponent[s]).probability(squared[s, i, j], squared[s, i, l])
        assert_allclose(found[s], (1 - lapse[s]) * p + lapse[s] / 2, rtol=1e-10)
    assert_allclose(found.mean(axis=0), made.answer_probability(Q), rtol=1e-12)
    by_name = made.answer_probability([["ant", "bee", "cat"]], by_draw=True)
    assert_array_equal(by_name, found[:, :1])
    quadruplets = made.answer_probability(Q[:, [0, 1, 0, 2]], by_draw=True)
    assert_array_equal(quadruplets, found)
    monkeypatch.setattr("tercet.ensemble.ensemble.LARGEST_TABLE", 30)  # one comparison at a time
    assert_array_equal(made.answer_probability(Q, by_draw=True), found)


def test_answers_need_a_model_that_is_a_probability():
    with pytest.raises(InputError, match="has no model"):
        Ensemble(points()).answer_probability(Q)
    with pytest.raises(InputError, match="SOE is a loss"):
        Ensemble(points(), model=SOEModel()).answer_probability(Q)


# --- the draws as a whole ---------------------------------------------------------------------


def test_draws_can_be_chosen():
    made = Ensemble(points(), chains=[0] * 6 + [1] * 6, parameters={"mu": np.arange(12.0)})
    assert_array_equal(made[3].draws, made.draws[3:4])
    assert_array_equal(made[-2:].parameters["mu"], [10, 11])
    assert_array_equal(made[[7, 1]].draws, made.draws[[7, 1]])
    assert made[made.chains == 1].n_chains == 1
    with pytest.raises(InputError, match="no draws were selected"):
        made[12:]
    for key in ("a", 1.5, (0, 1, slice(None))):
        with pytest.raises((IndexError, ValueError)):
            made[key]


def test_concatenation_keeps_chains_apart():
    first = Ensemble(
        points(), chains=[5] * 6 + [7] * 6, statistics={"loss": np.ones(12), "x": np.ones(12)},
        provenance={"source": "bootstrap", "seed": 1},
    )  # fmt: skip
    second = Ensemble(
        points(seed=1), statistics={"loss": np.zeros(12)}, provenance={"source": "bootstrap"}
    )
    both = Ensemble.concatenate([first, second])
    assert_array_equal(both.chains, np.repeat([0, 1, 2], [6, 6, 12]))
    assert_array_equal(both.draws, np.concatenate([first.draws, second.draws]))
    assert list(both.statistics) == ["loss"]
    assert both.provenance["source"] == "bootstrap"
    assert both.provenance["parts"] == [first.provenance, second.provenance]


@pytest.mark.parametrize(
    ("draws", "options", "message"),
    [
        (points(d=3), {}, "objects or dimensions"),
        (points(), {"names": NAMES}, "differ in names"),
        (points(), {"model": STEModel()}, "differ in model"),
        (points(), {"alignment": "scale"}, "differ in alignment"),
        (points(), {"centre": np.zeros((5, 2))}, "differ in centre"),
        (points(), {"parameters": {"mu": np.ones(12)}}, r"differ in parameters: \[\] and \['mu'\]"),
        (matrices(points()), {"kind": "distances"}, "differ in kind"),
    ],
)
def test_what_does_not_belong_together(draws, options, message):
    with pytest.raises(InputError, match=message):
        Ensemble.concatenate([Ensemble(points()), Ensemble(draws, **options)])


def test_nothing_to_concatenate():
    with pytest.raises(InputError, match="no ensembles"):
        Ensemble.concatenate([])


def test_distances_can_be_saved(tmp_path):
    made = Ensemble(matrices(points()), kind="distances", names=NAMES)
    made.save(tmp_path / "map")  # the name is taken as it is
    copy = Ensemble.load(tmp_path / "map")
    assert copy.kind == "distances"
    assert_array_equal(copy.draws, made.draws)


def test_a_failed_save_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "map.npz"
    Ensemble(points()).save(path)
    before = path.read_bytes()

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("numpy.savez", fail)
    with pytest.raises(OSError, match="disk full"):
        Ensemble(points(seed=1)).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["text", "empty", "array", "archive", "pickle", "cut", "model"])
def test_files_that_are_no_ensemble(kind, tmp_path):
    path = tmp_path / "map.npz"
    made = Ensemble(points(), model=STEModel())
    made.save(path)
    if kind == "text":
        path.write_text("anchor,near,far\n0,1,2\n")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "array":
        with open(path, "wb") as file:
            np.save(file, made.draws)
    elif kind == "archive":
        np.savez(path, draws=made.draws)
    elif kind == "pickle":
        np.savez(path, header=np.array([{"format": "tercet ensemble"}], dtype=object))
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        with np.load(path) as file:
            parts = dict(file)
        parts["header"] = np.array(str(parts["header"]).replace("STEModel", "InputError"))
        np.savez(path, **parts)
    message = "InputError" if kind == "model" else "not a file that Ensemble.save wrote"
    with pytest.raises(InputError, match=message):
        Ensemble.load(path)


def test_a_file_from_the_future(tmp_path):
    path = tmp_path / "map.npz"
    Ensemble(points()).save(path)
    with np.load(path) as file:
        parts = dict(file)
    parts["header"] = np.array(str(parts["header"]).replace('"version": 2', '"version": 9'))
    np.savez(path, **parts)
    with pytest.raises(InputError, match="format version 9"):
        Ensemble.load(path)


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        Ensemble.load(tmp_path / "none.npz")


# --- ArviZ ------------------------------------------------------------------------------------


def test_arviz_gets_points_distances_parameters_and_statistics():
    made = Ensemble(
        points(),
        chains=[0, 1] * 6,
        parameters={"mu": np.arange(12.0)},
        statistics={"log_posterior": np.arange(12.0) + 100},
        names=NAMES,
    )
    data = made.to_arviz()
    posterior, stats = data["posterior"], data["sample_stats"]
    assert posterior["embedding"].dims == ("chain", "draw", "object", "dimension")
    assert posterior["embedding"].shape == (2, 6, 5, 2)
    found = posterior["embedding"].sel(object="cat", chain=1)
    assert_array_equal(found, made.samples[1::2, 2])
    found = posterior["distance"].sel(pair="bee–dog", chain=0)
    assert_array_equal(found, made.distances([["bee", "dog"]])[::2, 0])
    assert_array_equal(posterior["mu"].sel(chain=1), np.arange(1.0, 12.0, 2.0))
    assert_array_equal(stats["lp"].sel(chain=0), np.arange(100.0, 112.0, 2.0))


def test_arviz_gets_distances_without_points():
    made = Ensemble(matrices(points()), kind="distances")
    posterior = made.to_arviz(pairs=[[0, 4]])["posterior"]
    assert list(posterior.data_vars) == ["distance"]
    assert posterior["distance"].shape == (1, 12, 1)


@pytest.mark.parametrize("version", ["0.21.0", "1.0.0"])
def test_both_interfaces_of_arviz(version, monkeypatch):
    class Arviz:
        __version__ = version

        @staticmethod
        def from_dict(groups=None, posterior=None, **options):
            return "dict of groups" if posterior is None else "a group each"

    monkeypatch.setattr("tercet.ensemble.export.import_module", lambda name: Arviz)
    expected = "a group each" if version.startswith("0") else "dict of groups"
    assert Ensemble(points()).to_arviz() == expected


def test_arviz_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(TercetError, match=r"tercet\[arviz\]"):
        Ensemble(points()).to_arviz()


def test_arviz_wants_equal_chains():
    made = Ensemble(points(), chains=[0] * 5 + [1] * 7)
    with pytest.raises(InputError, match=r"\[5, 7\] draws"):
        made.to_arviz()


@pytest.mark.parametrize(("count", "best"), [(399, "joint"), (400, "vote")])
def test_many_draws_vote_and_few_do_not(count, best):
    draws = np.random.default_rng(0).normal(size=(count, 5, 2))
    ensemble = Ensemble(draws)
    Q = [[0, 1, 2], [3, 4, 0]]
    np.testing.assert_array_equal(
        ensemble.triplet_probability(Q), ensemble.triplet_probability(Q, best)
    )
    assert ensemble.average_uncertainty() == ensemble.average_uncertainty(method=best)


@pytest.mark.parametrize("name", ["kind", "names", "model"])
def test_a_file_without_part_of_its_header_is_damaged(tmp_path, name):
    path = tmp_path / "map.npz"
    Ensemble(np.random.default_rng(0).normal(size=(3, 4, 2))).save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays.pop("header")))
    del header[name]
    np.savez(path, header=np.array(json.dumps(header)), **arrays)
    with pytest.raises(InputError, match="damaged"):
        Ensemble.load(path)


def test_distances_below_zero_count_by_their_size():
    """As they do in the likelihood, which sees their squares."""
    D = np.array([[0.0, -5.0, 1.0], [-5.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    ensemble = Ensemble(np.stack([D, D]), kind="distances")
    assert ensemble.triplet_probability([[0, 1, 2]], "paper") == pytest.approx(0.0)
    assert ensemble.distances([[0, 1]]).tolist() == [[5.0], [5.0]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_map_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "map.npz")
    with pytest.raises(InputError, match="is a pipe or a device"):
        Ensemble.load(tmp_path / "map.npz")


# --- choices ----------------------------------------------------------------------------------


def of_choices():
    rng = np.random.default_rng(2)
    return Ensemble(
        points(),
        model=CKLModel(),
        parameters={
            "lapse": rng.uniform(0.0, 0.3, 12),
            "mu": rng.uniform(0.1, 1.0, 12),
            "exponent": rng.uniform(1.0, 3.0, 12),
        },
        names=NAMES,
    )


def some_choices():
    anchor, others = [0, 1], [[1, 2, 3, 4], [0, 2, 3, 4]]
    return Choices.concatenate(
        [
            Choices.odd_one_out([[0, 1, 2], [3, 2, 4]], n_objects=5),
            Choices.most_central([[4, 1, 2]], n_objects=5),
            Choices.nearest(anchor, others, [[1, 2], [4, 0]], n_objects=5),
            Choices.best_worst(anchor, others, [1, 2], [4, 0], n_objects=5),
            Triplets(Q, n_objects=5),
        ]
    )


def test_choices_have_probabilities_in_every_draw(monkeypatch):
    made, choices = of_choices(), some_choices()
    found = made.choice_probability(choices, by_draw=True)
    assert found.shape == (12, 10)
    assert_allclose(found.mean(axis=0), made.choice_probability(choices), rtol=1e-12)
    assert_allclose(found[:, -3:], made.answer_probability(Q, by_draw=True), rtol=1e-10)
    assert_array_equal(
        made.choice_probability(Q, by_draw=True), made.answer_probability(Q, by_draw=True)
    )
    similar = 1.0 / (
        made.parameters["mu"][:, None, None]
        + matrices(made.draws) ** made.parameters["exponent"][:, None, None]
    )
    lapse = made.parameters["lapse"]
    a, b, c = similar[:, 0, 1], similar[:, 0, 2], similar[:, 1, 2]
    assert_allclose(found[:, 0], (1.0 - lapse) * a / (a + b + c) + lapse / 3.0, rtol=1e-10)
    monkeypatch.setattr("tercet.ensemble.ensemble.LARGEST_TABLE", 30)  # in portions
    assert_array_equal(made.choice_probability(choices, by_draw=True), found)


def test_choices_may_be_asked_by_name():
    by_name = Choices.odd_one_out([["bee", "ant", "cat"], ["dog", "cat", "eel"]])
    assert by_name.names != NAMES[:4]
    by_number = Choices.odd_one_out([[1, 0, 2], [3, 2, 4]])
    assert_array_equal(
        of_choices().choice_probability(by_name), of_choices().choice_probability(by_number)
    )
    with pytest.raises(InputError, match="about 'cow', which is not in the map"):
        of_choices().choice_probability(Choices.odd_one_out([["ant", "bee", "cow"]]))
    with pytest.raises(InputError, match="object 5, but there are only 5 objects"):
        of_choices().choice_probability(Choices.odd_one_out([[0, 1, 5]]))


def test_a_saved_map_says_the_same_of_choices(tmp_path):
    made, choices = of_choices(), some_choices()
    made.save(tmp_path / "map.npz")
    copies = Ensemble.load(tmp_path / "map.npz"), pickle.loads(pickle.dumps(made))
    for copy in copies:
        assert_array_equal(
            copy.choice_probability(choices, by_draw=True),
            made.choice_probability(choices, by_draw=True),
        )


def test_the_comparisons_within_choices_may_be_asked_for():
    made, choices = of_choices(), some_choices()
    split = choices.triplets()
    for method in METHODS:
        found = made.triplet_probability(choices, method)
        assert_array_equal(found, made.triplet_probability(split, method))
    weighted = with_weights(choices, np.arange(1.0, 11.0))
    average = made.average_uncertainty(weighted)
    assert average == made.average_uncertainty(weighted.triplets())
    assert average != made.average_uncertainty(choices)


def test_choices_need_a_model_that_is_a_probability():
    for answers in (some_choices(), Q):
        with pytest.raises(InputError, match="has no model"):
            Ensemble(points()).choice_probability(answers)
        with pytest.raises(InputError, match="SOE is a loss"):
            Ensemble(points(), model=SOEModel()).choice_probability(answers)

"""Bootstrap: what is drawn, what becomes of it, and the same bits everywhere."""

import json
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import tercet as tc
from tercet.bootstrap.resampling import draw_answers, find_units, resample
from tercet.engine import backend, search
from tercet.engine.search import Descent
from tercet.errors import ConvergenceWarning, DataWarning, InputError, SeparableWarning, TercetError
from tercet.running.provenance import seed_for
from tercet.simulate import gaussian_mixture, noisy_triplets, true_triplets

POINTS = gaussian_mixture(12, random_state=0)[0]
ANSWERS = noisy_triplets(POINTS, 400, noise=0.5, random_state=0)
CERTAIN = noisy_triplets(POINTS, 150, noise=0.0, random_state=0)
MAP = {"penalty": 1 / 30}
ESTIMATORS = {
    "STE": tc.STE(2),
    "STE, MAP": tc.STE(2, **MAP),
    "STE on a line": tc.STE(1, n_init=3, **MAP),
    "TSTE": tc.TSTE(2, **MAP),
    "CKL": tc.CKL(2, **MAP),
    "Shepard": tc.Shepard(2, **MAP),
    "SOE": tc.SOE(2, n_init=2),
    "GNMDS": tc.GNMDS(2, tol=1e-2),
    "GNMDS, direct": tc.GNMDS(2, direct=True),
}


def fitted(estimator=None, triplets=ANSWERS, **settings):
    settings = {"n_samples": 7, "random_state": 0} | settings
    return tc.Bootstrap(estimator or tc.STE(2, **MAP), **settings).fit(triplets)


def draws(*args, **settings):
    return fitted(*args, **settings).ensemble_.draws


# --- what comes out ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_model(name):
    estimator = ESTIMATORS[name]
    boot = fitted(estimator)
    ensemble = boot.ensemble_
    assert ensemble.draws.shape == (7, 12, estimator.n_components)
    assert ensemble.model == estimator.model()
    assert ensemble.statistics["loss"].shape == (7,)
    assert len(np.unique(ensemble.statistics["loss"])) == 7
    np.testing.assert_allclose(ensemble.draws.mean(axis=1), 0.0, atol=1e-12)
    assert boot.n_failed_ == 0
    truth = true_triplets(POINTS)
    assert np.mean(boot.predict(truth) == 1) > (0.6 if estimator.n_components == 1 else 0.75)
    assert not hasattr(estimator, "embedding_")


def test_a_replicate_is_the_estimator_fitted_to_its_rows():
    draw = resample(find_units(ANSWERS, "answer"), 160, False)
    boot = fitted(fraction=0.4, n_samples=3)
    for k, loss in enumerate(boot.ensemble_.statistics["loss"]):
        rows = draw(np.random.default_rng(seed_for(0, 0, k)))
        alone = tc.STE(2, **MAP).fit(ANSWERS[rows], n_objects=12)
        assert alone.loss_ == pytest.approx(loss, rel=1e-6)
        assert alone.score(ANSWERS[rows]) > 0.7


def test_answers_may_be_an_array_with_y():
    turned = np.where(np.arange(400) % 3 == 0, -1, 1)
    rows = np.where(turned[:, None] == 1, ANSWERS, np.asarray(ANSWERS)[:, [0, 2, 1]])
    boot = tc.Bootstrap(tc.STE(2, **MAP), 7, random_state=0).fit(rows, turned)
    np.testing.assert_array_equal(boot.ensemble_.draws, draws())


def test_y_keeps_the_observers():
    triplets = tc.Triplets(ANSWERS, observers=np.arange(400) // 50)
    boot = tc.Bootstrap(tc.STE(2, **MAP), 3, unit="observer", random_state=0)
    same = boot.fit(triplets, np.ones(400)).ensemble_.draws
    np.testing.assert_array_equal(same, boot.fit(triplets).ensemble_.draws)


def test_names_and_n_objects():
    names = [f"stimulus {k}" for k in range(12)]
    boot = fitted(triplets=tc.Triplets(ANSWERS, names=names))
    assert boot.ensemble_.names == tuple(names)
    assert boot.predict([["stimulus 0", "stimulus 1", "stimulus 2"]]).shape == (1,)
    with pytest.warns(DataWarning, match="1 object is never mentioned"):
        more = tc.Bootstrap(tc.STE(2, **MAP), 2).fit(ANSWERS, n_objects=13)
    assert more.ensemble_.n_objects == 13
    with pytest.warns(DataWarning):
        more = tc.Bootstrap(tc.STE(2, n_objects=14, **MAP), 2).fit(ANSWERS)
    assert more.ensemble_.n_objects == 14


def test_quadruplets():
    array = np.asarray(ANSWERS)
    quadruplets = array[:, [0, 1, 0, 2]]
    np.testing.assert_allclose(
        fitted(triplets=quadruplets).ensemble_.statistics["loss"],
        fitted().ensemble_.statistics["loss"],
        rtol=1e-6,
    )
    fitted(triplets=quadruplets, parametric=True)


def test_probabilities_of_answers():
    boot = fitted()
    p = boot.predict_proba(ANSWERS)
    assert p.shape == (400, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(p[:, 1], boot.ensemble_.answer_probability(ANSWERS))
    np.testing.assert_array_equal(boot.predict(ANSWERS), boot.classes_[p.argmax(axis=1)])
    with pytest.raises(InputError, match="SOE is a loss, not a probability"):
        fitted(ESTIMATORS["SOE"]).predict_proba(ANSWERS)
    with pytest.raises(NotFittedError):
        tc.Bootstrap(tc.STE(2)).predict(ANSWERS)


def test_scikit_learn_can_clone_and_change_it():
    boot = tc.Bootstrap(tc.STE(2), 5, fraction=0.4, n_jobs=2)
    twin = clone(boot).set_params(estimator__n_components=3, fraction=0.5)
    assert twin.estimator.n_components == 3
    assert boot.estimator.n_components == 2
    assert twin.get_params(deep=False).keys() == boot.get_params(deep=False).keys()
    assert (twin.n_samples, twin.fraction, twin.n_jobs) == (5, 0.5, 2)


def test_the_papers_settings():
    """Section 5: b = 20 subsamples of 40 % without replacement, aligned to a random one."""
    boot = tc.Bootstrap.paper(tc.STE(2), random_state=3)
    assert boot.get_params(deep=False) | {"estimator": None} == {
        "estimator": None,
        "n_samples": 20,
        "fraction": 0.4,
        "replace": False,
        "unit": "answer",
        "parametric": False,
        "alignment": "paper",
        "correction": False,
        "warm_start": False,
        "n_jobs": None,
        "device": None,
        "random_state": 3,
        "progress": None,
        "checkpoint": None,
    }
    assert tc.Bootstrap.paper(tc.STE(2), n_samples=50, fraction=0.1).n_samples == 50


def test_alignment():
    plain = draws(alignment="none")
    for name, alignment in [("scale", "scale"), ("rotate", "rotate"), ("none", "none")]:
        ensemble = fitted(alignment=name).ensemble_
        np.testing.assert_array_equal(ensemble.draws, plain)
        expected = tc.Ensemble(plain, alignment=alignment).samples
        np.testing.assert_array_equal(ensemble.samples, expected)
    chosen = set()
    for seed in range(6):
        ensemble = fitted(alignment="paper", random_state=seed).ensemble_
        kept = np.isclose(ensemble.samples, ensemble.draws).all(axis=(1, 2))
        assert kept.sum() == 1
        assert ensemble.alignment == "scale"
        chosen.add(int(kept.argmax()))
    assert len(chosen) > 1


def test_provenance_is_complete_and_plain():
    estimator = tc.CKL(2, mu=np.float64(0.1), random_state=np.random.default_rng(0), **MAP)
    boot = fitted(estimator, fraction=0.5, random_state=11, warm_start=True)
    provenance = json.loads(json.dumps(boot.ensemble_.provenance))
    assert provenance["source"] == "bootstrap"
    assert provenance["seed"] == "11"
    assert provenance["n_answers"] == 400
    assert provenance["settings"]["fraction"] == 0.5
    assert provenance["settings"]["estimator"]["class"] == "CKL"
    assert provenance["settings"]["estimator"]["mu"] == 0.1
    assert set(provenance["settings"]) == set(boot.get_params(deep=False)) - {
        "n_jobs",
        "progress",
        "checkpoint",
    }
    assert set(provenance["versions"]) == {"tercet", "numpy", "scipy", "numba", "python"}
    expected = {"replicates": 7, "failed": 0, "not_converged": 0, "separable": 0}
    assert provenance["counts"] == expected
    assert "start from the fit to all answers" in provenance["notes"][0]
    assert fitted().ensemble_.provenance["notes"] == []


# --- what is drawn ----------------------------------------------------------------------------


def test_a_bootstrap_of_observers():
    triplets = tc.Triplets(ANSWERS, observers=np.arange(400) // 20)
    by_observer = draws(triplets=triplets, unit="observer")
    assert not np.allclose(by_observer, draws(triplets=triplets))


def test_votes_give_the_bootstrap_of_single_answers():
    counts = np.random.default_rng(0).integers(1, 4, 400)
    counted = tc.Triplets(ANSWERS, weights=counts)
    single = tc.Triplets(np.repeat(np.asarray(ANSWERS), counts, axis=0))
    for settings in ({}, {"fraction": 0.4}, {"fraction": 0.4, "correction": True}):
        ours = fitted(triplets=counted, **settings).ensemble_
        theirs = fitted(triplets=single, **settings).ensemble_
        np.testing.assert_allclose(ours.statistics["loss"], theirs.statistics["loss"], rtol=1e-6)
        np.testing.assert_allclose(ours.distances(), theirs.distances(), rtol=1e-2)
        assert ours.provenance["n_answers"] == counts.sum()


@pytest.mark.filterwarnings("ignore:The weights of")
def test_other_weights_travel_with_their_rows():
    """A row of weight zero would not be there: a tiny weight takes it out of every replicate."""
    weights = np.where(np.arange(400) < 200, 0.5, 1e-9)
    half = tc.Triplets(ANSWERS, weights=weights)
    boot = fitted(triplets=half)
    rows = resample(find_units(half, "answer"), 400, True)
    for k in range(7):
        drawn = rows(np.random.default_rng(seed_for(0, 0, k)))
        alone = tc.STE(2, **MAP).fit(half[drawn], n_objects=12)
        assert alone.loss_ == pytest.approx(boot.ensemble_.statistics["loss"][k], rel=1e-6)
    observers = tc.Triplets(half, observers=np.arange(400) // 10, weights=np.full(400, 2.0))
    assert fitted(triplets=observers, unit="observer").ensemble_.provenance["n_answers"] == 400


def test_parametric_replicates_are_fits_to_new_answers():
    full = tc.STE(2, **MAP).fit(ANSWERS)
    near, far = tc.metrics.squared_distances(full.embedding_, ANSWERS)
    draw = draw_answers(1.0 / (1.0 + np.exp(near - far)), None)
    both = np.concatenate([np.asarray(ANSWERS), np.asarray(ANSWERS)[:, [0, 2, 1]]])
    losses = fitted(parametric=True).ensemble_.statistics["loss"]
    for k, loss in enumerate(losses):
        rows = draw(np.random.default_rng(seed_for(0, 0, k)))
        alone = tc.STE(2, **MAP).fit(both[rows])
        assert alone.loss_ == pytest.approx(loss, rel=1e-4)


def test_the_correction_pulls_towards_the_fit_of_all_answers():
    boot = fitted(fraction=0.4, correction=True, alignment="rotate")
    plain = fitted(fraction=0.4, alignment="rotate").ensemble_
    np.testing.assert_array_equal(boot.ensemble_.draws, plain.draws)
    full = tc.STE(2, **MAP, tol=1e-12, random_state=0).fit(ANSWERS).embedding_
    i, j = np.triu_indices(12, 1)
    base = np.linalg.norm(full[i] - full[j], axis=1)
    expected = base + np.sqrt(0.4 / 0.6) * (plain.distances() - base)
    np.testing.assert_allclose(boot.ensemble_.distances(), expected, rtol=1e-3, atol=1e-3)


def test_warm_starts_reach_the_same_optimum_where_there_is_one():
    warm = fitted(warm_start=True).ensemble_
    cold = fitted().ensemble_
    np.testing.assert_allclose(warm.statistics["loss"], cold.statistics["loss"], rtol=1e-6)
    assert not np.array_equal(warm.draws, cold.draws)


# --- the same bits ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [2, 3, -1, None])
@pytest.mark.parametrize("settings", [{}, {"parametric": True}, {"warm_start": True}])
def test_the_number_of_threads_does_not_change_the_bits(n_jobs, settings):
    one, many = (fitted(n_jobs=k, **settings).ensemble_ for k in (1, n_jobs))
    np.testing.assert_array_equal(one.draws, many.draws)
    np.testing.assert_array_equal(one.statistics["loss"], many.statistics["loss"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["loky", "threading", "multiprocessing"])
def test_a_joblib_backend_does_not_change_the_bits(name, monkeypatch):
    expected = draws(n_jobs=1)
    tasks = []
    monkeypatch.setattr(backend, "delayed", lambda f: lambda *a: tasks.append(a) or (f, a, {}))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)  # fork beside threads
        with joblib.parallel_config(name, n_jobs=2):
            found = draws()
    np.testing.assert_array_equal(found, expected)
    assert len(tasks) == 2


def test_large_replicates_take_turns_with_so_many_threads(monkeypatch):
    expected = fitted().ensemble_
    monkeypatch.setattr("tercet.engine.search.LARGE", 100)
    evaluate, held = search.loss_in_chunks, []

    def loss_in_chunks(*arguments):
        held.append(search._all_threads.locked())
        return evaluate(*arguments)

    monkeypatch.setattr("tercet.engine.search.loss_in_chunks", loss_in_chunks)
    one, three = (fitted(n_jobs=k).ensemble_ for k in (1, 3))
    np.testing.assert_array_equal(one.draws, three.draws)
    np.testing.assert_allclose(one.statistics["loss"], expected.statistics["loss"], rtol=1e-6)
    assert held == [False] * 7 + [True] * 7


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_large_fits_have_no_more_threads_than_jobs(n_jobs, monkeypatch):
    monkeypatch.setattr("tercet.engine.search.LARGE", 100)
    pool, sizes = search.ThreadPoolExecutor, []
    monkeypatch.setattr(search, "ThreadPoolExecutor", lambda k: sizes.append(k) or pool(k))
    fitted(n_jobs=n_jobs, fraction=0.5, correction=True)
    assert set(sizes) <= {n_jobs} - {1}
    assert n_jobs == 1 or len(sizes) > 7  # of all answers, and of replicates


def test_a_backend_is_chosen_or_not():
    assert not backend.backend_is_chosen()
    with joblib.parallel_config(n_jobs=2):
        assert not backend.backend_is_chosen()
    for name in ("loky", "threading", "multiprocessing", "sequential"):
        with joblib.parallel_config(name):
            assert backend.backend_is_chosen()


@pytest.mark.parametrize(
    ("count", "batch", "size", "n_workers", "expected"),
    [
        (200, 1, 200_000, 2, 4),  # many short batches
        (200, 1, 200_000, 100, 1),  # few for each worker
        (200, 1, 4_700_000, 2, 1),  # each takes long
        (600, 2, 200_000, 2, 2),
        (1, 1, 100, 2, 1),
    ],
)
def test_short_batches_share_a_task(count, batch, size, n_workers, expected):
    spans = [slice(k, k + batch) for k in range(0, count, batch)]
    tasks = backend._grouped(spans, size, n_workers)
    assert [span for task in tasks for span in task] == spans
    assert max(map(len, tasks)) == expected


def test_arrays_that_come_read_only_are_not_compiled_for_anew():
    from tercet.engine.backend import pack, unpack
    from tercet.engine.problem import build_problem
    from tercet.engine.search import descend_subsets

    solver, rows = tc.STE(2, **MAP).solver(), np.arange(400)
    problem = build_problem(np.asarray(ANSWERS), 12)
    expected = solver.solve_subsets(problem, [rows], [seed_for(0)])[0]
    compiled = len(descend_subsets.overloads)
    for field in (rows, *problem):
        if isinstance(field, np.ndarray):
            field.setflags(write=False)
    work = unpack(pack(backend._Work(solver, problem, [rows], [seed_for(0)])))
    found = backend._solve_batches(work, [slice(0, 1)])[0]
    np.testing.assert_array_equal(found.embedding, expected.embedding)
    assert len(descend_subsets.overloads) == compiled


def test_the_same_seed_gives_the_same_and_another_another():
    np.testing.assert_array_equal(draws(random_state=5), draws(random_state=5))
    assert not np.allclose(draws(random_state=5), draws(random_state=6))
    first, second = (draws(random_state=np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    rng = np.random.default_rng(1)
    assert not np.allclose(draws(random_state=rng), draws(random_state=rng))
    assert not np.allclose(draws(random_state=None), draws(random_state=None))


def test_the_estimators_seed_is_not_used():
    one, other = (draws(tc.STE(2, random_state=seed, **MAP)) for seed in (1, 2))
    np.testing.assert_array_equal(one, other)


def test_a_replicate_does_not_depend_on_how_many_there_are():
    np.testing.assert_array_equal(draws(n_samples=9)[:4], draws(n_samples=4))


def test_the_recorded_seed_gives_the_same_again():
    boot = fitted(random_state=np.random.default_rng(3))
    again = draws(random_state=int(boot.ensemble_.provenance["seed"]))
    np.testing.assert_array_equal(again, boot.ensemble_.draws)


# --- what may go wrong ------------------------------------------------------------------------


def fail_where(monkeypatch, fails):
    """Let the fits of replicates fail by their seed's key (1, k)."""
    solve = Descent.solve_subsets

    def solve_subsets(self, problem, subsets, seeds):
        fits = zip(solve(self, problem, subsets, seeds), seeds, strict=True)
        bad = {"loss": np.nan, "reason": "failed on purpose"}
        return [one._replace(**bad) if fails(seed.spawn_key) else one for one, seed in fits]

    monkeypatch.setattr(Descent, "solve_subsets", solve_subsets)


def test_failed_replicates_are_left_out_and_counted(monkeypatch):
    everything = draws()
    fail_where(monkeypatch, lambda key: key[-1] in (2, 5))
    with pytest.warns(ConvergenceWarning, match="2 of 7 replicates failed and were left out"):
        boot = fitted()
    assert boot.n_failed_ == boot.ensemble_.provenance["counts"]["failed"] == 2
    np.testing.assert_array_equal(boot.ensemble_.draws, everything[[0, 1, 3, 4, 6]])


def test_when_all_fail_it_is_an_error(monkeypatch):
    fail_where(monkeypatch, lambda key: True)
    with pytest.raises(TercetError, match="all 7 replicates failed: failed on purpose"):
        fitted()
    with pytest.raises(TercetError, match="embedding of all answers failed"):
        fitted(parametric=True)


def test_replicates_that_did_not_converge_are_kept_and_counted():
    with pytest.warns(ConvergenceWarning, match="7 of 7 replicates did not converge and were kept"):
        boot = fitted(tc.STE(2, max_iter=2, **MAP))
    assert boot.ensemble_.provenance["counts"]["not_converged"] == 7
    assert len(boot.ensemble_) == 7


def test_separable_replicates_are_counted_and_said_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        boot = tc.Bootstrap.paper(tc.STE(2), random_state=0).fit(CERTAIN)
    assert [w.category for w in caught] == [SeparableWarning]
    assert boot.ensemble_.provenance["counts"]["separable"] > 10
    assert caught[0].filename == __file__


def test_the_correction_warns_where_every_answer_is_satisfied():
    boot = tc.Bootstrap(tc.STE(2), 3, fraction=0.5, correction=True, random_state=0)
    with (
        pytest.warns(SeparableWarning),
        pytest.warns(DataWarning, match="correction=True with it; add a penalty"),
    ):
        boot.fit(CERTAIN)


def test_screens_of_one_comparison_change_nothing():
    np.testing.assert_array_equal(
        draws(triplets=tc.Triplets(ANSWERS, screens=np.arange(400))), draws()
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"estimator": "STE"},
            "'estimator' .* a number of dimensions, or an estimator",
        ),
        ({"estimator": tc.STE(0)}, "'n_components' parameter of STE"),
        ({"n_samples": 0}, "'n_samples' .* positive whole number, got 0"),
        ({"fraction": 1.5}, "'fraction' .* above 0 and up to 1, got 1.5"),
        ({"fraction": 0.001}, "fraction=0.001 of 400 answers is less than one"),
        ({"replace": "no"}, "'replace' .* True, False or None"),
        ({"replace": False}, "draws all answers every time"),
        ({"unit": "row"}, "'unit' .* one of 'answer', 'observer', got 'row'"),
        ({"unit": "observer"}, "do not say which observer"),
        ({"unit": "screen"}, "'unit' .* one of 'answer', 'observer', got 'screen'"),
        ({"unit": None}, "'unit' .* one of 'answer', 'observer', got None"),
        ({"alignment": "procrustes"}, "'alignment' .* one of 'paper'"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"random_state": "seed"}, "random_state must be"),
        ({"correction": True}, "correction=True is for subsamples drawn without replacement"),
        ({"correction": True, "fraction": 0.4, "replace": True}, "without replacement"),
        ({"correction": True, "parametric": True}, "without replacement"),
        ({"parametric": True, "fraction": 0.4}, "omit fraction, replace and unit"),
        ({"parametric": True, "replace": True}, "omit fraction, replace and unit"),
        ({"parametric": True, "unit": "observer"}, "omit fraction, replace and unit"),
        ({"parametric": True, "estimator": tc.STE(2)}, r"such as STE\(2, penalty=1/30\)"),
        ({"parametric": True, "estimator": tc.SOE(2)}, r"SOE has none; use .* STE\(2, pen"),
        ({"warm_start": True, "estimator": tc.GNMDS(2)}, "direct=True for a warm start"),
    ],
)
def test_errors_name_the_parameter_and_the_cure(settings, message):
    settings = {"estimator": tc.STE(2, **MAP)} | settings
    with pytest.raises(InputError, match=message):
        tc.Bootstrap(**settings).fit(ANSWERS)


def test_one_observer_is_too_few():
    with pytest.raises(InputError, match="at least two observers"):
        fitted(triplets=tc.Triplets(ANSWERS, observers=["ann"] * 400), unit="observer")


def test_a_progress_bar_is_shown_when_asked_for(capsys):
    fitted(progress=True)
    assert "replicates: " in capsys.readouterr().err
    fitted(progress=False)
    fitted()  # no terminal here
    assert capsys.readouterr().err == ""

"""Whatever takes answers takes them in every form, and says in words what it cannot take."""

import warnings

import numpy as np
import pytest

import tercet as tc
from tercet import metrics, plots, simulate

ROWS = simulate.noisy_triplets(
    simulate.gaussian_mixture(6, random_state=0)[0], 40, noise=0.3, random_state=0
).array
LINE = simulate.answer(
    np.linspace(0.0, 1.0, 6)[:, None],
    simulate.random_comparisons(6, 40, random_state=0),
    noise=0.3,
    random_state=0,
)
POINTS = simulate.gaussian_mixture(6, random_state=0)[0]
BOOT = {"n_samples": 3, "n_jobs": 1, "progress": False}
DRAWN = {"n_samples": 4, "n_chains": 1, "warmup": 4, "n_jobs": 1, "progress": False}


def bootstrap(**more):
    return tc.Bootstrap(tc.STE(2), **BOOT, **({"random_state": 0} | more))


def analyse(given, **more):
    quick = {"dimension": 2, "uncertainty": "bootstrap", "samples": 20, "questions": 0}
    return tc.analyse(given, **quick, n_jobs=1, progress=False, **more)


def posterior(**more):
    return tc.Posterior(tc.STE(2), **DRAWN, **({"random_state": 0} | more))


@pytest.fixture(scope="module")
def ensemble():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bootstrap().fit(ROWS).ensemble_


# What each public name does with answers; None where it is given none.
TAKERS = {
    "ActiveLoop": lambda given, _: tc.ActiveLoop(posterior(), start=given, random_state=0),
    "Analysis": None,
    "Bootstrap": lambda given, _: bootstrap().fit(given),
    "CKL": lambda given, _: tc.CKL(2, max_iter=5, random_state=0).fit(given).score(given),
    "Choices": None,  # takes alternatives
    "DataWarning": None,
    "DistancePrior": None,
    "Ensemble": lambda given, made: (
        made.triplet_probability(given),
        made.answer_probability(given),
        made.predict(given),
        made.average_uncertainty(given),
        made.log_likelihood(given),
    ),
    "GNMDS": lambda given, _: tc.GNMDS(2, max_iter=5).fit(given).predict(given),
    "InputError": None,
    "NormalPrior": None,
    "Posterior": lambda given, _: posterior().fit(given),
    "SOE": lambda given, _: tc.SOE(2, max_iter=5, random_state=0).fit(given).score(given),
    "STE": lambda given, _: tc.STE(2, max_iter=5, random_state=0).fit(given).score(given),
    "SeparableWarning": None,
    "Shepard": lambda given, _: tc.Shepard(2, max_iter=5, random_state=0).fit(given).score(given),
    "StreamedTriplets": None,
    "TSTE": lambda given, _: tc.TSTE(2, max_iter=5, random_state=0).fit(given).score(given),
    "TercetError": None,
    "Triplets": lambda given, _: tc.Triplets(given),
    "agreement": lambda given, _: tc.agreement(given, given),
    "align": None,
    "analyse": lambda given, _: analyse(given),
    "as_triplets": lambda given, _: tc.as_triplets(given),
    "certainty": lambda given, made: tc.certainty(made, given),
    "check_answers": lambda given, _: tc.check_answers(given),
    "choose_threshold": lambda given, made: tc.choose_threshold(made, given, random_state=0),
    "compare_models": lambda given, _: tc.compare_models(
        given, [posterior(), tc.SOE(2)], holdout=given, n_jobs=1, random_state=0
    ),
    "datasets": None,
    "diagnose": lambda given, _: tc.diagnose(given),
    "estimate_dimension": lambda given, _: tc.estimate_dimension(
        given,
        [1, 2],
        estimator=tc.STE(penalty=0.03),
        folds=2,
        repeats=1,
        thorough=False,
        n_jobs=1,
        random_state=0,
    ),
    "goodness_of_fit": None,
    "hold_out": lambda given, _: tc.hold_out(given, random_state=0),
    "lack_of_fit": lambda given, made: tc.lack_of_fit(made, given, random_state=0),
    "log_likelihood": lambda given, _: tc.log_likelihood(POINTS, given, tc.STE()),
    "log_likelihood_gradient": lambda given, _: tc.log_likelihood_gradient(POINTS, given, tc.STE()),
    "metrics": lambda given, _: (
        metrics.satisfied(POINTS, given),
        metrics.squared_distances(POINTS, given),
        metrics.triplet_error(POINTS, given),
    ),
    "nearest_neighbours": None,
    "open_triplets": None,
    "perceptual_scale": lambda given, _: tc.perceptual_scale(
        given, n_samples=3, n_jobs=1, random_state=0
    ),
    "plan_answers": lambda given, _: tc.plan_answers(
        like=given, maker=bootstrap(), answers=[20, 40], repeats=6, n_jobs=1, random_state=0
    ),
    "plan_kinds": lambda given, _: tc.plan_kinds(
        kinds=["triplet", "odd_one_out"],
        like=given,
        maker=bootstrap(),
        answers=[20, 40],
        repeats=6,
        n_jobs=1,
        random_state=0,
    ),
    "plots": lambda given, made: (
        plots.plot_shepard(made, given),
        plots.plot_uncertainty(made, given),
    ),
    "predict_held_out": lambda given, _: tc.predict_held_out(bootstrap(), given, folds=2),
    "read_answers": None,
    "read_file": None,
    "read_triplets": None,
    "risk_coverage": None,
    "scales_by_observer": None,  # needs observers, which only Triplets have
    "score_embedding": lambda given, _: tc.score_embedding(POINTS, given),
    "simulate": lambda given, _: (
        simulate.answer(POINTS, given, random_state=0),
        simulate.true_triplets(POINTS, given),
        simulate.answers_from_model(tc.STE(2).model(), POINTS, given, random_state=0),
    ),
    "stack_chains": None,  # needs several chains of a posterior
    "suggest": lambda given, made: tc.suggest(
        made, 2, triplets=given, pending=given, candidates=simulate.all_comparisons(6)
    ),
    "write_triplets": lambda given, _: tc.write_triplets(given, "out.csv"),
}
ON_A_LINE = {"perceptual_scale"}
OPTIONAL = {
    "Ensemble",
    "certainty",
    "plan_answers",
    "plan_kinds",
    "plots",
    "simulate",
    "suggest",
}  # of None

FORMS = {"list": lambda rows: rows.tolist(), "array": np.asarray, "Triplets": tc.Triplets}
GARBAGE = {
    "None": None,
    "text": "answers.csv",
    "a number": 7,
    "floats": [[0.5, 1.5, 2.5]],
    "ragged": [[0, 1, 2], [0, 1]],
    "nothing": [],
    "a row": [0, 1, 2],
    "mixed": [[0, "cat", 2]],
    "negative": [[-1, 0, 1]],
    "a dict": {"anchor": 0},
    "bytes": b"abc",
    "objects": [[object(), object(), object()]],
    "missing": [[0, 1, np.nan]],
    "three dimensions": np.zeros((2, 3, 3), dtype=int),
    "a set": {1, 2, 3},
    "a generator": (row for row in [[0, 1, 2]]),
    "a class": tc.Triplets,
    "complex": [[0j, 1j, 2j]],
}


def test_every_public_name_has_its_place_here():
    assert sorted(TAKERS) == sorted(tc.__all__)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [name for name, use in TAKERS.items() if use is not None])
@pytest.mark.filterwarnings("ignore")
def test_answers_are_taken_in_every_form(name, form, ensemble, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = LINE if name in ON_A_LINE else ROWS
    TAKERS[name](FORMS[form](rows), ensemble)


def may_be_left_out(name, garbage):
    """Whether it means that there are no answers."""
    return (garbage == "None" and name in OPTIONAL) or (garbage == "nothing" and name == "suggest")


@pytest.mark.parametrize(
    ("name", "garbage"),
    [
        (name, garbage)
        for name, use in TAKERS.items()
        for garbage in GARBAGE
        if use is not None and not may_be_left_out(name, garbage)
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_garbage_is_refused_in_words(name, garbage, ensemble, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tc.InputError) as raised:
        TAKERS[name](GARBAGE[garbage], ensemble)
    assert len(str(raised.value)) < 1000
    assert not list(tmp_path.iterdir())


SEEDED = {
    "Bootstrap": lambda seed, _: bootstrap(random_state=seed).fit(ROWS),
    "Posterior": lambda seed, _: posterior(random_state=seed).fit(ROWS),
    "STE": lambda seed, _: tc.STE(2, random_state=seed).fit(ROWS),
    "analyse": lambda seed, _: analyse(ROWS, random_state=seed),
    "predict_held_out": lambda seed, _: tc.predict_held_out(
        bootstrap(), ROWS, folds=2, random_state=seed
    ),
    "ActiveLoop": lambda seed, _: tc.ActiveLoop(posterior(), start=ROWS, random_state=seed),
    "score_embedding": lambda seed, _: tc.score_embedding(POINTS, ROWS, random_state=seed),
    "suggest": lambda seed, made: tc.suggest(made, 2, random_state=seed),
    "average_uncertainty": lambda seed, made: made.average_uncertainty(
        sample=10, random_state=seed
    ),
    "hold_out": lambda seed, _: tc.hold_out(ROWS, random_state=seed),
    "choose_threshold": lambda seed, made: tc.choose_threshold(made, ROWS, random_state=seed),
    "lack_of_fit": lambda seed, made: tc.lack_of_fit(
        made, np.concatenate([ROWS, ROWS]), random_state=seed
    ),
    "compare_models": lambda seed, _: tc.compare_models(
        ROWS, [posterior()], method="kfold", random_state=seed
    ),
    "estimate_dimension": lambda seed, _: tc.estimate_dimension(
        ROWS,
        [1, 2],
        estimator=tc.STE(penalty=0.03),
        folds=2,
        repeats=1,
        thorough=False,
        random_state=seed,
    ),
    "perceptual_scale": lambda seed, _: tc.perceptual_scale(LINE, n_samples=3, random_state=seed),
    "plan_answers": lambda seed, _: tc.plan_answers(
        6, maker=bootstrap(), answers=[20, 40], repeats=6, random_state=seed
    ),
    "gaussian_mixture": lambda seed, _: simulate.gaussian_mixture(5, random_state=seed),
    "random_comparisons": lambda seed, _: simulate.random_comparisons(5, 3, random_state=seed),
    "answer": lambda seed, _: simulate.answer(POINTS, ROWS, random_state=seed),
    "answers_from_model": lambda seed, _: simulate.answers_from_model(
        tc.STE(2).model(), POINTS, ROWS, random_state=seed
    ),
    "random_questions": lambda seed, _: simulate.random_questions(5, 3, random_state=seed),
    "choices": lambda seed, _: simulate.choices(POINTS, 5, noise=0.3, random_state=seed),
    "noisy_triplets": lambda seed, _: simulate.noisy_triplets(POINTS, 5, random_state=seed),
    "perception_functions": lambda seed, _: simulate.perception_functions(
        2, np.linspace(0, 1, 5), lengthscale=1.0, random_state=seed
    ),
    "observers": lambda seed, _: simulate.observers(
        np.linspace(0, 1, 5)[None], 3, random_state=seed
    ),
    "DistancePrior.sample": lambda seed, _: tc.DistancePrior(1.0).sample(1, 4, random_state=seed),
}


@pytest.mark.parametrize(
    "seed",
    ["42", 1.5, -1, 10**5000, [1, 2], True, np.array([1]), np.nan, b"1", object()],
    ids=lambda seed: type(seed).__name__,
)
@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.filterwarnings("ignore")
def test_a_bad_random_state_is_refused_in_words(name, seed, ensemble):
    with pytest.raises(tc.InputError, match="random_state must be None, a whole number from 0"):
        SEEDED[name](seed, ensemble)

"""An integer stands for the recommended model, in every maker and every use."""

import numpy as np
import pytest
from sklearn.base import clone

import tercet as tc
from tercet import makers as recommended
from tercet.answers import diagnosis
from tercet.errors import InputError
from tercet.makers import LEARNED, chain_sizes
from tercet.posterior import posterior as posterior_module
from tercet.posterior.posterior import model_of_a_map
from tercet.simulate import gaussian_mixture, noisy_triplets

# Chains as short as here are told so; what is tested does not depend on it.
pytestmark = pytest.mark.filterwarnings("ignore:not converged")

POINTS = gaussian_mixture(10, random_state=0)[0]
ANSWERS = noisy_triplets(POINTS, 400, noise=0.5, replace=True, random_state=0)
# Odd ones out: the others are nearer to each other than to the third.
ROWS = np.concatenate([ANSWERS.array, ANSWERS.array[:, [1, 0, 2]]])
SCREENS = tc.Triplets(ROWS, screens=np.tile(np.arange(400), 2))
CHOICES = tc.Choices.odd_one_out(ANSWERS.array)
QUICK = {"n_samples": 20, "n_chains": 2, "warmup": 30, "random_state": 0}


def drawn(maker, answers=ANSWERS):
    return maker.fit(answers).ensemble_.draws


# --- the posterior ----------------------------------------------------------------------------


def test_a_number_is_shepard_s_law_with_everything_learned():
    found = tc.Posterior(2, **QUICK).fit(ANSWERS).ensemble_
    spelt = tc.Posterior(tc.Shepard(2), learn=LEARNED, **QUICK).fit(ANSWERS).ensemble_
    np.testing.assert_array_equal(found.draws, spelt.draws)
    assert set(found.parameters) == {"gamma", "tail", "lapse", "variance"}
    assert found.provenance["settings"] == spelt.provenance["settings"]
    assert found.provenance["prior"]["variance"] == 1.0


def test_an_estimator_learns_nothing_unless_told():
    assert tc.Posterior(tc.CKL(2))._plan().learn == {}
    assert tc.Posterior(2, learn=())._plan().learn == {}
    assert set(tc.Posterior(2, learn=["lapse"])._plan().learn) == {"lapse"}


def test_sides_are_learned_if_they_are_found_and_nothing_else_is_said():
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(8)[:3] for _ in range(300)])
    shown = np.array([rng.permutation(2) for _ in rows])
    asked = tc.Choices.from_triplets(tc.Triplets(rows), positions=shown)
    points, model = rng.normal(size=(8, 2)), tc.STE(2).model()
    fair, biased = (
        tc.simulate.choices_from_model(model, points, asked, bias=bias, random_state=rng)
        for bias in (None, [0.8, -0.8])
    )
    assert tc.Posterior(2).settle(biased).learn == ("gamma", "tail", "lapse", "bias")
    assert tc.Posterior(2).settle(fair).learn == ("gamma", "tail", "lapse")
    assert tc.Posterior(2, learn=()).settle(biased).learn == ()
    assert tc.Posterior(tc.STE(2)).settle(biased).learn == ()


def test_many_answers_get_shorter_chains_and_only_of_a_number(monkeypatch):
    assert chain_sizes(recommended.MANY) == (1000, 4)
    assert chain_sizes(recommended.MANY + 1) == (500, 2)
    many = tc.Triplets(np.tile([[0, 1, 2]], (recommended.MANY + 1, 1)))
    settled = tc.Posterior(2).settle(many)
    assert (settled.n_samples, settled.n_chains) == (500, 2)
    assert tc.Posterior(2, n_chains=3).settle(many).n_chains == 3
    settled = tc.Posterior(tc.CKL(2)).settle(many)
    assert (settled.n_samples, settled.n_chains) == (1000, 4)
    monkeypatch.setattr(recommended, "MANY", 399)
    found = tc.Posterior(2, n_samples=20, warmup=30, random_state=0).fit(ANSWERS)
    assert found.ensemble_.n_chains == 2


@pytest.mark.parametrize("maker", [tc.Posterior(2), tc.Bootstrap(2)])
def test_parameters_stay_as_given(maker):
    twin = clone(maker)
    assert twin.get_params() == maker.get_params()
    assert twin.estimator == 2
    assert twin.set_params(estimator=3).embedder.n_components == 3
    assert maker.in_dimension(1).estimator == 1
    assert type(maker)(tc.STE(2)).in_dimension(1).estimator.n_components == 1


@pytest.mark.parametrize("maker", [tc.Posterior, tc.Bootstrap])
@pytest.mark.parametrize("estimator", [0, -1, 2.5, "2", True, None])
def test_other_numbers_are_refused(maker, estimator):
    with pytest.raises(InputError, match=r"'estimator' .* a number of dimensions, or"):
        maker(estimator).fit(ANSWERS)


# --- the bootstrap ----------------------------------------------------------------------------


def test_the_bootstrap_takes_the_posterior_s_means():
    boot = tc.Bootstrap(2, 5, random_state=0).fit(ANSWERS)
    model = model_of_a_map(ANSWERS, 2)
    assert (boot.ensemble_.model.gamma, boot.ensemble_.model.tail) == (model.gamma, model.tail)
    settings = boot.ensemble_.provenance["settings"]
    assert settings["estimator"]["gamma"] == model.gamma
    assert settings["estimator"]["penalty"] == model.penalty
    spelt = drawn(tc.Bootstrap(model, 5, random_state=0))
    np.testing.assert_array_equal(spelt, boot.ensemble_.draws)
    assert boot.estimator == 2
    assert tc.Bootstrap(2)._count() == recommended.REPLICATES
    assert tc.Bootstrap(tc.STE(2))._count() == 100


def test_they_are_means_of_the_posterior_without_a_lapse_rate():
    model = model_of_a_map(ANSWERS, 2)
    long = tc.Posterior(tc.Shepard(2), learn=("gamma", "tail"), n_chains=2, random_state=1)
    drawn = long.fit(ANSWERS).ensemble_.parameters
    for name, found in (
        ("gamma", model.gamma),
        ("tail", model.tail),
        ("variance", 0.5 / model.penalty),
    ):
        logs = np.log(drawn[name])
        assert abs(np.log(found) - logs.mean()) < 0.5 * logs.std()


def test_of_very_many_answers_a_part_is_enough(monkeypatch):
    whole = model_of_a_map(ANSWERS, 2)
    monkeypatch.setattr(posterior_module, "_ENOUGH", len(ANSWERS))
    assert model_of_a_map(ANSWERS, 2).get_params() == whole.get_params()
    monkeypatch.setattr(posterior_module, "_ENOUGH", len(ANSWERS) // 2)
    assert model_of_a_map(ANSWERS, 2).get_params() != whole.get_params()


def test_it_needs_the_answers_in_memory(tmp_path):
    np.save(tmp_path / "answers.npy", ANSWERS.array)
    stream = tc.open_triplets(tmp_path / "answers.npy")
    with pytest.raises(InputError, match=r"name a model, such as Bootstrap\(Shepard\(2, "):
        tc.Bootstrap(2).fit(stream)


# --- screens ----------------------------------------------------------------------------------


MAKERS = {
    "posterior": lambda: tc.Posterior(2, **QUICK),
    "laplace": lambda: tc.Posterior(tc.STE(2), sampler="laplace", n_samples=20, random_state=0),
    "bootstrap": lambda: tc.Bootstrap(tc.STE(2, penalty=0.1), 3, random_state=0),
    "loss": lambda: tc.Bootstrap(tc.SOE(2), 3, random_state=0),
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_comparisons_of_a_screen_are_one_choice_in_every_maker(name):
    found = MAKERS[name]().fit(SCREENS).ensemble_
    spelt = MAKERS[name]().fit(CHOICES).ensemble_
    np.testing.assert_array_equal(found.draws, spelt.draws)
    assert found.provenance["settings"] == spelt.provenance["settings"]
    assert found.provenance["n_answers"] == spelt.provenance["n_answers"] == 400
    assert found.provenance["choices"] == spelt.provenance["choices"] == "1 of 3"


@pytest.mark.parametrize("name", MAKERS)
def test_without_their_screens_they_are_independent_answers(name):
    alone = MAKERS[name]().fit(tc.Triplets(ROWS)).ensemble_
    assert alone.provenance["n_answers"] == 800
    assert "choices" not in alone.provenance
    assert not np.array_equal(alone.draws, drawn(MAKERS[name](), SCREENS))


def test_the_bootstrap_takes_the_means_of_the_choices():
    boot = tc.Bootstrap(2, 3, random_state=0).fit(SCREENS)
    model, alone = model_of_a_map(CHOICES, 2), model_of_a_map(tc.Triplets(ROWS), 2)
    assert (boot.ensemble_.model.gamma, boot.ensemble_.model.tail) == (model.gamma, model.tail)
    assert (model.gamma, model.tail) != (alone.gamma, alone.tail)


def test_choices_are_drawn_again_only_by_resampling():
    boot = tc.Bootstrap(tc.STE(2, penalty=0.1), 3, parametric=True)
    with pytest.raises(InputError, match="choices on screens: use parametric=False, or a Post"):
        boot.fit(SCREENS)


def test_choices_say_what_was_chosen():
    for maker in (tc.Posterior(2, **QUICK), tc.Bootstrap(2, 3)):
        with pytest.raises(InputError, match="choices take no y"):
            maker.fit(CHOICES, np.ones(400))


# --- said once --------------------------------------------------------------------------------


@pytest.fixture
def diagnoses(monkeypatch):
    """How often the answers were diagnosed."""
    found, original = [], diagnosis.diagnose

    def diagnose(*args, **kwargs):
        found.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(diagnosis, "diagnose", diagnose)
    monkeypatch.setattr("tercet.uses.compare.by_prediction.diagnose", diagnose)
    return found


def test_the_dimension_diagnoses_once_and_says_nothing_of_its_chains(diagnoses, recwarn):
    quick = tc.Posterior(2, n_samples=20, n_chains=2, warmup=20)
    tc.estimate_dimension(
        SCREENS, (1, 2), posterior=quick, folds=2, repeats=1, n_jobs=1, random_state=0
    )
    assert len(diagnoses) == 1
    assert not recwarn.list


def test_so_does_a_comparison(diagnoses, recwarn):
    models = [tc.Posterior(2, **QUICK), tc.SOE(2, n_init=1)]
    tc.compare_models(SCREENS, models, method="kfold", folds=2, n_jobs=1, random_state=0)
    assert len(diagnoses) == 1
    assert not recwarn.list

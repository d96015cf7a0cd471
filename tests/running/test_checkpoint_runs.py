"""Bootstrap and Posterior with a checkpoint: the same bits, however often they were interrupted."""

from contextlib import suppress

import joblib
import numpy as np
import pytest
from studies.killing import bits

import tercet as tc
from tercet.answers.either import with_weights
from tercet.cli.main import main
from tercet.errors import InputError, TercetError
from tercet.posterior import chains, mode
from tercet.running import checkpoint as checkpoints
from tercet.running.checkpoint import Checkpoint
from tercet.simulate import choices_from_model, gaussian_mixture, noisy_triplets

# Chains as short as here are told so; what is tested does not depend on it.
pytestmark = pytest.mark.filterwarnings("ignore:not converged")

POINTS = gaussian_mixture(8, random_state=0)[0]
ANSWERS = noisy_triplets(POINTS, 300, noise=0.5, replace=True, random_state=0)


def make_choices():
    """Choices of every kind."""
    rng = np.random.default_rng(1)
    shown = np.argsort(rng.random((40, 8)), axis=1)
    anchor, others = shown[:, 0], shown[:, 1:6]
    asked = [
        tc.Choices.odd_one_out(shown[:, :3]),
        tc.Choices.most_central(shown[:, 3:6]),
        tc.Choices.nearest(anchor, others, others[:, :2]),
        tc.Choices.nearest(anchor, others, others[:, :2], ranked=True),
        tc.Choices.best_worst(anchor, others, others[:, 0], others[:, 1]),
        tc.Choices.nearest(anchor, others[:, :2], others[:, 0]),  # comparisons
    ]
    return choices_from_model(
        tc.STE(2).model(), POINTS, tc.Choices.concatenate(asked), random_state=rng
    )


CHOICES = make_choices()
SHORT = {"n_samples": 60, "n_chains": 2, "warmup": 90, "random_state": 3}
MAP = tc.STE(2, penalty=1 / 30)
MAKERS = {
    "bootstrap": lambda: tc.Bootstrap(tc.STE(2), 12, random_state=3),
    "corrected": lambda: tc.Bootstrap(MAP, 12, fraction=0.5, correction=True, random_state=3),
    "warm": lambda: tc.Bootstrap(MAP, 12, warm_start=True, random_state=3),
    "parametric": lambda: tc.Bootstrap(MAP, 12, parametric=True, random_state=3),
    "the paper's bootstrap": lambda: tc.Bootstrap.paper(MAP, random_state=3),
    "hmc": lambda: tc.Posterior(tc.STE(2), **SHORT),
    "no warm-up": lambda: tc.Posterior(tc.STE(2), **SHORT | {"warmup": 0}),
    "on a line": lambda: tc.Posterior(tc.STE(1), **SHORT),
    "learned": lambda: tc.Posterior(tc.CKL(2), learn=("lapse", "exponent"), **SHORT),
    "elliptical": lambda: tc.Posterior(tc.STE(2), sampler="elliptical_slice", **SHORT),
    "the paper's posterior": lambda: tc.Posterior.paper(tc.STE(2), random_state=3, n_samples=110),
    "matrices": lambda: tc.Posterior(tc.STE(2), prior=tc.DistancePrior(2.0), **SHORT),
    "laplace": lambda: tc.Posterior(tc.STE(2), sampler="laplace", n_samples=60, random_state=3),
}
OF_CHOICES = {
    "choices, bootstrap": lambda: tc.Bootstrap(MAP, 12, random_state=3),
    "choices, corrected": MAKERS["corrected"],
    "choices, loss": lambda: tc.Bootstrap(tc.SOE(2), 8, random_state=3),
    "choices, hmc": MAKERS["hmc"],
    "choices, learned": MAKERS["learned"],
    "choices, elliptical": MAKERS["elliptical"],
    "choices, matrices": MAKERS["matrices"],
    "choices, laplace": MAKERS["laplace"],
}
MAKERS |= OF_CHOICES


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


def made(name, path=None, answers=None, **changes):
    if answers is None:
        answers = CHOICES if name in OF_CHOICES else ANSWERS
    return MAKERS[name]().set_params(checkpoint=path, **changes).fit(answers)


def made_bits(*args, **changes):
    return bits(made(*args, **changes).ensemble_)


def interrupt_after(monkeypatch, count):
    """Keep so many rows more, each at once, and no others: as if killed then."""
    left = [count]
    add = Checkpoint.add

    def add_or_stop(self, *args):
        if self._file is not None:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
        add(self, *args)

    monkeypatch.setattr(Checkpoint, "add", add_or_stop)
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)


@pytest.mark.parametrize("name", MAKERS)
def test_interrupted_after_every_few_rows_the_bits_are_the_same(name, path, monkeypatch):
    undisturbed = made_bits(name)
    for count in (0, 1, 2, 3, 1, 4, 5):  # the last of them may reach the end
        with monkeypatch.context() as stopped:
            interrupt_after(stopped, count)
            with suppress(KeyboardInterrupt):
                made(name, path)
    assert made_bits(name, path) == undisturbed


def no_work(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("this was done before")

    monkeypatch.setattr("tercet.bootstrap.bootstrap.fit_anywhere", fail)
    monkeypatch.setattr(mode, "_find_map", fail)
    monkeypatch.setattr(mode, "_find_modes", fail)
    monkeypatch.setattr(chains, "advance_chain", fail)


@pytest.mark.parametrize("name", MAKERS)
def test_a_finished_run_is_only_read(name, path, monkeypatch):
    first = made_bits(name, path)
    no_work(monkeypatch)
    assert made_bits(name, path) == first


@pytest.mark.parametrize("name", MAKERS)
def test_work_that_is_not_done_is_noticed(name, path, monkeypatch):
    """Negative control of the test before."""
    no_work(monkeypatch)
    with pytest.raises(AssertionError, match="done before"):
        made(name, path)


@pytest.mark.parametrize("lost", ["rng", "place.tuner", "place.Y", "tools.A"])
def test_a_checkpoint_that_forgets_anything_is_noticed(lost, path, monkeypatch):
    """Negative control: nothing of a chain's state can be left out."""
    undisturbed = made_bits("hmc")
    with monkeypatch.context() as stopped:
        interrupt_after(stopped, 8)  # in the first phase of the warm-up
        with pytest.raises(KeyboardInterrupt):
            made("hmc", path, n_jobs=1)
    restore = chains.ChainRun._restore

    def forget(self, content):
        if lost == "rng":
            content["rng"]["state"]["state"] += 1
        elif lost in content:
            content[lost] = 1.01 * content[lost]
        restore(self, content)

    monkeypatch.setattr(chains.ChainRun, "_restore", forget)
    assert made_bits("hmc", path) != undisturbed


@pytest.mark.parametrize(
    "name", ["hmc", "elliptical", "matrices", "bootstrap", "choices, hmc", "choices, bootstrap"]
)
def test_a_run_can_go_on_with_other_workers(name, path, monkeypatch):
    undisturbed = made_bits(name)
    with monkeypatch.context() as stopped:
        interrupt_after(stopped, 5)
        with pytest.raises(KeyboardInterrupt), joblib.parallel_config("threading", n_jobs=2):
            made(name, path)
    assert made_bits(name, path, n_jobs=1) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["hmc", "learned", "elliptical", "matrices", "the paper's posterior", *OF_CHOICES]
)
def test_runs_have_the_same_bits_on_any_backend(name, monkeypatch):
    undisturbed = made_bits(name, n_jobs=1)
    assert made_bits(name, n_jobs=2) == undisturbed
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend, n_jobs=2):
            assert made_bits(name) == undisturbed
    monkeypatch.setattr(chains, "_ROUND", 0.0)  # rounds of one block
    with joblib.parallel_config("threading", n_jobs=2):
        assert made_bits(name) == undisturbed


def test_an_unseeded_run_goes_on_with_its_seed(path, monkeypatch):
    with monkeypatch.context() as stopped:
        interrupt_after(stopped, 9)
        with pytest.raises(KeyboardInterrupt):
            made("hmc", path, random_state=None)
    ensemble = made("hmc", path, random_state=None).ensemble_
    again = made("hmc", random_state=int(ensemble.provenance["seed"])).ensemble_
    np.testing.assert_array_equal(ensemble.draws, again.draws)


@pytest.mark.parametrize("name", ["bootstrap", "hmc"])
def test_the_record_does_not_tell_of_the_checkpoint(name, path):
    assert made(name, path).ensemble_.provenance == made(name).ensemble_.provenance


# --- another run ------------------------------------------------------------------------------

RELABELLED = tc.Triplets(ANSWERS, names=list("abcdefgh"))
OBSERVED = tc.Triplets(ANSWERS, observers=np.arange(300) % 3)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("hmc", {"n_samples": 70}, "n_samples is 70 and was 60"),
        ("hmc", {"estimator": tc.STE(3)}, "n_components of the estimator is 3 and was 2"),
        ("hmc", {"prior": tc.NormalPrior(2.0)}, "variance of the prior is 2.0 and was None"),
        ("hmc", {"random_state": 4}, "the seed is 4 and was 3"),
        ("hmc", {"answers": ANSWERS[:299]}, "other comparisons"),
        ("hmc", {"answers": RELABELLED}, "other names of objects"),
        (
            "bootstrap",
            {"answers": tc.Triplets(ANSWERS, weights=np.full(300, 2.0))},
            "other weights",
        ),
        ("matrices", {"prior": tc.DistancePrior(np.full((8, 8), 2.0))}, "other mean of the prior"),
    ],
)
def test_another_run_is_refused(name, change, told, path):
    made(name, path)
    with pytest.raises(InputError, match=told):
        made(name, path, **change)


def test_a_matrix_in_a_prior_counts_by_its_entries(path):
    D = np.full((8, 8), 2.0)
    made("matrices", path, prior=tc.DistancePrior(D))
    with pytest.raises(InputError, match="other mean of the prior"):
        made("matrices", path, prior=tc.DistancePrior(D + 0.1))


def test_other_observers_are_other_data(path):
    made("bootstrap", path, answers=OBSERVED, unit="observer")
    others = tc.Triplets(ANSWERS, observers=np.arange(300) % 4)
    with pytest.raises(InputError, match="other observers; other sizes of observers"):
        made("bootstrap", path, answers=others, unit="observer")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (CHOICES[:-1], "other alternatives; other sizes; other kinds; other chosen"),
        (choices_from_model(tc.STE(2).model(), -POINTS[::-1], CHOICES, random_state=0), "alterna"),
        (with_weights(CHOICES, np.full(len(CHOICES), 2.0)), "other weights"),
        (tc.Triplets(CHOICES.triplets().array), "comparisons"),
        (ANSWERS, "comparisons"),
    ],
)
@pytest.mark.parametrize("name", ["choices, bootstrap", "choices, hmc"])
def test_other_choices_are_refused(name, change, told, path):
    made(name, path)
    with pytest.raises(InputError, match=told):
        made(name, path, answers=change)


@pytest.mark.parametrize("ordered", [True, False])
def test_the_same_pairs_chosen_in_another_way_are_other_choices(ordered, path):
    anchor, others = np.zeros(5, dtype=int), np.tile(np.arange(1, 6), (5, 1))
    first = tc.Choices.nearest(anchor, others, others[:, :2], ranked=ordered)
    second = tc.Choices.nearest(anchor, others, others[:, :2], ranked=not ordered)
    made("choices, bootstrap", path, answers=first)
    with pytest.raises(InputError, match=r"another run: other kinds\."):
        made("choices, bootstrap", path, answers=second)


@pytest.mark.parametrize("name", OF_CHOICES)
def test_the_comparisons_of_choices_are_the_same_run(name, path, monkeypatch):
    first = made_bits(name, path)
    no_work(monkeypatch)
    assert made_bits(name, path, answers=CHOICES.triplets()) == first


def test_a_run_of_the_other_kind_is_refused(path):
    made("bootstrap", path)
    with pytest.raises(InputError, match=r"run: class is 'Posterior' and was 'Bootstrap'\."):
        made("hmc", path)


# --- a full disk ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bootstrap", "hmc", "matrices"])
def test_a_full_disk_ends_a_run_that_goes_on_later(name, path, monkeypatch):
    undisturbed = made_bits(name)
    with monkeypatch.context() as full:
        open_file = checkpoints.open_file

        def limited(path):
            file = open_file(path)
            file.execute("PRAGMA max_page_count = 8")
            return file

        full.setattr(checkpoints, "open_file", limited)
        full.setattr(checkpoints, "EVERY", 0.0)
        with pytest.raises(TercetError, match=r"full\. What was saved before is safe"):
            made(name, path)
    saved = path.stat().st_size
    assert made_bits(name, path) == undisturbed
    assert path.stat().st_size > saved


# --- on the command line ----------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tc.write_triplets(tc.Triplets(ANSWERS), "answers.csv")
    return tmp_path


@pytest.mark.parametrize("command", ["bootstrap", "posterior --model ste --chains 2 --warmup 60"])
def test_a_command_goes_on_where_it_was_interrupted(command, folder, monkeypatch, capsys):
    arguments = [*command.split(), "answers.csv", "--samples", "60", "--json"]
    assert main(arguments) == 0
    undisturbed = capsys.readouterr().out
    arguments += ["--checkpoint", "run.ckpt"]
    with monkeypatch.context() as stopped:
        interrupt_after(stopped, 7)
        assert main(arguments) == 130
    assert "Progress is saved in run.ckpt: run the same again" in capsys.readouterr().err
    assert main(arguments) == 0
    assert capsys.readouterr().out == undisturbed


def test_a_command_refuses_the_checkpoint_of_another(folder, capsys):
    assert main(["bootstrap", "answers.csv", "--samples", "3", "--checkpoint", "run.ckpt"]) == 0
    assert main(["bootstrap", "answers.csv", "--samples", "4", "--checkpoint", "run.ckpt"]) == 2
    assert "--samples is 4 and was 3" in capsys.readouterr().err
    assert main(["bootstrap", "answers.csv", "--checkpoint", "answers.csv"]) == 2
    assert "answers.csv would be overwritten" in capsys.readouterr().err
    (folder / "other.csv").write_bytes((folder / "answers.csv").read_bytes())
    assert main(["bootstrap", "answers.csv", "--checkpoint", "other.csv"]) == 2
    assert "other.csv is not a tercet checkpoint" in capsys.readouterr().err
    assert main(["bootstrap", "answers.csv", "--checkpoint", "x.npz", "-o", "x.npz"]) == 2
    assert "x.npz would be overwritten" in capsys.readouterr().err

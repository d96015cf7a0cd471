"""The same bits on a Dask cluster, also when workers die; an error when all is gone."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import joblib
import numpy as np
import pytest
from tests.cluster.cluster import connected, note, running_cluster, wait_until

import tercet as tc
from tercet.engine import backend as on_dask
from tercet.engine.backend import run_anywhere
from tercet.errors import TercetError
from tercet.paper.experiments import Cell, collect_results

pytestmark = pytest.mark.slow

POINTS, _ = tc.simulate.gaussian_mixture(30, random_state=0)
ANSWERS = tc.simulate.noisy_triplets(POINTS, 3000, noise=0.3, random_state=0)


def draws(estimator=None, **settings):
    estimator = tc.STE(2) if estimator is None else estimator
    boot = tc.Bootstrap(estimator, 40, random_state=0, **settings).fit(ANSWERS)
    return boot.ensemble_.draws


class Mortal(tc.STE):
    """STE that ends the first process which has fitted two batches."""

    def __init__(self, n_components=2, *, obituary=""):
        super().__init__(n_components)
        self.obituary = obituary

    def solver(self, init=None, device=None, work=None):
        return Deadly(super().solver(init), Path(self.obituary))


class Deadly:
    def __init__(self, solver, obituary):
        self.solver = solver
        self.obituary = obituary
        self.batches = 0

    def batch_size(self, problem, count, n_workers):
        return self.solver.batch_size(problem, count, n_workers)

    def solve_subsets(self, problem, subsets, seeds):
        found = self.solver.solve_subsets(problem, subsets, seeds)
        self.batches += 1
        if self.batches == 2:
            with suppress(FileExistsError), self.obituary.open("x") as file:
                file.write(str(os.getpid()))
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)
        return found


@pytest.mark.parametrize("settings", [{}, {"parametric": True}, {"fraction": 0.4}])
def test_a_bootstrap_is_the_same(dask, settings):
    estimator = tc.STE(2, penalty=1 / 30)
    expected = draws(estimator, n_jobs=1, **settings)
    with joblib.parallel_config("dask"):
        np.testing.assert_array_equal(draws(estimator, **settings), expected)


def test_large_fits_are_the_same(dask, monkeypatch):
    """Here on all threads, there on one, in the same parts."""
    monkeypatch.setattr("tercet.engine.search.LARGE", 100)
    dask.run(make_large, 100)
    try:
        expected = draws(n_jobs=1)
        with joblib.parallel_config("dask"):
            np.testing.assert_array_equal(draws(), expected)
    finally:
        dask.run(make_large, 200_000)


def make_large(size):
    from tercet.engine import search

    search.LARGE = size


def test_an_estimate_of_the_dimension_is_the_same(dask):
    settings = {"dimensions": (1, 2), "folds": 3, "repeats": 2, "thorough": False}
    posterior = tc.Posterior(tc.STE(2), n_chains=2, n_samples=60, warmup=60)
    settings |= {"posterior": posterior, "random_state": 0}
    expected = tc.estimate_dimension(ANSWERS[:400], n_jobs=1, **settings)
    with joblib.parallel_config("dask"):
        found = tc.estimate_dimension(ANSWERS[:400], **settings)
    assert repr(found.rows) == repr(expected.rows)  # unlike NaN, its name equals itself
    assert found.dimension == expected.dimension


def mean_distance(seed):
    answers = tc.simulate.noisy_triplets(POINTS, 300, noise=0.3, random_state=seed)
    boot = tc.Bootstrap.paper(tc.STE(2), random_state=seed, n_jobs=1).fit(answers)
    return {"rows": [{"spread": float(boot.ensemble_.draws.std()), "process": os.getpid()}]}


def test_cells_are_the_same_and_this_process_keeps_them(dask, tmp_path):
    cells = [Cell("spread", 1, mean_distance, {"seed": k}) for k in range(6)]
    here = collect_results(cells, tmp_path / "here", 1, show=False)
    with joblib.parallel_config("dask"):
        there = collect_results(cells, tmp_path / "there", None, show=False)
    spreads, processes = zip(*(result["rows"][0].values() for result in there), strict=True)
    assert spreads == tuple(result["rows"][0]["spread"] for result in here)
    assert os.getpid() not in processes
    assert len(list((tmp_path / "there" / "spread").iterdir())) == 6
    assert (
        collect_results(cells, tmp_path / "there", 1, show=False) == there
    )  # nothing computed again


def test_a_worker_killed_in_the_middle_changes_nothing(dask, dask_cluster, tmp_path):
    expected = draws(n_jobs=1)
    with joblib.parallel_config("dask"):
        found = draws(Mortal(obituary=str(tmp_path / "dead")))
    np.testing.assert_array_equal(found, expected)
    wait_until(lambda: any(worker.poll() is not None for worker in dask_cluster.workers))
    dead = [worker.pid for worker in dask_cluster.workers if worker.poll() is not None]
    assert dead == [int((tmp_path / "dead").read_text())]


def test_data_survive_the_only_worker_that_had_them(dask_cluster, tmp_path):
    expected = draws(n_jobs=1)
    dask_cluster.kill(*dask_cluster.workers)
    dask_cluster.fill(1)
    obituary = tmp_path / "dead"

    def replace():
        wait_until(obituary.exists)
        dask_cluster.add_workers(1)

    with (
        connected(dask_cluster, n_workers=1),
        joblib.parallel_config("dask", wait_for_workers_timeout=60),
        ThreadPoolExecutor(1) as pool,
    ):
        replaced = pool.submit(replace)
        found = draws(Mortal(obituary=str(obituary)))
        replaced.result()
    np.testing.assert_array_equal(found, expected)


def wait_for_ever(folder, item):
    note(folder / "started")
    wait_until(lambda: False, timeout=600)


def run_until_killed(folder, kill, match):
    """Run tasks without an end, kill as soon as one has started, and expect the error."""

    def wait_and_kill():
        wait_until((folder / "started").exists)
        kill()

    with ThreadPoolExecutor(1) as pool, joblib.parallel_config("dask", wait_for_workers_timeout=1):
        killed = pool.submit(wait_and_kill)
        with pytest.raises(TercetError, match=match):
            list(run_anywhere(wait_for_ever, folder, range(3)))
        killed.result()


def test_no_worker_left_is_an_error(dask, dask_cluster, tmp_path):
    run_until_killed(
        tmp_path, lambda: dask_cluster.kill(*dask_cluster.workers), "no worker for 1 s"
    )


class Deserted:
    status = "running"

    def ncores(self):
        return {}


def test_patience_begins_when_the_last_work_was_seen():
    watch = on_dask._Watch(Deserted(), patience=50.0)
    watch.seen -= 100.0  # all the while, results came without a look
    watch.saw_work()
    watch.look()
    watch.seen -= 100.0
    with pytest.raises(TercetError, match="no worker for 50 s"):
        watch.look()


def die(_, item):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_ends_workers_and_a_dead_scheduler_are_errors(tmp_path):
    once = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with running_cluster(tmp_path, 2, **once) as cluster, connected(cluster, 2):
        with (
            joblib.parallel_config("dask"),
            pytest.raises(TercetError, match="lack of memory"),
        ):
            list(run_anywhere(die, None, range(1)))
        run_until_killed(tmp_path, lambda: cluster.kill(cluster.scheduler), "cluster is gone")
        with joblib.parallel_config("dask"), pytest.raises(TercetError, match="cluster is gone"):
            draws()


def fail(_, item):
    if item == 2:
        raise ValueError("not two")
    return item


def test_an_error_in_a_task_is_told(dask):
    with joblib.parallel_config("dask"), pytest.raises(ValueError, match="not two"):
        list(run_anywhere(fail, None, range(4)))


def test_a_worker_may_use_the_cluster_itself(dask):
    """joblib's own tasks on Dask have Dask as their backend."""
    expected = draws(n_jobs=1)
    with joblib.parallel_config("dask"):
        found = joblib.Parallel()(joblib.delayed(draws)() for _ in range(3))
    for own in found:
        np.testing.assert_array_equal(own, expected)

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tercet.errors import InputError
from tercet.running.threads import count_threads, in_order, threads_at_most


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("items", [0, 1, 2, 20])
def test_results_come_in_order(n_jobs, items):
    assert list(in_order(lambda x: x * x, range(items), n_jobs)) == [x * x for x in range(items)]


def test_only_a_few_items_are_made_ahead():
    asked = []

    def items():
        for x in range(100):
            asked.append(x)
            yield x

    results = in_order(abs, items(), 2)
    assert next(results) == 0
    assert len(asked) <= 6
    results.close()


def test_none_and_minus_one_are_all_cores():
    assert count_threads(None) == count_threads(-1) == os.cpu_count()
    assert count_threads(np.int64(3)) == 3


@pytest.mark.parametrize("n_jobs", [0, -2, True, 1.5, "2"])
def test_impossible_numbers_of_threads(n_jobs):
    with pytest.raises(InputError, match="n_jobs"):
        count_threads(n_jobs)


def test_all_cores_are_as_many_as_there_are_to_use():
    with threads_at_most(3):
        assert count_threads(None) == count_threads(-1) == 3
        assert count_threads(2) == 2
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(count_threads, None).result() == os.cpu_count()  # another's work
    assert count_threads(None) == os.cpu_count()

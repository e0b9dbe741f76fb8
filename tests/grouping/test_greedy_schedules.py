"""Greedy assignment against the optimum, which small instances allow to find by trying everything."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.grouping import BatchGreedy
from rheostat.grouping.least_loaded import to_the_least_loaded

instances = st.tuples(st.integers(1, 3), st.lists(st.integers(1, 30), min_size=1, max_size=7))


def makespan(executors, choices, times):
    return np.bincount(choices, times, executors).max()


def optimum(executors, times):
    ways = itertools.product(range(executors), repeat=len(times))
    return min(makespan(executors, way, times) for way in ways)


def on_equal_executors(executors, times):
    return np.broadcast_to(np.asarray(times, dtype=float), (executors, len(times)))


class Exact:
    def seconds(self, values):
        return np.asarray(values, dtype=float)


@settings(deadline=None, max_examples=60)
@given(instances)
def test_greedy_with_exact_times_is_within_2_less_1_over_k_of_the_optimum(instance):
    executors, times = instance
    choices, loads = to_the_least_loaded(np.zeros(executors), on_equal_executors(executors, times))
    assert makespan(executors, choices, times) <= (2 - 1 / executors) * optimum(executors, times) + 1e-9
    assert loads.tolist() == np.bincount(choices, times, executors).tolist()


@settings(deadline=None, max_examples=60)
@given(instances)
def test_the_longest_first_is_within_a_third_of_the_optimum(instance):
    executors, times = instance
    choices = BatchGreedy(executors, Exact()).assign(np.array(times))
    bound = 4 / 3 - 1 / (3 * executors)
    assert makespan(executors, choices, times) <= bound * optimum(executors, times) + 1e-9


@pytest.mark.parametrize("executors", [2, 3, 4])
def test_the_bound_of_greedy_is_tight(executors):
    """Graham's instance: k(k − 1) records of 1 and then one of k."""
    times = [1] * (executors * (executors - 1)) + [executors]
    choices, _ = to_the_least_loaded(np.zeros(executors), on_equal_executors(executors, times))
    assert makespan(executors, choices, times) == 2 * executors - 1


def test_what_was_given_before_counts_and_the_first_of_equals_is_taken():
    seconds = np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
    choices, loads = to_the_least_loaded(np.array([2.0, 0.0]), seconds)
    assert choices.tolist() == [1, 0, 1]
    assert loads.tolist() == [3.0, 4.0]

"""Slow executors are found, and chance is not taken for slowness."""

import math

import numpy as np
import pytest

from rheostat.policies.rheostat.slow_executors import SlowExecutors
from rheostat.snapshot import ExecutorPhase, ExecutorState

TURN_S = 10.0


def pool_with(times_s, turns, rng, each=30):
    """Executors whose records take these times on average, after some turns of as many records each."""
    found, completed, busy_s = SlowExecutors(), [0] * len(times_s), [0.0] * len(times_s)
    for turn in range(turns):
        for number, time_s in enumerate(times_s):
            completed[number] += each
            busy_s[number] += float(rng.exponential(time_s, each).sum())
        found.update(
            TURN_S * turn,
            [
                ExecutorState("work", number, ExecutorPhase.ACTIVE, completed=completed[number], busy_s=busy_s[number])
                for number in range(len(times_s))
            ],
        )
    return found


def test_an_executor_at_a_third_of_the_speed_is_found():
    factors = []
    for seed in range(40):
        found = pool_with([0.02, 0.06, 0.02, 0.02], 8, np.random.default_rng(seed)).slowest()
        assert found is not None
        assert found[0] == 1
        factors.append(found[1])
    half_width = 1.96 * np.std(factors) / math.sqrt(len(factors))
    assert np.mean(factors) == pytest.approx(3.0, abs=half_width + 0.1)


def test_equal_executors_are_hardly_ever_called_slow():
    rng = np.random.default_rng(5)
    assert sum(pool_with([0.02] * 8, 5, rng).slowest() is not None for _ in range(300)) <= 1


def test_a_few_readings_do_not_make_an_executor_slow():
    assert pool_with([0.02, 0.06, 0.02, 0.02], 4, np.random.default_rng(1), each=200).slowest() is None
    assert pool_with([0.02, 0.06, 0.02, 0.02], 5, np.random.default_rng(1), each=200).slowest() is not None


def test_an_executor_that_was_slow_only_when_it_started_is_not_slow():
    found, completed, busy_s = SlowExecutors(), [0] * 4, [0.0] * 4
    for turn in range(12):
        for number in range(4):
            completed[number] += 60 if turn < 3 else 5
            busy_s[number] += (60 if turn < 3 else 5) * (0.06 if number == 1 and turn < 3 else 0.02)
        pool = [
            ExecutorState("work", n, ExecutorPhase.ACTIVE, completed=completed[n], busy_s=busy_s[n]) for n in range(4)
        ]
        found.update(TURN_S * turn, pool)
        assert found.slowest() is None


def test_an_executor_that_becomes_slow_is_found_within_four_readings():
    found, completed, busy_s, seen = SlowExecutors(), [0] * 4, [0.0] * 4, []
    for turn in range(30):
        for number in range(4):
            completed[number] += 80
            busy_s[number] += 80 * (0.04 if number == 1 and turn >= 20 else 0.02)
        pool = [
            ExecutorState("work", n, ExecutorPhase.ACTIVE, completed=completed[n], busy_s=busy_s[n]) for n in range(4)
        ]
        found.update(TURN_S * turn, pool)
        seen += [turn] if found.slowest() else []
    assert seen[0] in range(20, 24)


def test_one_executor_alone_cannot_be_compared():
    assert pool_with([0.02], 5, np.random.default_rng(1)).slowest() is None


def test_an_executor_that_begins_again_is_new():
    found = pool_with([0.02, 0.06], 8, np.random.default_rng(1))
    found.update(TURN_S * 9, [ExecutorState("work", n, ExecutorPhase.ACTIVE, completed=1, busy_s=0.1) for n in (0, 1)])
    assert found.slowest() is None

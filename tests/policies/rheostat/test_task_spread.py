"""When more tasks than executors are worth what they cost."""

from dataclasses import dataclass

from rheostat.policies.rheostat.task_spread import TaskSpread
from rheostat.snapshot import OperatorState

STATE = OperatorState("work")


@dataclass
class Times:
    """Of an operator whose batch takes so much longer than it should, and longer still with a slow executor."""

    straggling: float = 0.0
    slowed: float = 0.0
    task_s: float = 0.05

    def straggling_s(self, state):
        return self.straggling

    def slowed_s(self, slow):
        return self.slowed * (slow - 1)


def spread_after(*turns):
    """Turns of two seconds with ten executors: what batches take, and how slow one executor is."""
    spread = TaskSpread()
    seen = []
    for turn, (times, slow) in enumerate(turns):
        spread.update(2.0 * turn, STATE, times, 10, slow)
        seen.append(spread.is_wide)
    return seen


def test_more_tasks_are_worth_it_if_a_batch_takes_longer_by_several_times_what_they_cost():
    """20 tasks more of 50 ms each are a second."""
    assert spread_after((Times(straggling=3.9), None)) == [False]
    assert spread_after((Times(straggling=4.1), None)) == [True]
    assert spread_after((Times(slowed=3.0), 2.0)) == [False]
    assert spread_after((Times(slowed=3.0), 2.5)) == [True]


def test_tasks_whose_cost_is_not_known_are_not_free():
    assert spread_after((Times(straggling=1.5, task_s=0.0), None)) == [False]
    assert spread_after((Times(straggling=1.7, task_s=0.0), None)) == [True]


def test_they_are_kept_while_an_executor_is_slow_and_a_little_longer():
    slow, even = (Times(), 1.8), (Times(), None)
    assert spread_after((Times(straggling=9.0), None), *[slow] * 20, *[even] * 8) == [True] * 26 + [False] * 3


def test_they_are_kept_twice_as_long_if_they_were_given_up_too_early():
    uneven, even = (Times(straggling=9.0), None), (Times(), None)
    assert spread_after(uneven, *[even] * 7, uneven, *[even] * 12) == (
        [True] * 6 + [False] * 2 + [True] * 11 + [False] * 2
    )


def test_a_clock_that_is_set_back_does_not_keep_them_for_ever():
    spread = TaskSpread()
    spread.update(1e6, STATE, Times(straggling=9.0), 10, None)
    for turn in range(10):
        spread.update(2.0 * turn, STATE, Times(), 10, None)
    assert not spread.is_wide

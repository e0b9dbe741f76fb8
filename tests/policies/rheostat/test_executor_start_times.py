"""Start times are learned from what was asked for and when it served."""

from rheostat.plan import PoolPlan
from rheostat.policies.observation import PoolView
from rheostat.policies.rheostat.start_times import StartTimes
from rheostat.sla import ExecutorBounds
from rheostat.snapshot import ExecutorPhase, ExecutorState


def pools(wanted, active):
    return {
        "work": PoolView(
            name="work",
            operators=("work",),
            measured=("work",),
            plan=PoolPlan(tuple(wanted), 9),
            bounds=ExecutorBounds(1, 20),
            useful=20,
            spare=9.0,
            settling=False,
            executors=tuple(ExecutorState("work", number, ExecutorPhase.ACTIVE) for number in active),
        )
    }


def test_a_guess_holds_until_an_executor_was_seen_to_start():
    starts = StartTimes()
    starts.update(pools([0], [0]), 0.0)
    assert starts.expected_s == 10.0
    starts.update(pools([0, 1, 2], [0]), 2.0)
    starts.update(pools([0, 1, 2], [0, 1]), 6.0)
    starts.update(pools([0, 1, 2], [0, 1, 2]), 10.0)
    assert starts.expected_s == (4.0 + 8.0) / 2


def test_an_executor_that_is_no_longer_wanted_is_forgotten():
    starts = StartTimes()
    starts.update(pools([0], [0]), 0.0)
    starts.update(pools([0, 1], [0]), 2.0)
    starts.update(pools([0], [0]), 4.0)
    starts.update(pools([0, 1], [0]), 50.0)
    starts.update(pools([0, 1], [0, 1]), 53.0)
    assert starts.expected_s == 3.0

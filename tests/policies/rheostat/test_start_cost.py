import pytest

from rheostat.policies.rheostat.start_cost import StartCost
from rheostat.snapshot import Batch, OperatorState


def expected_s(rows: float, size: int) -> float:
    return 0.5 + 0.01 * rows / size


class Batches:
    """Batches of 100 records, one a turn, under a start cost."""

    def __init__(self) -> None:
        self.costs = StartCost()
        self._count, self._duration_s = 0, 0.0

    def turn(self, duration_s: float, *, warm: int = 2, is_cold: bool = False) -> float:
        self._count, self._duration_s = self._count + 1, self._duration_s + duration_s
        state = OperatorState("work", completed=100 * self._count, batch=Batch(self._count, self._duration_s, 0.0, 0))
        self.costs.update(state, warm, expected_s, is_cold=is_cold)
        return self.costs.mean_s


def test_nothing_is_known_before_executors_have_begun_to_serve():
    batches = Batches()
    assert [batches.turn(duration_s) for duration_s in (1.0, 3.0, 1.0)] == [0.0, 0.0, 0.0]


def test_the_batches_with_new_executors_tell_what_their_start_costs():
    batches = Batches()
    batches.turn(1.0)
    assert batches.turn(4.0, is_cold=True) == 0.0, "not over yet"
    assert batches.turn(1.5, is_cold=True) == 0.0
    assert batches.turn(0.9, warm=3) == pytest.approx(3.0 + 0.5)
    assert batches.turn(9.0, warm=3) == pytest.approx(3.5), "no executor was new"


def test_the_mean_is_that_of_the_last_scale_outs_and_never_negative():
    batches = Batches()
    for longer_s in (60.0, 2.0, -0.5, 4.0):
        batches.turn(1.0)
        batches.turn(1.0 + longer_s, is_cold=True)
    batches.turn(1.0)
    assert batches.costs.mean_s == pytest.approx((2.0 + 0.0 + 4.0) / 3)


def test_a_batch_that_takes_very_much_longer_does_so_for_another_reason():
    batches = Batches()
    batches.turn(1.0)
    batches.turn(61.0, is_cold=True)
    assert batches.turn(1.0) == 10.0


def test_the_first_executors_of_all_cost_nothing():
    batches = Batches()
    batches.turn(1.0, warm=0)
    batches.turn(8.0, warm=0, is_cold=True)
    assert batches.turn(1.0) == 0.0

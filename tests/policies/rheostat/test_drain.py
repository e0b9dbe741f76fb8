"""Drains against closed forms: geometric batches, and a queue that is served at a constant rate."""

import pytest
from test_sizing import cost_of

from rheostat.policies.rheostat.drain import Backlog, drain
from rheostat.policies.rheostat.operator_cost import OperatorCost
from rheostat.snapshot import BatchUnderWay, OperatorState


def test_batches_shrink_geometrically_until_they_are_within_the_limit():
    cost, rate, size = cost_of(0.02, 0.5), 100.0, 4
    used, batch_s, end_s, latency_s, until_s = rate * 0.02 / size, 12.0, 12.0, 18.0, 0.0
    backlog = Backlog(waiting=0.0, arrived_s=0.0, rate=rate, rows=1200.0, left_s=12.0, latency_s=18.0)
    while latency_s > 4.0:
        until_s = end_s
        batch_s, before_s = 0.5 + used * batch_s, batch_s
        end_s, latency_s = end_s + batch_s, before_s / 2 + batch_s
    assert drain(cost, backlog, [(0.0, size)], 4.0, 30.0).until_s == pytest.approx(until_s)


def test_a_queue_without_batches_is_gone_after_its_work_over_the_spare_capacity():
    cost = cost_of(0.02)
    backlog = Backlog(waiting=2000.0, arrived_s=20.0, rate=100.0)
    for size in (3, 5, 10):
        late_until_s = (2000 * 0.02 - size * 1.0) / (size - 2)
        assert drain(cost, backlog, [(0.0, size)], 1.0, 30.0).until_s == pytest.approx(late_until_s, abs=2.0)


@pytest.mark.parametrize("fixed_s", [0.5, None])
def test_more_executors_and_earlier_ones_are_never_late_for_longer(fixed_s):
    cost = cost_of(0.02, fixed_s)
    backlog = Backlog(waiting=3000.0, arrived_s=20.0, rate=100.0)
    by_size = [drain(cost, backlog, [(0.0, 3), (10.0, size)], 4.0, 30.0).late_s for size in range(3, 20)]
    by_start = [
        drain(cost, backlog, [(0.0, 3), (start_s, 10)], 4.0, 30.0).late_s for start_s in (2.0, 10.0, 30.0, 60.0)
    ]
    assert by_size == sorted(by_size, reverse=True)
    assert by_start == sorted(by_start)
    assert by_size[0] > by_size[-1]
    assert by_start[0] < by_start[-1]


def test_the_window_is_late_as_long_as_late_results_are_in_it():
    cost = cost_of(0.02, 0.5)
    backlog = Backlog(waiting=0.0, arrived_s=0.0, rate=100.0, rows=100_000.0, left_s=2.0, latency_s=60.0)
    assert drain(cost, backlog, [(0.0, 20)], 5.0, 30.0).late_s == pytest.approx(30.0, abs=1.0)


def test_a_limit_of_records_delays_the_oldest_ones_and_a_higher_rate_for_ever():
    cost = cost_of(0.02, 0.5)
    backlog = Backlog(waiting=1000.0, arrived_s=10.0, rate=100.0)
    free = drain(cost, backlog, [(0.0, 20)], 4.0, 30.0)
    cost.is_limited, cost._batch_rows = True, 200.0
    limited = drain(cost, backlog, [(0.0, 20)], 4.0, 30.0)
    cost._batch_rows = 50.0
    assert 0 < free.late_s < limited.late_s < drain(cost, backlog, [(0.0, 20)], 4.0, 30.0).late_s
    assert drain(cost, backlog, [(0.0, 20)], 4.0, 30.0).late_s > 170


def test_executors_that_come_during_a_batch_take_what_is_left_of_it_unless_keys_decide():
    """1,000 records of 20 ms on one executor: 8 s of 20.5 are over when four others come."""
    cost, backlog = cost_of(0.02, 0.5), Backlog(waiting=1000.0, arrived_s=10.0, rate=0.0)
    executors = [(0.0, 1.0), (8.0, 5.0)]
    joined_s = 8 + (1 - 8 / 20.5) * (0.5 + 20 / 5)
    assert drain(cost, backlog, executors, 4.0, 30.0).until_s == pytest.approx(joined_s)
    twice = [(0.0, 1.0), (4.0, 2.0), (8.0, 5.0)]
    twice_s = 8 + (1 - 4 / 20.5 - 4 / 10.5) * (0.5 + 20 / 5)
    assert drain(cost, backlog, twice, 4.0, 30.0).until_s == pytest.approx(twice_s)
    cost._owners = (0, 0)
    assert drain(cost, backlog, executors, 4.0, 30.0).until_s == pytest.approx(20.5)


def test_nothing_is_late_without_a_backlog():
    for cost in (cost_of(0.02, 0.5), cost_of(0.02), OperatorCost()):
        assert drain(cost, Backlog(waiting=0.0, arrived_s=0.0, rate=50.0), [(0.0, 4)], 4.0, 30.0).late_s == 0


def test_a_backlog_is_what_waits_beside_the_batch_under_way():
    cost = cost_of(0.02, 0.5)
    batch = BatchUnderWay(elapsed_s=3.0, tasks=1, finished=0, running=1, worked_s=2.0, rows=300)
    found = Backlog.of(cost, OperatorState("work", queued=500, under_way=batch, oldest_s=7.0), 50.0)
    assert found == Backlog(200.0, 3.0, 50.0, 300.0, left_s=4.0, latency_s=(7.0 + 3.0) / 2 + 4.0)
    assert Backlog.of(cost, OperatorState("work", queued=500), 50.0) == Backlog(500.0, 10.0, 50.0)


def test_the_batch_in_which_executors_begin_to_serve_takes_longer():
    cost = cost_of(0.02, 0.5)
    backlog = Backlog(waiting=1000.0, arrived_s=10.0, rate=100.0)
    without = drain(cost, backlog, [(0.0, 4), (5.0, 8)], 4.0, 30.0)
    cost._starts._paid_s.append(6.0)
    assert (
        drain(cost, backlog, [(0.0, 4)], 4.0, 30.0).until_s
        < drain(cost, backlog, [(0.0, 4), (5.0, 8)], 4.0, 30.0).until_s
    )
    assert drain(cost, backlog, [(0.0, 4), (5.0, 8)], 4.0, 30.0).until_s > without.until_s

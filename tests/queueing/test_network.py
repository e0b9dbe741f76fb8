import math

import pytest

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.queueing import ExecutorAllocation, MicroBatch, Network, Station, mmk


def test_expected_latency_weighs_each_operator_by_its_visits():
    network = Network.of(10.0, a=mmk(10, 20), b=mmk(30, 40))
    assert network.expected_latency_s([1, 1]) == pytest.approx(1 / 10 + 3 * (1 / 10), rel=1e-14)


def test_expected_latency_is_endless_when_one_operator_cannot_keep_up():
    assert Network.of(1.0, a=mmk(1, 2), b=mmk(3, 2)).expected_latency_s([1, 1]) == math.inf


def test_an_operator_without_arrivals_adds_no_delay():
    busy = mmk(1, 2)
    assert Network.of(1.0, a=busy, idle=mmk(0, 5)).expected_latency_s([1, 1]) == busy.sojourn_s(1)


def test_the_floor_counts_visits_and_not_operators():
    filtered = Network.of(10.0, a=mmk(10, 100), rare=mmk(1, 0.5))
    assert filtered.floor_s() == pytest.approx(0.01 + 0.1 * 2.0)
    assert not filtered.floor_is_reached()


def test_the_floor_of_micro_batches_with_a_cost_for_each_task_is_reached_at_the_best_number():
    batch = MicroBatch(10.0, 5.0, 0.2, 0.05)
    network = Network.of(10.0, a=batch)
    assert network.floor_is_reached()
    assert network.floor_s() == batch.sojourn_s(int(batch.best()))


def test_an_upper_bound_raises_the_floor():
    network = Network((Station("a", mmk(10, 4), most=3),), 10.0)
    assert network.floor_is_reached()
    assert network.floor_s() == mmk(10, 4).sojourn_s(3)


def test_an_allocation_tells_names_total_and_utilisation():
    allocation = ExecutorAllocation(Network.of(10.0, a=mmk(10, 4), b=mmk(2, 4)), (5, 1))
    assert allocation.by_name() == {"a": 5, "b": 1}
    assert allocation.total() == 6
    assert allocation.utilisation() == {"a": 0.5, "b": 0.5}


def test_bounds_that_leave_nothing_are_refused_with_their_values():
    with pytest.raises(ConfigError, match="'a' cannot have at least 4 and at most 3"):
        Station("a", mmk(1, 2), least=4, most=3)
    with pytest.raises(ConfigError, match="at least 0"):
        Station("a", mmk(1, 2), least=0)


def test_an_upper_bound_below_the_load_is_infeasible_and_says_how_many_are_needed():
    with pytest.raises(InfeasibleError, match="'a' needs at least 3 executors to keep up, but may have only 2"):
        Station("a", mmk(10, 4), most=2).bounds()


def test_too_few_tasks_for_the_load_are_infeasible():
    with pytest.raises(InfeasibleError, match="'a' cannot keep up with any number"):
        Station("a", MicroBatch(10, 4, 0.1, tasks=2)).bounds()


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_external_rate_is_refused_with_its_value(rate):
    with pytest.raises(ConfigError, match=f"external rate {rate}"):
        Network.of(rate, a=mmk(1, 2))


def test_two_operators_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="two operators are named 'a'"):
        Network((Station("a", mmk(1, 2)), Station("a", mmk(1, 2))), 1.0)


def test_a_network_without_operators_is_refused():
    with pytest.raises(ConfigError, match="without operators"):
        Network((), 1.0)

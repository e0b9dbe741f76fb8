"""What executors need: from what a record costs, and how many of them come."""

import pytest
from placement_observations import Cluster

from rheostat.placement import Resources
from rheostat.policies.rastream.executor_load import ExecutorLoad, ResourcePrices, loads
from rheostat.policies.rastream.monitor import ExecutorKey, FrameMonitor

A, B = ExecutorKey("a", 0), ExecutorKey("b", 0)


def load(arriving, completing, cpu=0.0, io=0.0, *full):
    return ExecutorLoad(arriving, completing, Resources(cpu, 0.2, io), frozenset(full))


def loads_of(cluster):
    monitor = FrameMonitor(10.0)
    for _ in range(12):
        snapshot = cluster.observe()
        monitor.update(snapshot)
    states = {ExecutorKey(state.pool, state.id): state for state in snapshot.snapshot.executors}
    return loads(states, snapshot.snapshot.nodes, monitor)


def test_what_arrives_counts_and_not_only_what_is_completed():
    assert ResourcePrices().need(A, load(200, 100, 0.3, 0.1)) == pytest.approx((0.6, 0.2, 0.2))
    assert ResourcePrices().need(A, load(0, 0, 0.3, 0.1)) == pytest.approx((0.3, 0.2, 0.1))
    assert ResourcePrices().need(A, load(10, None, 0.3, 0.1)) == pytest.approx((0.3, 0.2, 0.1))


def test_on_a_full_node_a_record_costs_what_it_cost_before():
    prices = ResourcePrices()
    prices.learn({A: load(100, 100, 0.2, 0.3)})
    full = load(500, 300, 0.9, 1.0, "io", "cpu")
    prices.learn({A: full})
    assert prices.need(A, full) == pytest.approx((1.0, 0.2, 1.5))


def test_a_full_node_needs_at_least_what_it_uses():
    prices = ResourcePrices()
    prices.learn({A: load(100, 100, 0.1, 0.1)})
    assert prices.need(A, load(100, 100, 0.5, 1.0, "io", "cpu")) == pytest.approx((0.5, 0.2, 1.0))


def test_without_a_price_the_use_of_a_full_node_grows_with_what_it_left_undone():
    assert ResourcePrices().need(A, load(300, 200, 0.5, 1.0, "io")).io == pytest.approx(1.5)


def test_the_price_of_a_pool_is_the_trimmed_mean_over_its_executors():
    prices = ResourcePrices()
    costs = (0.001, 0.002, 0.004, 0.1)
    prices.learn({ExecutorKey("a", number): load(100, 100, 0.0, 100 * cost) for number, cost in enumerate(costs)})
    assert prices.need(A, load(1000, 200, 0.0, 1.0, "io")).io == pytest.approx(3.0)
    assert prices.need(B, load(1000, 1000, 0.0, 1.0, "io")).io == pytest.approx(1.0)


def test_executors_that_do_not_count_share_what_their_operator_counts():
    found = loads_of(Cluster(rate=100.0, executors_count=False))
    assert [each.arriving for each in found.values()] == pytest.approx([50.0] * 4, rel=0.02)
    assert [each.completing for each in found.values()] == pytest.approx([50.0] * 4, rel=0.02)


def test_executors_that_are_busy_on_more_cores_than_there_are_use_those_there_are():
    found = loads_of(Cluster(rate=100.0, work_s=0.015, nodes=1, executors=1))
    assert [each.use.cpu for each in found.values()] == pytest.approx([0.5, 0.5], rel=0.01)
    assert all(each.full == {"cpu"} for each in found.values())

"""Sizes for a load, for a rise and for a backlog, against exhaustive search and the model's own numbers."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.plan import PoolPlan
from rheostat.policies.observation import PoolView
from rheostat.policies.rheostat.load_replay import LoadReplay
from rheostat.policies.rheostat.operator_cost import OperatorCost
from rheostat.policies.rheostat.sizing import Sizing
from rheostat.sla import ExecutorBounds
from rheostat.snapshot import (
    Batch,
    BatchUnderWay,
    ExecutorPhase,
    ExecutorState,
    OperatorState,
    Snapshot,
    SubstreamState,
)

MOST = 8


def cost_of(service_s, batch_cost_s=None, overhead_s=0.0):
    """What is learned from batches of so many seconds of fixed cost, or from single records. Of that cost, `overhead_s`
    are of 200 tasks on one executor."""
    cost = OperatorCost()
    for turn in range(6):
        records, work_s = 100 * turn, 100 * turn * service_s
        batch = None
        if batch_cost_s is not None:
            tasks = 200 * turn if overhead_s else turn
            batch = Batch(turn, turn * (batch_cost_s + 100 * service_s), turn * batch_cost_s, tasks, turn * overhead_s)
        state = OperatorState("any", completed=records, busy_s=work_s, batch=batch)
        cost.update(2.0 * turn, state, (), 1)
    return cost


def sizing_of(costs, rates, *, sizes=None, sla_s=5.0, most=MOST, standby=0):
    pools = {
        name: PoolView(
            name=name,
            operators=(name,),
            measured=(name,),
            plan=PoolPlan.of((sizes or {}).get(name, 1), standby),
            bounds=ExecutorBounds(1, most),
            useful=most,
            spare=math.inf,
            settling=False,
            executors=tuple(ExecutorState(name, n, ExecutorPhase.ACTIVE) for n in range((sizes or {}).get(name, 1))),
        )
        for name in costs
    }
    return Sizing(pools, costs, rates, rates, sla_s, window_s=30.0, start_s=12.0, penalty=5.0)


def test_what_records_take_in_sources_is_left_to_the_operators_of_what_the_sla_allows():
    sizing = sizing_of({"a": cost_of(0.02, 0.5)}, {"a": 80.0})
    slower = replace(sizing, outside_s=1.5)
    assert slower.latency_s({"a": 3}) == pytest.approx(1.5 + sizing.latency_s({"a": 3}))
    assert slower.steady(4.0) == sizing.steady(2.5) != sizing.steady(4.0)


def test_executors_that_hardly_help_are_worth_it_if_the_sla_is_kept_with_them_and_missed_without():
    sizing = sizing_of({"a": cost_of(0.02, 2.0)}, {"a": 60.0}, most=30)
    few, many = sizing.latency_s({"a": 10}), sizing.latency_s({"a": 30})
    assert replace(sizing, sla_s=many).steady(0.85 * many)["a"] < 10, "out of reach"
    sla_s = (few + many) / 2 / 0.95
    within = replace(sizing, sla_s=sla_s).steady(0.85 * sla_s)["a"]
    assert sizing.latency_s({"a": within}) <= 0.95 * sla_s < sizing.latency_s({"a": within - 1})


def test_sizes_that_relieve_no_executor_are_skipped():
    """Of 12 substreams each executor has two with 6 executors, and one of them has two with up to 11: only 12 help."""
    cost = OperatorCost()
    for turn in range(6):
        substreams = [SubstreamState("any", index, 0, arrived=10 * turn) for index in range(12)]
        batch = Batch(turn, turn * 1.7, turn * 0.5, 12 * turn)
        state = OperatorState("any", completed=120 * turn, busy_s=1.2 * turn, batch=batch)
        cost.update(2.0 * turn, state, (), 1, owners=(0,) * 12, substreams=substreams)
    sizing = sizing_of({"a": cost}, {"a": 300.0}, most=12)
    with_few, with_all = sizing.latency_s({"a": 6}), sizing.latency_s({"a": 12})
    assert sizing.latency_s({"a": 11}) == pytest.approx(with_few)
    assert with_all < 0.9 * with_few
    assert sizing.steady(with_few) == {"a": 6}
    assert sizing.steady(0.95 * with_few) == sizing.steady(with_all) == {"a": 12}
    rise = LoadReplay(np.array([0.0, 30.0, 60.0]), np.array([0.0, 9000.0, 36000.0]), np.array([20.0]), 300.0)
    assert sizing.for_rises([rise], 0.9, {"a": 6}, 4.0) == {"a": 12}


def test_executors_share_what_the_many_tasks_of_a_batch_cost_beside_their_work():
    """As a query with state has them by Spark's defaults: two executors are too few for an SLA that three keep."""
    sizing = sizing_of({"a": cost_of(0.002, 6.5, overhead_s=6.0)}, {"a": 20.0})
    latencies_s = [sizing.latency_s({"a": size}) for size in (1, 2, 3)]
    assert latencies_s == pytest.approx([1.5 * (0.5 + 6.0 / k) / (1 - 0.04 / k) for k in (1, 2, 3)])
    assert sizing.steady(4.0) == {"a": 3}


def test_a_little_that_executors_may_share_is_not_worth_one_before_it_was_seen_that_they_do():
    """A part of the two seconds of a batch is of tasks: a second executor would save half of it."""
    sizing = sizing_of({"a": cost_of(0.002, 2.0, overhead_s=0.3)}, {"a": 20.0})
    assert sizing.latency_s({"a": 2}) < 2.9 < sizing.latency_s({"a": 1})
    assert sizing.steady(2.9) == {"a": 1}
    assert sizing_of({"a": cost_of(0.002, 2.0, overhead_s=1.0)}, {"a": 20.0}).steady(2.9) == {"a": 2}


def test_costs_are_learned_exactly_from_batches_that_are_alike():
    cost = cost_of(0.02, 0.5)
    assert cost.service_s == pytest.approx(0.02)
    assert cost.batch_cost_s(1) == pytest.approx(0.5)
    assert cost.latency_s(25.0, 1) == pytest.approx(1.5 * 0.5 / (1 - 0.5))
    assert cost.latency_s(50.0, 1) == math.inf


def test_what_an_executor_takes_for_its_first_records_is_not_learned():
    cost, records, work_s = OperatorCost(), 0, 0.0
    for turn in range(20):
        executors = tuple(ExecutorState("work", n, ExecutorPhase.ACTIVE) for n in range(1 if turn < 10 else 3))
        records, work_s = records + 100, work_s + (2.0 if turn != 10 else 8.0)
        state = OperatorState("work", completed=records, busy_s=work_s)
        cost.update(2.0 * turn, state, executors, len(executors))
        assert cost.service_s is None or cost.service_s == pytest.approx(0.02)


operators = st.tuples(st.floats(0.002, 0.05), st.floats(0.1, 1.0), st.floats(1.0, 120.0))


@given(st.lists(operators, min_size=1, max_size=3), st.floats(1.0, 12.0))
def test_no_fewer_executors_keep_the_latency(parts, latency_s):
    names = [f"op{i}" for i in range(len(parts))]
    costs = {name: cost_of(service_s, fixed_s) for name, (service_s, fixed_s, _) in zip(names, parts, strict=True)}
    rates = {name: rate for name, (*_, rate) in zip(names, parts, strict=True)}
    sizing = sizing_of(costs, rates)
    found = sizing.steady(latency_s)
    if sizing.latency_s(found) > latency_s:
        return  # out of reach, or not worth it
    busy = {name: [k for k in range(1, MOST + 1) if sizing.utilisation(name, k) <= 0.93] for name in names}
    feasible = [
        sum(sizes)
        for sizes in itertools.product(*busy.values())
        if sizing.latency_s(dict(zip(names, sizes, strict=True))) <= latency_s
    ]
    assert sum(found.values()) == min(feasible)


@given(st.lists(operators, min_size=2, max_size=3), st.integers(0, 6))
def test_where_there_is_room_for_fewer_those_are_left_out_that_shorten_the_latency_least(parts, more):
    names = [f"op{i}" for i in range(len(parts))]
    costs = {name: cost_of(service_s, fixed_s) for name, (service_s, fixed_s, _) in zip(names, parts, strict=True)}
    sizing = sizing_of(costs, {name: rate for name, (*_, rate) in zip(names, parts, strict=True)})
    stable = {
        name: next((k for k in range(1, MOST + 1) if sizing.utilisation(name, k) <= 0.93), MOST) for name in names
    }
    room = sum(stable.values()) + more
    found = replace(sizing, room=room).steady(0.1)
    assert sum(found.values()) <= room
    if math.isinf(sizing.latency_s(found)) or sum(found.values()) < room:
        return  # overloaded, or more executors were not worth it
    others = [
        sizing.latency_s(dict(zip(names, sizes, strict=True)))
        for sizes in itertools.product(*(range(stable[name], MOST + 1) for name in names))
        if sum(sizes) <= room
    ]
    assert sizing.latency_s(found) == pytest.approx(min(others))


def replay_of(factor, rate=90.0):
    """A load that rises by this factor after a minute, and once more later, seen from the turns before the rises."""
    times_s = np.arange(0.0, 400.0, 2.0)
    arrived = np.cumsum(np.where(times_s % 200 < 60, rate, factor * rate) * 2.0)
    return LoadReplay(
        times_s, arrived, np.concatenate([np.arange(50.0, 60.0, 2.0), np.arange(250.0, 260.0, 2.0)]), rate
    )


def test_a_rise_finds_a_batch_under_way_that_may_be_anywhere_between_its_begin_and_its_end():
    cost, size, rate, factor, rise_s = cost_of(0.02, 1.0), 4, 100.0, 3.0, 100.0

    def arrived_at(time_s):
        return rate * time_s + (factor - 1) * rate * max(0.0, time_s - rise_s)

    times_s = np.array([0.0, rise_s, 200.0])
    replay = LoadReplay(times_s, np.array([arrived_at(t) for t in times_s]), np.full(200, rise_s), rate)

    def mean_latency_s(phase):
        batch_s = cost.latency_s(rate, size) / 1.5
        since_s, begin_s = rise_s - phase * batch_s, rise_s + (1 - phase) * batch_s
        records = latency_s = 0.0
        while begin_s < rise_s + 30.0:
            rows = arrived_at(begin_s) - arrived_at(since_s)
            end_s = begin_s + float(cost.batch_with_s(np.array([rows]), np.array([size]), size)[0])
            records, latency_s = records + rows, latency_s + rows * (end_s - (since_s + begin_s) / 2)
            since_s, begin_s = begin_s, end_s
        return latency_s / records

    phases_s = [mean_latency_s(phase) for phase in np.arange(0.5, 400) / 400]
    assert max(phases_s) > 1.1 * min(phases_s)
    for share in (0.1, 0.5, 0.9):
        replayed_s = replay.latency_s(cost, rate, size, 60.0, 30.0, share)
        assert replayed_s == pytest.approx(np.quantile(phases_s, share), rel=0.02)


@pytest.mark.parametrize("is_keyed", [False, True])
def test_a_replayed_batch_goes_on_with_more_executors_when_these_come_unless_keys_decide(is_keyed):
    """After the rise of a batch's length work takes 20 s on four executors; the others come 5 s later."""
    cost, size, rate, start_s = cost_of(0.02, 1.0), 4, 100.0, 5.0
    cost._owners = (0, 1, 2, 3) * 8 if is_keyed else ()
    batch_s = cost.latency_s(rate, size) / 1.5
    burst, arrived = 4000.0, np.array([0.0, rate * 100.0, rate * 100.0 + 4000.0, rate * 200.0 + 4000.0])
    times_s = np.array([0.0, 100.0, 100.001, 200.0])
    replay = LoadReplay(times_s, arrived, np.full(50, 100.0), rate)
    later = max(size, (burst + rate * start_s) / start_s * 0.02 / 0.5)
    latencies_s = []
    for phase in (np.sqrt(5) - 1) / 2 * np.arange(1, 51) % 1:
        begin_s, rows = (1 - phase) * batch_s, burst + rate * batch_s
        before_s, after_s = (float(cost.batch_with_s(np.array(rows), np.array(k), size)) for k in (size, later))
        if is_keyed:
            took_s = before_s if begin_s < start_s else after_s
        else:
            alone_s = min(max(start_s - begin_s, 0.0), before_s)
            took_s = alone_s + (1 - alone_s / before_s) * after_s
        latencies_s.append(took_s + batch_s / 2)
    found_s = replay._in_batches(cost, 1.0, rate, size, start_s, batch_s)
    assert found_s == pytest.approx(latencies_s, rel=0.02)


@pytest.mark.parametrize("fixed_s", [0.5, None])
def test_what_too_few_executors_take_is_without_bound_also_after_moments_without_a_record(fixed_s):
    silent = LoadReplay(np.array([0.0, 100.0]), np.array([0.0, 0.0]), np.array([10.0, 20.0]), 90.0)
    assert silent.latency_s(cost_of(0.02, fixed_s), 90.0, 1, 9.0, 30.0, 0.9) == math.inf


def test_a_rise_that_came_once_is_not_expected_again_after_a_while():
    sizing, twice = sizing_of({"work": cost_of(0.02, 0.5)}, {"work": 90.0}, most=20), replay_of(4.0)
    once = LoadReplay(twice.times_s, twice.arrived, np.arange(0.0, 60.0, 2.0), twice.rate)
    assert sizing.for_rises([once], 0.95, {"work": 3}, 4.0) == {"work": 3}
    soon = LoadReplay(twice.times_s[:100], twice.arrived[:100], np.arange(0.0, 60.0, 2.0), twice.rate)
    assert sizing.for_rises([soon], 0.95, {"work": 3}, 4.0)["work"] > 3


def test_a_rise_that_is_not_expected_again_leaves_other_moments_the_weight_that_they_had():
    """A rise that is only supposed to come has its share of all moments, also of those around the one that came."""
    cost, often = cost_of(0.02, 0.5), replay_of(4.0)
    moments_s = np.concatenate([[55.0], np.arange(0.0, 60.0, 2.0), np.arange(202.0, 218.0, 2.0)])
    replay = LoadReplay(often.times_s[:180], often.arrived[:180], moments_s, often.rate, 1, is_expected_once=False)
    seen_s = replay._in_batches(cost, 1.0, 90.0, 3, 12.0, 30.0)
    expected_s = replay._expected(seen_s, 42.0, cost.latency_s(90.0, 3))
    assert len(expected_s) == len(moments_s)
    assert expected_s[0] == seen_s[0] > 4.0
    assert max(expected_s[1:]) < 3.0 < max(seen_s[1:])


def test_a_rise_of_what_records_cost_is_not_expected_before_it_came_twice():
    sizing, often = sizing_of({"work": cost_of(0.02, 0.5)}, {"work": 90.0}, most=20), replay_of(4.0)
    twice = replace(often, is_expected_once=False)
    assert sizing.for_rises([twice], 0.95, {"work": 3}, 4.0)["work"] > 3
    once = replace(
        twice, times_s=often.times_s[:100], arrived=often.arrived[:100], moments_s=np.arange(10.0, 60.0, 2.0)
    )
    assert sizing.for_rises([once], 0.95, {"work": 3}, 4.0) == {"work": 3}
    nothing_else_seen = replace(once, moments_s=np.arange(40.0, 60.0, 2.0))
    assert sizing.for_rises([nothing_else_seen], 0.95, {"work": 3}, 4.0) == {"work": 3}
    assert sizing.for_rises([once, twice], 0.95, {"work": 3}, 4.0)["work"] > 3


@pytest.mark.parametrize(("fixed_s", "latency_s"), [(0.5, 4.0), (None, 1.0)])
def test_rises_need_more_the_larger_they_are_and_nothing_if_there_are_none(fixed_s, latency_s):
    sizing = sizing_of({"work": cost_of(0.02, fixed_s)}, {"work": 90.0}, most=20)
    factors = (1.0, 1.5, 2.0, 3.0, 4.0)
    sizes = [sizing.for_rises([replay_of(factor)], 0.95, {"work": 3}, latency_s)["work"] for factor in factors]
    assert sizes[0] == 3
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[1]
    assert sizing.for_rises([], 0.95, {"work": 3}, 4.0) == {"work": 3}


class LatencyTable:
    """In place of a replay: the latency of each size, from three on."""

    def __init__(self, *latencies_s):
        self.latencies_s = latencies_s

    def latency_s(self, cost, rate, size, start_s, window_s, share):
        return self.latencies_s[min(size - 3, len(self.latencies_s) - 1)]


@pytest.mark.parametrize(
    ("latencies_s", "size"),
    [
        pytest.param((12.59, 12.55, 6.9, 0.02), 6, id="one-that-hardly-helps-before-others-that-do"),
        pytest.param((12.59, 12.58, 12.57, 12.56, 12.55, 3.9), 8, id="many-that-hardly-help"),
        pytest.param((4.01, 3.999), 3, id="a-little-above-what-is-allowed"),
        pytest.param((12.59, 9.0, 8.99, 8.98), 4, id="out-of-reach"),
    ],
)
def test_sizes_that_hardly_help_hide_no_larger_one_that_does(latencies_s, size):
    sizing = sizing_of({"work": cost_of(0.02, 0.5)}, {"work": 90.0}, most=20)
    assert sizing.for_rises([LatencyTable(*latencies_s)], 0.95, {"work": 3}, 4.0) == {"work": size}


def test_a_replayed_even_load_has_the_latency_of_the_long_run():
    cost = cost_of(0.02, 0.5)
    assert replay_of(1.0).latency_s(cost, 90.0, 3, 60.0, 30.0, 0.5) == pytest.approx(cost.latency_s(90.0, 3), rel=0.05)


@pytest.mark.parametrize(("fixed_s", "factor"), [(0.5, 3.0), (None, 6.0)])
def test_warm_standbys_stand_for_executors_when_the_load_rises_and_drain_a_backlog_at_once(fixed_s, factor):
    costs, rates, rise = {"work": cost_of(0.02, fixed_s)}, {"work": 100.0}, replay_of(factor)
    without, with_two = (sizing_of(costs, rates, sizes={"work": 3}, most=20, standby=number) for number in (0, 2))
    needed = without.for_rises([rise], 0.95, {"work": 3}, 4.0)["work"]
    assert with_two.for_rises([rise], 0.95, {"work": 3}, 4.0)["work"] == max(3, needed - 2) < needed
    snapshot = Snapshot(0.0, (OperatorState("work", queued=3000, oldest_s=10.0),))
    late_s, sooner_s = (sizing.drained("work", snapshot, 5).late_s for sizing in (without, with_two))
    assert sooner_s < late_s
    assert with_two.drained("work", snapshot, 3) == without.drained("work", snapshot, 3), "none is woken"


@pytest.mark.parametrize("fixed_s", [0.5, None])
def test_no_other_number_of_executors_drains_a_backlog_at_a_lower_price(fixed_s):
    sizing = sizing_of({"work": cost_of(0.02, fixed_s)}, {"work": 100.0}, sizes={"work": 3}, most=20)
    snapshot = Snapshot(0.0, (OperatorState("work", queued=3000, oldest_s=10.0),))
    drains = {size: sizing.drained("work", snapshot, size) for size in range(3, 21)}
    prices = {
        size: sizing.penalty * 3 * each.late_s + (size - 3) * (max(each.until_s, sizing.start_s) + 5 if size > 3 else 0)
        for size, each in drains.items()
    }
    assert sizing.for_backlog("work", snapshot, 3) == min(prices, key=prices.get) > 3


@pytest.mark.parametrize(("start_s", "is_worth_it"), [(2.0, True), (100.0, False)])
def test_executors_that_come_after_the_last_late_record_has_left_are_not_asked_for(start_s, is_worth_it):
    sizing = replace(sizing_of({"work": cost_of(0.02, 0.5)}, {"work": 100.0}, sizes={"work": 4}), start_s=start_s)
    snapshot = Snapshot(0.0, (OperatorState("work", queued=4000, oldest_s=10.0),))
    assert 2.0 < sizing.drained("work", snapshot, 4).until_s < 100.0
    size = sizing.for_backlog("work", snapshot, 3)
    assert size > 4 if is_worth_it else size == 4


def test_what_the_sla_leaves_is_shared_by_pools_since_a_rise_comes_to_all():
    costs = {name: cost_of(0.02, 0.3) for name in ("a", "b", "c")}
    sizing, sizes = sizing_of(costs, dict.fromkeys(costs, 90.0), most=20), dict.fromkeys(costs, 4)
    own_s = sizing.latency_s(sizes) / 3
    assert sizing._allowed_s(sizes, 5.0) == dict.fromkeys(costs, pytest.approx(own_s + (5.0 - 3 * own_s) / 3))
    risen = sizing.for_rises([replay_of(3.0)], 0.95, sizes, 5.0)
    assert sum(sizing._replayed_s(name, [replay_of(3.0)], 0.95, size) for name, size in risen.items()) <= 5.0


def test_work_that_is_done_already_needs_no_executor_and_a_small_backlog_none_either():
    sizing = sizing_of({"work": cost_of(0.02, 0.5)}, {"work": 100.0}, sizes={"work": 4}, most=20)
    nearly_done = BatchUnderWay(elapsed_s=1.5, tasks=1, finished=0, running=1, worked_s=4.0, rows=250)
    hardly_begun = BatchUnderWay(elapsed_s=1.5, tasks=1, finished=0, running=1, worked_s=0.0, rows=2000)
    for batch, is_late in ((nearly_done, False), (hardly_begun, True)):
        snapshot = Snapshot(0.0, (OperatorState("work", queued=int(batch.rows) + 150, under_way=batch),))
        assert (sizing.for_backlog("work", snapshot, 3) > 0) is is_late
    assert sizing.for_backlog("work", Snapshot(0.0, (OperatorState("work", queued=100),)), 3) == 0


def test_executors_that_hardly_help_are_not_paid_for_where_the_sla_is_out_of_reach():
    cost = cost_of(0.02, 0.5)
    cost.trigger_s = 12.0
    sizing = sizing_of({"work": cost}, {"work": 50.0}, most=20)
    latencies_s = [sizing.latency_s({"work": size}) for size in range(1, 21)]
    assert min(latencies_s) > 5.0
    size = sizing.steady(4.0)["work"]
    assert latencies_s[size - 1] < 1.2 * min(latencies_s)
    assert size < 10


def test_records_that_wait_for_the_trigger_are_no_backlog():
    cost = cost_of(0.02, 0.5)
    cost.trigger_s = 12.0
    sizing = sizing_of({"work": cost}, {"work": 50.0}, sizes={"work": 2}, most=20)
    waiting = Snapshot(0.0, (OperatorState("work", queued=50 * 12),))
    assert sizing.for_backlog("work", waiting, 2) == 0

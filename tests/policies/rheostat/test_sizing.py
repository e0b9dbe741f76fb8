"""Sizes for a load, for a rise and for a backlog, against exhaustive search and the model's own numbers."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.plan import PoolPlan
from rheostat.policies.observation import PoolView
from rheostat.policies.rheostat.operator_cost import OperatorCost
from rheostat.policies.rheostat.sizing import Sizing
from rheostat.sla import ExecutorBounds
from rheostat.snapshot import Batch, ExecutorPhase, ExecutorState, OperatorState, Snapshot

MOST = 8


def cost_of(service_s, batch_cost_s=None):
    """What is learned from batches of so many seconds of fixed cost, or from single records."""
    cost = OperatorCost()
    for turn in range(6):
        records, work_s = 100 * turn, 100 * turn * service_s
        batch = None
        if batch_cost_s is not None:
            batch = Batch(turn, turn * (batch_cost_s + 100 * service_s), turn * batch_cost_s, turn)
        state = OperatorState("any", completed=records, busy_s=work_s, batch=batch)
        cost.update(2.0 * turn, state, (), 1)
    return cost


def sizing_of(costs, rates, *, sizes=None, sla_s=5.0, most=MOST):
    pools = {
        name: PoolView(
            name=name,
            operators=(name,),
            measured=(name,),
            plan=PoolPlan.of((sizes or {}).get(name, 1)),
            bounds=ExecutorBounds(1, most),
            useful=most,
            spare=math.inf,
            settling=False,
            executors=tuple(ExecutorState(name, n, ExecutorPhase.ACTIVE) for n in range((sizes or {}).get(name, 1))),
        )
        for name in costs
    }
    return Sizing(pools, costs, rates, rates, sla_s, window_s=30.0, start_s=12.0, drain_s=10.0)


def test_costs_are_learned_exactly_from_batches_that_are_alike():
    cost = cost_of(0.02, 0.5)
    assert cost.service_s == pytest.approx(0.02)
    assert cost.batch_cost_s(1) == pytest.approx(0.5)
    assert cost.latency_s(25.0, 1) == pytest.approx(1.5 * 0.5 / (1 - 0.5))
    assert cost.latency_s(50.0, 1) == math.inf


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


def test_a_rise_needs_more_the_larger_it_is_and_nothing_if_there_is_none():
    sizing = sizing_of({"work": cost_of(0.02, 0.5)}, {"work": 90.0}, most=20)
    sizes = [sizing.for_rise("work", rise, 3, 4.0) for rise in (1.0, 1.5, 2.0, 3.0, 4.0)]
    assert sizes[0] == 3
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[1]


def test_a_backlog_is_drained_with_what_is_added_until_executors_serve():
    sizing = sizing_of({"work": cost_of(0.02, 0.5)}, {"work": 100.0}, sizes={"work": 1}, most=20)
    queued = 1000  # 20 s of work, 8 of which may wait; 1 s more each second
    snapshot = Snapshot(0.0, (OperatorState("work", queued=queued),))
    assert sizing.for_backlog("work", snapshot, 4.0) == math.ceil(2 + (20 + 12 - 8) / 10)
    assert sizing.for_backlog("work", Snapshot(0.0, (OperatorState("work", queued=100),)), 4.0) == 0

import math

import pytest

from rheostat.decision import Effect, Hold, Scale, Transfer
from rheostat.measure.measures import Measures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.sla import MOST_EXECUTORS, Budget
from rheostat.snapshot import ExecutorPhase, ExecutorState, OperatorState, Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "t",
    [
        Source("in"),
        Operator("read", inputs="in"),
        Operator("split", inputs="read"),
        Operator("count", inputs="split", key="word", substreams=4),
        Operator("rank", inputs="count", key="word", substreams=8),
    ],
)
PLAN = Plan.initial(TOPOLOGY, {"split": 2, "count": 3}, shared=[("read", "split"), ("count", "rank")])


def observe(plan=PLAN, budget=None, settling=(), executors=()):
    snapshot = Snapshot(0.0, (), tuple(executors))
    return Observation(snapshot, Measures(1.0, {}), plan, frozenset(settling), budget or Budget())


def test_pools_are_shown_by_name_with_the_operators_they_serve():
    pools = observe(settling=["count+rank"]).pools
    assert list(pools) == ["read+split", "count+rank"]
    pool = pools["count+rank"]
    assert (pool.name, pool.operators, pool.size, pool.settling) == ("count+rank", ("count", "rank"), 3, True)
    assert not pools["read+split"].settling


def test_the_bounds_of_a_pool_are_those_that_suit_all_its_operators():
    budget = Budget(total=9, least={"count": 2, "rank": 3}, most={"rank": 7})
    pools = observe(budget=budget).pools
    assert pools["count+rank"].bounds == (3, 7)
    assert pools["read+split"].bounds == (1, 9)
    assert observe().pools["read+split"].bounds == (1, MOST_EXECUTORS)


def test_bounds_that_contradict_each_other_leave_what_is_needed_at_least():
    assert observe(budget=Budget(least={"count": 5}, most={"rank": 2})).pools["count+rank"].bounds == (5, 5)


def test_what_the_budget_leaves_is_for_all_pools_together():
    seen = observe(budget=Budget(total=7))
    assert (seen.spare, seen.pools["count+rank"].spare) == (2, 2)
    assert observe().spare == math.inf


@pytest.mark.parametrize(("wanted", "allowed"), [(0, 1), (1, 1), (3.2, 3), (5, 5), (9, 5)])
def test_a_size_is_brought_within_the_bounds_and_the_budget(wanted, allowed):
    assert observe(budget=Budget(total=7)).pools["count+rank"].clamp(wanted) == allowed


def test_who_gave_executors_away_says_what_is_left():
    assert observe(budget=Budget(total=7)).pools["count+rank"].clamp(9, spare=1) == 4
    assert observe(budget=Budget(total=3)).pools["count+rank"].clamp(9) == 3, "beyond the budget already"


def test_executors_without_a_substream_are_of_no_use():
    assert observe().pools["count+rank"].useful == 8
    assert observe(budget=Budget(most={"count": 5})).pools["count+rank"].useful == 5
    assert observe().pools["read+split"].useful == MOST_EXECUTORS


def test_executors_beyond_the_tasks_of_an_operator_are_of_no_use():
    states = (OperatorState("read", width=6), OperatorState("split", width=4))
    seen = Observation(Snapshot(0.0, states), Measures(1.0, {}), PLAN)
    assert seen.pools["read+split"].useful == 6
    without = Observation(Snapshot(0.0, states[:1]), Measures(1.0, {}), PLAN)
    assert without.pools["read+split"].useful == MOST_EXECUTORS


def test_of_fused_operators_only_the_first_is_measured():
    plan = Plan.initial(TOPOLOGY, fused=[("in", "read", "split")])
    pool = observe(plan).pools["split"]
    assert (pool.operators, pool.measured) == (("read", "split"), ("read",))


def test_the_executors_of_a_pool_are_shown_with_their_phases():
    states = [
        ExecutorState("read+split", 0, ExecutorPhase.ACTIVE),
        ExecutorState("read+split", 1, ExecutorPhase.STARTING),
        ExecutorState("count+rank", 0, ExecutorPhase.ACTIVE),
    ]
    pool = observe(executors=states).pools["read+split"]
    assert (pool.executors, pool.active) == (tuple(states[:2]), (states[0],))


def test_a_pool_is_held_with_a_reason():
    pool = observe().pools["count+rank"]
    assert pool.hold("fine") == Hold(pool="count+rank", reason="fine")
    assert pool.hold("fine", utilisation=0.5).predicted == Effect(utilisation=0.5, executors=3)
    assert [hold.pool for hold in observe().hold_all("not measured")] == ["read+split", "count+rank"]


def test_a_pool_is_scaled_with_the_effect_that_is_predicted():
    pool = observe().pools["count+rank"]
    assert pool.scale(5, "busy", utilisation=0.5) == Scale(
        pool="count+rank", executors=5, reason="busy", predicted=Effect(utilisation=0.5, executors=5)
    )
    assert pool.scale(3, "right") == Hold(pool="count+rank", reason="right", predicted=Effect(executors=3))


@pytest.mark.parametrize("change", [{"leaving": (1,)}, {"transfers": (Transfer((0,), 0, 1),)}, {"standby": 2}])
def test_a_change_without_another_size_is_no_hold(change):
    assert isinstance(observe().pools["count+rank"].scale(3, "swap", **change), Scale)

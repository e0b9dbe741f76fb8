"""Which pools are left alone after an action, and for how long."""

from rheostat.loop.settling import SettlingPools
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase, ExecutorState, Snapshot, SubstreamState
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("t", [Source("in"), Operator("count", inputs="in", key="word", substreams=4)])
PLAN = Plan.initial(TOPOLOGY, 2)
UNREACHED = frozenset({"count"})


def snapshot(phases, owners=(0, 0, 1, 1)):
    executors = tuple(ExecutorState("count", number, phase) for number, phase in phases.items())
    substreams = tuple(SubstreamState("count", index, owner) for index, owner in enumerate(owners))
    return Snapshot(0.0, (), executors, substreams)


ACTIVE, STARTING, FAILED = ExecutorPhase.ACTIVE, ExecutorPhase.STARTING, ExecutorPhase.FAILED


def blocked(pools, phases, time_s, **more):
    return pools.blocked(UNREACHED, PLAN, snapshot(phases, **more), time_s) == UNREACHED


def test_an_executor_that_served_before_blocks_nothing_when_it_is_missing():
    pools = SettlingPools(600.0, 60.0)
    pools.blocked(frozenset(), PLAN, snapshot({0: ACTIVE, 1: ACTIVE}), 0.0)
    assert not blocked(pools, {0: ACTIVE, 1: FAILED}, 1.0)
    assert not blocked(pools, {0: ACTIVE}, 2.0)
    assert not blocked(pools, {0: ACTIVE, 1: STARTING}, 3.0)


def test_a_new_executor_blocks_until_the_start_timeout():
    pools = SettlingPools(600.0, 60.0)
    pools.begin(UNREACHED, 0.0)
    assert blocked(pools, {0: ACTIVE, 1: STARTING}, 59.0, owners=(0, 0, 0, 0))
    assert not blocked(pools, {0: ACTIVE, 1: STARTING}, 60.0, owners=(0, 0, 0, 0))


def test_a_move_between_executors_that_serve_blocks_until_the_action_timeout():
    pools = SettlingPools(600.0, 60.0)
    pools.begin(UNREACHED, 0.0)
    assert blocked(pools, {0: ACTIVE, 1: ACTIVE}, 599.0, owners=(0, 0, None, 1))
    assert not blocked(pools, {0: ACTIVE, 1: ACTIVE}, 600.0, owners=(0, 0, None, 1))


def test_an_executor_that_drains_blocks_although_another_one_has_failed():
    pools = SettlingPools(600.0, 60.0)
    pools.blocked(frozenset(), PLAN, snapshot({0: ACTIVE, 1: ACTIVE, 2: ACTIVE}), 0.0)
    assert blocked(pools, {0: ACTIVE, 1: FAILED, 2: ExecutorPhase.LEAVING}, 100.0)

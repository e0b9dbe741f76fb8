"""The thread that follows a plan, on a cluster without executors of its own."""

import pytest

from rheostat.clock import WallClock
from rheostat.decision import Scale
from rheostat.errors import PlantError
from rheostat.plan import Plan
from rheostat.spark.act.cluster_view import ClusterView, ReconcileRules
from rheostat.spark.act.execute import Execution
from rheostat.spark.act.executor_pools import NoExecutors
from rheostat.spark.act.instructions import GroupRows
from rheostat.spark.act.pool_sites import first_book
from rheostat.spark.act.reconciler import Reconciler
from rheostat.spark.state.executor_book import ExecutorBook, PoolSite, SparkExecutor
from rheostat.spark.state.spark_state import SparkState
from rheostat.spark.state.stage_placement import Unplaced
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("t", [Source("s"), Operator("a", inputs="s"), Operator("b", inputs="a", key="k", substreams=4)])


class Recording:
    """Actuators that remember what was carried out, or raise `error`."""

    def __init__(self):
        self.done = []
        self.error = None

    def carry_out(self, instruction, now_s):
        if self.error is not None:
            raise self.error
        self.done.append(instruction)

    def close(self):
        """Nothing is held open."""


@pytest.fixture
def actuators():
    return Recording()


@pytest.fixture
def local(actuators):
    plan = Plan.initial(TOPOLOGY)
    state = SparkState(ExecutorBook.of_local_master(plan), Unplaced())
    rules = ReconcileRules(TOPOLOGY, can_route=False)
    reconciler = Reconciler(state, NoExecutors(TOPOLOGY, plan), Execution([actuators]), rules, WallClock(), plan)
    reconciler.start()
    yield reconciler
    reconciler.stop()


def test_a_new_plan_is_followed_and_reached_without_the_loop(local, actuators, eventually):
    wider = Plan.initial(TOPOLOGY).after(Scale(pool="a", executors=3, reason="test"))
    assert local.follow(wider) == ()
    eventually(lambda: local.reached(wider) == {"a", "b"} or None, "the plan", 10)
    eventually(lambda: actuators.done[-1:] == [GroupRows("a", None, 3, ("a",))] or None, "the tasks", 10)


def test_a_refusal_is_an_obstacle_and_does_not_hold_up_the_plan(local, actuators, eventually):
    actuators.error = PlantError("no such grouping")
    plan = Plan.initial(TOPOLOGY, 2)
    assert eventually(lambda: local.follow(plan) or None, "the refusal", 10) == ("no such grouping",)
    assert local.reached(plan) == {"a", "b"}


def test_a_grouping_that_is_refused_is_neither_reached_nor_shown(local, actuators, eventually):
    actuators.error = PlantError("no such grouping")
    plan = Plan.initial(TOPOLOGY, grouping={"a": "load-aware"})
    eventually(lambda: local.follow(plan) or None, "the refusal", 10)
    assert local.reached(plan) == {"b"}
    actuators.error = None
    eventually(lambda: local.reached(plan) == {"a", "b"} or None, "the grouping", 10)


def test_a_failure_is_reported_and_over_when_the_next_attempt_succeeds(local, actuators, eventually):
    actuators.error = ConnectionError("no connection")
    plan = Plan.initial(TOPOLOGY, 2)
    told = eventually(lambda: local.follow(plan) or None, "the failure", 10)
    assert told == ("the plan could not be reconciled with the cluster: no connection",)
    actuators.error = None
    eventually(lambda: local.follow(plan) == () or None, "the end of it", 10)
    assert local.reached(plan) == {"a", "b"}


class FakeCluster:
    def __init__(self, *ids):
        self.executors = tuple(SparkExecutor(each, "h:1", 0, 1) for each in ids)

    def view(self, groups):
        return ClusterView(self.executors, profiles={PoolSite("work"): 0})


def test_without_a_plan_the_book_is_kept_and_nothing_is_changed(actuators):
    one = Topology("one", [Source("s"), Operator("work", inputs="s")])
    state = SparkState(first_book(Plan.initial(one), (), {}), Unplaced())
    cluster = FakeCluster("1", "2", "3")
    reconciler = Reconciler(
        state, cluster, Execution([actuators]), ReconcileRules(one, can_route=False, reserved=None), WallClock()
    )
    reconciler.step()
    assert [(m.number, m.phase, m.executor.id) for m in state.book.members()] == [
        (number, "active", str(number + 1)) for number in range(3)
    ]
    cluster.executors = cluster.executors[1:]
    reconciler.step()
    assert [(m.number, m.phase) for m in state.book.members()] == [(0, "active"), (1, "active")]
    assert actuators.done == []

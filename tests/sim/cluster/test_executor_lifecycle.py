"""Executors start, warm up, stand by, leave; pauses and restarts of the whole topology."""

import msgspec
import pytest
from plants import count_in_system, drained, executor_row, exponential, fixed, keyed, one_operator, plant, realise, row

from rheostat.decision import Scale
from rheostat.errors import ConfigError
from rheostat.load import Step
from rheostat.plan import Plan, PoolPlan
from rheostat.sim.model import Batches, ClusterModel, NodeModel, OperatorModel, Slowdown
from rheostat.snapshot import ExecutorPhase
from rheostat.topology import Operator, Source, Topology


def scaled(plan, executors, operator="op", **more):
    return plan.after(Scale(pool=operator, reason="test", executors=executors, **more))


def with_standby(plan, standby, pool="op"):
    changed = msgspec.structs.replace(plan.pools[pool], standby=standby)
    return msgspec.structs.replace(plan, revision=plan.revision + 1, pools={**plan.pools, pool: changed})


def phases(it):
    return [executor.phase for executor in it.observe().executors]


def test_a_new_executor_serves_after_start_up_and_warm_up_and_not_before():
    it = plant(one_operator(), fixed(0.001), cluster=ClusterModel(start="4s", warm_up="3s"))
    it.cluster.advance(1.0)
    it.apply(scaled(Plan.initial(it.topology), 2))
    it.cluster.advance(7.999)
    assert phases(it) == [ExecutorPhase.ACTIVE, ExecutorPhase.STARTING]
    assert executor_row(it, 1).arrived == 0
    it.cluster.advance(9.0)
    assert phases(it) == [ExecutorPhase.ACTIVE, ExecutorPhase.ACTIVE]
    assert executor_row(it, 1).arrived == pytest.approx(50, abs=30)


def counts(it, phase, times_s):
    found = []
    for time_s in times_s:
        it.cluster.advance(time_s)
        found.append(phases(it).count(phase))
    return found


@pytest.mark.parametrize(("at_once", "active"), [(2, [1, 3, 5, 6]), ("all", [1, 6, 6, 6])])
def test_further_executors_wait_in_line_until_one_of_those_that_start_is_up(at_once, active):
    it = plant(one_operator(), fixed(0.001), cluster=ClusterModel(start="4s", starts_at_once=at_once))
    it.cluster.advance(1.0)
    it.apply(scaled(Plan.initial(it.topology), 6))
    assert counts(it, ExecutorPhase.ACTIVE, (4.9, 5.1, 9.1, 13.1)) == active


def test_an_executor_that_is_no_longer_wanted_leaves_the_line_to_others():
    it = plant(one_operator(), fixed(0.001), cluster=ClusterModel(start="4s", starts_at_once=1))
    plan = scaled(Plan.initial(it.topology), 3)
    it.apply(plan)
    it.cluster.advance(1.0)
    it.apply(plan.after(Scale(pool="op", reason="test", executors=2, leaving=(1,))))
    assert counts(it, ExecutorPhase.ACTIVE, (4.9, 5.1)) == [1, 2]


def test_ten_executors_start_at_once_by_default():
    it = plant(one_operator(), fixed(0.001), cluster=ClusterModel(start="4s"))
    it.apply(scaled(Plan.initial(it.topology), 21))
    assert counts(it, ExecutorPhase.ACTIVE, (4.1, 8.1)) == [11, 21]


def test_an_executor_is_slow_for_the_time_that_the_scenario_says():
    slow = Slowdown(operator="op", executor=1, speed=0.5, since="5s", until="10s")
    it = plant(one_operator(), fixed(0.001, executors=2), cluster=ClusterModel(slow=(slow,)))
    speeds = []
    for time_s in (4.9, 5.1, 10.1):
        it.cluster.advance(time_s)
        speeds.append([float(executor_row(it, number).speed) for number in (0, 1)])
    assert speeds == [[1.0, 1.0], [1.0, 0.5], [1.0, 1.0]]


def test_an_executor_that_starts_later_is_slow_too():
    slow = Slowdown(operator="op", executor=1, speed=0.5)
    it = plant(one_operator(), fixed(0.001), cluster=ClusterModel(slow=(slow,)))
    it.apply(scaled(Plan.initial(it.topology), 2))
    it.cluster.advance(10.0)
    assert executor_row(it, 1).speed == 0.5


def test_executors_are_paid_for_from_their_request_to_their_end():
    it = plant(one_operator(), fixed(0.001), cluster=ClusterModel(start="4s", stop="2s"))
    plan = scaled(Plan.initial(it.topology), 2)
    it.apply(plan)
    it.cluster.advance(10.0)
    plan = scaled(plan, 1)
    it.apply(plan)
    it.cluster.advance(10.5)
    it.apply(plan)
    it.cluster.advance(20.0)
    paid = it.cluster.registry.seconds
    assert paid["op", ExecutorPhase.ACTIVE] == pytest.approx(20 + 6)
    assert paid["op", ExecutorPhase.STARTING] == pytest.approx(4)
    assert paid["op", ExecutorPhase.LEAVING] == pytest.approx(2, abs=0.6)


def test_an_executor_that_leaves_finishes_what_it_has():
    it = plant(one_operator(), fixed(1.0, executors=2), rate=Step([(0, 10.0), (1.05, 0.0)]), scv=0)
    it.cluster.advance(1.2)
    plan = scaled(Plan.initial(it.topology, 2), 1)
    it.apply(plan)
    assert phases(it)[1] is ExecutorPhase.LEAVING
    realise(it, plan)
    assert it.cluster.now_s == pytest.approx(5.2, abs=0.3)
    assert drained(it, 7.0)


def test_an_executor_told_to_go_while_it_starts_never_serves():
    it = plant(
        one_operator(), exponential(0.01), rate=Step([(0, 80.0), (10, 0.0)]), cluster=ClusterModel(start=2, stop=5)
    )
    plan = scaled(Plan.initial(it.topology), 2)
    it.apply(plan)
    it.cluster.advance(1.0)
    plan = scaled(plan, 1)
    it.apply(plan)
    it.cluster.advance(3.0)
    assert row(it).servers == 1
    realise(it, plan)
    assert drained(it, 30.0)


def test_a_standby_told_to_go_is_not_given_work_any_more():
    it = plant(one_operator(), exponential(0.001, standby=1), cluster=ClusterModel(start=1, stop=5))
    plan = Plan.initial(it.topology, standby={"op": 1})
    it.cluster.advance(1.0)
    it.apply(with_standby(plan, 0))
    it.cluster.advance(2.0)
    plan = scaled(with_standby(plan, 0), 2)
    realise(it, plan)
    it.cluster.advance(20.0)
    assert it.reached(plan) == {"op"}
    assert len(it.cluster.registry.members) == 2


def test_a_warm_standby_serves_after_its_activation_time_instead_of_a_start():
    it = plant(one_operator(), fixed(0.001, standby=1), cluster=ClusterModel(start="60s", activate="500ms"))
    plan = scaled(Plan.initial(it.topology, standby={"op": 1}), 2)
    it.cluster.advance(1.0)
    it.apply(plan)
    it.cluster.advance(1.6)
    assert it.reached(plan) == {"op"}
    assert sorted(phases(it)) == [ExecutorPhase.ACTIVE, ExecutorPhase.ACTIVE, ExecutorPhase.STARTING]
    assert executor_row(it, 1).completed > 0


def test_those_that_leave_stand_by_and_nobody_is_started_in_their_place():
    it = plant(one_operator(), fixed(0.001, executors=3), cluster=ClusterModel(start="60s"))
    plan = scaled(Plan.initial(it.topology, 3), 1, standby=2)
    it.cluster.advance(1.0)
    it.apply(plan)
    assert len(phases(it)) == 3
    realise(it, plan)
    assert sorted(phases(it)) == [ExecutorPhase.ACTIVE, ExecutorPhase.WARM, ExecutorPhase.WARM]
    plan = scaled(plan, 3, standby=0)
    it.apply(plan)
    it.cluster.advance(it.cluster.now_s + 1.0)
    assert phases(it) == [ExecutorPhase.ACTIVE] * 3


def test_an_executor_that_became_a_standby_during_a_pause_works_when_it_is_called_again():
    cluster = ClusterModel(pause_on_remove="3s", nodes=(NodeModel(name="x", slots=2),))
    it = plant(one_operator(), exponential(0.001, executors=2), cluster=cluster)
    plan = scaled(with_standby(Plan.initial(it.topology, 2), 1), 1)
    it.cluster.advance(2.0)
    realise(it, plan)
    assert sorted(phases(it)) == [ExecutorPhase.ACTIVE, ExecutorPhase.WARM]
    it.cluster.advance(10.0)
    plan = scaled(plan, 2)
    realise(it, plan)
    before = int(executor_row(it, 2).completed)
    it.cluster.advance(it.cluster.now_s + 5.0)
    assert executor_row(it, 2).completed > before


def test_an_executor_that_starts_in_a_restart_works_when_it_is_up():
    """Also when it takes the place of one that left within the restart before."""
    it = plant(one_operator(), exponential(0.001, executors=3), cluster=ClusterModel(start="30s", restart="10s"))
    plan = scaled(Plan.initial(it.topology, 3), 2)
    it.apply(plan)
    it.cluster.advance(1.0)
    plan = scaled(plan, 3)
    it.apply(plan)
    it.cluster.advance(31.1)
    realise(it, plan)
    it.cluster.advance(40.0)
    assert executor_row(it, 3).completed > 0


def test_a_restart_stops_the_whole_topology_for_every_change():
    it = plant(keyed(4), exponential(0.001, executors=2), cluster=ClusterModel(start=0, move_delay=0, restart="3s"))
    it.cluster.advance(1.0)
    plan = scaled(Plan.initial(it.topology, 2), 3)
    it.apply(plan)
    it.cluster.advance(1.1)
    before = int(row(it).completed)
    it.apply(plan)
    it.cluster.advance(3.999)
    assert row(it).completed == before
    it.cluster.advance(5.0)
    assert row(it).completed > before + 300
    assert it.observe().latency.max_s == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize("queues", ["own", "shared"])
def test_a_restart_that_loses_takes_what_was_at_the_operator_that_changed_and_nothing_else(queues):
    line = Topology("line", [Source("in"), Operator("op", inputs="in"), Operator("last", inputs="op")])
    cluster = ClusterModel(start=0, restart="3s", restart_loses=True)
    operators = {"op": fixed(0.05, executors=2, queues=queues), "last": fixed(0.05, executors=1, queues=queues)}
    it = plant(line, operators, rate=Step([(0, 100.0), (9, 0.0)]), cluster=cluster)
    it.cluster.advance(5.0)
    there = count_in_system(it)
    assert min(there.values()) > 50
    it.apply(scaled(Plan.initial(it.topology, {"op": 2, "last": 1}), 3))
    assert row(it).lost == there["op"]
    assert row(it, "last").lost == 0
    assert count_in_system(it) == {"op": 0, "last": there["last"]}
    it.cluster.advance(9.0)
    assert row(it).completed > 0
    assert drained(it, 200.0)
    assert it.cluster.state.world[0].lost == there["op"]


def test_micro_batches_are_read_again_after_a_restart_that_loses():
    cluster = ClusterModel(start=0, restart="3s", restart_loses=True)
    batches = fixed(0.01, executors=2, queues="batches")
    it = plant(one_operator(), batches, rate=Step([(0, 100.0), (9, 0.0)]), cluster=cluster)
    it.cluster.advance(5.0)
    it.apply(scaled(Plan.initial(it.topology, 2), 3))
    assert drained(it, 30.0)
    assert row(it).lost == 0


def test_a_restart_that_loses_is_refused_where_records_are_served_by_key():
    with pytest.raises(ConfigError, match="'op' is grouped by key, whose records are never lost: restart_loses"):
        plant(keyed(4), cluster=ClusterModel(restart="3s", restart_loses=True))


@pytest.mark.parametrize(("executors", "pause_s"), [(3, 2.0), (1, 5.0)])
def test_adding_and_removing_pause_for_times_of_their_own(executors, pause_s):
    cluster = ClusterModel(start=0, pause_on_add="2s", pause_on_remove="5s")
    it = plant(one_operator(), exponential(0.001, executors=2), cluster=cluster)
    it.cluster.advance(1.0)
    it.apply(scaled(Plan.initial(it.topology, 2), executors))
    it.cluster.advance(20.0)
    assert it.observe().latency.max_s == pytest.approx(pause_s, abs=0.1)


def test_idle_executors_of_a_shared_queue_are_still_each_there_once_after_pauses():
    it = plant(one_operator(), fixed(1.0, executors=3, queues="shared"), rate=Step([(0, 0.0), (10, 0.5)]), scv=0)
    for second in range(5):
        it.cluster.pauses.pause_topology(0.5)
        it.cluster.advance(second + 1.0)
    assert row(it).idles == 3
    it.cluster.advance(1000.0)
    assert row(it).idles <= 3
    assert it.observe().latency.max_s == pytest.approx(1.0)


def test_a_paused_executor_is_passed_over_by_a_shared_queue():
    it = plant(one_operator(), fixed(1.0, executors=2, queues="shared"), rate=Step([(0, 0.0), (1, 0.4)]), scv=0)
    last = it.cluster.registry.members["op", 1]
    it.cluster.pauses.pause_executors([last], 50.0)
    it.cluster.advance(49.0)
    assert executor_row(it, 1).completed == 0
    assert it.observe().latency.max_s == pytest.approx(1.0)


def test_operators_that_share_a_pool_and_its_queue_are_both_served():
    topology = Topology("two", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a")])
    shared = Plan(0, {"both": PoolPlan.of(2)}, {"a": "both", "b": "both"})
    it = plant(topology, exponential(0.005, queues="shared"), rate=Step([(0, 100.0), (20, 0.0)]), plan=shared)
    it.cluster.pauses.pause_topology(1.0)
    assert drained(it, 30.0)
    assert row(it, "b").completed == row(it, "a").completed > 1500


def test_operators_with_different_queues_can_share_a_pool():
    topology = Topology(
        "three",
        [
            Source("in"),
            Operator("a", inputs="in"),
            Operator("b", inputs="a", key="k", substreams=4),
            Operator("c", inputs="b"),
        ],
    )
    pools = {"all": PoolPlan.of(3)}
    shared = Plan(0, pools, dict.fromkeys("abc", "all"), {"b": (0, 1, 2, 0)})
    models = {"a": exponential(0.005, queues="shared"), "b": exponential(0.005), "c": exponential(0.005)}
    it = plant(topology, models, rate=Step([(0, 100.0), (20, 0.0)]), plan=shared)
    it.cluster.advance(5.0)
    it.cluster.pauses.pause_topology(1.0)
    assert drained(it, 30.0)
    assert it.cluster.state.world[0].disorder == 0
    assert row(it, "a").idles <= 3


def test_a_pause_leaves_each_executor_with_its_own_operators():
    behind = [Operator(name, inputs="x") for name in ("a", "b")]
    topology = Topology("three", [Source("in"), Operator("x", inputs="in", selectivity=0.01), *behind])
    pools = {"x": PoolPlan.of(1), "both": PoolPlan.of(2)}
    plan = Plan(0, pools, {"x": "x", "a": "both", "b": "both"})
    models = {"x": exponential(0.009, queues="shared"), "a": exponential(0.001), "b": exponential(0.001)}
    it = plant(topology, models, plan=plan)
    for second in range(10):
        it.cluster.pauses.pause_topology(0.5)
        it.cluster.advance(second + 1.0)
    assert executor_row(it, 0, "x").completed == row(it, "x").completed


def test_speeds_divide_service_times():
    cluster = ClusterModel(odd_share=1.0, odd_speed=0.25)
    it = plant(one_operator(), fixed(0.01), rate=10.0, scv=0, cluster=cluster)
    it.cluster.advance(100.0)
    assert it.observe().latency.mean_s == pytest.approx(0.04)
    assert it.observe().executors[0].speed == 0.25


def test_many_executors_come_and_go_without_leaving_anything_behind():
    it = plant(one_operator(), exponential(0.02, executors=3), rate=100.0, cluster=ClusterModel(start="1s"))
    plan = Plan.initial(it.topology, 3)
    for turn in range(60):
        plan = scaled(plan, 3 + turn * 7 % 23)
        it.apply(plan)
        it.cluster.advance(it.cluster.now_s + 2.0)
    realise(it, plan)
    assert len(it.cluster.registry.members) == plan.size("op")
    assert len(it.cluster.state.executors) <= 64
    assert count_in_system(it)["op"] == row(it).arrived - row(it).completed


def test_the_plan_of_a_model_is_what_it_asks_for():
    models = {"op": OperatorModel(executors=3, standby=2)}
    it = plant(one_operator(), models)
    assert phases(it) == [ExecutorPhase.ACTIVE] * 3 + [ExecutorPhase.WARM] * 2


def test_the_first_micro_batch_of_a_started_executor_takes_longer():
    batches = Batches(fixed=0.5, per_task=0)
    cluster = ClusterModel(start="4s", first_batch="3s")
    it = plant(one_operator(), fixed(1e-4, queues="batches", batches=batches), rate=100.0, cluster=cluster)
    it.cluster.advance(1.0)
    it.apply(scaled(Plan.initial(it.topology), 2))
    longest = []
    for time_s in range(2, 20):
        before = row(it).batch_duration_s
        it.cluster.advance(float(time_s))
        longest.append(row(it).batch_duration_s - before)
    assert max(longest) == pytest.approx(3.5, abs=0.3)
    assert sum(each > 2.0 for each in longest) == 1


def test_without_micro_batches_there_is_no_first_batch():
    it = plant(one_operator(), fixed(0.001), cluster=ClusterModel(start="4s", first_batch="3s"))
    it.apply(scaled(Plan.initial(it.topology), 2))
    it.cluster.advance(5.0)
    assert executor_row(it, 1).extra_s == 0.0


def test_batches_cost_more_while_executors_start():
    batches = Batches(fixed=0.5, per_task=0)
    cluster = ClusterModel(start="8s", warm_up="2s", cost_while_starting=3.0)
    it = plant(one_operator(), fixed(1e-6, queues="batches", batches=batches), rate=100.0, cluster=cluster)
    it.cluster.advance(10.0)
    assert row(it).batch_count == pytest.approx(19, abs=2)
    it.apply(scaled(Plan.initial(it.topology), 2))
    it.cluster.advance(20.0)
    during = row(it).batch_count
    assert during == pytest.approx(19 + 10 / 1.5, abs=2)
    it.cluster.advance(30.0)
    assert row(it).batch_count - during == pytest.approx(19, abs=2)


def test_a_start_that_is_taken_back_costs_no_more():
    batches = Batches(fixed=0.5, per_task=0)
    cluster = ClusterModel(start="100s", cost_while_starting=3.0)
    it = plant(one_operator(), fixed(1e-6, queues="batches", batches=batches), rate=100.0, cluster=cluster)
    plan = Plan.initial(it.topology)
    it.apply(scaled(plan, 2))
    it.cluster.advance(10.0)
    it.apply(scaled(scaled(plan, 2), 1))
    it.cluster.advance(20.0)
    before = int(row(it).batch_count)
    it.cluster.advance(30.0)
    assert row(it).batch_count - before == pytest.approx(20, abs=2)

"""Machines: slots, cores that executors share, speeds, and moving to another one."""

import pytest
from plants import CHAIN, drained, executor_row, fixed, nodes, one_operator, placed, plant, realise, row

from rheostat.decision import Location, Scale
from rheostat.errors import ConfigError, PlantError
from rheostat.load import Step
from rheostat.plan import Plan
from rheostat.sim.model import Batches, ClusterModel, NodeModel


def busy_by_node(it):
    executors = it.cluster.state.executors
    return [int(((executors.node == node) & (executors.current != -1)).sum()) for node in range(2)]


def test_executors_go_to_the_emptiest_node():
    it = plant(one_operator(), fixed(0.001, executors=4), cluster=ClusterModel(nodes=nodes("x", "y", slots=3)))
    assert [executor.node for executor in it.observe().executors] == ["x", "y", "x", "y"]


def test_slots_and_nodes_to_choose_from_are_told_before_anyone_decides():
    it = plant(one_operator(), fixed(0.001, executors=4), cluster=ClusterModel(nodes=nodes("x", "y", slots=3)))
    assert (it.capabilities.can_place, it.capabilities.room, it.capabilities.can_fuse) == (True, 6, False)
    assert "round-robin" in it.capabilities.groupings["op"]
    alone = plant(one_operator(), fixed(0.001, executors=4))
    assert (alone.capabilities.can_place, alone.capabilities.room) == (False, None)


def test_a_full_cluster_is_an_obstacle_until_there_is_room_again():
    it = plant(one_operator(), fixed(0.001, executors=3), cluster=ClusterModel(start=0, nodes=nodes("x", slots=4)))
    plan = Plan.initial(it.topology, 3).after(Scale(pool="op", reason="test", executors=6))
    assert it.apply(plan) == tuple(f"no node has a free slot for executor {number} of 'op'" for number in (4, 5))
    it.cluster.advance(1.0)
    assert it.reached(plan) == frozenset()
    fewer = plan.after(Scale(pool="op", reason="test", executors=4))
    realise(it, fewer)
    assert it.apply(fewer) == ()


def test_a_place_on_a_full_node_is_an_obstacle_until_there_is_room():
    it = plant(one_operator(), fixed(0.001, executors=4), cluster=ClusterModel(nodes=nodes("x", "y", slots=2)))
    plan = placed(Plan.initial(it.topology, 4), "op", _0=Location("y"))
    assert it.apply(plan) == ("node 'y' lacks a free slot for executor 0 of 'op'",)
    assert it.reached(plan) == frozenset()
    fewer = plan.after(Scale(pool="op", reason="test", executors=3))
    realise(it, fewer)
    assert it.apply(fewer) == ()


def test_executors_of_full_nodes_swap_places():
    it = plant(one_operator(), fixed(0.001, executors=4), cluster=ClusterModel(start=0, nodes=nodes("x", "y", slots=2)))
    plan = placed(Plan.initial(it.topology, 4), "op", _0=Location("y"), _3=Location("x"))
    assert it.apply(plan) == ()
    assert [executor.node for executor in it.observe().executors] == ["y", "y", "x", "x"]


def test_a_model_that_does_not_fit_its_nodes_is_refused():
    with pytest.raises(PlantError, match="no node has a free slot for executor 2 of 'op': add nodes or slots"):
        plant(one_operator(), fixed(0.001, executors=3), cluster=ClusterModel(nodes=nodes("x", slots=2)))


def test_more_busy_executors_than_cores_slow_each_other_down():
    burst = Step([(0, 4000.0), (0.00105, 0.0)])
    it = plant(
        one_operator(),
        fixed(1.0, executors=4),
        rate=burst,
        scv=0,
        resolution_s=0.00105,
        cluster=ClusterModel(nodes=nodes("x", slots=4, cores=2)),
    )
    assert drained(it, 5.0)
    assert sorted(executor_row(it, n).busy_s for n in range(4)) == pytest.approx([1.0, 1.0, 1.5, 2.0])
    assert it.cluster.state.nodes[0].busy == 0


def test_enough_cores_slow_nobody_down():
    it = plant(
        one_operator(), fixed(0.05, executors=4), cluster=ClusterModel(nodes=nodes("x", slots=4, cores=4)), rate=20.0
    )
    it.cluster.advance(100.0)
    assert row(it).service_sum / row(it).service_count == pytest.approx(0.05)


def test_batches_share_the_cores_of_a_node_too():
    batches = fixed(
        0.01, executors=4, queues="batches", batches=Batches(fixed=1, per_task=0, trigger="10s", limit="none")
    )
    durations = []
    for cores in (4, 2):
        cluster = ClusterModel(nodes=nodes("x", slots=4, cores=cores))
        it = plant(one_operator(), batches, rate=100.0, scv=0, cluster=cluster)
        it.cluster.advance(99.9)
        batch = it.observe().operators["op"].batch
        durations.append(batch.duration_s / batch.count - 1)
        assert it.cluster.state.nodes[0].busy == 0
        it.cluster.advance(101.0)
        assert it.cluster.state.nodes[0].busy == 4
    assert durations[1] == pytest.approx(2 * durations[0], rel=0.01)


def test_a_node_has_its_own_speed():
    cluster = ClusterModel(nodes=(NodeModel(name="slow", speed=0.5), NodeModel(name="fast", speed=2)))
    it = plant(one_operator(), fixed(0.01, executors=2), cluster=cluster)
    assert [executor.speed for executor in it.observe().executors] == [0.5, 2.0]


def test_an_executor_moves_to_another_node_with_its_work_and_pauses_as_for_a_start():
    cluster = ClusterModel(start="2s", nodes=(NodeModel(name="x"), NodeModel(name="y", speed=4, slots=3)))
    it = plant(one_operator(), fixed(0.01), rate=10.0, scv=0, cluster=cluster)
    it.cluster.advance(5.05)
    plan = placed(Plan.initial(it.topology), "op", _0=Location("y"))
    realise(it, plan)
    it.cluster.advance(9.0)
    seen = it.observe()
    assert seen.executors[0].node == "y"
    assert seen.executors[0].speed == 4
    assert seen.latency.max_s == pytest.approx(2.0, abs=0.1)


def test_a_busy_executor_takes_its_share_of_the_processor_along():
    cluster = ClusterModel(start=0, nodes=nodes("x", "y", slots=4, cores=1))
    it = plant(one_operator(), fixed(1.0, executors=2), rate=1.5, scv=0, cluster=cluster)
    plan = Plan.initial(it.topology, 2)
    for turn in range(20):
        it.cluster.advance(3.3 * (turn + 1))
        plan = placed(plan, "op", _0=Location("xy"[turn % 2]), _1=Location("xy"[turn // 2 % 2]))
        it.apply(plan)
        assert it.cluster.state.nodes.busy.tolist() == busy_by_node(it)


def test_an_unknown_node_is_refused_by_name():
    it = plant(one_operator(), cluster=ClusterModel(nodes=nodes("left", "right")))
    plan = placed(Plan.initial(it.topology), "op", _0=Location("lift"))
    with pytest.raises(PlantError, match="there is no node 'lift'; did you mean 'left'"):
        it.apply(plan)


def test_another_process_on_the_same_node_is_a_move_too():
    it = plant(CHAIN, fixed(0.01), rate=10.0, scv=0, cluster=ClusterModel(start=1, nodes=nodes("x")))
    plan = placed(placed(Plan.initial(CHAIN), "a", _0=Location("x", 5)), "b", _0=Location("x", 5))
    it.apply(plan)
    assert it.reached(plan) == {"a", "b"}
    assert [executor.process for executor in it.observe().executors] == [5, 5]


def test_nodes_tell_what_executors_hold_of_memory_and_what_records_cost_of_io():
    serving = {"a": fixed(0.001, memory=0.25, io="2ms"), "b": fixed(0.001, executors=2, memory=0.1)}
    it = plant(CHAIN, serving, rate=100.0, scv=0, cluster=ClusterModel(nodes=nodes("x", "y")))
    it.observe()
    it.cluster.advance(50.0)
    seen = {node.name: node for node in it.observe().nodes}
    assert (seen["x"].memory, seen["y"].memory) == pytest.approx((0.35, 0.1))
    assert (seen["x"].io, seen["y"].io) == pytest.approx((0.2, 0.0), abs=0.01)


def test_what_the_model_does_not_tell_is_not_known():
    it = plant(CHAIN, fixed(0.001), cluster=ClusterModel(nodes=nodes("x")))
    it.cluster.advance(1.0)
    assert (it.observe().nodes[0].memory, it.observe().nodes[0].io) == (None, None)


def test_a_node_without_memory_takes_no_executor_though_it_has_slots():
    it = plant(
        one_operator(),
        fixed(0.001, executors=4, memory=0.4),
        cluster=ClusterModel(start=0, nodes=nodes("x", "y", slots=8)),
    )
    assert [executor.node for executor in it.observe().executors] == ["x", "y", "x", "y"]
    plan = Plan.initial(it.topology, 4).after(Scale(pool="op", reason="test", executors=5))
    assert it.apply(plan) == ("no node has a free slot and free memory for executor 4 of 'op'",)
    assert it.capabilities.short == {"op"}
    there = placed(Plan.initial(it.topology, 4), "op", _0=Location("y"))
    assert it.apply(there) == ("node 'y' lacks a free slot and free memory for executor 0 of 'op'",)
    fewer = there.after(Scale(pool="op", reason="test", executors=3, leaving=(1,)))
    realise(it, fewer)
    assert {executor.id: executor.node for executor in it.observe().executors} == {0: "y", 2: "x", 3: "y"}


def test_memory_that_fits_exactly_fits():
    it = plant(one_operator(), fixed(0.001, executors=10, memory=0.1), cluster=ClusterModel(nodes=nodes("x", slots=16)))
    assert it.observe().nodes[0].memory == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("serving", "cluster", "message"),
    [
        ({"memory": 1.5}, ClusterModel(nodes=nodes("x")), "memory 1.5 is a share of a node's memory: give at most 1"),
        ({"memory": 0.5}, ClusterModel(), "has memory or io, which belong to a node: give the cluster nodes"),
        ({"io": "1ms"}, ClusterModel(), "has memory or io, which belong to a node: give the cluster nodes"),
    ],
)
def test_resources_that_no_node_can_have_are_refused(serving, cluster, message):
    with pytest.raises(ConfigError, match=message):
        plant(one_operator(), fixed(0.001, **serving), cluster=cluster)

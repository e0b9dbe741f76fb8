"""Machines: slots, cores that executors share, speeds, and the way from one to the other."""

import pytest
from plants import drained, executor_row, exponential, fixed, one_operator, plant, realise, row, strangers

from rheostat.decision import Location, Place, Scale
from rheostat.errors import PlantError
from rheostat.load import Step
from rheostat.plan import Plan
from rheostat.sim.model import Batches, ClusterModel, NodeModel
from rheostat.topology import Operator, Source, Topology

CHAIN = Topology("chain", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a")])


def nodes(*names, **more):
    return tuple(NodeModel(name=name, **more) for name in names)


def placed(plan, operator, **locations):
    spots = {int(number[1:]): spot for number, spot in locations.items()}
    return plan.after(Place(operator=operator, reason="test", locations=spots))


def busy_by_node(it):
    executors = it.cluster.state.executors
    return [int(((executors.node == node) & (executors.current != -1)).sum()) for node in range(2)]


def test_executors_go_to_the_emptiest_node():
    it = plant(one_operator(), fixed(0.001, executors=4), cluster=ClusterModel(nodes=nodes("x", "y", slots=3)))
    assert [executor.node for executor in it.observe().executors] == ["x", "y", "x", "y"]


def test_a_full_cluster_is_an_obstacle_until_there_is_room_again():
    it = plant(one_operator(), fixed(0.001, executors=3), cluster=ClusterModel(start=0, nodes=nodes("x", slots=4)))
    plan = Plan.initial(it.topology, 3).after(Scale(operator="op", reason="test", executors=6))
    assert it.apply(plan) == tuple(f"no node has a free slot for executor {number} of 'op'" for number in (4, 5))
    it.cluster.advance(1.0)
    assert it.reached(plan) == frozenset()
    fewer = plan.after(Scale(operator="op", reason="test", executors=4))
    realise(it, fewer)
    assert it.apply(fewer) == ()


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
    batches = fixed(0.01, executors=4, queues="batches", batches=Batches(fixed=1, per_task=0, trigger="10s"))
    durations = []
    for cores in (4, 2):
        cluster = ClusterModel(nodes=nodes("x", slots=4, cores=cores))
        it = plant(one_operator(), batches, rate=100.0, scv=0, cluster=cluster)
        it.cluster.advance(99.9)
        batch = it.observe().operator["op"].batch
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


@pytest.mark.parametrize(
    ("where", "expected_s"),
    [
        ({"a": Location("x", 7), "b": Location("x", 7)}, 0.0),
        ({"a": Location("x", 7), "b": Location("x", 8)}, 0.1),
        ({"a": Location("x", 7), "b": Location("y", 9)}, 0.5),
    ],
)
def test_a_record_pays_for_its_way_by_the_distance(where, expected_s):
    cluster = ClusterModel(start=0, process_hop=0.1, node_hop=0.5, nodes=nodes("x", "y"))
    plan = Plan.initial(CHAIN)
    for operator, spot in where.items():
        plan = placed(plan, operator, _0=spot)
    it = plant(CHAIN, fixed(0.01), rate=10.0, scv=0, cluster=cluster, plan=plan)
    it.cluster.advance(100.0)
    seen = it.observe()
    assert seen.latency.mean_s == pytest.approx(0.02 + expected_s)
    assert seen.operator["b"].latency.mean_s == pytest.approx(0.01)


def test_processes_are_apart_also_where_nodes_do_not_matter():
    it = plant(CHAIN, fixed(0.01), rate=10.0, scv=0, cluster=ClusterModel(process_hop=0.1))
    it.cluster.advance(100.0)
    assert it.observe().latency.mean_s == pytest.approx(0.12)


def test_a_keyed_record_that_was_on_its_way_during_a_move_finds_the_new_owner():
    topology = Topology(
        "keyed", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a", key="k", substreams=2)]
    )
    cluster = ClusterModel(start=0, move_delay=0, process_hop="2s", node_hop="2s")
    it = plant(topology, fixed(0.001, executors=2), rate=Step([(0, 50.0), (10, 0.0)]), cluster=cluster)
    it.cluster.advance(5.0)
    it.cluster.moves.move("b", [0], it.cluster.fleet.members["b", 1])
    assert drained(it, 20.0)
    assert it.cluster.state.world[0].disorder == 0
    assert executor_row(it, 1, "b").completed > executor_row(it, 0, "b").completed


def test_a_record_on_its_way_to_an_executor_that_has_left_goes_to_another_of_the_same_operator():
    cluster = ClusterModel(start=0, process_hop="2s", node_hop="2s")
    it = plant(CHAIN, exponential(0.01, executors=2), rate=50.0, cluster=cluster)
    plan = Plan.initial(CHAIN, 2)
    for turn in range(10):
        for operator in "ab":
            plan = plan.after(Scale(operator=operator, reason="test", executors=2 if turn % 2 else 3))
        for _ in range(10):
            it.apply(plan)
            it.cluster.advance(it.cluster.now_s + 0.1)
            assert strangers(it, plan) == []


def at_distance(where, **cluster):
    plan = Plan.initial(CHAIN)
    for operator, spot in where.items():
        plan = placed(plan, operator, _0=spot)
    it = plant(CHAIN, fixed(0.01), rate=10.0, scv=0, cluster=ClusterModel(nodes=nodes("x", "y"), **cluster), plan=plan)
    it.cluster.advance(100.0)
    return it.observe()


@pytest.mark.parametrize(
    ("where", "expected_s"),
    [
        ({"a": Location("x", 7), "b": Location("x", 7)}, 0.01),
        ({"a": Location("x", 7), "b": Location("x", 8)}, 0.02),
        ({"a": Location("x", 7), "b": Location("y", 9)}, 0.05),
    ],
)
def test_a_record_from_afar_costs_the_executor_that_receives_it(where, expected_s):
    seen = at_distance(where, process_cost=0.01, node_cost=0.04)
    assert seen.operator["b"].latency.mean_s == pytest.approx(expected_s)
    assert seen.operator["a"].latency.mean_s == pytest.approx(0.01)


def nearest(rate, service_s):
    """One executor writes; the second and the third of those who read are near it: same process, same node."""
    plan = Plan.initial(CHAIN, {"a": 1, "b": 3})
    plan = placed(plan, "a", _0=Location("x", 1))
    plan = placed(plan, "b", _0=Location("y", 9), _1=Location("x", 1), _2=Location("x", 2))
    serving = {"a": fixed(0.0001), "b": fixed(service_s, executors=3, grouping="nearest")}
    it = plant(CHAIN, serving, rate=rate, scv=0, cluster=ClusterModel(nodes=nodes("x", "y")), plan=plan)
    it.cluster.advance(100.0)
    return [executor_row(it, number, "b").completed for number in range(3)]


def test_records_stay_in_their_process_while_it_keeps_up():
    far, same_process, same_node = nearest(rate=50.0, service_s=0.01)
    assert (far, same_node) == (0, 0)
    assert same_process > 4900


def test_records_go_to_the_node_and_then_elsewhere_when_nearer_executors_do_not_keep_up():
    far, same_process, same_node = nearest(rate=150.0, service_s=0.01)
    assert far == 0
    assert same_process > same_node > 1000
    far, same_process, same_node = nearest(rate=250.0, service_s=0.01)
    assert min(far, same_process, same_node) > 1000


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

"""The way from one executor to another: how long it takes, what it costs, and who is near."""

import pytest
from plants import CHAIN, drained, executor_row, exponential, fixed, nodes, placed, plant, row, strangers

from rheostat.decision import Location, Scale
from rheostat.load import Step
from rheostat.plan import Plan
from rheostat.sim.model import Batches, ClusterModel, Failure
from rheostat.topology import Operator, Source, Topology

SAME_PROCESS = {"a": Location("x", 7), "b": Location("x", 7)}
SAME_NODE = {"a": Location("x", 7), "b": Location("x", 8)}
ELSEWHERE = {"a": Location("x", 7), "b": Location("y", 9)}
AT_ONCE = Batches(fixed=0, per_task=0)
"""A batch of what is there, as soon as the one before is done."""
QUEUES = pytest.mark.parametrize("queues", ["own", "shared", "batches"])


def at_distance(where, serving=None, **cluster):
    """What is seen of a chain of two operators at those places; `serving` is how the second one serves."""
    plan = Plan.initial(CHAIN)
    for operator, spot in where.items():
        plan = placed(plan, operator, _0=spot)
    models = {"a": fixed(0.01), "b": fixed(0.01, **(serving or {}))}
    it = plant(CHAIN, models, rate=10.0, scv=0, cluster=ClusterModel(nodes=nodes("x", "y"), **cluster), plan=plan)
    it.cluster.advance(100.0)
    return it.observe()


@QUEUES
@pytest.mark.parametrize(("where", "expected_s"), [(SAME_PROCESS, 0.0), (SAME_NODE, 0.1), (ELSEWHERE, 0.5)])
def test_a_record_pays_for_its_way_by_the_distance(queues, where, expected_s):
    seen = at_distance(where, {"queues": queues, "batches": AT_ONCE}, process_hop=0.1, node_hop=0.5)
    assert seen.latency.mean_s == pytest.approx(0.02 + expected_s)
    assert seen.operators["b"].latency.mean_s == pytest.approx(0.01)


@QUEUES
def test_a_constant_hop_is_added_to_every_latency_and_changes_nothing_else(queues):
    """Whatever waits for whatever: all of it happens a hop later. Service is fixed, so that chance plays no part."""
    runs = []
    for hop_s in (0.0, 0.25):
        serving = {"a": fixed(0.004, executors=2), "b": fixed(0.018, executors=2, queues=queues)}
        cluster = ClusterModel(process_hop=hop_s)
        it = plant(CHAIN, serving, rate=Step([(0, 80.0), (50, 0.0)]), cluster=cluster)
        assert drained(it, 60.0)
        runs.append(it.observe())
    near, far = runs
    assert far.latency.count == near.latency.count > 3000
    assert far.latency.mean_s == pytest.approx(near.latency.mean_s + 0.25)
    assert far.latency.max_s == pytest.approx(near.latency.max_s + 0.25)
    for operator in "ab":
        assert far.operators[operator].latency.mean_s == pytest.approx(near.operators[operator].latency.mean_s)
        assert far.operators[operator].busy_s == pytest.approx(near.operators[operator].busy_s)


@pytest.mark.parametrize("queues", ["shared", "batches"])
def test_who_takes_a_record_is_not_known_when_it_is_sent_so_its_way_is_the_mean_over_all(queues):
    plan = placed(Plan.initial(CHAIN, {"a": 1, "b": 4}), "a", _0=Location("x", 1))
    plan = placed(plan, "b", _0=Location("x", 1), _1=Location("x", 2), _2=Location("y", 3), _3=Location("y", 4))
    serving = {"a": fixed(0.01), "b": fixed(0.01, executors=4, queues=queues, batches=AT_ONCE)}
    cluster = ClusterModel(process_hop=0.1, node_hop=0.5, nodes=nodes("x", "y"))
    it = plant(CHAIN, serving, rate=10.0, scv=0, cluster=cluster, plan=plan)
    it.cluster.advance(100.0)
    assert it.observe().latency.mean_s == pytest.approx(0.02 + (0.0 + 0.1 + 0.5 + 0.5) / 4)


@pytest.mark.parametrize("queues", ["own", "batches"])
def test_a_keyed_record_goes_to_the_executor_that_has_its_substream(queues):
    topology = Topology(
        "keyed", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a", key="k", substreams=2)]
    )
    plan = placed(Plan.initial(topology, {"a": 1, "b": 2}), "a", _0=Location("x", 1))
    plan = placed(plan, "b", _0=Location("x", 1), _1=Location("y", 2))
    serving = {"a": fixed(0.001), "b": fixed(0.001, executors=2, queues=queues, batches=AT_ONCE)}
    cluster = ClusterModel(node_hop=0.45, nodes=nodes("x", "y"))
    it = plant(topology, serving, rate=Step([(0, 10.0), (50, 0.0)]), scv=0, weights=[3, 1], cluster=cluster, plan=plan)
    assert drained(it, 60.0)
    seen = it.observe()
    near, far = (substream.completed for substream in seen.substreams)
    assert near > far > 50
    assert seen.latency.mean_s == pytest.approx(0.002 + 0.45 * far / (near + far))


@QUEUES
def test_a_record_for_an_operator_that_nobody_serves_waits_there_and_is_not_on_its_way(queues):
    cluster = ClusterModel(process_hop=0.5, failures=(Failure(at=0, operator="b", executor=0, down="10s"),))
    serving = {"a": fixed(0.001), "b": fixed(0.001, queues=queues, batches=AT_ONCE)}
    it = plant(CHAIN, serving, rate=10.0, scv=0, cluster=cluster)
    it.cluster.advance(5.0)
    assert row(it, "b").arrived == row(it, "a").completed > 40
    it.cluster.advance(20.0)
    assert row(it, "b").completed > 190


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
    it.cluster.moves.move("b", [0], it.cluster.registry.members["b", 1])
    assert drained(it, 20.0)
    assert it.cluster.state.world[0].disorder == 0
    assert executor_row(it, 1, "b").completed > executor_row(it, 0, "b").completed


def test_a_record_on_its_way_to_an_executor_that_has_left_goes_to_another_of_the_same_operator():
    cluster = ClusterModel(start=0, process_hop="2s", node_hop="2s")
    it = plant(CHAIN, exponential(0.01, executors=2), rate=50.0, cluster=cluster)
    plan = Plan.initial(CHAIN, 2)
    for turn in range(10):
        for operator in "ab":
            plan = plan.after(Scale(pool=operator, reason="test", executors=2 if turn % 2 else 3))
        for _ in range(10):
            it.apply(plan)
            it.cluster.advance(it.cluster.now_s + 0.1)
            assert strangers(it, plan) == []


@QUEUES
@pytest.mark.parametrize(("where", "expected_s"), [(SAME_PROCESS, 0.01), (SAME_NODE, 0.02), (ELSEWHERE, 0.05)])
def test_a_record_from_afar_costs_the_executor_that_receives_it(queues, where, expected_s):
    seen = at_distance(where, {"queues": queues, "batches": AT_ONCE}, process_cost=0.01, node_cost=0.04)
    assert seen.operators["b"].latency.mean_s == pytest.approx(expected_s)
    assert seen.operators["a"].latency.mean_s == pytest.approx(0.01)


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


def test_locality_holds_under_a_load_that_all_executors_have():
    """Two processes with a writer and a reader each; at 98 % of the readers' capacity queues are long, and records stay
    in their process all the same."""
    plan = placed(Plan.initial(CHAIN, {"a": 2, "b": 2}), "a", _0=Location("x", 1), _1=Location("y", 2))
    plan = placed(plan, "b", _0=Location("x", 1), _1=Location("y", 2))
    serving = {"a": fixed(0.0001, executors=2), "b": exponential(0.01, executors=2, grouping="nearest")}
    cluster = ClusterModel(nodes=nodes("x", "y"), node_hop=0.001)
    it = plant(CHAIN, serving, rate=196.0, cluster=cluster, plan=plan)
    it.cluster.advance(200.0)
    seen = it.observe().operators
    assert seen["b"].latency.mean_s > 0.06
    away = executor_row(it, 0, "b").arrived - executor_row(it, 0, "a").completed
    assert abs(away) < 0.02 * seen["a"].completed

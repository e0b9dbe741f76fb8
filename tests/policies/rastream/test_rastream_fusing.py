"""When Ra-Stream has operators share a process, and when it has them part."""

import msgspec
import pytest
from placement_observations import CHAIN, Cluster

from rheostat.decision import Fuse, Location, Place, Split
from rheostat.policies.observation import Observation
from rheostat.policies.rastream.fusing import fusing, splitting_first
from rheostat.policies.rastream.monitor import FrameMonitor
from rheostat.policies.registry import make_policy
from rheostat.sla import Goal
from rheostat.snapshot import ExecutorPhase, ExecutorState, NodeState, OperatorState, Snapshot, StreamState
from rheostat.topology import Operator, Source, Topology

MOST_BUSY = 0.7


def seen(**options):
    """A cluster, the last look at it, and what was monitored in a few."""
    cluster, monitor = Cluster(**options), FrameMonitor(3.0)
    for _ in range(5):
        observation = cluster.observe()
        monitor.update(observation)
    return cluster, observation, monitor


def test_neighbours_on_one_node_are_fused_in_the_pool_of_the_second():
    _, observation, monitor = seen(nodes=1, executors=1, rate=50.0)
    decided = fusing(CHAIN, observation, monitor, MOST_BUSY)
    reason = "'a' and 'b' are on one node, utilisation 40% <= 56% together: fuse, no records between processes"
    assert decided == [Fuse(operators=("a", "b"), reason=reason)]


@pytest.mark.parametrize(("nodes", "rate"), [(2, 50.0), (1, 90.0)], ids=["on two nodes", "too busy together"])
def test_neighbours_that_are_apart_or_too_busy_together_are_not(nodes, rate):
    _, observation, monitor = seen(nodes=nodes, executors=1, rate=rate)
    assert fusing(CHAIN, observation, monitor, MOST_BUSY) == []


def test_where_the_plant_tells_no_nodes_all_is_one_place():
    _, observation, monitor = seen(nodes=2, executors=1, rate=50.0, known_nodes=False)
    assert [each.subject for each in fusing(CHAIN, observation, monitor, MOST_BUSY)] == ["a+b"]


def test_what_is_no_chain_is_left_alone():
    _, observation, monitor = seen(nodes=1, executors=1, rate=50.0)
    keyed_first = Topology("t", [Source("in"), Operator("a", inputs="in", key="k"), Operator("b", inputs="a")])
    assert fusing(keyed_first, observation, monitor, MOST_BUSY) == []


@pytest.mark.parametrize("moved", [{0: "n0", 1: "n1"}, {0: "n0"}], ids=["both", "one of them"])
def test_executors_that_part_are_split_before_they_do(moved):
    cluster, observation, _ = seen(executors=2)
    observation = msgspec.structs.replace(observation, plan=fused_plan(cluster))
    places = {number: Location(node) for number, node in moved.items()}
    placing = [Place(pool="b", locations=places, reason="n0 is too full")]
    split = Split(operators=("a", "b"), executors=2, reason="n0 is too full")
    assert splitting_first(CHAIN, observation, placing) == [split]


def test_executors_that_stay_together_move_as_they_are():
    cluster, observation, _ = seen(executors=2)
    observation = msgspec.structs.replace(observation, plan=fused_plan(cluster))
    placing = [Place(pool="b", locations={0: Location("n1"), 1: Location("n1")}, reason="")]
    assert splitting_first(CHAIN, observation, placing) == placing


@pytest.mark.parametrize(("rate", "splits"), [(150.0, False), (190.0, True)])
def test_fused_operators_are_split_when_their_executors_get_too_busy(rate, splits):
    cluster, observation, monitor = seen(nodes=1, executors=1, rate=rate)
    observation = msgspec.structs.replace(observation, plan=fused_plan(cluster))
    decided = fusing(CHAIN, observation, monitor, MOST_BUSY)
    reason = "utilisation of the fused executors > 70%: split, with executors of their own"
    assert decided == ([Split(operators=("a", "b"), executors=1, reason=reason)] if splits else [])


def test_what_is_not_known_is_not_fused():
    _, observation, _ = seen(nodes=1, executors=1, rate=50.0)
    assert fusing(CHAIN, observation, FrameMonitor(3.0), MOST_BUSY) == []


def test_fused_operators_whose_utilisation_is_not_known_stay_fused():
    cluster, observation, _ = seen(nodes=1, executors=1, rate=50.0)
    observation = msgspec.structs.replace(observation, plan=fused_plan(cluster))
    assert fusing(CHAIN, observation, FrameMonitor(3.0), MOST_BUSY) == []


@pytest.mark.parametrize(("told", "decided"), [({"fuse": True}, ["fuse"]), ({}, [])])
def test_the_policy_fuses_only_if_it_is_told_to_and_after_a_frame(told, decided):
    policy, cluster = make_policy("ra-stream", Goal(CHAIN), {"frame": "10s", **told}), Cluster(nodes=1, executors=1)
    cluster.rate = 50.0
    acts = [[d.kind for d in policy.decide(cluster.observe()) if d.kind != "hold"] for _ in range(12)]
    assert acts[:10] == [[]] * 10
    assert acts[-1] == decided


def fused_observation(cluster, time_s, rate, work_s):
    """As a plant tells it: one pool, the first operator's rows, nothing of the second."""
    rows, plan = int(rate * time_s), fused_plan(cluster)
    executor = ExecutorState(
        "b", 0, ExecutorPhase.ACTIVE, arrived=rows, completed=rows, busy_s=rows * work_s, node="n0"
    )
    snapshot = Snapshot(
        time_s=time_s,
        operator_states=(OperatorState("a", arrived=rows, completed=rows), OperatorState("b")),
        executors=(executor,),
        streams=(StreamState("in", "a", rows=rows), StreamState("a", "b")),
        nodes=(NodeState("n0", slots=6, cores=1.0, cpu=0.1), NodeState("n1", slots=6, cores=1.0, cpu=0.1)),
    )
    measures = cluster.measurer.update(snapshot, plan)
    return Observation(snapshot, measures, plan, capabilities=cluster.capabilities)


@pytest.mark.parametrize(("work_s", "decided"), [(0.006, []), (0.008, ["split"])])
def test_the_policy_goes_on_with_fused_operators_and_splits_them_when_they_are_too_busy(work_s, decided):
    policy = make_policy("ra-stream", Goal(CHAIN), {"frame": "10s", "fuse": True, "t_over": 1.0, "t_under": 0.0})
    cluster = Cluster(nodes=1, executors=1)
    observations = [fused_observation(cluster, time_s, 100.0, work_s) for time_s in range(1, 14)]
    acts = [[d.kind for d in policy.decide(observation) if d.kind != "hold"] for observation in observations]
    assert acts[-1] == decided


def fused_plan(cluster):
    return cluster.plan.after(Fuse(operators=("a", "b"), reason=""))

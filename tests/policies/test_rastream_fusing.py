"""When Ra-Stream has operators share a process, and when it has them part."""

import msgspec
import pytest
from placement_observations import CHAIN, Cluster

from rheostat.decision import Fuse, Location, Place, Split
from rheostat.policies.rastream.fusing import fusing, splitting_first
from rheostat.topology import Operator, Source, Topology

MOST_BUSY = 0.7


def seen(**options):
    """Two looks at a cluster: what lies between them is measured."""
    cluster = Cluster(**options)
    cluster.observe()
    return cluster, cluster.observe()


def test_neighbours_on_one_node_are_fused_in_the_pool_of_the_second():
    _, observation = seen(nodes=1, executors=1, rate=50.0)
    decided = fusing(CHAIN, observation, MOST_BUSY)
    assert decided == {
        "b": Fuse(operator="b", others=("a",), reason="'a' and 'b' are in one place, which would be busy for 40%")
    }


@pytest.mark.parametrize(("nodes", "rate"), [(2, 50.0), (1, 90.0)], ids=["on two nodes", "too busy together"])
def test_neighbours_that_are_apart_or_too_busy_together_are_not(nodes, rate):
    _, observation = seen(nodes=nodes, executors=1, rate=rate)
    assert fusing(CHAIN, observation, MOST_BUSY) == {}


def test_where_the_plant_tells_no_nodes_all_is_one_place():
    _, observation = seen(nodes=2, executors=1, rate=50.0, known_nodes=False)
    assert list(fusing(CHAIN, observation, MOST_BUSY)) == ["b"]


def test_what_is_no_chain_is_left_alone():
    _, observation = seen(nodes=1, executors=1, rate=50.0)
    keyed_first = Topology("t", [Source("in"), Operator("a", inputs="in", key="k"), Operator("b", inputs="a")])
    assert fusing(keyed_first, observation, MOST_BUSY) == {}


def test_executors_that_part_are_split_before_they_do():
    cluster, _ = seen(executors=2)
    plan = fused_plan(cluster)
    places = {0: Location("n0"), 1: Location("n1")}
    placing = {"b": Place(operator="b", locations=places, reason="n0 is too full")}
    assert splitting_first(CHAIN, plan, placing) == {
        "b": Split(operator="b", executors=2, reason="n0 is too full"),
    }


def test_executors_that_stay_together_move_as_they_are():
    cluster, _ = seen(executors=2)
    placing = {"b": Place(operator="b", locations={0: Location("n1"), 1: Location("n1")}, reason="")}
    assert splitting_first(CHAIN, fused_plan(cluster), placing) == placing


@pytest.mark.parametrize(("rate", "splits"), [(150.0, False), (190.0, True)])
def test_fused_operators_are_split_when_their_executors_get_too_busy(rate, splits):
    cluster, observation = seen(nodes=1, executors=1, rate=rate)
    observation = msgspec.structs.replace(observation, plan=fused_plan(cluster))
    decided = fusing(CHAIN, observation, MOST_BUSY)
    reason = "the executors are busy for more than 70% of the time"
    assert decided == ({"b": Split(operator="b", executors=1, reason=reason)} if splits else {})


def fused_plan(cluster):
    return cluster.plan.after(Fuse(operator="b", others=("a",), reason=""))

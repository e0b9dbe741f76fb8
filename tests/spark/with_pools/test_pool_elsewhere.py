"""A pool that is told to serve on another node, in the middle of batches."""

from collections import Counter

import pytest

from rheostat.decision import Location, Place
from rheostat.plan import Plan
from rheostat.topology import Operator, Source, Topology

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

KEYED = Topology("keyed", [Source("rows"), Operator("count", inputs="rows", key="key", substreams=4)])


@pytest.fixture(scope="module")
def counting(pipelines, eventually):
    pipeline = pipelines(KEYED, Plan.initial(KEYED, 1), nodes={"count": "left"})
    pipeline.start(lambda df: df.groupBy("key").count(), "complete")
    pipeline.run()
    eventually(pipeline.reached, "the first plan", 240)
    return pipeline


def hosts(pipeline):
    """Where the tasks of the last batch ran."""
    host = {executor.id: executor.host for executor in pipeline.allocation.executors()}
    return {host[executor_id] for executor_id in pipeline.ran_on().values()}


@pytest.mark.parametrize("node", ["right", "left"])
def test_a_pool_goes_to_another_node_without_a_stop_and_with_its_state(counting, cluster, eventually, node):
    before = counting.spark_ids()
    counting.feed(5)
    place = Place(pool="count", locations={0: Location(node)}, reason="test")
    counting.want(counting.plan.after(place))
    eventually(counting.reached, f"the pool on {node}", 240)
    assert counting.spark_ids().isdisjoint(before)
    counting.run()
    assert hosts(counting) == {each.host for each in cluster.status().nodes if each.name == node}
    assert counting.result() == sorted(Counter(row["key"] for row in counting.fed()).items())
    assert not any(counting.allocation.is_active(executor_id) for executor_id in before)


def test_a_pool_cannot_be_on_two_nodes_at_once(counting, eventually):
    modest = counting.plan
    place = Place(pool="count", locations={0: Location("left"), 1: Location("right")}, reason="test")
    counting.want(Plan.initial(KEYED, 2).after(place))
    obstacles = eventually(lambda: counting.plant.apply(counting.plan) or None, "an obstacle", 60)
    assert "pool 'count' cannot be on left and right at once" in obstacles[0]
    half = Place(pool="count", locations={0: Location("right")}, reason="test")
    counting.want(Plan.initial(KEYED, 2).after(half))
    told = "pool 'count' cannot be on right in part"
    eventually(lambda: any(told in each for each in counting.plant.apply(counting.plan)) or None, "an obstacle", 60)
    counting.want(modest)
    eventually(counting.reached, "the plan of before", 120)

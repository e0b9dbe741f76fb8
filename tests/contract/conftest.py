"""Every kind of plant, one after the other."""

from collections.abc import Iterator

import pytest
from harness_without_spark import FakeHarness, sim_that_restarts, sim_with_batches, sim_with_queues
from plant_harness import PlantHarness
from snapshot_watch import SnapshotWatch

WITHOUT_SPARK = {
    "fake": FakeHarness,
    "simulator": sim_with_queues,
    "simulator of batches": sim_with_batches,
    "simulator that restarts": sim_that_restarts,
}
ON_SPARK = [pytest.param(name, marks=[pytest.mark.spark]) for name in ("topology on Spark", "attached to Spark")]


SLOW_ON_A_CLUSTER = {
    "test_executors_serve_on_the_node_that_the_plan_names",
    "test_counters_continue_when_operators_are_fused_and_split",
    "test_a_change_that_is_taken_back_under_way_leaves_what_was_before",
}
"""For these executors must start, or queries be replaced."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("spark") and getattr(item, "originalname", "") in SLOW_ON_A_CLUSTER:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module", params=[*WITHOUT_SPARK, *ON_SPARK])
def running(request: pytest.FixtureRequest) -> Iterator[PlantHarness]:
    """A plant that runs, with whatever plan the test before has left it."""
    harness = _on_spark(request) if request.param not in WITHOUT_SPARK else WITHOUT_SPARK[request.param]()
    yield harness
    harness.close()


def _on_spark(request: pytest.FixtureRequest) -> PlantHarness:
    from harness_on_spark import AttachedHarness, TopologyHarness

    spark, folders = request.getfixturevalue("spark"), request.getfixturevalue("tmp_path_factory")
    if request.param == "attached to Spark":
        return AttachedHarness(spark, folders.mktemp("attached"))
    return TopologyHarness(spark, folders.mktemp("topology"), request.getfixturevalue("cluster"))


@pytest.fixture
def it(running: PlantHarness) -> PlantHarness:
    """A plant at home."""
    running.go_home()
    return running


@pytest.fixture
def watch(it: PlantHarness) -> SnapshotWatch:
    """Sees what happens from now on."""
    watch = SnapshotWatch(it.names)
    watch.see(it.plant.observe())
    return watch

"""Every kind of plant, one after the other."""

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


@pytest.fixture(scope="module", params=[*WITHOUT_SPARK])
def running(request: pytest.FixtureRequest) -> PlantHarness:
    """A plant that runs, with whatever plan the test before has left it."""
    return WITHOUT_SPARK[request.param]()


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

import pytest

from rheostat.errors import PlantError
from rheostat.spark.act.actuators.state_location import StateLocation
from rheostat.spark.state.stage_placement import pin

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def counted(pair, tmp_path):
    """A keyed count of four substreams that is pinned to the pool and otherwise left to Spark."""
    profile = pair.profile()
    rows = pair.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).load()
    counts = pin(pin(rows, profile).groupBy("value").count(), profile)
    writer = counts.writeStream.format("noop").outputMode("update").queryName("counted")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    yield query
    query.stop()


def test_substreams_of_any_query_can_be_found_and_moved_and_stay(pair, counted, eventually):
    with pytest.raises(PlantError, match="'counted' has no state that could move, or has not finished a batch yet"):
        StateLocation(pair.spark, counted)
    after(counted, 1, eventually)
    location = StateLocation(pair.spark, counted)
    first, second = (executor for executor in pair.state.book.members())
    assert location.substreams == 4
    assert set(location.owners()) <= {first.executor.id, second.executor.id}
    for wanted in ((first, second, second, first), (second,) * 4):
        location.move({substream: member.executor for substream, member in enumerate(wanted)})
        after(counted, 3, eventually)
        assert location.owners() == tuple(member.executor.id for member in wanted)
        assert pair.ran_on(counted) == {substream: member.executor.id for substream, member in enumerate(wanted)}
    with pytest.raises(PlantError, match="'counted' has substreams 0 to 3, not 4"):
        location.move({4: first.executor})


def after(query, batches, eventually):
    """Wait for this many more batches, the one under way not counted."""
    start = query.lastProgress["batchId"] if query.lastProgress else -1
    eventually(lambda: (query.lastProgress or {"batchId": -1})["batchId"] >= start + batches or None, "batches", 240)

import threading

import pytest
from held_tasks import holding

from rheostat.errors import PlantError
from rheostat.spark.act.actuators.allocation import AllocationClient

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


def test_executors_are_listed_with_their_profile_host_and_slots(pair):
    listed = [each for each in pair.allocation.executors() if each.profile == pair.profile().id]
    assert [each.slots for each in listed] == [1, 1]
    assert all(each.host.startswith("127.0.0.") for each in listed)
    assert {each.id for each in listed} == {member.executor.id for member in pair.state.book.members()}


def test_a_busy_executor_is_not_killed_and_an_idle_one_is(pair, tmp_path, eventually):
    held, release = tmp_path / "held", tmp_path / "release"
    everyone = [member.executor.id for member in pair.state.book.members()]
    df = pair.pools.placement.place(
        "double", pair.spark.range(2, numPartitions=2).mapInArrow(holding(held, release), "id long")
    )
    job = threading.Thread(target=df.collect)
    job.start()
    try:
        eventually(lambda: len(list(tmp_path.glob("held*"))) == 2 or None, "tasks on both", 240)
        assert pair.allocation.kill(everyone) == frozenset()
        assert len(pair.allocation.work_under_way()) == 1
    finally:
        release.touch()
        job.join()
    eventually(lambda: not pair.allocation.work_under_way() or None, "the end of the job", 60)
    assert pair.allocation.kill(everyone[:1]) == {everyone[0]}
    assert not pair.allocation.is_active(everyone[0])
    eventually(lambda: everyone[0] not in pair.spark_ids() or None, "the loss to be noticed", 60)
    eventually(pair.reached, "the replacement", 240)


def test_a_batch_is_under_way_while_it_has_no_job(pair, tmp_path, eventually):
    begun, go_on = threading.Event(), threading.Event()

    def hold(df, batch):
        begun.set()
        go_on.wait(60)

    def under_way():
        return {name.split()[0] for name in pair.allocation.work_under_way()}

    source = pair.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    writer = source.writeStream.foreachBatch(hold).option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    try:
        assert begun.wait(60)
        assert under_way() == {"batch"}
        first = pair.allocation.work_under_way()
        go_on.set()
        eventually(lambda: not first & pair.allocation.work_under_way() or None, "the end of the batch", 60)
    finally:
        go_on.set()
        query.stop()
    eventually(lambda: not under_way() or None, "the end of the query", 60)


def test_a_local_master_has_nothing_to_allocate():
    with pytest.raises(PlantError, match=r"master 'local\[2\]' has no executors to allocate"):
        AllocationClient(LocalSession())


class LocalSession:
    """As much of a session on `local[2]` as is looked at; this process has another one."""

    master = "local[2]"

    def __init__(self):
        self.sparkContext = self._jsc = self
        self._jvm = None

    def sc(self):
        return self

    def schedulerBackend(self):
        return object()

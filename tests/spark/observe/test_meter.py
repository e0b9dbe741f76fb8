"""The meter against a topology on a real cluster, whose every row is known."""

from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace

import pytest
from pyspark.sql.functions import col

from rheostat.clock import WallClock
from rheostat.measure.measurer import Measurer
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase, Snapshot
from rheostat.spark.act.dynamic_allocation import start_own_allocation
from rheostat.spark.act.pools import Pools
from rheostat.spark.observe.meter import Meter
from rheostat.spark.plant import SparkPlant
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.query.runtime import Runtime
from rheostat.topology import Operator, Source, Topology

pytestmark = pytest.mark.spark

ROWS = 60


def numbers(spark):
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).option("numPartitions", 2).load()
    return rows.select("value")


@per_record("key long", sample_every=1)
def keys(record):
    import time

    time.sleep(0.001)
    yield {"key": record["value"] % 20}


def counted(df):
    return df.groupBy("key").count().select(col("key"), col("count"))


TOPOLOGY = Topology(
    "metered",
    [
        Source("numbers", reader=numbers),
        Operator("keys", keys, inputs="numbers"),
        Operator("count", counted, inputs="keys", key="key", substreams=2),
    ],
)


@pytest.fixture(scope="module")
def metered(spark, cluster, tmp_path_factory) -> Iterator[SimpleNamespace]:
    """The topology, each operator in a pool of one executor, and its meter."""
    folder, plan = tmp_path_factory.mktemp("metered"), Plan.initial(TOPOLOGY)
    pools = Pools(spark, TOPOLOGY, plan, directory=str(folder / "warm"))
    plant = SparkPlant(TOPOLOGY, pools, lambda: Snapshot(0.0, ()), lambda *told: None).start()
    runtime = Runtime(TOPOLOGY, spark, folder / "run", placement=pools.place)
    names = {node.host: node.name for node in cluster.status().nodes}
    try:
        with runtime:
            meter = Meter(runtime, spark, WallClock(), lambda: pools.report, names=names)
            yield SimpleNamespace(meter=meter, runtime=runtime, pools=pools, plan=plan, spark=spark)
    finally:
        plant.stop()
        pools.close()
        start_own_allocation(spark, {})


@pytest.fixture(scope="module")
def snapshots(metered, eventually) -> list[Snapshot]:
    """Readings with batches of all operators before and between them."""

    def has_batches(count: int) -> bool | None:
        return all(len(metered.runtime.batches(name)) >= count for name in TOPOLOGY.operators) or None

    read = [metered.meter.read()]
    for count in (2, 3, 5):
        eventually(lambda count=count: has_batches(count), f"{count} batches of each operator", 280)
        read.append(metered.meter.read())
    return read


def test_the_sums_of_rows_agree_between_all_levels(snapshots):
    last = snapshots[-1]
    for name, state in last.operators.items():
        assert state.arrived == state.completed + state.queued
        assert state.completed % ROWS == 0, "whole batches of the source are committed"
        streams = [stream for stream in last.streams if stream.consumer == name]
        assert [stream.rows for stream in streams] == [state.arrived]
        assert all(stream.bytes > stream.rows for stream in streams)
    substreams = last.substreams_of("count")
    assert len(substreams) == 2
    assert sum(state.completed for state in substreams) == pytest.approx(last.operators["count"].completed, abs=2)


def test_counters_never_fall(snapshots):
    for before, after in pairwise(snapshots):
        assert after.time_s > before.time_s
        for name, state in after.operators.items():
            for counter in ("arrived", "completed", "busy_s"):
                earlier = getattr(before.operators[name], counter)
                assert earlier is None or getattr(state, counter) >= earlier


def test_latency_is_measured_from_entry_to_commit(snapshots):
    seen = [snapshot for snapshot in snapshots if snapshot.latency is not None]
    assert seen
    assert all(snapshot.latency.mean_s > 0 for snapshot in seen)
    at_operator = [s.operators["count"].latency for s in seen if s.operators["count"].latency is not None]
    assert at_operator


def test_executors_are_those_of_the_pools_with_the_nodes_they_are_on(snapshots, metered):
    last = snapshots[-1]
    active = {state.pool: state for state in last.executors if state.phase is ExecutorPhase.ACTIVE}
    assert active.keys() == {"keys", "count"}
    for pool, state in active.items():
        assert state.node in ("left", "right")
        assert state.busy_s > 0
        assert state.instance in {m.spark.id for m in metered.pools.report.members if m.pool == pool}
    assert {node.name for node in last.nodes} <= {"left", "right"}


def test_service_times_are_those_of_the_records_that_were_timed(snapshots):
    keys = snapshots[-1].operators["keys"]
    assert keys.service_scv is not None
    assert 0 <= keys.service_scv < 50
    assert snapshots[-1].operators["count"].service_scv is None


def test_batches_have_their_costs(snapshots):
    for state in snapshots[-1].operator_states:
        assert state.batch is not None
        assert 0 < state.batch.fixed_s <= state.batch.duration_s
        assert state.batch.tasks >= state.batch.count - 1


def test_substreams_are_on_the_executor_that_the_plan_wants(snapshots, metered):
    owners = [state.executor for state in snapshots[-1].substreams_of("count")]
    assert owners == list(metered.plan.assignment["count"])


def test_the_loop_can_measure_rates_and_utilisation_from_the_snapshots(snapshots, metered):
    measurer = Measurer(TOPOLOGY)
    measures = [measurer.update(snapshot, metered.plan) for snapshot in snapshots][-1]
    for name in TOPOLOGY.operators:
        assert measures.operators[name].arrival_rate is not None
        assert measures.operators[name].completion_rate is not None
        assert measures.operators[name].utilisation is not None


def test_a_restarted_meter_goes_on_from_the_last_snapshot(snapshots, metered):
    meter = Meter(metered.runtime, metered.spark, WallClock(), lambda: metered.pools.report, base=snapshots[-1])
    again = meter.read()
    for name, state in again.operators.items():
        assert state.completed >= snapshots[-1].operators[name].completed
        assert state.busy_s is None or state.busy_s >= snapshots[-1].operators[name].busy_s

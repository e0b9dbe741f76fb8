"""The meter on a real cluster, with a topology whose every row is known. The test itself keeps the executor book."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

from rheostat.clock import WallClock
from rheostat.measure.measurer import Measurer
from rheostat.plan import Plan, PoolPlan
from rheostat.snapshot import ExecutorPhase, Snapshot
from rheostat.spark.observe.meter import SparkMeter
from rheostat.spark.observe.node_usage import NodeUsage
from rheostat.spark.observe.operators.operator_meter import operator_meters
from rheostat.spark.observe.status_store import StatusStore
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.state.executor_book import ExecutorBook, Member, PoolSite, PoolSites, SiteBook, SparkExecutor
from rheostat.spark.state.spark_state import SparkState
from rheostat.spark.state.stage_placement import Unplaced
from rheostat.topology import Operator, Source, Topology

pytestmark = pytest.mark.spark

ROWS = 60
POOL = "keys+count"


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
PLAN = Plan.initial(TOPOLOGY, shared=[("keys", "count")])


class Metered:
    """The running topology, all executors of the application in one pool, under the numbers of their order."""

    def __init__(self, spark: SparkSession, runtime: Runtime, names: dict[str, str]) -> None:
        self.runtime = runtime
        self._names = names
        self._store = StatusStore(spark)
        self._number_of: dict[str, int] = {}
        self._state = SparkState(self._book(), Unplaced())
        self._meter = self._new_meter()

    def read(self) -> Snapshot:
        self._state.book = self._book()
        return self._meter.read()

    def restart(self, base: Snapshot) -> None:
        self._meter = self._new_meter(base)

    def _new_meter(self, base: Snapshot | None = None) -> SparkMeter:
        operators = operator_meters(self.runtime, base)
        return SparkMeter(self._state, operators, self._store, NodeUsage(self._names), WallClock(), base)

    def _book(self) -> ExecutorBook:
        members = {}
        for each in self._store.executors():
            number = self._number_of.setdefault(each.id, len(self._number_of))
            executor = SparkExecutor(each.id, each.host_port, each.profile, each.slots)
            members[each.id] = Member(executor, ExecutorPhase.ACTIVE, number)
        site, wanted = PoolSite(POOL), PoolPlan(tuple(member.number for member in members.values()), len(members))
        owners = {"count": (min(members, default="", key=int),) * 2}
        pools = {POOL: PoolSites(wanted, site)}
        return ExecutorBook(pools, {site: SiteBook(wanted, members)}, dict.fromkeys(TOPOLOGY.operators, POOL), owners)


@pytest.fixture(scope="module")
def metered(spark, cluster, tmp_path_factory) -> Iterator[Metered]:
    with Runtime(TOPOLOGY, spark, RunDirectory(tmp_path_factory.mktemp("metered"), TOPOLOGY)) as runtime:
        yield Metered(spark, runtime, {node.host: node.name for node in cluster.status().nodes})


@pytest.fixture(scope="module")
def snapshots(metered, eventually) -> list[Snapshot]:
    """Readings with batches of all operators before and between them, until all that can be known is known.

    How large rows are is only known from rows that wait while somebody looks, and what work costs only after the first
    batches.
    """

    def has_batches(count: int) -> bool | None:
        return all(len(metered.runtime.batches(name)) >= count for name in TOPOLOGY.operators) or None

    read = [metered.read()]
    for count in (2, 3, 5):
        eventually(lambda count=count: has_batches(count), f"{count} batches of each operator", 280)
        read.append(metered.read())

    def all_is_known() -> bool | None:
        read.append(metered.read())
        return all(map(_is_known, read[-2:])) or None

    eventually(all_is_known, "rows that wait in each stream, and warm executors", 280)
    return read


def _is_known(snapshot: Snapshot) -> bool:
    working = [*snapshot.operator_states, *snapshot.executors_of(POOL)]
    costs = [state.batch and state.batch.fixed_s for state in snapshot.operator_states]
    sizes = [stream.bytes for stream in snapshot.streams]
    return None not in (*costs, *sizes) and all(state.busy_s or not state.completed for state in working)


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
    for name in TOPOLOGY.operators:
        for counter in ("arrived", "completed", "busy_s"):
            counts = [getattr(snapshot.operators[name], counter) for snapshot in snapshots]
            known = [count for count in counts if count is not None]
            assert known == sorted(known), f"{counter} of {name}"


def test_latency_is_measured_from_entry_to_commit(snapshots):
    seen = [snapshot for snapshot in snapshots if snapshot.latency is not None]
    assert seen
    assert all(snapshot.latency.mean_s > 0 for snapshot in seen)
    at_operator = [s.operators["count"].latency for s in seen if s.operators["count"].latency is not None]
    assert at_operator


def test_executors_have_counters_and_the_nodes_they_are_on(snapshots):
    executors = snapshots[-1].executors_of(POOL)
    assert executors
    for state in executors:
        assert state.node in ("left", "right")
        assert state.instance is not None
        assert state.busy_s > 0 or not state.completed
    completed = sum(state.completed for state in snapshots[-1].operator_states)
    assert 0 < sum(state.completed for state in executors) <= completed
    assert sum(state.busy_s for state in executors) > 0
    assert {node.name for node in snapshots[-1].nodes} <= {"left", "right"}


def test_service_times_are_those_of_the_records_that_were_timed(snapshots):
    keys = snapshots[-1].operators["keys"]
    assert keys.service_scv is not None
    assert 0 <= keys.service_scv < 50
    assert snapshots[-1].operators["count"].service_scv is None


def test_batches_have_their_costs(snapshots):
    for state in snapshots[-1].operator_states:
        assert state.batch is not None
        assert 0 < state.batch.fixed_s <= state.batch.duration_s
        assert state.batch.tasks >= state.batch.count


def test_substreams_are_on_the_executor_that_the_book_says(snapshots):
    owners = {state.executor for state in snapshots[-1].substreams_of("count")}
    assert owners <= {state.id for state in snapshots[-1].executors}


def test_the_loop_can_measure_rates_and_utilisation_from_the_snapshots(snapshots):
    measurer = Measurer(TOPOLOGY)
    measures = [measurer.update(snapshot, PLAN) for snapshot in snapshots][-1]
    for name in TOPOLOGY.operators:
        assert measures.operators[name].arrival_rate is not None
        assert measures.operators[name].completion_rate is not None
        assert measures.operators[name].utilisation is not None


def test_counters_continue_after_a_restart(snapshots, metered):
    before = snapshots[-1]
    metered.restart(before)
    after = metered.read()
    for name, state in after.operators.items():
        assert state.completed >= before.operators[name].completed
        assert state.busy_s is None or state.busy_s >= before.operators[name].busy_s
    busy_s = {state.id: state.busy_s for state in before.executors}
    assert all(state.busy_s >= busy_s.get(state.id, 0.0) for state in after.executors)

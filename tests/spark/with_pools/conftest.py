"""Pools in the session's application, which Spark's own allocation gets back afterwards."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rheostat.clock import WallClock
from rheostat.plan import Plan
from rheostat.snapshot import Snapshot
from rheostat.spark.act.actuators.allocation import AllocationClient
from rheostat.spark.act.actuators.dynamic_allocation import start_dynamic_allocation
from rheostat.spark.act.execute import Execution
from rheostat.spark.act.executor_pools import ProfilePools
from rheostat.spark.act.reconciler import Reconciler
from rheostat.spark.plant import SparkPlant
from rheostat.spark.query.unit import Unit
from rheostat.spark.state.spark_state import SparkState
from rheostat.topology import Operator, Source, Topology

SUBSTREAMS = 4
PLAIN = Topology("plain", [Source("rows"), Operator("double", inputs="rows")])


@pytest.fixture(scope="package")
def elastic(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, for tests that take its executors into their own hands."""
    yield spark
    start_dynamic_allocation(spark, {})


class Pipeline:
    """A query over files that a test adds, in a pool that follows the test's plans."""

    def __init__(self, spark: SparkSession, topology: Topology, folder: Path, plan: Plan, **options: Any) -> None:
        classic: Any = spark
        self.spark = SparkSession(spark.sparkContext, classic._jsparkSession.cloneSession())
        self.spark.conf.set("spark.sql.shuffle.partitions", str(SUBSTREAMS))
        self.topology, self.plan = topology, plan
        self.folder = folder
        self.pools = ProfilePools(spark, topology, plan, reserved=0, **options)
        self.state = SparkState(self.pools.book, self.pools.placement)
        self.runtime = OneQuery(topology)
        execution = Execution(self.pools.actuators(self.runtime))
        self._reconciler = Reconciler(self.state, self.pools, execution, self.pools.rules, WallClock(), plan)
        self._reconciler.start()
        self.plant = SparkPlant(NothingToSee(), self._reconciler)
        self.allocation = AllocationClient(spark)
        self._files = 0
        (folder / "source").mkdir(parents=True)

    @property
    def query(self) -> StreamingQuery | None:
        return self.runtime.query

    def close(self) -> None:
        try:
            if self.query is not None:
                self.query.stop()
        finally:
            self._reconciler.stop()
            self.pools.close()

    def start(self, work: Callable[[DataFrame], DataFrame], mode: str) -> None:
        """Run `work` on the rows: in memory under the folder's name comes the result."""
        (operator,) = self.topology.operators
        source = self.spark.readStream.schema("key long, value long").option("maxFilesPerTrigger", 1)
        rows = self.pools.placement.place(operator, source.json(str(self.folder / "source")))
        result = self.pools.placement.place(operator, work(rows))
        writer = result.writeStream.format("memory").queryName(self.folder.name).outputMode(mode)
        self.runtime.query = writer.option("checkpointLocation", str(self.folder / "checkpoint")).start()

    def feed(self, files: int = 1, rows: int = 40) -> None:
        """One more batch for each file."""
        for number in range(self._files, self._files + files):
            lines = [json.dumps({"key": i % 20, "value": number * rows + i}) for i in range(rows)]
            draft = self.folder / f"{number}.draft"
            draft.write_text("\n".join(lines))
            draft.rename(self.folder / "source" / f"{number}.json")
        self._files += files

    def run(self, files: int = 1) -> None:
        """Feed, and wait for the result."""
        assert self.query is not None
        self.feed(files)
        self.query.processAllAvailable()

    def fed(self) -> list[dict[str, int]]:
        """Every row so far. Read here: outside of all pools there is no executor that could."""
        files = (self.folder / "source").iterdir()
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def result(self) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in self.spark.table(self.folder.name).collect())

    def want(self, plan: Plan) -> None:
        self.plan = plan
        self.plant.apply(plan)

    def reached(self) -> bool | None:
        """For waiting: True when the plan is real, standbys included."""
        return (self.state.book.is_settled and self.plant.reached(self.plan) == self.plan.pools.keys()) or None

    def ran_on(self, query: StreamingQuery | None = None) -> dict[int, str]:
        """The executor of each task in the last stage of the newest job that is over, of this or another query."""
        query = query or self.query
        assert query is not None
        tracker = self.spark.sparkContext.statusTracker()
        store: Any = self.spark.sparkContext._jsc.sc().statusStore()
        jobs = set(tracker.getJobIdsForGroup(str(query.runId))) - set(tracker.getActiveJobsIds())
        job = tracker.getJobInfo(max(jobs))
        assert job is not None
        rows = store.taskList(max(job.stageIds), 0, 1000)
        return {rows.apply(i).index(): rows.apply(i).executorId() for i in range(rows.size())}

    def profile(self) -> ResourceProfile:
        """Of the only pool's executors."""
        (pool,) = self.state.book.pools.values()
        return self.pools.profiles[pool.serving]

    def spark_ids(self) -> set[str]:
        """Of all that are in the pool."""
        return {member.executor.id for member in self.state.book.members() if member.executor is not None}

    def executors_ever(self) -> int:
        """How many executors the application has had so far."""
        store: Any = self.spark.sparkContext._jsc.sc().statusStore()
        return int(store.executorList(False).size())

    def spark_id(self, number: int) -> str:
        """The Spark executor that serves under this number."""
        (found,) = [m.executor for m in self.state.book.members() if m.number == number]
        assert found is not None
        return found.id

    def kill_9(self, number: int) -> str:
        """End the process of an executor as hard as can be; its Spark id."""
        executor_id = self.spark_id(number)
        ours = {"--executor-id": executor_id, "--app-id": self.spark.sparkContext.applicationId}
        (pid,) = [pid for pid, arguments in _processes() if ours.items() <= arguments.items()]
        os.kill(pid, signal.SIGKILL)
        return executor_id


class Pipelines:
    """Makes pipelines, one at a time: a new one ends the one before."""

    def __init__(self, spark: SparkSession, folders: pytest.TempPathFactory) -> None:
        self._spark, self._folders = spark, folders
        self._running: Pipeline | None = None

    def __call__(self, topology: Topology, plan: Plan, **options: Any) -> Pipeline:
        self.close()
        self._running = Pipeline(self._spark, topology, self._folders.mktemp("pipeline"), plan, **options)
        return self._running

    def close(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.close()


@pytest.fixture(scope="package")
def pipelines(elastic: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipelines]:
    made = Pipelines(elastic, tmp_path_factory)
    yield made
    made.close()


@pytest.fixture
def free(elastic: SparkSession, pipelines: Pipelines) -> SparkSession:
    """The session, with no pipeline in it."""
    pipelines.close()
    return elastic


@pytest.fixture(scope="package")
def pair(pipelines: Pipelines, eventually: Any) -> Pipeline:
    """A pool of two executors that serve a stateless operator, without a query."""
    pipeline = pipelines(PLAIN, Plan.initial(PLAIN, 2))
    eventually(pipeline.reached, "two executors", 240)
    return pipeline


def _processes() -> Iterator[tuple[int, dict[str, str]]]:
    """Every process with its arguments, each mapped to the one behind it."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            yield int(folder.name), dict(pairwise(words))


class NothingToSee:
    """A meter without figures."""

    def read(self) -> Snapshot:
        return Snapshot(WallClock().now(), ())


class OneQuery:
    """A runtime with the test's own query, which remembers how rows are to be spread."""

    def __init__(self, topology: Topology) -> None:
        (operator,) = topology.operators
        self._unit = Unit(topology, (operator,))
        self.query: StreamingQuery | None = None
        self.groupings: list[tuple[str, Any]] = []

    @property
    def queries(self) -> dict[str, Any]:
        return {} if self.query is None else {self._unit.name: SimpleNamespace(unit=self._unit, query=self.query)}

    def timings(self, operator: str) -> None:
        return None

    def regroup(self, operator: str, grouping: Any) -> None:
        self.groupings.append((operator, grouping))

"""Harnesses of plants on Spark: a topology, on a cluster or on a local master, and an attached application."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from plant_harness import PlantHarness
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

from rheostat.decision import Location
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.snapshot import Snapshot
from rheostat.spark.act.actuators.dynamic_allocation import start_dynamic_allocation
from rheostat.spark.attach import OPERATOR, application_topology
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.wiring import attached_plant, topology_plant
from rheostat.topology import Operator, Source, Topology

POOL = PoolName("split+count")


class TopologyHarness(PlantHarness):
    """Words are split and counted, both in one pool; a file that is put into a folder is a batch."""

    pool = POOL
    step_s = 0.1

    def __init__(self, spark: SparkSession, folder: Path, cluster: EmbeddedCluster | None = None) -> None:
        self._inbox, self._files = folder / "inbox", 0
        self._inbox.mkdir()
        topology = self._topology()
        standby = {} if cluster is None else {"split": 1}
        self.home = Plan.initial(topology, standby=standby, shared=[("split", "count")])
        self._closing = ExitStack()
        if cluster is not None:
            self._closing.callback(start_dynamic_allocation, spark, {})
        directory = RunDirectory(folder / "run", topology)
        self._closing.callback(directory.release)
        nodes = () if cluster is None else tuple(cluster.status().nodes)
        running = self._closing.enter_context(topology_plant(spark, topology, self.home, directory, known_nodes=nodes))
        self.plant, self._runtime = running.plant, running.runtime
        self._first = self.plant.observe()

    def close(self) -> None:
        self._closing.close()

    def feed(self) -> None:
        query = self._runtime.queries["lines"].query
        if query is None or query.status["isDataAvailable"]:
            return
        draft = self._inbox / f".{self._files}"
        draft.write_text(f"a b word{self._files % 5} a\n" * 20)
        draft.rename(self._inbox / f"{self._files:04d}.txt")
        self._files += 1

    @contextmanager
    def unknown(self) -> Iterator[Snapshot]:
        """Before the first batch."""
        yield self._first

    @contextmanager
    def impossible(self) -> Iterator[Plan]:
        """A pool that is to be on two nodes at once."""
        pool = self.more.pools[POOL]
        spots = zip(pool.executors, ("left", "right"), strict=True)
        yield self.with_pool(msgspec.structs.replace(pool, locations={n: Location(node) for n, node in spots}))

    def _topology(self) -> Topology:
        def read(spark: SparkSession) -> DataFrame:
            return spark.readStream.option("maxFilesPerTrigger", 1).text(str(self._inbox))

        return Topology(
            "words",
            [
                Source("lines", reader=read),
                Operator(
                    "split", lambda df: df.select(sf.explode(sf.split("value", " ")).alias("word")), inputs="lines"
                ),
                Operator("count", lambda df: df.groupBy("word").count(), inputs="split", key="word", substreams=2),
            ],
        )


class AttachedHarness(PlantHarness):
    """An application with one query, which can be stopped and started again."""

    pool = PoolName(OPERATOR)
    step_s = 0.1

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self._query = self._start()
        topology = application_topology(spark)
        self.home = Plan.initial(topology)
        self._closing = ExitStack()
        self._closing.callback(lambda: self._query.stop())
        self.plant = self._closing.enter_context(attached_plant(spark, topology, dry_run=False)).plant

    def close(self) -> None:
        self._closing.close()

    @contextmanager
    def unknown(self) -> Iterator[Snapshot]:
        """Without a query."""
        self._query.stop()
        yield self.until(self._without_rows, "the end of the query")
        self._query = self._start()

    def names(self, problem: str, thing: str) -> bool:
        """There is one operator: what is said of all queries or executors is said of it."""
        return "streaming query" in problem or "single executors" in problem

    @contextmanager
    def impossible(self) -> Iterator[Plan]:
        """Executors that are to be on a node."""
        pool = self.home.pools[self.pool]
        yield self.with_pool(msgspec.structs.replace(pool, locations={0: Location("left")}))

    def _without_rows(self) -> Snapshot | None:
        snapshot = self.plant.observe()
        return snapshot if snapshot.operators[OPERATOR].arrived is None else None

    def _start(self) -> StreamingQuery:
        rows = self._spark.readStream.format("rate").option("rowsPerSecond", 50).option("numPartitions", 2).load()
        written = rows.writeStream.format("noop").queryName("work").trigger(processingTime="500 milliseconds")
        return written.option("checkpointLocation", str(self._folder / "checkpoint")).start()

"""Chain benchmark: batch durations and latency of three operators, as a topology and with Spark's defaults.

Run with `python -m bench.chain`. Three operators, each in a pool of one executor with two slots; the second is a keyed
count over four substreams; 2,000 rows/s from the `rate` source. First as three plain queries with file sinks and
sources, Spark's default settings, and a pass through Python (`mapInArrow`) as the only way into a pool; then as a
topology. Each runs in its own processes. A batch lasts from its offsets in the checkpoint to its commit, latency from
the entry of a row to the last commit. The aim: at most 0.35 of the latency.
"""

import argparse
import multiprocessing
import tempfile
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from rheostat.pipeline import start
from rheostat.plan import Plan
from rheostat.spark.act.actuators.allocation import AllocationClient
from rheostat.spark.act.actuators.dynamic_allocation import stop_dynamic_allocation
from rheostat.spark.act.actuators.resource_profiles import ResourceProfiles, executor_size
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.session import Setting, build_session
from rheostat.spark.state.executor_book import PoolSite
from rheostat.spark.state.stage_placement import pin_by_identity
from rheostat.spark.streams.entry_times import entered_at
from rheostat.spark.target import SparkTarget
from rheostat.topology import Operator, Source, Topology

OPERATORS = ("one", "two", "three")
SUBSTREAMS = 4
SLOTS = 2
DEFAULT_PROFILE = 0
WARM_UP_TIMEOUT_S = 240.0
SIZES: dict[str, Setting] = {
    "spark.executor.cores": SLOTS,
    "spark.executor.memory": "768m",
    "spark.sql.shuffle.partitions": SUBSTREAMS,
}
SPARK_DEFAULTS: dict[str, Setting] = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": False,
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs",
    "spark.locality.wait.process": "3s",
    "spark.shuffle.reduceLocality.enabled": True,
}


@dataclass(frozen=True)
class Figures:
    """The median batch of each operator and the median latency, in seconds."""

    batch_s: dict[str, float]
    latency_s: float


@dataclass(frozen=True)
class Trial:
    """The input rate, the warm-up in batches of the last operator, and the measured time."""

    rate: int
    warm_up: int
    measured_s: float

    def read(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.format("rate").option("rowsPerSecond", self.rate).load()

    def wait(self, last: Path) -> None:
        """Wait for the warm-up batches in the checkpoint of the last operator, and then for the measured time."""
        end_s = time.monotonic() + WARM_UP_TIMEOUT_S
        while not (last / "commits" / str(self.warm_up)).exists():
            if time.monotonic() > end_s:
                raise TimeoutError(f"{last} has fewer than {self.warm_up} batches after {WARM_UP_TIMEOUT_S:.0f} s")
            time.sleep(0.1)
        time.sleep(self.measured_s)


def first(rows: DataFrame) -> DataFrame:
    return rows.select((sf.col("value") % 100).alias("value"))


def second(rows: DataFrame) -> DataFrame:
    return rows.groupBy("value").count()


def third(rows: DataFrame) -> DataFrame:
    return rows.select("value", (sf.col("count") * 2).alias("count"))


def on_defaults(trial: Trial, cluster: EmbeddedCluster, folder: Path) -> Figures:
    """The chain in plain Spark; the entry time is passed on by hand."""
    spark = build_session("chain", cluster=cluster, settings=SIZES | SPARK_DEFAULTS, use_jvm_extras=False)
    try:
        place = _pools(spark)
        entered = trial.read(spark).withColumnRenamed("timestamp", "entered")
        one = place("one", entered.select((sf.col("value") % 100).alias("value"), "entered"))
        _started(one, folder, "one", "append").format("parquet").start(str(folder / "one"))
        grouped = place("two", _opened(spark, folder / "one", "value long, entered timestamp")).groupBy("value")
        two = place("two", grouped.agg(sf.count(sf.lit(1)).alias("count"), sf.max("entered").alias("entered")))
        # The file sink does not support updates; this is the usual workaround.
        _started(two, folder, "two", "update").foreachBatch(_appended_to(folder / "two")).start()
        three = _opened(spark, folder / "two", "value long, count long, entered timestamp")
        doubled = place("three", three.select("value", (sf.col("count") * 2).alias("count"), "entered"))
        _started(doubled, folder, "three", "append").format("parquet").start(str(folder / "three"))
        trial.wait(folder / "checkpoints" / "three")
        _raise_if_one_failed(spark)
        return Figures(
            {name: median(_durations_s(folder / "checkpoints" / name, trial)) for name in OPERATORS},
            median(_latencies_s(folder / "three", folder / "checkpoints" / "three", trial)),
        )
    finally:
        spark.stop()


def as_topology(trial: Trial, cluster: EmbeddedCluster, folder: Path) -> Figures:
    @entered_at("timestamp")
    def rows(spark: SparkSession) -> DataFrame:
        return trial.read(spark)

    topology = Topology(
        "chain",
        [
            Source("rows", reader=rows),
            Operator("one", first, inputs="rows"),
            Operator("two", second, inputs="one", key="value", substreams=SUBSTREAMS),
            Operator("three", third, inputs="two"),
        ],
    )
    running = start(
        topology,
        policy="static",
        plan=Plan.initial(topology, fused=[("rows", "one")]),
        on=SparkTarget(cluster=cluster, settings=SIZES),
        directory=folder / "run",
    )
    with running:
        trial.wait(running.runtime.directory.checkpoint("three"))
        since_s = time.time() - trial.measured_s
        batches = {name: _with_rows(running.runtime.batches(name), since_s) for name in OPERATORS}
    return Figures(
        {name: median(each.duration_s for each in records) for name, records in batches.items()},
        median(each.latency.mean_s for each in batches["three"] if each.latency is not None),
    )


def _with_rows(batches: Iterable[BatchRecord], since_s: float) -> list[BatchRecord]:
    return [each for each in batches if each.committed_s > since_s and sum(each.rows.values()) > 0]


CHAINS: dict[str, Callable[[Trial, EmbeddedCluster, Path], Figures]] = {
    "Spark's defaults": on_defaults,
    "topology": as_topology,
}


def _pools(spark: SparkSession) -> Callable[[str, DataFrame], DataFrame]:
    """A pool of one executor for each operator."""
    allocation = AllocationClient(spark)
    pools = ResourceProfiles(spark, allocation, executor_size(spark, SLOTS))
    profiles = {name: pools.create(PoolSite(name)) for name in OPERATORS}
    stop_dynamic_allocation(spark)
    # Spark lists many files with a job, which is in no pool.
    allocation.request({DEFAULT_PROFILE: 1, **{profile.id: 1 for profile in profiles.values()}})
    return lambda name, df: pin_by_identity(df, profiles[name])


def _opened(spark: SparkSession, folder: Path, schema: str) -> DataFrame:
    folder.mkdir(exist_ok=True)
    return spark.readStream.schema(schema).parquet(str(folder))


def _started(df: DataFrame, folder: Path, name: str, mode: str) -> Any:
    return df.writeStream.outputMode(mode).option("checkpointLocation", str(folder / "checkpoints" / name))


def _appended_to(folder: Path) -> Callable[[DataFrame, int], None]:
    def append(df: DataFrame, batch: int) -> None:
        df.write.mode("append").parquet(str(folder))

    return append


def _raise_if_one_failed(spark: SparkSession) -> None:
    if len(spark.streams.active) < len(OPERATORS):
        raise SystemExit("error: a query of the chain with Spark's defaults has stopped")


def _committed(checkpoint: Path, trial: Trial) -> Iterator[tuple[int, float]]:
    """Batches within the measured time, with their commit times."""
    files = [file for file in (checkpoint / "commits").iterdir() if file.name.isdigit()]
    since_s = time.time() - trial.measured_s
    yield from ((int(file.name), moment) for file in files if (moment := file.stat().st_mtime) > since_s)


def _durations_s(checkpoint: Path, trial: Trial) -> list[float]:
    offsets = checkpoint / "offsets"
    return [moment - (offsets / str(batch)).stat().st_mtime for batch, moment in _committed(checkpoint, trial)]


def _latencies_s(results: Path, checkpoint: Path, trial: Trial) -> Iterator[float]:
    """The latency of each result file, up to the next commit after it."""
    commits_s = sorted(moment for _, moment in _committed(checkpoint, trial))
    for file in results.glob("*.parquet"):
        position = bisect_left(commits_s, file.stat().st_mtime)
        entered = pc.cast(pq.ParquetFile(file).read(columns=["entered"]).column(0), pa.timestamp("us"), safe=False)
        if 0 < position < len(commits_s) and len(entered):
            yield commits_s[position] - pc.mean(pc.cast(entered, "int64")).as_py() / 1e6


def measured(which: str, trial: Trial) -> Figures:
    nodes = [Node("one", cores=2 * len(OPERATORS) + 2, memory="8g")]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, EmbeddedCluster(nodes) as cluster:
        return CHAINS[which](trial, cluster, Path(folder))


def _in_a_process(which: str, trial: Trial) -> Figures:
    """A new process for each chain: a JVM keeps what an earlier session loaded into it."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(measured, which, trial).result()


def _print(found: Sequence[tuple[str, Figures]]) -> None:
    print(f"{'':18}" + "".join(f"{name:>10}" for name in OPERATORS) + f"{'latency':>10}")
    for which, figures in found:
        batches = "".join(f"{1000 * figures.batch_s[name]:7.0f} ms" for name in OPERATORS)
        print(f"{which:18}{batches}{figures.latency_s:8.2f} s")
    latencies = [figures.latency_s for _, figures in found]
    print(f"latency: {latencies[-1] / latencies[0]:.2f} of that with Spark's defaults")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--warm-up", type=int, default=10, metavar="BATCHES")
    parser.add_argument("--measure", type=float, default=40.0, metavar="SECONDS")
    arguments = parser.parse_args()
    trial = Trial(arguments.rate, arguments.warm_up, arguments.measure)
    _print([(which, _in_a_process(which, trial)) for which in CHAINS])


if __name__ == "__main__":
    main()

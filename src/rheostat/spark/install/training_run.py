"""Training run: does once what drivers and executors of streaming queries do, so that their classes are loaded.

Run as a script by `spark-submit` with a folder for its files.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}

_OF_OTHER_PROCESSES = (
    "org.apache.spark.executor.CoarseGrainedExecutorBackend",
    "org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend",
    "org.apache.spark.api.python.PythonGatewayServer",
    "org.apache.spark.deploy.master.Master",
    "org.apache.spark.deploy.worker.Worker",
    "org.apache.spark.deploy.worker.ExecutorRunner",
)
"""Classes of processes that a local application does not have; they are only loaded."""


def train(spark: SparkSession, folder: Path) -> None:
    """A stateless native query, a Python one and a keyed one, each over the same two files."""
    source = str(folder / "in")
    spark.range(0, 1000, 1, 2).write.parquet(source)
    rows = spark.readStream.schema("id long").parquet(source)
    run(rows.filter("id > 5"), folder, "native", "append")
    run(rows.mapInArrow(_identity, "id long"), folder, "python", "append")
    run(rows.groupBy((rows.id % 7).alias("key")).count(), folder, "keyed", "complete")
    jvm: Any = spark.sparkContext._jvm
    for name in _OF_OTHER_PROCESSES:
        jvm.java.lang.Class.forName(name)


def run(df: DataFrame, folder: Path, name: str, mode: str) -> None:
    writer = df.writeStream.outputMode(mode).option("checkpointLocation", str(folder / f"{name}-checkpoint"))
    sink = writer.format("parquet").option("path", str(folder / name)) if mode == "append" else writer
    sink = sink if mode == "append" else writer.format("memory").queryName(name)
    sink.trigger(availableNow=True).start().awaitTermination()


def _identity(batches: Iterator[Any]) -> Iterator[Any]:
    return batches


if __name__ == "__main__":
    session = SparkSession.builder.appName("training run").getOrCreate()
    train(session, Path(sys.argv[1]))
    session.stop()

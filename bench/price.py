"""Price benchmark: throughput of word count as a plain query and as a topology.

Run with `python -m bench.price`. The same finite input goes through one plain Structured Streaming query, a topology
fused into one query, the same topology with a query for each operator and a stream between them, and one with a
separate query for the source; in one session, with as many slots each, alternating. The aims: fused at least 0.9 of
plain, separate at least 0.6.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from bench._drain import drain
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from rheostat.pipeline import start
from rheostat.plan import Plan
from rheostat.spark.act.actuators.allocation import AllocationClient
from rheostat.spark.act.actuators.dynamic_allocation import stop_dynamic_allocation
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.spark.session import build_session
from rheostat.topology import Operator, Source, Topology

SLOTS = 3
SUBSTREAMS = 4
WORDS = 8
EXECUTORS_TIMEOUT_S = 120.0
DEFAULT_PROFILE = 0
PARTS = ("sentences", "split", "count")

Drain = Callable[[], None]
"""Returns when all available input has been counted."""


class Input:
    """A folder of text files with the same `rows` sentences in each."""

    def __init__(self, folder: Path, rows: int, files_a_batch: int) -> None:
        rng = np.random.default_rng(7)
        drawn = np.minimum(rng.zipf(1.3, size=(rows, WORDS)), 1000)
        folder.mkdir()
        self._text = folder / ".text"
        self._text.write_text("\n".join(" ".join(f"word{word}" for word in line) for line in drawn) + "\n")
        self._files, self.folder, self.files_a_batch = 0, folder, files_a_batch

    def add(self, files: int) -> None:
        for number in range(self._files, self._files + files):
            os.link(self._text, self.folder / f"{number:06d}.txt")
        self._files += files

    def read(self, spark: SparkSession) -> DataFrame:
        reader = spark.readStream.option("maxFilesPerTrigger", self.files_a_batch)
        return reader.text(str(self.folder))


def split(sentences: DataFrame) -> DataFrame:
    return sentences.select(sf.explode(sf.split("value", " ")).alias("word"))


def count(words: DataFrame) -> DataFrame:
    return words.groupBy("word").count()


def discard(rows: DataFrame, batch: int) -> None:
    rows.write.format("noop").mode("overwrite").save()


@contextmanager
def plain(spark: SparkSession, given: Input, folder: Path) -> Iterator[Drain]:
    """One query in plain Spark. Its executors are released afterwards, like those of a topology: warm executors would
    be faster the next time."""
    allocation = AllocationClient(spark)
    allocation.request({DEFAULT_PROFILE: SLOTS})
    writer = count(split(given.read(spark))).writeStream.format("noop").outputMode("update")
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        await_(lambda: len(allocation.executors()) >= SLOTS)
        yield query.processAllAvailable
    finally:
        query.stop()
        allocation.request({DEFAULT_PROFILE: 0})
        allocation.kill([executor.id for executor in allocation.executors()], force=True)
        await_(lambda: not allocation.executors())


@contextmanager
def topology(
    spark: SparkSession, given: Input, folder: Path, executors: dict[str, int], fused: tuple[tuple[str, ...], ...] = ()
) -> Iterator[Drain]:
    """The same as a topology under control. A source with its own query has one slot outside the pools."""
    parts: list[Source | Operator] = [
        Source("sentences", reader=given.read),
        Operator("split", split, inputs="sentences", selectivity=WORDS),
        Operator("count", count, inputs="split", key="word", substreams=SUBSTREAMS),
    ]
    words = Topology("word count", parts)
    running = start(
        words,
        policy="static",
        plan=Plan.initial(words, executors, fused=fused),
        directory=folder / "run",
        on=spark,
        sinks={"count": discard},
    )
    with running:
        await_(lambda: running.plant.reached(running.plan) == running.plan.pools.keys())
        yield partial(drain, running.runtime)


def fused(spark: SparkSession, given: Input, folder: Path) -> Any:
    return topology(spark, given, folder, {"split": SLOTS, "count": SLOTS}, (PARTS,))


def separate(spark: SparkSession, given: Input, folder: Path) -> Any:
    return topology(spark, given, folder, {"split": SLOTS - 1, "count": 1}, (PARTS[:2],))


def all_apart(spark: SparkSession, given: Input, folder: Path) -> Any:
    return topology(spark, given, folder, {"split": SLOTS - 2, "count": 1})


VARIANTS = {"plain": plain, "fused": fused, "separate": separate, "all apart": all_apart}


def await_(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + EXECUTORS_TIMEOUT_S
    while not condition():
        if time.monotonic() > end_s:
            raise SystemExit(f"error: executors did not start within {EXECUTORS_TIMEOUT_S:.0f} s")
        time.sleep(0.05)


def rows_per_second(spark: SparkSession, variant: str, arguments: argparse.Namespace) -> float:
    """The first part of the input warms up code and executors and is not counted."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        given = Input(folder / "sentences", arguments.rows, arguments.files_a_batch)
        given.add(arguments.warm_up)
        with VARIANTS[variant](spark, given, folder) as drain:
            drain()
            start_s = time.monotonic()
            given.add(arguments.files)
            drain()
            took_s = time.monotonic() - start_s
    return float(arguments.files * arguments.rows / took_s)


def measure(spark: SparkSession, arguments: argparse.Namespace) -> None:
    stop_dynamic_allocation(spark)
    rates: dict[str, list[float]] = {variant: [] for variant in arguments.variants}
    for _ in range(arguments.repeat):
        for variant in rates:
            rates[variant].append(rows_per_second(spark, variant, arguments))
            print(f"  {variant}: {rates[variant][-1]:,.0f} sentences/s", flush=True)
    print(f"\n{'':12}{'sentences/s':>14}{'of plain':>10}")
    for variant, measured in rates.items():
        ratios = [rate / plain_rate for rate, plain_rate in zip(measured, rates["plain"], strict=True)]
        print(f"{variant:12}{median(measured):14,.0f}{median(ratios):10.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rows", type=int, default=50_000, help="sentences per file")
    parser.add_argument("--files", type=int, default=150)
    parser.add_argument("--warm-up", type=int, default=24, help="files before the measurement")
    parser.add_argument("--files-a-batch", type=int, default=6)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    arguments = parser.parse_args()
    settings: dict[str, Any] = {
        "spark.executor.cores": 1,
        "spark.executor.memory": "768m",
        "spark.sql.shuffle.partitions": SUBSTREAMS,
        "spark.default.parallelism": SLOTS,
    }
    with EmbeddedCluster([Node("one", cores=8, memory="8g")]) as cluster:
        spark = build_session("price", cluster=cluster, settings=settings)
        try:
            measure(spark, arguments)
        finally:
            spark.stop()


if __name__ == "__main__":
    main()

"""Endurance benchmark: batch durations and disk usage over a long run: `python -m bench.endurance [--for 30m]`.

Two operators in pools of one executor each, the second one keyed, at a constant rate and with batches as fast as
possible. For each part of the run it prints the median batch duration, and the files and bytes in the directory of the
run. The aim: batches of the last part take at most 1.1 times those of the first; files and bytes stop growing.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession

from rheostat.duration import human, positive_seconds
from rheostat.loop.options import LoopOptions
from rheostat.pipeline import Pipeline, start
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.topology import Operator, Source, Topology

RATE = 100
PARTS = 10
WARM_UP_S = 120.0
QUERIES = ("split", "count")


def rows(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").option("rowsPerSecond", RATE).option("numPartitions", 1).load()


def split(df: DataFrame) -> DataFrame:
    return df.selectExpr("value", "explode(sequence(1, 5)) AS times").selectExpr("value * times % 97 AS word")


def count(df: DataFrame) -> DataFrame:
    return df.groupBy("word").count()


def discard(df: DataFrame, batch: int) -> None:
    """Discard the results; storing them is up to the user."""
    df.write.format("noop").mode("overwrite").save()


TOPOLOGY = Topology(
    "endurance",
    [
        Source("rows", reader=rows),
        Operator("split", split, inputs="rows"),
        Operator("count", count, inputs="split", key="word", substreams=4),
    ],
)


def run(folder: Path, duration_s: float) -> None:
    with (
        EmbeddedCluster([Node("north", cores=4, memory="4g")]) as cluster,
        start(
            TOPOLOGY,
            policy="static",
            sinks={"count": discard},
            directory=folder / "run",
            on=cluster,
            loop=LoopOptions("5s"),
        ) as running,
    ):
        running.wait(WARM_UP_S)
        print(f"{'until':>8}" + "".join(f"{name:>22}" for name in QUERIES) + f"{'files':>9}{'MiB':>8}")
        parts = [measured(running, folder / "run", part, duration_s) for part in range(PARTS)]
    for name in QUERIES:
        print(f"{name}: last part / first part = {parts[-1][name] / parts[0][name]:.2f}")


def measured(running: Pipeline, directory: Path, part: int, duration_s: float) -> dict[str, float]:
    """The median batch duration of each query over one part, printed with the size of the directory after it."""
    before = {name: _last(running, name) for name in QUERIES}
    running.wait(duration_s / PARTS)
    batches = {name: running.runtime.batches(name, before[name]) for name in QUERIES}
    durations = {name: median(batch.duration_s for batch in batches[name]) for name in QUERIES}
    files = [file for file in directory.rglob("*") if file.is_file()]
    size = sum(_size(file) for file in files) / 2**20
    cells = "".join(f"{1000 * durations[name]:11.0f} ms ×{len(batches[name]):6d}" for name in QUERIES)
    print(f"{human((part + 1) * duration_s / PARTS):>8}{cells}{len(files):9,}{size:8.1f}", flush=True)
    return durations


def _last(running: Pipeline, name: str) -> int:
    batches = running.runtime.batches(name)
    return batches[-1].batch if batches else -1


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="duration", default="30m", help="duration after a warm-up of two minutes")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run(Path(folder), positive_seconds(parser.parse_args().duration, "--for"))


if __name__ == "__main__":
    main()

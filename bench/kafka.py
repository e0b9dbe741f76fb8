"""Kafka benchmark: the same pipeline with streams between operators as files and as Kafka topics, in one run.

Run with `python -m bench.kafka`. Lines are split into words and the words are counted, in three queries with two
streams between them, all in Spark's own operators. Files and topics take turns, each time with a new run directory.
First lines arrive at a constant rate, and the latency is measured from the batch that reads a line to the commit of the
count. Then many lines lie there at once, and rows are what all three queries have read until everything is counted. It
prints each turn, the ratios of topics to the files before and after them, and whether all counts are exact. The broker
is a process on this machine.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench._drain import drain
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from rheostat.load import Constant
from rheostat.spark.kafka.local_broker import LocalBroker, connector_jars
from rheostat.spark.kafka.stream_topics import KafkaStreams
from rheostat.spark.processes.driver_output import spark_output_to
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.session import build_session
from rheostat.spark.streams.topic_streams import TopicStreams
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.feeder import Feeder

WORDS = 5
LINE = " ".join(f"word{number}" for number in range(WORDS))
FILES = 8
FILES_IN_BATCH = 2


class Trial(NamedTuple):
    """One turn: mean latency, rows/s of all queries together, and whether the counts are exact."""

    latency_s: float
    rows_per_s: float
    exact: bool


def word_count(inbox: Path) -> Topology:
    def lines(spark: SparkSession) -> DataFrame:
        return spark.readStream.option("maxFilesPerTrigger", FILES_IN_BATCH).text(str(inbox))

    def split(lines: DataFrame) -> DataFrame:
        return lines.select(sf.explode(sf.split("value", " ")).alias("word"))

    def count(words: DataFrame) -> DataFrame:
        return words.groupBy("word").count()

    return Topology(
        "words",
        [
            Source("lines", reader=lines),
            Operator("split", split, inputs="lines"),
            Operator("count", count, inputs="split", key="word", substreams=2),
        ],
    )


def trial(
    spark: SparkSession, folder: Path, topics: KafkaStreams | None, rate: float, measure_s: float, backlog: int
) -> Trial:
    inbox = folder / "lines"
    feeder = Feeder(inbox, Constant(rate), lambda _: LINE)
    topology = word_count(inbox)
    directory = RunDirectory(folder / "run", topology)
    streams = None if topics is None else TopicStreams(topics, directory.streams)
    with Runtime(topology, spark, directory, streams=streams) as runtime:
        with feeder:
            runtime.wait(measure_s / 3)
            start_s = time.time()
            runtime.wait(measure_s)
        drain(runtime)
        latency_s = mean_latency_s(runtime, start_s)
        began_s = time.monotonic()
        write_backlog(inbox, backlog)
        drain(runtime)
        rows = backlog * (1 + 1 + WORDS)
        rows_per_s = rows / (time.monotonic() - began_s)
        counts = runtime.results("count").groupBy("word").agg(sf.max("count")).collect()
    return Trial(latency_s, rows_per_s, [row[1] for row in counts] == [feeder.fed + backlog] * WORDS)


def mean_latency_s(runtime: Runtime, start_s: float) -> float:
    """Of all words that were counted in batches that began after `start_s`."""
    seen = [batch.latency for batch in runtime.batches("count") if batch.started_s >= start_s]
    known = [latency for latency in seen if latency is not None]
    return float(np.average([each.mean_s for each in known], weights=[each.count for each in known]))


def write_backlog(inbox: Path, lines: int) -> None:
    for number in range(FILES):
        hidden = inbox / f".backlog{number}"
        hidden.write_text(f"{LINE}\n" * (lines // FILES))
        hidden.rename(inbox / f"backlog{number}.json")


def ratio(values: Sequence[float]) -> str:
    """Of each turn with topics to the mean of the turns with files around it: the median, and the range."""
    files, topics = np.array(values[::2]), np.array(values[1::2])
    ratios = topics / ((files[:-1] + files[1:]) / 2)
    return f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f})"


def run(folder: Path, rounds: int, rate: float, measure_s: float, backlog: int) -> None:
    jars = ",".join(map(str, connector_jars()))
    with LocalBroker() as broker, spark_output_to(folder / "spark.log"):
        spark = build_session("bench", "local[4]", settings={"spark.jars": jars})
        try:
            found = []
            for number in range(-2, 2 * rounds + 1):
                topics = KafkaStreams(f"bench{number}", broker.address, partitions=2) if number % 2 else None
                made = trial(spark, folder / str(number), topics, rate, measure_s, backlog)
                kind, aside = "topics" if topics else "files", "  (to warm up)" if number < 0 else ""
                wrong = "" if made.exact else "  WRONG COUNTS"
                print(f"{kind:7} {made.latency_s:6.2f} s {made.rows_per_s:9,.0f} rows/s{aside}{wrong}", flush=True)
                found.append(made)
        finally:
            spark.stop()
    print(f"latency, topics / files: {ratio([each.latency_s for each in found[2:]])}")
    print(f"rows/s,  topics / files: {ratio([each.rows_per_s for each in found[2:]])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="turns with topics; files have one more")
    parser.add_argument("--rate", type=float, default=500.0, help="lines per second while the latency is measured")
    parser.add_argument("--measure", type=float, default=15.0, help="seconds in which the latency is measured")
    parser.add_argument("--backlog", type=int, default=200_000, help="lines that lie there at once")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run(Path(folder), arguments.rounds, arguments.rate, arguments.measure, arguments.backlog)


if __name__ == "__main__":
    main()

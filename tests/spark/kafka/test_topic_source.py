"""On a real broker: a topology reads a topic itself and writes its results to one, and goes on where it stopped."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from rheostat.errors import PlantError, TopologyError
from rheostat.spark.kafka.stream_topics import KafkaStreams
from rheostat.spark.kafka.topic import KafkaTopic
from rheostat.spark.query.failure import QueryError
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.query.unit import units_of
from rheostat.spark.streams.topic_streams import TopicStreams
from rheostat.topology import Operator, Source, Topology

pytestmark = pytest.mark.spark

FIRST = "to be or not to be\nthat is the question"
MORE = "be that as it may"


def parse(records: DataFrame) -> DataFrame:
    return records.selectExpr("CAST(value AS STRING) AS line")


def split(lines: DataFrame) -> DataFrame:
    return lines.select(sf.explode(sf.split("line", " ")).alias("word"))


def count(words: DataFrame) -> DataFrame:
    return words.groupBy("word").count()


def word_count(topic, **options: str) -> Topology:
    source = Source("lines", reader=KafkaTopic(topic.name, topic.servers, parse, options))
    return Topology(
        "words",
        [source, Operator("split", split, inputs="lines"), Operator("count", count, inputs="split", key="word")],
    )


@pytest.fixture
def start(spark, tmp_path) -> Iterator:
    running: list[Runtime] = []

    def begin(topology: Topology, **options) -> Runtime:
        runtime = Runtime(topology, spark, RunDirectory(tmp_path / "run", topology, ()), **options)
        running.append(runtime)
        runtime.start()
        return runtime

    yield begin
    for runtime in running:
        with suppress(QueryError):
            runtime.stop()


def counted(results) -> Counter[str]:
    """The last count of each word in the records of the result's topic, which are updates in order of their batches."""
    latest: dict[str, int] = {}
    for value in results.values():
        row = json.loads(value)
        latest[row["word"]] = max(latest.get(row["word"], 0), row["count"])
    return Counter(latest)


@pytest.mark.slow
@pytest.mark.parametrize("between", ["files", "topics"])
def test_words_of_a_topic_are_counted_into_another_through_a_restart(start, new_topic, eventually, tmp_path, between):
    lines, results = new_topic(2), new_topic(1)

    def streams() -> TopicStreams | None:
        topics = KafkaStreams(f"words-{lines.name}", lines.servers, partitions=2)
        return None if between == "files" else TopicStreams(topics, tmp_path / "run" / "streams")

    topology, sinks = word_count(lines), {"count": f"kafka:{results.name}@{results.servers}"}
    assert [unit.name for unit in units_of(topology)] == ["split", "count"], "nothing copies the topic"
    lines.write(FIRST.splitlines())
    first = start(topology, sinks=sinks, streams=streams())
    eventually(lambda: counted(results).total() == 10 or None, "the first words")
    [stream] = first.waiting("split").values()
    assert sum(arrival.rows for arrival in stream or ()) == 0
    first.stop()
    lines.write([MORE] * 3)
    second = start(topology, sinks=sinks, streams=streams())
    expected = Counter([*FIRST.split(), *(3 * MORE.split())])
    eventually(lambda: counted(results) == expected or None, "all words once")
    rows = sum(record.row_count for record in second.batches("split"))
    assert rows == 3, "it went on where it had stopped"
    ends = {each.number: each.end for each in second.partitions("split")["lines"]}
    assert ends == lines.end_offsets(), "as the broker's own tool says"
    assert sum(ends.values()) == 5
    for operator in ("split", "count"):
        latency = second.batches(operator)[-1].latency
        assert latency is not None
        assert latency.mean_s > 0


@pytest.mark.slow
def test_a_topic_that_is_made_again_is_refused(start, new_topic, eventually):
    lines = new_topic(1)
    lines.write(["one two"])
    first = start(word_count(lines))
    eventually(lambda: first.batches("split") or None, "a batch")
    first.stop()
    lines.delete()
    eventually(lambda: made_again(lines), "a topic of the same name")
    lines.write(["one two"] * 9)
    with pytest.raises(PlantError, match="was deleted and made again since this run began"):
        start(word_count(lines))


@pytest.mark.slow
def test_a_topic_that_is_made_again_while_it_is_read_ends_the_run_with_the_reason(start, new_topic, eventually):
    lines = new_topic(1)
    lines.write(["one two"] * 3)
    running = start(word_count(lines))
    eventually(lambda: running.batches("split") or None, "a batch")
    lines.delete()
    eventually(lambda: made_again(lines), "a topic of the same name")
    lines.write(["one two"] * 9)
    with pytest.raises(QueryError, match="was deleted and made again since this run began"):
        running.wait(90)


def made_again(topic) -> bool | None:
    """Kafka deletes in the background, and refuses the name until that is done."""
    with suppress(Exception):
        topic.make(1)
        return True
    return None


@pytest.mark.slow
def test_records_that_retention_took_unread_are_refused_or_told(start, new_topic, eventually, tmp_path, caplog):
    lines, results = new_topic(1), new_topic(1)
    sinks = {"count": f"kafka:{results.name}@{results.servers}"}
    lines.write(["one two"])
    first = start(word_count(lines), sinks=sinks)
    eventually(lambda: counted(results).total() == 2 or None, "the first words")
    first.stop()
    lines.write(["three", "four", "five"])
    lines.delete_before(0, 3, tmp_path)
    with pytest.raises(PlantError, match=r"2 records of topic .* were deleted by its retention before they were read"):
        start(word_count(lines), sinks=sinks)
    start(word_count(lines, failOnDataLoss="false"), sinks=sinks)
    eventually(lambda: counted(results) == Counter(["one", "two", "five"]) or None, "what is left")
    assert "were deleted by its retention before they were read" in caplog.text


@pytest.mark.slow
def test_a_topic_that_gets_partitions_is_read_whole(start, new_topic, eventually):
    lines, results = new_topic(1), new_topic(1)
    lines.write(["one"])
    start(word_count(lines), sinks={"count": f"kafka:{results.name}@{results.servers}"})
    eventually(lambda: counted(results).total() == 1 or None, "the first word")
    lines.widen(3)
    lines.write(["two"], partition=2)
    eventually(lambda: counted(results) == Counter(["one", "two"]) or None, "the record of the new partition")


def test_a_topic_cannot_be_fused(new_topic):
    with pytest.raises(TopologyError, match="cannot fuse 'lines': it is a Kafka topic"):
        units_of(word_count(new_topic(1)), [("lines", "split")])

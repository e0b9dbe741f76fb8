"""On a real broker: a stream in a topic has every row once, though Spark's connector writes some of them again."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, IntegerType, LongType, MapType, StringType, StructField, StructType

from rheostat.errors import ConfigError, PlantError, TopologyError
from rheostat.spark.kafka.stream_topics import KafkaStreams, streams_of
from rheostat.spark.streams.batch_admission import BatchAdmission
from rheostat.spark.streams.entry_times import ENTRY, EntryTimes, entry_column
from rheostat.spark.streams.file_streams import FileStreams
from rheostat.spark.streams.log_reader import LogReader
from rheostat.spark.streams.named_outputs import in_one_stream
from rheostat.spark.streams.topic_streams import TopicStream, TopicStreams

Open = Callable[..., TopicStream]


@pytest.fixture
def open_stream(spark: SparkSession, broker, tmp_path: Path) -> Iterator[Open]:
    kinds: list[TopicStreams] = []

    def stream(schema: StructType, readers: Sequence[str] = ("reader",)) -> TopicStream:
        """The same stream every time, as a new driver would open it."""
        kinds.append(TopicStreams(KafkaStreams(tmp_path.name, broker.address, partitions=2), tmp_path))
        return kinds[-1].open(spark, "words", schema, readers)

    yield stream
    for kind in kinds:
        kind.close()


def numbers(spark: SparkSession, first: int, count: int, entry_s: float | None = None) -> DataFrame:
    df = spark.range(first, first + count, 1, 2).toDF("n")
    return df if entry_s is None else df.withColumn(ENTRY, entry_column(sf.lit(int(entry_s * 1e6))))


def reader_of(stream: TopicStream, spark: SparkSession, output: str | None = None) -> LogReader:
    return stream.reader(spark, "reader", output, lambda df, _: df, BatchAdmission())


def read(reader: LogReader, tmp_path: Path) -> list[Row]:
    """What a query has read from the beginning until there is nothing more."""
    rows: list[Row] = []
    query = reader.df.writeStream.foreachBatch(lambda df, _: rows.extend(df.collect()))
    running = query.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        running.processAllAvailable()
    finally:
        running.stop()
    return rows


def fails_once(df: DataFrame, marker: str) -> DataFrame:
    """`df`, of which the first attempt of a task fails when it has handed over half of its rows."""

    def halves(batches):
        import os

        import pyarrow as pa

        whole = pa.Table.from_batches(list(batches)).combine_chunks()
        yield from whole.slice(0, whole.num_rows // 2).to_batches()
        if not os.path.exists(marker):
            open(marker, "w").close()
            raise ConnectionError("fails for once")
        yield from whole.slice(whole.num_rows // 2).to_batches()

    return df.mapInArrow(halves, df.schema)


@pytest.mark.spark
def test_rows_that_failed_attempts_left_behind_are_dropped(spark, open_stream, tmp_path):
    schema = numbers(spark, 0, 1).schema
    first = open_stream(schema)
    first.publish(numbers(spark, 0, 10), 0, None)
    first.publish(fails_once(numbers(spark, 10, 20_000), str(tmp_path / "failed")), 1, None)
    assert first._log.entry(1).has_others, "the attempt that failed has written"
    first._log.append = lambda *_: None  # the driver dies before it publishes
    first.publish(numbers(spark, 20_010, 10), 2, None)
    second = open_stream(schema)
    assert second.is_published(1)
    assert not second.is_published(2)
    second.publish(numbers(spark, 20_010, 10), 2, None)
    assert second._log.entry(2).has_others, "the driver that died has written"
    second.publish(numbers(spark, 20_020, 10), 3, None)
    assert not second._log.entry(3).has_others
    assert sorted(row.n for row in read(reader_of(second, spark), tmp_path)) == list(range(20_030))


@pytest.mark.spark
def test_rows_arrive_as_they_were_with_their_outputs_and_entry_times(spark, open_stream, tmp_path):
    odd = spark.sql(
        """SELECT timestamp'1850-01-02 03:04:05.678901' AS at, timestamp_ntz'2026-11-17 01:02:03.000004' AS local,
        date'2026-02-28' AS day, cast('1234567890.123456789' AS decimal(38, 18)) AS price, double('NaN') AS nan,
        float('-Infinity') AS low, 0.1D + 0.2D AS sum, unhex('00ff') AS bytes, 'ü "\\\\ \\n' AS text,
        string(NULL) AS none, array(1L, NULL, 9223372036854775807L) AS longs, map('a', 1, 'b', NULL) AS named,
        named_struct('x', 1, 'y', named_struct('z', NULL)) AS deep, true AS yes, interval '1' day AS step"""
    )
    both = in_one_stream({"sort.low": numbers(spark, 0, 3, entry_s=100.5), "sort.odd": odd})
    stream = open_stream(both.schema)
    stream.publish(both, 0, None)
    low, other = stream.arrival(0, "sort.low"), stream.arrival(0, "sort.odd")
    assert (low.rows, other.rows) == (3, 1)
    assert low.entry is not None
    assert (low.entry.known, low.entry.points_s) == (3, (100.5, 100.5))
    assert other.entry is None
    reader = reader_of(stream, spark, "sort.odd")
    [back] = read(reader, tmp_path)
    assert repr(back.asDict()) == repr(odd.first().asDict() | {ENTRY: None})


@pytest.mark.spark
def test_rows_without_entry_times_have_those_of_the_batch_they_were_made_of(spark, open_stream):
    stream = open_stream(numbers(spark, 0, 1).schema)
    stream.publish(numbers(spark, 0, 6), 0, EntryTimes(2, 2, 50.0, 9.0, (40.0, 60.0)))
    entry = stream.arrival(0, None).entry
    assert entry is not None
    assert (entry.rows, entry.known, entry.mean_s, entry.points_s) == (6, 6, 50.0, (40.0, 60.0))


@pytest.mark.spark
def test_consumed_records_leave_the_broker(spark, open_stream, eventually):
    stream = open_stream(numbers(spark, 0, 1).schema)
    for batch in range(3):
        stream.publish(numbers(spark, 0, 10), batch, None)
    stream.retention.release("reader", 1)
    stream.publish(numbers(spark, 0, 10), 3, None)
    eventually(
        lambda: sum(stream._client.read([stream._topic.name]).first.values()) == 20 or None, "20 deleted records"
    )


@pytest.mark.spark
def test_a_directory_is_for_one_kind_of_streams_and_one_topic(spark, open_stream, broker, tmp_path):
    schema = numbers(spark, 0, 1).schema
    open_stream(schema)
    with pytest.raises(PlantError, match="is a Kafka topic: go on with the same topics"):
        FileStreams(tmp_path).open(spark, "words", schema, ())
    with pytest.raises(PlantError, match=r"positions in .* are of topic '.*\.words', not of 'other\.words'"):
        TopicStreams(KafkaStreams("other", broker.address), tmp_path).open(spark, "words", schema, ())
    FileStreams(tmp_path).open(spark, "files", schema, ()).publish(numbers(spark, 0, 1), 0, None)
    with pytest.raises(PlantError, match="is in files: go on with streams in files"):
        TopicStreams(KafkaStreams("other", broker.address), tmp_path).open(spark, "files", schema, ())


def test_columns_that_records_cannot_hold_are_refused(tmp_path):
    maps = StructType([StructField("m", MapType(IntegerType(), StringType()))])
    schema = StructType([StructField("n", LongType()), StructField("nested", ArrayType(maps))])
    with pytest.raises(TopologyError, match=r"column 'nested' of stream 'words' is a array<.*only maps with strings"):
        TopicStreams(KafkaStreams("p", "broker:1"), tmp_path).open(None, "words", schema, ())


def test_stream_topics_in_words():
    assert streams_of("kafka:a.b@one:1,two:2") == KafkaStreams("a.b", "one:1,two:2")
    assert KafkaStreams("p", "broker:1").topic("split+count").name == "p.split.count"
    with pytest.raises(ConfigError, match="'words' names no topics for streams: write kafka:PREFIX@BROKERS"):
        streams_of("words")
    with pytest.raises(ConfigError, match="cannot have 0 partitions"):
        KafkaStreams("p", "broker:1", partitions=0)

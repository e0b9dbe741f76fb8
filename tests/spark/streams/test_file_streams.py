"""File streams: batches are published once, read in order, and deleted when every reader is done."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from rheostat.spark.streams.batch_admission import BatchAdmission
from rheostat.spark.streams.entry_times import ENTRY, EntryTimes, entry_column
from rheostat.spark.streams.file_streams import FileStream, FileStreams
from rheostat.spark.streams.log_reader import LogReader, Retention
from rheostat.spark.streams.named_outputs import in_one_stream, of_output, schema_in_one_stream, schema_of_output
from rheostat.spark.streams.python_source import NOTHING_YET


def test_nothing_goes_until_every_reader_is_done() -> None:
    removed: list[int] = []
    retention = Retention(["a", "b"], removed.append)
    retention.release("a", 7)
    assert removed == []
    retention.release("b", 3)
    retention.release("b", 3)
    retention.release("b", 9)
    assert removed == [3, 7]


def test_a_reader_that_says_less_than_before_changes_nothing() -> None:
    removed: list[int] = []
    retention = Retention(["a"], removed.append)
    retention.release("a", 5)
    retention.release("a", 2)
    assert removed == [5]


@pytest.fixture
def open_stream(spark: SparkSession, tmp_path: Path) -> Callable[..., FileStream]:
    kind = FileStreams(tmp_path)
    java = spark._jsparkSession.cloneSession()  # type: ignore[attr-defined]
    session = SparkSession(spark.sparkContext, java)
    for key, value in kind.session_settings.items():
        session.conf.set(key, value)

    def stream(schema: StructType, readers: Sequence[str] = ("reader",)) -> FileStream:
        return kind.open(session, "words", schema, readers)

    return stream


def numbers(spark: SparkSession, first: int, count: int, entry_s: float | None = None) -> DataFrame:
    df = spark.range(first, first + count, 1, 2).toDF("n")
    return df if entry_s is None else df.withColumn(ENTRY, entry_column(sf.lit(int(entry_s * 1e6))))


def reader_of(stream: FileStream, spark: SparkSession, output: str | None = None, name: str = "reader") -> LogReader:
    return stream.reader(spark, name, output, lambda df, _: df, BatchAdmission())


@pytest.mark.spark
def test_a_batch_is_published_once_under_its_number(
    spark: SparkSession, open_stream: Callable[..., FileStream]
) -> None:
    stream = open_stream(numbers(spark, 0, 1).schema)
    assert not stream.is_published(0)
    stream.publish(numbers(spark, 0, 10), 0, None)
    stream.publish(numbers(spark, 5, 10), 0, None)
    assert stream.is_published(0)
    reader = reader_of(stream, spark)
    assert reader.newest(NOTHING_YET) == 0
    rows = reader.batch(NOTHING_YET, 0)
    assert rows.isStreaming
    assert [arrival.rows for arrival in reader.taken()] == [10]


@pytest.mark.spark
def test_a_reader_takes_what_is_new_and_waiting_is_what_is_not_committed(
    spark: SparkSession, open_stream: Callable[..., FileStream]
) -> None:
    stream = open_stream(numbers(spark, 0, 1, 1.0).schema)
    reader = reader_of(stream, spark)
    assert reader.waiting() is None
    assert reader.newest(NOTHING_YET) == NOTHING_YET
    for batch, count in enumerate([3, 4, 5]):
        stream.publish(numbers(spark, 0, count, entry_s=100.0 + batch), batch, None)
    assert [arrival.rows for arrival in reader.waiting() or ()] == [3, 4, 5]
    assert reader.newest(NOTHING_YET) == 2
    reader.batch(NOTHING_YET, 1)
    taken = reader.taken()
    assert [(arrival.position, arrival.rows) for arrival in taken] == [(0, 3), (1, 4)]
    assert [arrival.entry.mean_s for arrival in taken if arrival.entry] == [100.0, 101.0]
    assert reader.taken() == ()
    assert reader.newest(1) == 2
    assert [arrival.rows for arrival in reader.waiting() or ()] == [5]


@pytest.mark.spark
def test_a_batch_that_spark_asks_for_again_after_a_restart_is_not_counted_again(
    spark: SparkSession, open_stream: Callable[..., FileStream]
) -> None:
    stream = open_stream(numbers(spark, 0, 1).schema)
    stream.publish(numbers(spark, 0, 3), 0, None)
    reader = reader_of(stream, spark)
    reader.batch(NOTHING_YET, 0)
    reader.newest(0)
    assert reader.taken() == ()


@pytest.mark.spark
def test_a_batch_without_new_positions_has_no_rows(spark: SparkSession, open_stream: Callable[..., FileStream]) -> None:
    """Spark asks for one after a restart, when the last batch had no data but a watermark to move."""
    stream = open_stream(numbers(spark, 0, 1).schema)
    stream.publish(numbers(spark, 0, 3), 0, None)
    again = reader_of(stream, spark).batch(0, 0)
    assert again.isStreaming
    assert again.columns == stream.schema.names


@pytest.mark.spark
def test_consumed_batches_leave_the_disk(
    spark: SparkSession, open_stream: Callable[..., FileStream], tmp_path: Path
) -> None:
    stream = open_stream(numbers(spark, 0, 1).schema, ["one", "two"])
    one, two = (reader_of(stream, spark, name=name) for name in ("one", "two"))
    for batch in range(5):
        stream.publish(numbers(spark, 0, 4), batch, None)
    files = len(list((tmp_path / "words").glob("*.parquet")))
    one.done(3)
    assert len(list((tmp_path / "words").glob("*.parquet"))) == files
    two.done(3)
    assert len(list((tmp_path / "words").glob("*.parquet"))) == files // 5
    stream.publish(numbers(spark, 0, 4), 5, None)
    assert one.newest(3) == 5


@pytest.mark.spark
def test_batches_without_rows_are_not_offered_until_there_are_many(
    spark: SparkSession, open_stream: Callable[..., FileStream]
) -> None:
    stream = open_stream(numbers(spark, 0, 1).schema)
    reader = reader_of(stream, spark)
    stream.publish(numbers(spark, 0, 0), 0, None)
    assert not reader.has_new_input()
    assert reader.newest(NOTHING_YET) == NOTHING_YET
    stream.publish(numbers(spark, 0, 1), 1, None)
    assert reader.newest(NOTHING_YET) == 1


@pytest.mark.spark
def test_rows_without_entry_times_have_those_of_the_batch_they_were_made_of(
    spark: SparkSession, open_stream: Callable[..., FileStream]
) -> None:
    stream = open_stream(numbers(spark, 0, 1).schema)
    reader = reader_of(stream, spark)
    stream.publish(numbers(spark, 0, 6), 0, EntryTimes(2, 2, 50.0, 9.0, (40.0, 60.0)))
    reader.newest(NOTHING_YET)
    reader.batch(NOTHING_YET, 0)
    assert [arrival.entry for arrival in reader.taken()] == [EntryTimes(6, 6, 50.0, 9.0, (40.0, 60.0))]


@pytest.mark.spark
def test_several_outputs_share_a_stream_and_each_reader_gets_its_own(
    spark: SparkSession, open_stream: Callable[..., FileStream]
) -> None:
    low = numbers(spark, 0, 3, entry_s=1.0)
    high = spark.range(10, 15).select(sf.col("id").cast("string").alias("name"))
    both = in_one_stream({"sort.low": low, "sort.high": high})
    assert sorted(row.n for row in of_output(both, "sort.low").collect()) == [0, 1, 2]
    assert of_output(both, "sort.high").columns == ["name", ENTRY]
    schema = schema_in_one_stream({"sort.low": low.schema, "sort.high": high.schema})
    assert schema.names == both.columns
    assert schema_of_output(schema, "sort.low").names == ["n", ENTRY]
    stream = open_stream(schema)
    stream.publish(both, 0, None)
    reader = reader_of(stream, spark, "sort.high")
    assert reader.newest(NOTHING_YET) == 0
    reader.batch(NOTHING_YET, 0)
    (arrival,) = reader.taken()
    assert arrival.rows == 5
    assert arrival.entry is not None
    assert arrival.entry.known == 0

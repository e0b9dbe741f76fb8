"""Streams between operators: published once, read in order, removed when everybody is done."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from rheostat.errors import PlantError
from rheostat.spark.streams.entry_times import ENTRY, EntryTimes, entry_column
from rheostat.spark.streams.files import FileStream, FileStreamReader, FileStreams
from rheostat.spark.streams.gate import Gate
from rheostat.spark.streams.outputs import in_one_stream, of_output, schema_in_one_stream, schema_of_output
from rheostat.spark.streams.retention import Retention
from rheostat.spark.streams.sink_log import SinkLog
from rheostat.spark.streams.source import NOTHING_YET


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


def publish_by_hand(folder: Path, number: int, files: int = 2) -> list[Path]:
    """As Spark's sink does it."""
    paths = [folder / f"part-{number}-{index}.parquet" for index in range(files)]
    for path in paths:
        path.write_bytes(b"x" * 10)
    log = folder / "_spark_metadata"
    log.mkdir(exist_ok=True)
    entries = [json.dumps({"path": path.as_uri(), "size": 10}) for path in paths]
    (log / str(number)).write_text("\n".join(["v1", *entries]))
    return paths


def test_the_log_is_read_as_the_sink_writes_it(tmp_path: Path) -> None:
    folder = tmp_path / "a stream, with ünusual name"
    folder.mkdir()
    log = SinkLog(folder)
    assert log.newest() == NOTHING_YET
    paths = publish_by_hand(folder, 0)
    publish_by_hand(folder, 1)
    assert log.newest() == 1
    assert [file.path for file in log.files(0)] == paths
    assert [file.bytes for file in log.files(0)] == [10, 10]


def test_the_newest_entry_is_the_last_there_is_also_when_another_thread_asks_meanwhile(tmp_path: Path) -> None:
    publish_by_hand(tmp_path, 0)
    log = Interrupted(tmp_path)
    publish_by_hand(tmp_path, 1)
    publish_by_hand(tmp_path, 2)
    assert [log.newest(), log.newest()] == [2, 2]


class Interrupted(SinkLog):
    """Somebody else asks for the newest entry just when it has been found that there is one more."""

    _is_asking = False

    def _entry(self, number: int) -> Path:
        if not self._is_asking:
            self._is_asking = True
            self.newest()
            self._is_asking = False
        return super()._entry(number)


def test_removed_entries_take_their_files_along_and_the_newest_stays(tmp_path: Path) -> None:
    for number in range(4):
        publish_by_hand(tmp_path, number)
    log = SinkLog(tmp_path)
    log.remove(1)
    assert log.first == 2
    assert sorted(path.name for path in tmp_path.glob("*.parquet")) == [
        f"part-{number}-{index}.parquet" for number in (2, 3) for index in (0, 1)
    ]
    log.remove(99)
    assert log.first == log.newest() == 3
    assert SinkLog(tmp_path).first == 3


def test_removed_entries_take_their_checksums_along(tmp_path: Path) -> None:
    published = [path for number in range(2) for path in publish_by_hand(tmp_path, number)]
    for path in (*published, tmp_path / "_spark_metadata" / "0"):
        path.with_name(f".{path.name}.crc").touch()
    SinkLog(tmp_path).remove(0)
    assert sorted(path.name for path in tmp_path.rglob("*.crc")) == [f".{path.name}.crc" for path in published[2:]]


def test_files_of_a_batch_that_was_never_published_are_removed(tmp_path: Path) -> None:
    kept = publish_by_hand(tmp_path, 0)
    (tmp_path / "part-left-behind.parquet").write_bytes(b"half")
    SinkLog(tmp_path).remove_unpublished()
    assert sorted(tmp_path.glob("*.parquet")) == sorted(kept)


def test_an_entry_that_is_gone_is_an_error_that_says_where(tmp_path: Path) -> None:
    for number in range(3):
        publish_by_hand(tmp_path, number)
    log = SinkLog(tmp_path)
    log.remove(1)
    with pytest.raises(PlantError, match=r"batch 0 of the stream in .* is gone, the first that is left is 2"):
        log.files(0)


def test_a_gate_lets_a_query_through_when_any_of_its_streams_has_news() -> None:
    gate = Gate()
    news = threading.Event()
    gate.watch(lambda: False)
    gate.watch(news.is_set)
    news.set()
    assert gate.wait()
    assert not gate.is_quiet


def test_a_closed_gate_lets_nothing_through_and_notices_who_comes_by() -> None:
    gate = Gate()
    gate.watch(lambda: True)
    gate.close()
    assert not gate.is_quiet
    assert not gate.wait()
    assert gate.is_quiet


def test_a_query_without_news_is_not_held_for_ever() -> None:
    assert Gate().wait()


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


def reader_of(
    stream: FileStream, spark: SparkSession, output: str | None = None, who: str = "reader"
) -> FileStreamReader:
    return stream.reader(spark, who, output, lambda df, _: df, Gate())


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
    one, two = (reader_of(stream, spark, who=who) for who in ("one", "two"))
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
    assert not reader.has_news()
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

"""Topic streams: streams as Kafka topics, for executors that see no directory in common.

Batches are written and read by Spark's own connector, which writes at least once. A batch is published by an entry in
the offset log of the run directory, once all its records are in the topic: with their positions, and with the task
attempts that wrote them. Whatever else lies between these positions, of attempts that failed or of a driver that died,
belongs to no entry, and readers drop it.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import structs
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.errors import PlantError
from rheostat.spark.kafka.broker_client import START_PATIENCE_S, BrokerClient, Offsets, offsets_to_json
from rheostat.spark.kafka.stream_topics import KafkaStreams
from rheostat.spark.kafka.topic import KafkaTopic
from rheostat.spark.kafka.topic_watch import TopicWatch
from rheostat.spark.streams.entry_times import ENTRY, EntryTimes
from rheostat.spark.streams.logged_topic import LoggedTopic
from rheostat.spark.streams.offset_log import OffsetEntry, OffsetLog, TopicIdentity
from rheostat.spark.streams.sink_log import SinkLog
from rheostat.spark.streams.stream_records import WrittenRows, check_row_format, of_writers, rows_of, write_rows
from rheostat.spark.streams.topic_records import TopicRecords

_WATCH_EVERY_S = 0.5
_DELETE_EVERY_S = 10.0
_TOPIC_SETTINGS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "segment.bytes": str(64 * 2**20),
}
"""Nothing but what all readers are done with is deleted. The broker frees its space by whole segments."""


class TopicStreams:
    """The streams of a run as `topics`, with their offset logs under `root`."""

    def __init__(self, topics: KafkaStreams, root: Path) -> None:
        self._topics, self._root = topics, root
        self._watch: TopicWatch | None = None
        self._opened: list[TopicStream] = []

    @property
    def session_settings(self) -> Mapping[str, str]:
        return {}

    def open(self, session: SparkSession, name: str, schema: StructType, readers: Sequence[str]) -> "TopicStream":
        check_row_format(name, schema)
        topic, folder = self._topics.topic(name), self._root / name
        _check_not_in_files(folder)
        client = BrokerClient(session, topic.connector_options)
        client.patiently(lambda: client.make(topic.name, self._topics.partitions, _TOPIC_SETTINGS), START_PATIENCE_S)
        if self._watch is None:
            self._watch = TopicWatch(BrokerClient(session, topic.connector_options), [], _WATCH_EVERY_S)
        stream = TopicStream(session, topic, client, self._watch, folder, schema, readers)
        self._watch.topics = [*self._watch.topics, topic.name]
        self._opened.append(stream)
        return stream

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
        for stream in self._opened:
            stream.close()


class TopicStream(LoggedTopic):
    """One stream. Position n is batch n of the query that writes it.

    Raises a `PlantError` if the positions in `folder` are of another topic.
    """

    def __init__(
        self,
        session: SparkSession,
        topic: KafkaTopic,
        client: BrokerClient,
        watch: TopicWatch,
        folder: Path,
        schema: StructType,
        readers: Sequence[str],
    ) -> None:
        reading = client.read([topic.name], with_ids=True)
        log = OffsetLog(folder, TopicIdentity(topic.name, reading.ids[topic.name]))
        log.check(reading)
        super().__init__(f"stream {folder.name}", schema, topic, log, readers)
        self._session, self._client, self._watch = session, client, watch
        self._end: Offsets = reading.end if log.last is None else log.last.end_offsets
        self._partitions = len(reading.end)
        self._deleted_s = 0.0

    def close(self) -> None:
        with suppress(Py4JError):  # a batch that hangs may still use it
            self._client.close()

    def is_published(self, batch: int) -> bool:
        return batch <= self._log.newest

    def publish(self, df: DataFrame, batch: int, entry: EntryTimes | None) -> None:
        written = write_rows(df, self._topic, self._partitions)
        if ENTRY not in self.schema.names and entry is not None and entry.known:
            written = _with_entry_times(written, entry)
        reading = self._client.patiently(lambda: self._client.read([self._topic.name], with_ids=True))
        self._log.check(reading)
        start, end = offsets_to_json(self._end), offsets_to_json(reading.end)
        made = OffsetEntry(start, end, time.time(), written.outputs, written.writers)
        self._check_written(made)
        self._log.append(made, batch)
        self._end, self._partitions = reading.end, len(reading.end)
        self._delete_consumed()

    def _decoded(self, records: DataFrame, after: int, until: int) -> DataFrame:
        entries = [self._log.entry(number) for number in range(after + 1, until + 1)]
        if any(entry.has_others for entry in entries):
            records = of_writers(records, [writer for entry in entries for writer in entry.writers or ()])
        return rows_of(records, self.schema)

    def _check_written(self, entry: OffsetEntry) -> None:
        """Refuse to publish what is not in the topic exactly once."""
        if not entry.has_others:
            return
        records = TopicRecords(self._session, self._topic)
        between, _ = records.between(entry.start_offsets, entry.end_offsets, streaming=False)
        found = of_writers(between, entry.writers or ()).count()
        if found != entry.rows:
            raise PlantError(
                f"topic {self._topic.name!r} has {found:,} records of a batch of which {entry.rows:,} were written: "
                "the broker has lost or doubled records"
            )

    def _delete_consumed(self) -> None:
        if self._log.consumed is not None and time.monotonic() - self._deleted_s > _DELETE_EVERY_S:
            self._client.delete_before(self._log.consumed)
            self._deleted_s = time.monotonic()


def _with_entry_times(written: WrittenRows, entry: EntryTimes) -> WrittenRows:
    """Rows that do not carry their own have those of the batch that they were made of."""
    times = {"mean_s": entry.mean_s, "first_s": min(entry.points_s), "last_s": max(entry.points_s)}
    return written._replace(
        outputs={name: structs.replace(each, known=each.rows, **times) for name, each in written.outputs.items()}
    )


def _check_not_in_files(folder: Path) -> None:
    if SinkLog(folder).newest() >= 0:
        raise PlantError(f"the stream in {folder} is in files: go on with streams in files, or use another directory")

"""Topic source: a Kafka topic from outside as a stream that operators read themselves, without a copy of it.

Every time that the broker shows new records they become an entry of the offset log, and with it a position that Spark
can read up to. So what has arrived, what waits and since when is known whether the query reads or not.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import PlantError
from rheostat.spark.kafka.broker_client import (
    START_PATIENCE_S,
    BrokerClient,
    Offsets,
    TopicReading,
    offsets_to_json,
    rows_between,
)  # fmt: skip
from rheostat.spark.kafka.topic import KafkaTopic
from rheostat.spark.kafka.topic_watch import TopicWatch
from rheostat.spark.streams.logged_topic import LoggedTopic
from rheostat.spark.streams.offset_log import OffsetEntry, OffsetLog, RowStatistics, TopicIdentity
from rheostat.spark.streams.topic_records import STAMPED_RECORDS, stamped_records

_LOG = logging.getLogger(__name__)
_READ_EVERY_S = 0.1
_MOST_ROWS = 20_000
"""In one entry: a batch takes whole entries, and not a whole long backlog."""


class TopicSource(LoggedTopic):
    """One topic for all its readers, who see its records with their time stamps as entry times.

    Raises a `PlantError` if the broker does not answer, there is no such topic, or the positions in `folder` are of
    another one.
    """

    def __init__(self, session: SparkSession, topic: KafkaTopic, folder: Path, readers: Sequence[str]) -> None:
        client = BrokerClient(session, topic.connector_options)
        reading = client.patiently(lambda: client.read([topic.name], with_ids=True), START_PATIENCE_S)
        log = OffsetLog(folder, TopicIdentity(topic.name, reading.ids[topic.name]))
        super().__init__(f"topic {topic.name}", STAMPED_RECORDS, topic, log, readers)
        self._lock = threading.Lock()
        start = self._position(reading)
        waiting = [each for each, end in reading.end.items() if end > start.get(each, 0)]
        stamps_s = [client.time_of(each, start.get(each, 0)) for each in waiting]
        self._looked_s = min((stamp_s for stamp_s in stamps_s if stamp_s is not None), default=reading.time_s)
        self._watch = TopicWatch(client, [topic.name], _READ_EVERY_S, with_ids=True)

    def close(self) -> None:
        self._watch.close()

    def newest(self) -> int:
        """Raises a `PlantError` if records are gone before they were read."""
        with self._lock:
            reading = self._watch.latest()
            if reading is not None and reading.time_s > self._looked_s:
                for entry in self._new_entries(reading):
                    self._log.append(entry)
                self._looked_s = reading.time_s
            return self._log.newest

    def _decoded(self, records: DataFrame, after: int, until: int) -> DataFrame:
        return stamped_records(records)

    def _position(self, reading: TopicReading) -> Offsets:
        """Where the next entry starts: behind the last one, in a new topic or partition with the first record."""
        self._log.check(reading)
        last = {} if self._log.last is None else self._log.last.end_offsets
        self._check_loss(last, reading)
        return {each: max(last.get(each, 0), reading.first.get(each, 0)) for each in reading.end}

    def _check_loss(self, last: Offsets, reading: TopicReading) -> None:
        name = self._topic.name
        lost = sum(max(0, reading.first.get(each, 0) - offset) for each, offset in last.items())
        if lost and self._topic.fails_on_loss:
            raise PlantError(
                f"{lost:,} records of topic {name!r} were deleted by its retention before they were read: keep them "
                "for longer, or allow it with the option failOnDataLoss=false"
            )
        if lost:
            _LOG.warning("%s records of topic %r were deleted by its retention before they were read", lost, name)

    def _new_entries(self, reading: TopicReading) -> Iterator[OffsetEntry]:
        start, from_s = self._position(reading), self._looked_s
        rows = rows_between(start, reading.end)
        parts = -(-rows // _MOST_ROWS)
        for part in range(parts):
            end = {each: at + (reading.end[each] - at) * (part + 1) // parts for each, at in start.items()}
            begin = {each: at + (reading.end[each] - at) * part // parts for each, at in start.items()}
            until_s = from_s + (reading.time_s - from_s) * (part + 1) / parts
            since_s = from_s + (reading.time_s - from_s) * part / parts
            count = rows_between(begin, end)
            seen = RowStatistics(count, 0, count, (since_s + until_s) / 2, since_s, until_s)
            yield OffsetEntry(offsets_to_json(begin), offsets_to_json(end), until_s, {"": seen})

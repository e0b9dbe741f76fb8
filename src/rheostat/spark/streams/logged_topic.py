"""Logged topic: a Kafka topic with an offset log, as its readers see it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.snapshot import PartitionState
from rheostat.spark.kafka.topic import KafkaTopic
from rheostat.spark.kafka.topic_watch import TopicWatch
from rheostat.spark.streams.batch_admission import BatchAdmission
from rheostat.spark.streams.log_reader import LogReader, ReadRows, Retention
from rheostat.spark.streams.offset_log import OffsetLog
from rheostat.spark.streams.stream import Arrival, SpreadRows
from rheostat.spark.streams.topic_records import TopicRecords


class LoggedTopic(ABC):
    """Position n is entry n of `log`. What sets it up also sets `_watch`, which knows whether the broker answers."""

    _watch: TopicWatch

    def __init__(
        self, name: str, schema: StructType, topic: KafkaTopic, log: OffsetLog, readers: Sequence[str]
    ) -> None:
        self.name, self.schema = name, schema
        self._topic, self._log = topic, log
        self.retention = Retention(readers, log.remove)

    @property
    def first(self) -> int:
        return self._log.first

    @property
    def problem(self) -> str | None:
        """Why it is not known what has arrived lately."""
        return self._watch.problem

    def newest(self) -> int:
        return self._log.newest

    def arrival(self, number: int, output: str | None) -> Arrival:
        return self._log.arrival(number, output)

    def partitions(self, after: int) -> tuple[PartitionState, ...]:
        return self._log.partitions(after)

    def reader(
        self, session: SparkSession, name: str, output: str | None, spread: SpreadRows, admission: BatchAdmission
    ) -> LogReader:
        return LogReader(session, self, name, output, spread, admission)

    def rows(self, session: SparkSession) -> ReadRows:
        records = TopicRecords(session, self._topic)

        def read(after: int, until: int) -> tuple[DataFrame, Sequence[int]]:
            df, sizes = records.between(*self._log.between(after, until))
            return self._decoded(df, after, until), sizes

        return read

    @abstractmethod
    def _decoded(self, records: DataFrame, after: int, until: int) -> DataFrame:
        """The rows in `records` of the entries after the number `after`, `until` included."""

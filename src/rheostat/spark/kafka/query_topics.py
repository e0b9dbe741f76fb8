"""Query topics: the load of a running query that reads Kafka, as the broker and the query's own positions tell it.

Nothing about the query is changed. Its sources are in its plan, its positions in its run. The broker is asked where the
topics end, with the options that the query has for it; these may have secrets and are kept nowhere else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from rheostat.snapshot import PartitionState
from rheostat.spark.kafka.broker_client import BrokerClient, Offsets, offsets_from_json, rows_between
from rheostat.spark.kafka.topic_watch import TopicWatch

_READ_EVERY_S = 0.25
_STREAM = "org.apache.spark.sql.kafka010.KafkaMicroBatchStream"
_RELATION = "StreamingDataSourceV2"
_LIMIT = "maxOffsetsPerTrigger"


@dataclass(frozen=True, slots=True)
class TopicLoad:
    """The load of a query at one moment: its positions (`committed`) and where its topics `end`.

    `behind` are the records between the two, those of the batch under way included, which has `under_way`; `oldest_s`
    is how long the oldest of them has waited. None if the broker does not answer, for which `problem` has the reason.
    `limit` is the most records that a batch takes, `lost` are those that the broker deleted before they were read.
    """

    committed: Offsets
    end: Offsets
    behind: int | None
    under_way: int
    oldest_s: float | None
    limit: int | None = None
    lost: int = 0
    problem: str | None = None

    @property
    def partitions(self) -> tuple[PartitionState, ...]:
        return tuple(
            PartitionState(each.topic, each.partition, end, max(0, end - self.committed.get(each, 0)))
            for each, end in self.end.items()
        )


def load_of_all(loads: Sequence[TopicLoad]) -> TopicLoad:
    """The load of a query with several sources."""
    behind = [load.behind for load in loads if load.behind is not None]
    limits = [load.limit for load in loads if load.limit is not None]
    return TopicLoad(
        {each: offset for load in loads for each, offset in load.committed.items()},
        {each: offset for load in loads for each, offset in load.end.items()},
        sum(behind) if len(behind) == len(loads) else None,
        sum(load.under_way for load in loads),
        max((load.oldest_s for load in loads if load.oldest_s is not None), default=None),
        sum(limits) if len(limits) == len(loads) else None,
        sum(load.lost for load in loads),
        next((load.problem for load in loads if load.problem is not None), None),
    )


def kafka_sources(spark: SparkSession, execution: Any) -> "list[KafkaSource] | None":
    """The sources of a running query (a `StreamExecution` of Spark's), none if it reads something else as well.

    None before its first batch: its plan is not there yet.
    """
    if execution.availableOffsets().isEmpty():
        return None
    leaves = execution.logicalPlan().collectLeaves()
    all_leaves = [leaves.apply(index) for index in range(leaves.size())]
    relations = [leaf for leaf in all_leaves if leaf.isStreaming()]
    if not all(_reads_kafka(relation) for relation in relations):
        return []
    by_stream = {int(relation.stream().hashCode()): relation for relation in relations}
    return [KafkaSource(spark, execution, relation) for relation in by_stream.values()]


def _reads_kafka(relation: Any) -> bool:
    """Files and other sources of the first interface have a relation of another class, without a stream."""
    is_of_second_interface = str(relation.getClass().getSimpleName()).startswith(_RELATION)
    return is_of_second_interface and str(relation.stream().getClass().getName()) == _STREAM


class KafkaSource:
    """One source of one run of a query."""

    def __init__(self, spark: SparkSession, execution: Any, relation: Any) -> None:
        self._execution, self._stream = execution, relation.stream()
        options = {str(key): str(value) for key, value in relation.relation().options().asCaseSensitiveMap().items()}
        lower = {key.lower(): value for key, value in options.items()}
        self._limit = int(lower[_LIMIT.lower()]) if _LIMIT.lower() in lower else None
        # It reads the query's checkpoint by the session of its thread, and this one may have none.
        jvm: Any = spark.sparkContext._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(execution.sparkSession())
        self._start = offsets_from_json(str(self._stream.initialOffset().json()))
        self._watch = TopicWatch(BrokerClient(spark, options), {each.topic for each in self._start}, _READ_EVERY_S)

    def load(self, now_s: float) -> TopicLoad:
        committed = self._position(self._execution.committedOffsets()) or self._start
        planned = self._position(self._execution.availableOffsets()) or committed
        self._watch.topics = {each.topic for each in planned}
        under_way = rows_between(committed, planned)
        reading = self._watch.latest()
        if reading is None:
            problem = self._watch.problem or "the Kafka broker has not answered yet"
            return TopicLoad(committed, {}, None, under_way, None, self._limit, problem=problem)
        position = {each: max(offset, reading.first.get(each, 0)) for each, offset in committed.items()}
        oldest_s = self._watch.oldest_s(position, now_s)
        lost = rows_between(committed, position)
        behind = rows_between(position, reading.end)
        return TopicLoad(committed, reading.end, behind, under_way, oldest_s, self._limit, lost)

    def close(self) -> None:
        self._watch.close()

    def _position(self, progress: Any) -> Offsets | None:
        offset = progress.get(self._stream)
        return offsets_from_json(str(offset.get().json())) if offset.isDefined() else None

"""Broker client: what a Kafka broker says of topics, by the client of Spark's connector in the driver's JVM.

Records never pass here: only offsets, and the time stamps of single records.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from py4j.java_gateway import JavaMember
from py4j.protocol import STATIC_PREFIX
from pyspark.sql import SparkSession

from rheostat.errors import PlantError
from rheostat.spark.kafka.connector import default_connector

_LOG = logging.getLogger(__name__)
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_DELETED_RECORDS = "org.apache.kafka.clients.admin.RecordsToDelete"
_ANSWER_MS = 3000
_OURS = {
    "key.deserializer": _BYTES,
    "value.deserializer": _BYTES,
    "enable.auto.commit": "false",
    "allow.auto.create.topics": "false",
    "default.api.timeout.ms": str(_ANSWER_MS),
    "request.timeout.ms": str(_ANSWER_MS),
    "max.poll.records": "1",
    "reconnect.backoff.max.ms": "1000",
    "metadata.max.age.ms": "1000",  # a topic may get partitions
}
PATIENCE_S = 120.0
"""How long a run waits for a broker: as long as Spark's connector for a record."""

START_PATIENCE_S = 30.0
"""How long it waits at its start, when there may be nobody at the address at all."""

_TOPIC_TIMEOUT_S = 10.0
_OFFSET = re.compile(r"([A-Za-z0-9._-]+)-(\d+)=(\d+)")
_MS = 1e-3

T = TypeVar("T")


class BrokerAwayError(PlantError):
    """The broker does not answer. It may later."""


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


Offsets = Mapping[TopicPartition, int]
"""A position in each partition: the offset of the next record."""


@dataclass(frozen=True, slots=True)
class TopicReading:
    """What the broker said at `time_s`: the `first` offset that it keeps of each partition, and where the `end` is.

    `ids` are the topics' ids, if they were asked for. A topic that is deleted and made again has another.
    """

    time_s: float
    first: Offsets
    end: Offsets
    ids: Mapping[str, str] = field(default_factory=dict)


class BrokerClient:
    """Asks the broker that `options` name: those of Spark's connector, of which the `kafka.*` ones count.

    Not for several threads at once. A question that the broker does not answer in three seconds is a
    `BrokerAwayError`.
    """

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        jvm: Any = spark.sparkContext._jvm
        if not callable(jvm.org.apache.kafka.clients.consumer.KafkaConsumer):
            raise PlantError(
                f"this session has no Kafka connector: start it with the package {default_connector()}, or with jars"
            )
        self._jvm, self._list, self._map = jvm, jvm.java.util.ArrayList, jvm.java.util.HashMap
        self._gateway_client: Any = spark.sparkContext._gateway._gateway_client  # type: ignore[union-attr]
        given = {key.removeprefix("kafka."): value for key, value in options.items() if key.startswith("kafka.")}
        self._settings = self._java_map({**given, **_OURS})
        self._servers = given.get("bootstrap.servers", "")
        self._consumer: Any = None
        self._admin: Any = None
        self._partitions: dict[TopicPartition, Any] = {}

    def read(self, topics: Collection[str], *, with_ids: bool = False) -> TopicReading:
        """Where `topics` begin and end now."""
        partitions = [TopicPartition(topic, number) for topic in topics for number in range(self._width(topic))]
        asked = self._java_list(partitions)
        time_s = time.time()
        end = self._ask(lambda consumer: consumer.endOffsets(asked).toString())
        first = self._ask(lambda consumer: consumer.beginningOffsets(asked).toString())
        ids = {topic: self._topic_id(topic) for topic in topics} if with_ids else {}
        return TopicReading(time_s, _parsed(first), _parsed(end), ids)

    def make(self, topic: str, partitions: int, settings: Mapping[str, str]) -> None:
        """Make `topic`, with as many replicas as is usual at the broker, unless it is there."""
        if self._ask(lambda consumer: consumer.partitionsFor(topic).size()):
            return
        optional = self._jvm.java.util.Optional
        new = self._jvm.org.apache.kafka.clients.admin.NewTopic(topic, optional.of(partitions), optional.empty())
        topics = self._list()
        topics.add(new.configs(self._java_map(settings)))
        self._ask_admin(lambda admin: admin.createTopics(topics).all().get())
        deadline_s = time.monotonic() + _TOPIC_TIMEOUT_S
        while not self._ask(lambda consumer: consumer.partitionsFor(topic).size()) and time.monotonic() < deadline_s:
            time.sleep(0.05)

    def delete_before(self, position: Offsets) -> None:
        """Have the records before `position` deleted; does not wait for it."""
        # There are two methods of this name, and Py4J may take the wrong one to find out whether it is static.
        before_offset = JavaMember("beforeOffset", None, f"{STATIC_PREFIX}{_DELETED_RECORDS}", self._gateway_client)
        partitions = self._java_list(position)
        before = {partitions.get(index): before_offset(end) for index, end in enumerate(position.values())}
        self._ask_admin(lambda admin: admin.deleteRecords(self._java_map(before)))

    def patiently(self, ask: Callable[[], T], patience_s: float = PATIENCE_S) -> T:
        """What `ask` gets from the broker. While that does not answer, it is asked again, for up to `patience_s`."""
        deadline_s, is_told = time.monotonic() + patience_s, False
        while True:
            try:
                return ask()
            except BrokerAwayError:
                if time.monotonic() > deadline_s:
                    raise
                if not is_told:
                    _LOG.warning(
                        "the Kafka broker at %s does not answer: waiting up to %.0f s", self._servers, patience_s
                    )
                is_told = True

    def time_of(self, partition: TopicPartition, offset: int) -> float | None:
        """The time stamp of the first record from `offset` on, in seconds since the epoch; None if there is none."""
        asked = self._java_list([partition])

        def first_record(consumer: Any) -> float | None:
            consumer.assign(asked)
            consumer.seek(asked.get(0), offset)
            records = consumer.poll(self._jvm.java.time.Duration.ofMillis(_ANSWER_MS)).iterator()
            return float(records.next().timestamp()) * _MS if records.hasNext() else None

        stamp_s: float | None = self._ask(first_record)
        return stamp_s

    def close(self) -> None:
        for client in (self._consumer, self._admin):
            if client is not None:
                client.close(self._jvm.java.time.Duration.ofMillis(0))
        self._consumer = self._admin = None

    def _width(self, topic: str) -> int:
        width = int(self._ask(lambda consumer: consumer.partitionsFor(topic).size()))
        if not width:
            raise PlantError(f"there is no topic {topic!r} at {self._servers}: make it, or name another")
        return width

    def _topic_id(self, topic: str) -> str:
        names = self._list()
        names.add(topic)
        described = self._ask_admin(lambda admin: admin.describeTopics(names).allTopicNames().get())
        return str(described.get(topic).topicId().toString())

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        try:
            if self._consumer is None:
                self._consumer = self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(self._settings)
            return question(self._consumer)
        except Exception as error:
            raise self._problem(error) from None

    def _ask_admin(self, question: Callable[[Any], Any]) -> Any:
        try:
            if self._admin is None:
                self._admin = self._jvm.org.apache.kafka.clients.admin.Admin.create(self._settings)
            return question(self._admin)
        except Exception as error:
            raise self._problem(error) from None

    def _problem(self, error: Exception) -> PlantError:
        """In one line. Kafka's own messages have no values of options in them."""
        java = getattr(error, "java_exception", None)
        said = str(error if java is None else java.toString()).strip().partition("\n")[0][:300]
        if "TimeoutException" in said:
            return BrokerAwayError(f"the Kafka broker at {self._servers} does not answer: {said}")
        return PlantError(f"the Kafka broker at {self._servers} cannot be used: {said}")

    def _java_map(self, items: Mapping[Any, Any]) -> Any:
        mapped = self._map()
        for key, value in items.items():
            mapped.put(key, value)
        return mapped

    def _java_list(self, partitions: Iterable[TopicPartition]) -> Any:
        listed = self._list()
        for each in partitions:
            if each not in self._partitions:
                self._partitions[each] = self._jvm.org.apache.kafka.common.TopicPartition(*each)
            listed.add(self._partitions[each])
        return listed


def offsets_from_json(text: str) -> Offsets:
    """Offsets as Spark's connector writes them.

    >>> offsets_from_json('{"words": {"0": 7}}')
    {TopicPartition(topic='words', partition=0): 7}
    """
    return {
        TopicPartition(topic, int(number)): offset
        for topic, partitions in json.loads(text).items()
        for number, offset in partitions.items()
    }


def offsets_to_json(offsets: Offsets) -> str:
    """Offsets as Spark's connector reads them."""
    by_topic: dict[str, dict[str, int]] = {}
    for (topic, number), offset in offsets.items():
        by_topic.setdefault(topic, {})[str(number)] = offset
    return json.dumps(by_topic)


def rows_between(start: Offsets, end: Offsets) -> int:
    """Records from `start` to `end`, in the partitions of `end`; a partition that `start` lacks counts from 0."""
    return sum(max(0, offset - start.get(partition, 0)) for partition, offset in end.items())


def _parsed(text: str) -> Offsets:
    """The string form of Kafka's maps: `{words-0=7}`."""
    return {TopicPartition(topic, int(number)): int(offset) for topic, number, offset in _OFFSET.findall(text)}

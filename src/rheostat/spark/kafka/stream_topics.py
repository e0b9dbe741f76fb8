"""Stream topics: the Kafka topics that streams between operators are, where they are not files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rheostat.errors import ConfigError
from rheostat.spark.kafka.topic import KafkaTopic, topic_of

_PARTITIONS = 4


@dataclass(frozen=True)
class KafkaStreams:
    """Streams between operators as topics of the brokers at `servers`, each called `prefix.OPERATOR`.

    A topic that is not there is made, with so many `partitions`. `options` are those of Spark's connector; they are
    shown nowhere.
    """

    prefix: str
    servers: str
    partitions: int = _PARTITIONS
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.topic("any")
        if isinstance(self.partitions, bool) or not isinstance(self.partitions, int) or self.partitions < 1:
            raise ConfigError(f"{self!r} cannot have {self.partitions!r} partitions: give a whole number >= 1")

    def topic(self, stream: str) -> KafkaTopic:
        """The topic of `stream`. In the name of a query of several operators a dot stands for the plus."""
        return KafkaTopic(f"{self.prefix}.{stream.replace('+', '.')}", self.servers, options=self.options)


def streams_of(text: str, options: Mapping[str, str] | None = None) -> KafkaStreams:
    """Stream topics in words.

    >>> streams_of("kafka:words@broker:9092")
    KafkaStreams(prefix='words', servers='broker:9092', partitions=4)
    """
    try:
        named = topic_of(text)
    except ConfigError:
        raise ConfigError(
            f"{text!r} names no topics for streams: write kafka:PREFIX@BROKERS, e.g. kafka:words@broker:9092"
        ) from None
    return KafkaStreams(named.name, named.servers, options=options or {})

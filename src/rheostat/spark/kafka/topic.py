"""Kafka topic: a topic that a topology reads or writes, through Spark's connector."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from rheostat.errors import ConfigError

PREFIX = "kafka:"
_SERVERS = "kafka.bootstrap.servers"
_OURS = (
    "subscribe",
    "subscribepattern",
    "assign",
    "startingoffsets",
    "endingoffsets",
    "maxoffsetspertrigger",
    "topic",
    "includeheaders",
)


@dataclass(frozen=True)
class KafkaTopic:
    """The topic `name` of the brokers at `servers` (`host:port,...`).

    As the reader of a source: `Source("orders", reader=KafkaTopic("orders", "broker:9092", decode=parse))`. `decode`
    gets a DataFrame with the columns of Spark's connector (key, value, topic, partition, offset, timestamp,
    timestampType) and returns the rows that operators read; it may select, filter and change columns. `options` are
    those of the connector, such as `minPartitions`, `failOnDataLoss` and all `kafka.*` ones, which secured brokers
    need. They are handed to the connector and shown nowhere.
    """

    name: str
    servers: str
    decode: Callable[[DataFrame], DataFrame] | None = field(default=None, repr=False, compare=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.name or not self.servers:
            raise ConfigError(f"{self!r} lacks its name or servers: give e.g. KafkaTopic('words', 'broker:9092')")
        for key in self.options:
            if key.lower() in _OURS or key == _SERVERS:
                raise ConfigError(f"topic {self.name!r}: option {key!r} is Rheostat's own to set; leave it out")

    def __call__(self, records: DataFrame) -> DataFrame:
        """The rows of `records`."""
        return records if self.decode is None else self.decode(records)

    @property
    def connector_options(self) -> dict[str, str]:
        """The user's options, and the servers."""
        return {**{key: str(value) for key, value in self.options.items()}, _SERVERS: self.servers}

    @property
    def fails_on_loss(self) -> bool:
        """Whether records that are gone before they were read are an error."""
        return (self.option("failOnDataLoss") or "true").lower() == "true"

    def option(self, name: str) -> str | None:
        """What the user said; the names of the connector's own options have no case."""
        return next((str(value) for key, value in self.options.items() if key.lower() == name.lower()), None)


def topic_of(
    text: str, decode: Callable[[DataFrame], DataFrame] | None = None, options: Mapping[str, str] | None = None
) -> KafkaTopic:
    """A topic in words.

    >>> topic_of("kafka:words@broker:9092")
    KafkaTopic(name='words', servers='broker:9092')
    """
    name, at, servers = text.removeprefix(PREFIX).partition("@")
    if not text.startswith(PREFIX) or not at or not name or not servers:
        raise ConfigError(f"{text!r} is no topic: write kafka:TOPIC@BROKERS, e.g. kafka:words@broker:9092")
    return KafkaTopic(name, servers, decode, options or {})

"""On a real broker that wants a password: the connector's options log in everywhere, and a wrong one is refused."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from rheostat.errors import PlantError
from rheostat.spark.kafka.broker_client import BrokerClient
from rheostat.spark.kafka.local_broker import LocalBroker
from rheostat.spark.kafka.stream_topics import KafkaStreams
from rheostat.spark.kafka.topic import KafkaTopic
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.query.sinks import KafkaSink
from rheostat.spark.streams.topic_source import TopicSource
from rheostat.spark.streams.topic_streams import TopicStreams
from rheostat.topology import Operator, Source, Topology

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PASSWORD = "open-sesame-4711"


def parse(records: DataFrame) -> DataFrame:
    return records.selectExpr("CAST(value AS STRING) AS line")


def split(lines: DataFrame) -> DataFrame:
    return lines.select(sf.explode(sf.split("line", " ")).alias("word"))


def shout(words: DataFrame) -> DataFrame:
    return words.select(sf.upper("word").alias("word"))


@pytest.fixture
def secured(spark, broker) -> Iterator[LocalBroker]:
    """Beside the broker of the other tests, which brings the connector into the session."""
    with LocalBroker(PASSWORD) as running:
        yield running


def connector_options(broker: LocalBroker, **others: str) -> dict[str, str]:
    return {**broker.login_options, "kafka.bootstrap.servers": broker.address, **others}


def test_source_stream_and_sink_log_in(spark, secured, tmp_path: Path, eventually) -> None:
    login: Mapping[str, str] = secured.login_options
    client = BrokerClient(spark, connector_options(secured))
    for name in ("lines", "results"):
        client.make(name, 1, {})
    client.close()
    lines = spark.createDataFrame([("to be or",), ("not to be",)], "value string")
    lines.write.format("kafka").options(**connector_options(secured, topic="lines")).save()
    source = Source("lines", reader=KafkaTopic("lines", secured.address, parse, login))
    operators = [Operator("split", split, inputs="lines"), Operator("shout", shout, inputs="split")]
    topology = Topology("words", [source, *operators])
    directory = RunDirectory(tmp_path / "run", topology, ())
    streams = TopicStreams(KafkaStreams("words", secured.address, 1, login), directory.streams)
    sink = KafkaSink(KafkaTopic("results", secured.address, options=login))

    def shouted() -> list[str] | None:
        reader = spark.read.format("kafka").options(**connector_options(secured, subscribe="results"))
        values = [json.loads(row.value)["word"] for row in reader.load().collect()]
        return values if len(values) == 6 else None

    with Runtime(topology, spark, directory, sinks={"shout": sink}, streams=streams):
        words = eventually(shouted, "all words")
    assert sorted(words) == ["BE", "BE", "NOT", "OR", "TO", "TO"]


def test_a_wrong_password_is_refused_without_a_word_of_it(spark, secured, tmp_path: Path) -> None:
    wrong = {key: value.replace(PASSWORD, "guess-0815") for key, value in secured.login_options.items()}
    with pytest.raises(
        PlantError, match=f"the Kafka broker at {secured.address} cannot be used: .*Authentication"
    ) as told:
        TopicSource(spark, KafkaTopic("lines", secured.address, options=wrong), tmp_path, ["reader"])
    assert "guess-0815" not in str(told.value)

"""A broker that does not answer: it is waited for, and then named."""

import logging
import socket

import pytest

from rheostat.errors import PlantError
from rheostat.spark.kafka.broker_client import BrokerAwayError, BrokerClient
from rheostat.spark.kafka.topic import KafkaTopic
from rheostat.spark.streams import topic_source
from rheostat.spark.streams.topic_source import TopicSource

pytestmark = pytest.mark.spark


def test_a_broker_that_comes_late_is_waited_for_and_that_is_told_once(spark, broker, caplog):
    answers = iter([BrokerAwayError("away"), BrokerAwayError("away"), None])

    def ask() -> str:
        error = next(answers)
        if error is not None:
            raise error
        return "there"

    client = BrokerClient(spark, {"kafka.bootstrap.servers": broker.address})
    with caplog.at_level(logging.WARNING):
        assert client.patiently(ask, 30) == "there"
    assert caplog.messages == [f"the Kafka broker at {broker.address} does not answer: waiting up to 30 s"]


def test_a_broker_that_does_not_come_is_named(spark, broker, tmp_path, monkeypatch):
    monkeypatch.setattr(topic_source, "START_PATIENCE_S", 0.1)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(PlantError, match=f"the Kafka broker at {address} does not answer"):
            TopicSource(spark, KafkaTopic("words", address), tmp_path, ["reader"])


def test_a_topic_that_is_not_there_is_not_waited_for(spark, broker, tmp_path):
    with pytest.raises(PlantError, match="there is no topic 'nothing' at"):
        TopicSource(spark, KafkaTopic("nothing", broker.address), tmp_path, ["reader"])

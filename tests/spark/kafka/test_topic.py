import pytest

from rheostat.errors import ConfigError
from rheostat.spark.kafka.topic import KafkaTopic, topic_of


def test_a_topic_in_words():
    assert topic_of("kafka:a.b-c@one:9092,two:9092") == KafkaTopic("a.b-c", "one:9092,two:9092")


@pytest.mark.parametrize("text", ["kafka:words", "kafka:@broker:1", "words@broker:1", "kafka:words@"])
def test_other_words_are_refused(text):
    with pytest.raises(ConfigError, match="is no topic: write kafka:TOPIC@BROKERS"):
        topic_of(text)


def test_secrets_are_shown_nowhere():
    topic = KafkaTopic("words", "broker:1", options={"kafka.sasl.jaas.config": "a secret"})
    assert "secret" not in f"{topic!r} {topic}"
    assert topic.connector_options["kafka.sasl.jaas.config"] == "a secret"


def test_options_that_would_change_what_is_read_are_refused():
    with pytest.raises(ConfigError, match="'startingOffsets' is Rheostat's own to set"):
        KafkaTopic("words", "broker:1", options={"startingOffsets": "latest"})

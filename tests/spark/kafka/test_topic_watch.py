import pytest

from rheostat.spark.kafka.broker_client import TopicPartition, TopicReading, offsets_from_json, offsets_to_json
from rheostat.spark.kafka.topic_watch import arrival_s

WORDS = TopicPartition("words", 0)


def reading(time_s: float, end: int) -> TopicReading:
    return TopicReading(time_s, {WORDS: 0}, {WORDS: end})


def test_a_record_arrived_between_the_reading_without_it_and_the_one_with_it():
    readings = [reading(10, 100), reading(11, 100), reading(13, 104)]
    assert arrival_s(readings, WORDS, 100) == pytest.approx(11.5)
    assert arrival_s(readings, WORDS, 103) == pytest.approx(13.0)


def test_when_a_record_came_that_was_there_at_the_first_reading_is_unknown():
    assert arrival_s([reading(10, 100), reading(11, 120)], WORDS, 99) is None


def test_offsets_are_written_as_they_are_read():
    text = '{"words": {"0": 7, "1": 9}, "a-b": {"0": 1}}'
    assert offsets_to_json(offsets_from_json(text)) == text

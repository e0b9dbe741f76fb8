"""On a real broker: ranges of a topic as Spark's tasks read them."""

import pytest

from rheostat.spark.kafka.broker_client import TopicPartition
from rheostat.spark.kafka.topic import KafkaTopic
from rheostat.spark.streams.topic_records import RECORD_SCHEMA, TopicRecords

pytestmark = pytest.mark.spark


def test_a_range_is_read_in_more_tasks_than_the_topic_has_partitions(spark, new_topic):
    topic = new_topic(2)
    topic.write(map(str, range(60)), partition=0)
    topic.write(map(str, range(60, 90)), partition=1)
    zero, one = (TopicPartition(topic.name, number) for number in (0, 1))
    wide = TopicRecords(spark, KafkaTopic(topic.name, topic.servers, options={"MinPartitions": "6"}))
    records, sizes = wide.between({zero: 0}, {zero: 60, one: 30}, streaming=False)
    assert sizes == [15] * 4 + [15] * 2
    assert records.rdd.getNumPartitions() == 6
    assert records.schema == RECORD_SCHEMA
    assert sorted(int(row.value) for row in records.collect()) == list(range(90))
    records, sizes = TopicRecords(spark, KafkaTopic(topic.name, topic.servers)).between(
        {zero: 50, one: 30}, {zero: 60, one: 30}, streaming=False
    )
    assert sizes == [10]
    assert [(row.partition, row.offset) for row in records.collect()] == [(0, offset) for offset in range(50, 60)]

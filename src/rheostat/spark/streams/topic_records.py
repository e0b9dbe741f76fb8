"""Topic records: ranges of a Kafka topic as rows that arrived in a stream, by Spark's connector."""

import secrets
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)  # fmt: skip

from rheostat.spark.kafka.broker_client import Offsets
from rheostat.spark.kafka.topic import KafkaTopic
from rheostat.spark.streams.entry_times import ENTRY, ENTRY_TYPE, entry_column
from rheostat.spark.streams.jvm_objects import java_session, scala_object

_ROW = "org.apache.spark.sql.catalyst.InternalRow"

RECORD_SCHEMA = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
)
"""The columns of Spark's connector."""

STAMPED_RECORDS = StructType([*RECORD_SCHEMA.fields, StructField(ENTRY, ENTRY_TYPE)])
"""With the time stamp of the record as its entry time."""


def stamped_records(records: DataFrame) -> DataFrame:
    return records.withColumn(ENTRY, entry_column(sf.unix_micros("timestamp")))


class TopicRecords:
    """The records of `topic` for one reader, as DataFrames with the columns of Spark's connector.

    They are read by the connector's own RDD, between positions that are known. Its relation would ask the broker for
    them again in every batch, and its executors would start with new consumers, because it has another group id each
    time.
    """

    def __init__(self, session: SparkSession, topic: KafkaTopic) -> None:
        self._session, self._topic = session, topic
        jvm: Any = session.sparkContext._jvm
        self._jvm = jvm
        self._connector: Any = self._jvm.org.apache.spark.sql.kafka010
        options = topic.connector_options
        given = {key.removeprefix("kafka."): value for key, value in options.items() if key.startswith("kafka.")}
        group = f"{topic.option('groupIdPrefix') or 'rheostat'}-{secrets.token_hex(8)}"
        provider = scala_object(self._jvm, "org.apache.spark.sql.kafka010.KafkaSourceProvider")
        self._settings = provider.kafkaParamsForExecutors(self._jvm.PythonUtils.toScalaMap(given), group)
        self._cut = self._connector.KafkaOffsetRangeCalculator.apply(
            self._jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(options)
        )

    def between(self, start: Offsets, end: Offsets, *, streaming: bool = True) -> tuple[DataFrame, list[int]]:
        """The records from `start` to `end`, and how many there are in each part that one task reads."""
        ranges = self._cut.getRanges(self._ranges(start, end), self._jvm.PythonUtils.toSeq([]))
        context = java_session(self._session).sparkContext()
        rdd = self._connector.KafkaSourceRDD(
            context, self._settings, ranges, self._poll_timeout_ms(context), self._topic.fails_on_loss
        )
        to_row = self._connector.KafkaRecordToRowConverter().toInternalRowWithoutHeaders()
        rows = rdd.map(to_row, self._jvm.scala.reflect.ClassTag.apply(self._jvm.java.lang.Class.forName(_ROW)))
        schema = self._connector.KafkaRecordToRowConverter.kafkaSchema(False)
        df = java_session(self._session).internalCreateDataFrame(rows, schema, streaming)
        return DataFrame(df, self._session), [int(ranges.apply(each).size()) for each in range(ranges.size())]

    def _ranges(self, start: Offsets, end: Offsets) -> Any:
        none, partition = scala_object(self._jvm, "scala.None"), self._jvm.org.apache.kafka.common.TopicPartition
        ranges = [
            self._connector.KafkaOffsetRange(partition(*each), start.get(each, 0), until, none)
            for each, until in end.items()
        ]
        return self._jvm.PythonUtils.toSeq(ranges)

    def _poll_timeout_ms(self, context: Any) -> int:
        """As the connector's relation has it."""
        given = self._topic.option("kafkaConsumer.pollTimeoutMs")
        return int(context.conf().getTimeAsMs("spark.network.timeout", "120s") if given is None else given)

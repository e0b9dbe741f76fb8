"""Topic records: ranges of a Kafka topic as rows that arrived in a stream, by Spark's connector."""

from collections.abc import Mapping, Sequence
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

from rheostat.spark.kafka.broker_client import Offsets, offsets_to_json
from rheostat.spark.streams.entry_times import ENTRY, ENTRY_TYPE, entry_column
from rheostat.spark.streams.jvm_objects import dataframe_of, java_session, scala_object

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


def records_between(
    session: SparkSession, options: Mapping[str, str], start: Offsets, end: Offsets, *, streaming: bool = True
) -> DataFrame:
    """The records from `start` to `end` with the columns of Spark's connector."""
    jvm: Any = session.sparkContext._jvm
    bounds = {each: start.get(each, 0) for each in end}
    assigned = "{" + ", ".join(f'"{topic}": {sorted(n for t, n in end if t == topic)}' for topic, _ in end) + "}"
    # The connector wants the names of its own options in lower case.
    given = {key if key.startswith("kafka.") else key.lower(): value for key, value in options.items()}
    given |= {
        "assign": assigned,
        "startingoffsets": offsets_to_json(bounds),
        "endingoffsets": offsets_to_json(end),
    }
    provider = jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider()
    relation = provider.createRelation(java_session(session).sqlContext(), jvm.PythonUtils.toScalaMap(given))
    logical = scala_object(jvm, "org.apache.spark.sql.execution.datasources.LogicalRelation")
    return dataframe_of(session, logical.apply(relation, streaming))


def even_parts(sizes: Sequence[int], least: int) -> list[int]:
    """The sizes of the parts in which Spark's connector reads ranges of these `sizes`, at `least` so many."""
    total, read = sum(sizes), [size for size in sizes if size]
    if not read or least <= len(read):
        return read
    return [size // parts for size in read for parts in [max(1, round(size / total * least))] for _ in range(parts)]

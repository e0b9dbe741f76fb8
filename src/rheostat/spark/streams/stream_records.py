"""Stream records: the rows of a stream as records of a Kafka topic, with the task attempt that wrote them as their key.

Spark's connector writes at least once. What a task wrote before it failed stays in the topic, and its next attempt
writes everything again; so does a batch that is repeated. Each attempt of a task has another key, and Spark tells
which attempt of each task has succeeded: its records, and no others, are those of the batch.
"""

import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from rheostat.errors import TopologyError
from rheostat.spark.kafka.topic import KafkaTopic
from rheostat.spark.streams.entry_times import ENTRY
from rheostat.spark.streams.jvm_objects import java_frame, java_session, scala_object
from rheostat.spark.streams.named_outputs import OUTPUT
from rheostat.spark.streams.offset_log import RowStatistics

_ROW_FORMAT = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Of rows as JSON. Spark's own formats cut times to milliseconds."""

_WRITER_OPTIONS = {"kafka.acks": "all", "kafka.enable.idempotence": "true"}
"""What a task has written is there when it ends, and once even if Kafka's client has sent it twice."""

_TASK = "__task"
_VALUE = "__value"
_WRITTEN = "rheostat_written"
_US = 1e6


class WrittenRows(NamedTuple):
    """What one attempt at a batch has written: statistics by output, and the keys of the records that count."""

    outputs: dict[str, RowStatistics]
    writers: list[str]


def check_row_format(stream: str, schema: StructType) -> None:
    """Refuse columns that JSON cannot hold."""
    for field in schema.fields:
        if _has_odd_map(field.dataType):
            raise TopologyError(
                f"column {field.name!r} of stream {stream!r} is a {field.dataType.simpleString()}: a stream in Kafka "
                "holds only maps with strings as keys; use such a map, an array of structs, or streams in files"
            )


def write_rows(df: DataFrame, topic: KafkaTopic, partitions: int) -> WrittenRows:
    """Write the rows of `df`, spread evenly over the partitions."""
    attempt = secrets.token_hex(8)
    row = sf.to_json(sf.struct(*(sf.col(f"`{name}`") for name in df.columns)), _ROW_FORMAT)
    hidden = [name for name in (OUTPUT, ENTRY) if name in df.columns]
    outputs = _outputs(df.schema)
    rows = df.select(*hidden, row.alias(_VALUE), _task_attempt(df).alias(_TASK))
    counted = rows.observe(_WRITTEN, sf.collect_set(_TASK).alias("tasks"), *_statistics(outputs, rows.columns))
    records = java_frame(
        counted.select(
            sf.concat_ws("/", sf.lit(attempt), sf.col(_TASK)).alias("key"),
            sf.col(_VALUE).alias("value"),
            sf.pmod(sf.monotonically_increasing_id(), sf.lit(partitions)).cast("int").alias("partition"),
        )
    )
    jvm: Any = df.sparkSession.sparkContext._jvm
    options = jvm.PythonUtils.toScalaMap({**topic.connector_options, **_WRITER_OPTIONS, "topic": topic.name})
    context, append = java_session(df.sparkSession).sqlContext(), jvm.org.apache.spark.sql.SaveMode.Append
    jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider().createRelation(context, append, options, records)
    seen = json.loads(records.queryExecution().observedMetrics().apply(_WRITTEN).json())
    return WrittenRows(
        {name: _row_statistics(seen, number) for number, name in enumerate(outputs)},
        [f"{attempt}/{task}" for task in sorted(seen["tasks"])],
    )


def of_writers(records: DataFrame, writers: Collection[str]) -> DataFrame:
    """Those of `records` that one of `writers` wrote."""
    return records.filter(sf.col("key").cast("string").isin(*writers))


def rows_of(records: DataFrame, schema: StructType) -> DataFrame:
    """The rows in `records`."""
    row = sf.from_json(sf.col("value").cast("string"), schema, {**_ROW_FORMAT, "mode": "FAILFAST"})
    return records.select(row.alias("row")).select("row.*")


def _task_attempt(df: DataFrame) -> Column:
    """The number of the task attempt that computes a row, unique in the application: `TaskContext.taskAttemptId`."""
    jvm: Any = df.sparkSession.sparkContext._jvm
    expressions, types = jvm.org.apache.spark.sql.catalyst.expressions.objects, jvm.org.apache.spark.sql.types
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    context = jvm.java.lang.Class.forName("org.apache.spark.TaskContext", True, loader)
    nothing, none = jvm.PythonUtils.toSeq([]), scala_object(jvm, "scala.None")
    # Neither is deterministic, so that Spark does not compute them once on the driver.
    task = expressions.StaticInvoke(
        context, types.ObjectType(context), "get", nothing, nothing, True, True, False, none
    )
    number = scala_object(jvm, "org.apache.spark.sql.types.LongType")
    attempt = expressions.Invoke(task, "taskAttemptId", number, nothing, nothing, True, False, False)
    return Column(scala_object(jvm, "org.apache.spark.sql.classic.ExpressionUtils").column(attempt))


def _outputs(schema: StructType) -> list[str]:
    """The outputs in a stream; "" stands for the only one."""
    return [name for name in schema.names if name not in (OUTPUT, ENTRY)] if OUTPUT in schema.names else [""]


def _statistics(outputs: Sequence[str], columns: Collection[str]) -> list[Column]:
    found = []
    for number, output in enumerate(outputs):
        own = sf.lit(True) if OUTPUT not in columns else sf.col(OUTPUT) == output
        entry = sf.when(own, sf.col(ENTRY).cast("long") if ENTRY in columns else sf.lit(None).cast("long"))
        found += [
            sf.count(sf.when(own, 1)).alias(f"rows{number}"),
            sf.sum(sf.when(own, sf.octet_length(_VALUE))).alias(f"bytes{number}"),
            sf.count(entry).alias(f"known{number}"),
            sf.avg(entry).alias(f"mean{number}"),
            sf.min(entry).alias(f"first{number}"),
            sf.max(entry).alias(f"last{number}"),
        ]
    return found


def _row_statistics(seen: Mapping[str, Any], number: int) -> RowStatistics:
    rows, size, known = (seen.get(f"{name}{number}") or 0 for name in ("rows", "bytes", "known"))
    mean_s, first_s, last_s = (float(seen.get(f"{name}{number}") or 0) / _US for name in ("mean", "first", "last"))
    return RowStatistics(rows, size, known, min(max(first_s, mean_s), last_s), first_s, last_s)


def _has_odd_map(kind: DataType) -> bool:
    match kind:
        case StructType():
            return any(_has_odd_map(field.dataType) for field in kind.fields)
        case ArrayType():
            return _has_odd_map(kind.elementType)
        case MapType():
            return not isinstance(kind.keyType, StringType) or _has_odd_map(kind.valueType)
        case _:
            return False

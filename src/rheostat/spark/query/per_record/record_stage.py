"""A function on single records as a stage of a DataFrame."""

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rheostat.errors import TopologyError
from rheostat.spark.query.failure import reason_of
from rheostat.spark.query.grouping.cost_sketch import VALUE, value_of
from rheostat.spark.query.per_record.record_function import RecordFunction
from rheostat.spark.query.per_record.record_worker import worker_for
from rheostat.spark.query.per_record.timings import Stopwatch
from rheostat.spark.streams.entry_times import ENTRY


def applied(df: DataFrame, operator: str, function: RecordFunction, stopwatch: Stopwatch) -> DataFrame:
    """`function` on every record of `df`; what it makes of a record has the record's entry time."""
    fields = [*function.stream_schema(operator).fields, *(part for part in df.schema.fields if part.name == ENTRY)]
    return _with_values(df, operator, function.cost).mapInArrow(
        worker_for(operator, function, stopwatch).run, StructType(fields)
    )


def _with_values(df: DataFrame, operator: str, cost: str | None) -> DataFrame:
    """`df` with the values beside it by which costs are learned."""
    if cost is None:
        return df
    if cost not in df.columns:
        raise TopologyError(
            f"operator {operator!r}: the cost column {cost!r} is not in its input: {', '.join(df.columns)}"
        )
    try:
        return df.withColumn(VALUE, value_of(cost))
    except AnalysisException as error:
        raise TopologyError(
            f"operator {operator!r}: the cost column {cost!r} has no hash: {reason_of(error)}"
        ) from None

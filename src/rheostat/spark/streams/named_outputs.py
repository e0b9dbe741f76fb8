"""Named outputs: several outputs in one stream. Each row has the name of its output and its columns in a struct.

A query can write only one stream, and all outputs of a batch must be published together or not at all.
"""

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from rheostat.spark.streams.entry_times import ENTRY

OUTPUT = "__output"


def in_one_stream(outputs: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of all `outputs`, each with the name of its output."""
    marked = [_with_name(name, df) for name, df in outputs.items()]
    united = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), marked)
    entry = [ENTRY] if ENTRY in united.columns else []
    return united.select(OUTPUT, *(f"`{name}`" for name in outputs), *entry)


def of_output(df: DataFrame, output: str) -> DataFrame:
    """The rows of one output, as they were before `in_one_stream`."""
    columns = [f"`{output}`.*", *([ENTRY] if ENTRY in df.columns else [])]
    return df.filter(sf.col(OUTPUT) == output).select(*columns)


def schema_in_one_stream(outputs: Mapping[str, StructType]) -> StructType:
    """The schema of a stream that holds outputs with these schemas."""
    structs = [StructField(name, _without_entry(schema)) for name, schema in outputs.items()]
    entry = [schema[ENTRY] for schema in outputs.values() if ENTRY in schema.names]
    return StructType([StructField(OUTPUT, StringType()), *structs, *entry[:1]])


def schema_of_output(schema: StructType, output: str) -> StructType:
    """The columns of one output, with its entry time if the stream has it."""
    columns = schema[output].dataType
    assert isinstance(columns, StructType)
    return StructType([*columns.fields, *(field for field in schema.fields if field.name == ENTRY)])


def _with_name(name: str, df: DataFrame) -> DataFrame:
    columns = [sf.col(f"`{column}`") for column in df.columns if column != ENTRY]
    entry = [sf.col(ENTRY)] if ENTRY in df.columns else []
    return df.select(sf.lit(name).alias(OUTPUT), sf.struct(*columns).alias(name), *entry)


def _without_entry(schema: StructType) -> StructType:
    return StructType([field for field in schema.fields if field.name != ENTRY])

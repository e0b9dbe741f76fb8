"""Which executors run a stage: the rows of a DataFrame, computed in the pool of a resource profile."""

from collections.abc import Iterator
from typing import Any

from pyarrow import RecordBatch
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame

from rheostat.spark.install import jvm_helpers


def pin(df: DataFrame, profile: ResourceProfile) -> DataFrame:
    """`df`, with the stage that computes it run only on executors of `profile`.

    A stage reaches from one shuffle to the next: to hold a whole keyed operator in a pool, pin what it reads
    and what it returns. Works in streaming queries. With the JVM helpers it costs nothing per row; without
    them every row passes through a Python worker of the executor.
    """
    jvm: Any = df.sparkSession.sparkContext._jvm
    if not jvm_helpers.is_loaded(jvm):
        return pin_by_identity(df, profile)
    classic: Any = df
    plan = jvm.org.apache.spark.sql.rheostat.Pin.pin(classic._jdf, classic._build_java_profile(profile))
    return DataFrame(plan, df.sparkSession)


def pin_by_identity(df: DataFrame, profile: ResourceProfile) -> DataFrame:
    """As `pin`, by means of plain PySpark only."""
    return df.mapInArrow(_identity, df.schema, profile=profile)


def _identity(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    return batches

"""Parquet files: how the files of a stream are written and read by Spark."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.spark.streams.file_statistics import FOOTER_OPTIONS
from rheostat.spark.streams.jvm_objects import cloned_session, dataframe_of, java_frame, java_session, scala_object

_NO_STATISTICS = {
    "parquet.column.statistics.enabled": "false",
    "parquet.size.statistics.enabled": "false",
}
"""Streams are always read whole, so statistics that help to skip parts of a file are not worth writing."""


def file_sink(session: SparkSession, folder: Path, compression: str) -> Any:
    """Spark's own file sink: `addBatch(number, java_frame)` publishes a batch once."""
    jvm: Any = session.sparkContext._jvm
    spark_sql = jvm.org.apache.spark.sql.execution
    return spark_sql.streaming.sinks.FileStreamSink(
        java_session(session),
        str(folder),
        spark_sql.datasources.parquet.ParquetFileFormat(),
        jvm.PythonUtils.toSeq([]),
        jvm.PythonUtils.toScalaMap({"compression": compression, **_NO_STATISTICS, **FOOTER_OPTIONS}),
    )


class FileReader:
    """Reads files of a known schema as rows that arrived in a stream, with few calls to the JVM.

    It has a session of its own: how files are packed into tasks is a setting there, which differs between readers.
    """

    def __init__(self, session: SparkSession, schema: StructType) -> None:
        self._session = cloned_session(session)
        jvm: Any = session.sparkContext._jvm
        java = java_session(self._session)
        self._lines = jvm.java.util.regex.Pattern.compile("\n")
        self._no_paths = session.sparkContext._gateway.new_array(jvm.java.lang.String, 0)  # type: ignore[union-attr]
        self._relation = scala_object(jvm, "org.apache.spark.sql.execution.datasources.LogicalRelation")
        reader = java.read().format("parquet").schema(java.parseDataType(schema.json()))
        self._reader = reader.option("__globPaths__", "false")

    def read(self, paths: Sequence[Path]) -> DataFrame:
        # One string and one split are two calls; an array filled in Python would be a call for each path.
        names = self._lines.split("\n".join(str(path) for path in paths)) if paths else self._no_paths
        files = java_frame(DataFrame(self._reader.load(names), self._session)).logicalPlan().relation()
        return dataframe_of(self._session, self._relation.apply(files, True))

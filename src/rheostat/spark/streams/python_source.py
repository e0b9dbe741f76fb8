"""Python source: a streaming source written in Python whose batches are native DataFrames.

Spark asks a source for two things: how far there is data, and the DataFrame between two positions. It asks both on the
driver, so a source can be written in Python without any row passing through Python: the DataFrame is planned and run
by Spark. It is planned anew for each batch, so the number of tasks and the grouping of rows can change from batch to
batch without a restart.

Positions are whole numbers. Spark logs them in the query's checkpoint. After a restart it asks for the same range
again, which must then give the same rows.
"""

from collections.abc import Callable
from typing import Any, Protocol

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.errors import PlantError
from rheostat.spark.streams.jvm_objects import dataframe_of, java_frame, java_session, scala_object

_STREAMING = "org.apache.spark.sql.execution.streaming"
NOTHING_YET = -1
"""The position before the first record."""


class BatchSource(Protocol):
    """What Spark reads, in positions from 0."""

    @property
    def schema(self) -> StructType: ...

    def newest(self, committed: int) -> int:
        """The last position that can be read now, or `NOTHING_YET`. All up to `committed` is in committed batches.

        May wait a moment for new data.
        """
        ...

    def batch(self, after: int, until: int) -> DataFrame:
        """The rows of the positions after `after`, `until` included. It must be a streaming DataFrame."""
        ...

    def done(self, until: int) -> None:
        """Nothing up to `until` will be asked for again."""
        ...


OnError = Callable[[Exception], None]


def open_source(
    session: SparkSession, source: BatchSource, name: str, on_error: OnError = lambda error: None
) -> DataFrame:
    """`source` as a streaming DataFrame of `session`; `name` is what Spark's progress reports call it.

    `on_error` gets what the source raises, before the query fails with it.
    """
    sc = session.sparkContext
    ensure_callback_server_started(sc._gateway)  # type: ignore[no-untyped-call]
    relation = scala_object(sc._jvm, f"{_STREAMING}.runtime.StreamingExecutionRelation")
    proxy = _SourceProxy(session, source, name, on_error)
    return dataframe_of(session, relation.apply(proxy, java_session(session)))


class _SourceProxy:
    """Spark's `Source` interface over a `BatchSource`. Method names and arguments are Spark's."""

    class Java:
        implements = (
            f"{_STREAMING}.Source",
            "org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl",
        )

    def __init__(self, session: SparkSession, source: BatchSource, name: str, on_error: OnError) -> None:
        jvm: Any = session.sparkContext._jvm
        self._source = source
        self._name = name
        self._on_error = on_error
        self._schema = java_session(session).parseDataType(source.schema.json())
        self._read_all = jvm.org.apache.spark.sql.connector.read.streaming.ReadLimit.allAvailable()
        self._offset = getattr(jvm, f"{_STREAMING}.runtime.LongOffset")

    def schema(self) -> Any:
        return self._schema

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        return self._read_all

    def latestOffset(self, start: Any, limit: Any) -> Any:  # noqa: N802
        committed = NOTHING_YET if start is None else _position(start)
        newest = self._ask(lambda: self._source.newest(committed))
        return None if newest == NOTHING_YET else self._offset(newest)

    def reportLatestOffset(self) -> None:  # noqa: N802
        """Spark would show it as a lag in positions. The backlog in rows is measured elsewhere."""

    def getBatch(self, start: Any, end: Any) -> Any:  # noqa: N802
        after = _position(start.get()) if start.isDefined() else NOTHING_YET
        until = _position(end)
        return self._ask(lambda: java_frame(self._source.batch(after, until)))

    def commit(self, end: Any) -> None:
        until = _position(end)
        self._ask(lambda: self._source.done(until))

    def stop(self) -> None:
        """Nothing is held open."""

    def _ask(self, question: Callable[[], Any]) -> Any:
        """Spark searches the text of an error and overflows on a long one, so it gets a short one."""
        try:
            return question()
        except Exception as error:
            self._on_error(error)
            raise PlantError(f"{self._name} cannot be read: {str(error)[:200]}") from None

    # The JVM asks a proxy even for these, and keeps sources in hash maps.
    def toString(self) -> str:  # noqa: N802
        return self._name

    def hashCode(self) -> int:  # noqa: N802
        return id(self) & 0x7FFFFFFF

    def equals(self, other: Any) -> bool:
        return other is self


def _position(offset: Any) -> int:
    return int(offset.json())

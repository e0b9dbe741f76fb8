"""Streams as Parquet files in a directory that the driver and all executors see.

Writing is Spark's own file sink, called with each batch: it writes the files, publishes them all at once by an
entry in its log, and skips a batch number that is in the log already. Reading is not Spark's file source. That one
keeps every file it has ever seen in a log which it rewrites again and again, so that each day of running makes
each batch dearer; here a position in the stream is simply the number of a log entry.

The sink's log would be compacted into one ever longer file too. Its interval is set so that this never happens;
entries and files that every reader is done with are deleted instead.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.errors import PlantError
from rheostat.spark.streams.batch_limit import Pace
from rheostat.spark.streams.content import FOOTER_OPTIONS, content_of
from rheostat.spark.streams.entry_times import ENTRY, EntryTimes
from rheostat.spark.streams.gate import Gate
from rheostat.spark.streams.outputs import of_output, schema_of_output
from rheostat.spark.streams.retention import Retention
from rheostat.spark.streams.sink_log import SinkLog
from rheostat.spark.streams.source import NOTHING_YET, file_relation, java_frame, open_source
from rheostat.spark.streams.stream import Arrange, Arrival

_EMPTY_BATCHES = 100
"""Batches without rows are not worth reading until there are so many that they must be removed."""

_UNREAD_IN_FILES = {
    "parquet.column.statistics.enabled": "false",
    "parquet.size.statistics.enabled": "false",
}
"""Nobody searches a stream: what would help to skip parts of its files is not worth its share of writing them."""

_SESSION_SETTINGS = {
    "spark.sql.streaming.fileSink.log.compactInterval": str(2**31 - 1),
    # A batch may have many files: list them here, not in a Spark job, and do not remember them.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
}


@dataclass(frozen=True, slots=True)
class FileStreams:
    """The kind: a directory for each stream under `root`. Not compressed, unless another Parquet codec is named."""

    root: Path
    compression: str = "uncompressed"

    @property
    def session_settings(self) -> Mapping[str, str]:
        return _SESSION_SETTINGS

    def open(self, session: SparkSession, name: str, schema: StructType, readers: Sequence[str]) -> "FileStream":
        folder = self.root / name
        folder.mkdir(parents=True, exist_ok=True)
        return FileStream(session, folder, schema, readers, self.compression)


class FileStream:
    """One stream. Position n is the batch that the writing query calls n."""

    def __init__(
        self, session: SparkSession, folder: Path, schema: StructType, readers: Sequence[str], compression: str
    ) -> None:
        self.schema = schema
        self.log = SinkLog(folder)
        self.log.remove_unpublished()
        self.retention = Retention(readers, self._remove)
        self._inherited: dict[int, EntryTimes] = {}
        self._sink = _file_sink(session, folder, compression)

    def is_published(self, batch: int) -> bool:
        return batch <= self.log.newest()

    def publish(self, df: DataFrame, batch: int, entry: EntryTimes | None) -> None:
        if ENTRY not in self.schema.names and entry is not None:
            self._inherited[batch] = entry
        self._sink.addBatch(batch, java_frame(df))

    def arrival(self, number: int, output: str | None) -> Arrival:
        """What one published batch holds for readers of `output`."""
        files = self.log.files(number)
        rows, entry = content_of(files, output)
        if entry is None and number in self._inherited:
            entry = self._inherited[number].as_of(rows)
        return Arrival(number, self.log.published_s(number), rows, sum(file.bytes for file in files), entry)

    def _remove(self, until: int) -> None:
        self._inherited = {number: entry for number, entry in self._inherited.items() if number > until}
        self.log.remove(until)

    def reader(
        self, session: SparkSession, who: str, output: str | None, arrange: Arrange, gate: Gate
    ) -> "FileStreamReader":
        return FileStreamReader(session, self, who, output, arrange, gate)


class FileStreamReader:
    """One reader of a stream; to Spark a `BatchSource`."""

    def __init__(
        self, session: SparkSession, stream: FileStream, who: str, output: str | None, arrange: Arrange, gate: Gate
    ) -> None:
        self._session = session
        self._stream = stream
        self._log = stream.log
        self._who = who
        self._output = output
        self._arrange = arrange
        self._gate = gate
        self._pace = Pace()
        self._files = _FileReader(_own_session(session), stream.schema)
        self._arrivals: dict[int, Arrival] = {}
        self._seen = self._log.first - 1
        self._offered = NOTHING_YET
        self._committed: int | None = None
        self._under_way: tuple[int, int] | None = None
        self._lock = threading.Lock()
        gate.watch(self.has_news)

    @property
    def schema(self) -> StructType:
        return self._stream.schema if self._output is None else schema_of_output(self._stream.schema, self._output)

    @cached_property
    def df(self) -> DataFrame:
        return open_source(self._session, self, f"stream {self._log.folder.name}", self._gate.fail)

    def newest(self, committed: int) -> int:
        self._committed = committed
        self._pace.end(time.monotonic())
        self._offered = max(self._offered, committed)
        if self._gate.wait():
            self._offered = self._worth_reading()
        return self._offered

    def batch(self, after: int, until: int) -> DataFrame:
        self._look()
        self._under_way = (after, until)
        self._pace.begin(sum(arrival.rows for arrival in self._between(after, until)), time.monotonic())
        files = [file for number in range(after + 1, until + 1) for file in self._log.files(number)]
        df = self._files.read([file.path for file in files])
        if self._output is not None:
            df = of_output(df, self._output)
        return self._arrange(df, [file.bytes for file in files])

    def done(self, until: int) -> None:
        with self._lock:
            self._arrivals = {number: arrival for number, arrival in self._arrivals.items() if number > until}
        self._stream.retention.release(self._who, until)

    def has_news(self) -> bool:
        return self._worth_reading() > self._offered

    def taken(self) -> tuple[Arrival, ...]:
        if self._under_way is None:
            return ()
        after, until = self._under_way
        self._under_way = None
        return self._between(after if self._committed is None else max(after, self._committed), until)

    def waiting(self) -> tuple[Arrival, ...] | None:
        if self._committed is None:
            return None
        try:
            self._look()
        except PlantError:
            return None  # its query fails on it as well, and says so
        return self._between(self._committed, self._seen)

    def _worth_reading(self) -> int:
        self._look()
        fresh = self._pace.at_once(self._between(self._offered, self._seen))
        if len(fresh) >= _EMPTY_BATCHES:
            return fresh[-1].position
        return max((arrival.position for arrival in fresh if arrival.rows), default=self._offered)

    def _between(self, after: int, until: int) -> tuple[Arrival, ...]:
        arrivals = self._arrivals
        return tuple(arrivals[number] for number in range(after + 1, until + 1) if number in arrivals)

    def _look(self) -> None:
        """Take note of what was published since the last look."""
        with self._lock:
            for number in range(max(self._seen + 1, self._log.first), self._log.newest() + 1):
                self._arrivals[number] = self._stream.arrival(number, self._output)
                self._seen = number


class _FileReader:
    """Reads files of a known schema as rows of a stream, with as few calls to the JVM as it takes."""

    def __init__(self, session: SparkSession, schema: StructType) -> None:
        jvm: Any = session.sparkContext._jvm
        java: Any = session
        self._session = session
        self._lines = jvm.java.util.regex.Pattern.compile("\n")
        self._nothing = session.sparkContext._gateway.new_array(jvm.java.lang.String, 0)  # type: ignore[union-attr]
        struct = java._jsparkSession.parseDataType(schema.json())
        reader = java._jsparkSession.read().format("parquet").schema(struct)
        self._reader = reader.option("__globPaths__", "false")

    def read(self, paths: Sequence[Path]) -> DataFrame:
        names = self._lines.split("\n".join(str(path) for path in paths)) if paths else self._nothing
        return file_relation(self._session, DataFrame(self._reader.load(names), self._session))


def _own_session(session: SparkSession) -> SparkSession:
    """How files are packed into tasks is a setting of the session, and differs from reader to reader."""
    java: Any = session
    return SparkSession(session.sparkContext, java._jsparkSession.cloneSession())


def _file_sink(session: SparkSession, folder: Path, compression: str) -> Any:
    jvm: Any = session.sparkContext._jvm
    java: Any = session
    spark_sql = jvm.org.apache.spark.sql.execution
    return spark_sql.streaming.sinks.FileStreamSink(
        java._jsparkSession,
        str(folder),
        spark_sql.datasources.parquet.ParquetFileFormat(),
        jvm.PythonUtils.toSeq([]),
        jvm.PythonUtils.toScalaMap({"compression": compression, **_UNREAD_IN_FILES, **FOOTER_OPTIONS}),
    )

"""File streams: streams as Parquet files in a directory that the driver and all executors see.

Batches are written by Spark's own file sink. It writes the files, publishes them all at once by an entry in its log,
and skips a batch number that is in the log already. They are not read by Spark's file source, which keeps every file it
has ever seen in a log that it rewrites again and again, so that a batch costs more every day. Here a position in the
stream is the number of a log entry.

Spark would also compact the sink's log into one file that only grows. Its interval is set so that this never happens;
instead, entries and files that all readers are done with are deleted.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.errors import PlantError
from rheostat.spark.streams.batch_admission import BatchAdmission
from rheostat.spark.streams.batch_limit import BatchLimit
from rheostat.spark.streams.entry_times import ENTRY, EntryTimes
from rheostat.spark.streams.file_statistics import file_statistics
from rheostat.spark.streams.jvm_objects import java_frame
from rheostat.spark.streams.named_outputs import of_output, schema_of_output
from rheostat.spark.streams.parquet_files import FileReader, file_sink
from rheostat.spark.streams.python_source import NOTHING_YET, open_source
from rheostat.spark.streams.sink_log import SinkLog
from rheostat.spark.streams.stream import Arrival, SpreadRows

_MOST_EMPTY_BATCHES = 100
"""Batches without rows are not worth reading until there are so many that they should be deleted."""

_SESSION_SETTINGS = {
    "spark.sql.streaming.fileSink.log.compactInterval": str(2**31 - 1),
    # A batch may have many files: list them here, not in a Spark job, and do not cache the list.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
}


@dataclass(frozen=True, slots=True)
class FileStreams:
    """Streams under `root`, each in a directory of its own. `compression` is a Parquet codec."""

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
    """One stream. Position n is batch n of the query that writes it."""

    def __init__(
        self, session: SparkSession, folder: Path, schema: StructType, readers: Sequence[str], compression: str
    ) -> None:
        self.schema = schema
        self.log = SinkLog(folder)
        self.log.remove_unpublished()
        self.retention = Retention(readers, self._remove)
        self._inherited: dict[int, EntryTimes] = {}
        self._sink = file_sink(session, folder, compression)

    def is_published(self, batch: int) -> bool:
        return batch <= self.log.newest()

    def publish(self, df: DataFrame, batch: int, entry: EntryTimes | None) -> None:
        if ENTRY not in self.schema.names and entry is not None:
            self._inherited[batch] = entry
        self._sink.addBatch(batch, java_frame(df))

    def arrival(self, number: int, output: str | None) -> Arrival:
        """What one published batch holds for readers of `output`."""
        files = self.log.files(number)
        rows, entry = file_statistics(files, output)
        if entry is None and number in self._inherited:
            entry = self._inherited[number].as_of(rows)
        return Arrival(number, self.log.published_s(number), rows, sum(file.bytes for file in files), entry)

    def reader(
        self, session: SparkSession, name: str, output: str | None, spread: SpreadRows, admission: BatchAdmission
    ) -> "FileStreamReader":
        return FileStreamReader(session, self, name, output, spread, admission)

    def _remove(self, until: int) -> None:
        self._inherited = {number: entry for number, entry in self._inherited.items() if number > until}
        self.log.remove(until)


class Retention:
    """Calls `remove` with the last position that all `readers` are done with, whenever it has grown.

    A reader is done with a position when Spark will never ask for it again, which is one batch after it was committed.
    After a restart nothing is removed until each reader has reported again.
    """

    def __init__(self, readers: Iterable[str], remove: Callable[[int], None]) -> None:
        self._done = dict.fromkeys(readers, NOTHING_YET)
        self._remove = remove
        self._removed = NOTHING_YET
        self._lock = threading.Lock()

    def release(self, reader: str, until: int) -> None:
        """`reader` is done with everything up to `until`."""
        with self._lock:
            self._done[reader] = max(self._done[reader], until)
            slowest = min(self._done.values())
            if slowest > self._removed:
                self._remove(slowest)
                self._removed = slowest


class FileStreamReader:
    """One reader of a stream; to Spark a `BatchSource`.

    Spark's query and the control loop ask it from different threads. Positions in the order in which a batch passes
    them: `_seen` (its files are known), `_offered` (Spark was told of it), `_committed` (it is in a committed batch).
    """

    def __init__(
        self,
        session: SparkSession,
        stream: FileStream,
        name: str,
        output: str | None,
        spread: SpreadRows,
        admission: BatchAdmission,
    ) -> None:
        self._session = session
        self._stream = stream
        self._log = stream.log
        self._name = name
        self._output = output
        self._spread = spread
        self._admission = admission
        self._limit = BatchLimit()
        self._files = FileReader(session, stream.schema)
        self._arrivals: dict[int, Arrival] = {}
        self._seen = self._log.first - 1
        self._offered = NOTHING_YET
        self._committed: int | None = None
        self._under_way: tuple[int, int] | None = None
        self._lock = threading.Lock()
        admission.watch(self.has_new_input)

    @property
    def schema(self) -> StructType:
        return self._stream.schema if self._output is None else schema_of_output(self._stream.schema, self._output)

    @cached_property
    def df(self) -> DataFrame:
        return open_source(self._session, self, f"stream {self._log.folder.name}", self._admission.fail)

    def newest(self, committed: int) -> int:
        self._committed = committed
        self._limit.batch_ended(time.monotonic())
        self._offered = max(self._offered, committed)
        if self._admission.wait_for_input():
            self._offered = self._worth_reading()
        return self._offered

    def batch(self, after: int, until: int) -> DataFrame:
        self._look()
        self._under_way = (after, until)
        self._limit.batch_started(sum(arrival.rows for arrival in self._between(after, until)), time.monotonic())
        files = [file for number in range(after + 1, until + 1) for file in self._log.files(number)]
        df = self._files.read([file.path for file in files])
        if self._output is not None:
            df = of_output(df, self._output)
        return self._spread(df, [file.bytes for file in files])

    def done(self, until: int) -> None:
        with self._lock:
            self._arrivals = {number: arrival for number, arrival in self._arrivals.items() if number > until}
        self._stream.retention.release(self._name, until)

    def has_new_input(self) -> bool:
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
            return None  # the query fails with the same error and reports it
        return self._between(self._committed, self._seen)

    def _worth_reading(self) -> int:
        """The last position that the next batch should read."""
        self._look()
        admitted = self._limit.admitted(self._between(self._offered, self._seen))
        if len(admitted) >= _MOST_EMPTY_BATCHES:
            return admitted[-1].position
        return max((arrival.position for arrival in admitted if arrival.rows), default=self._offered)

    def _between(self, after: int, until: int) -> tuple[Arrival, ...]:
        arrivals = self._arrivals
        return tuple(arrivals[number] for number in range(after + 1, until + 1) if number in arrivals)

    def _look(self) -> None:
        """Read the statistics of what was published since the last look."""
        with self._lock:
            for number in range(max(self._seen + 1, self._log.first), self._log.newest() + 1):
                self._arrivals[number] = self._stream.arrival(number, self._output)
                self._seen = number

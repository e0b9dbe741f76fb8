"""File streams: streams as Parquet files in a directory that the driver and all executors see.

Batches are written by Spark's own file sink. It writes the files, publishes them all at once by an entry in its log,
and skips a batch number that is in the log already. They are not read by Spark's file source, which keeps every file it
has ever seen in a log that it rewrites again and again, so that a batch costs more every day. Here a position in the
stream is the number of a log entry.

Spark would also compact the sink's log into one file that only grows. Its interval is set so that this never happens;
instead, entries and files that all readers are done with are deleted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.errors import PlantError
from rheostat.snapshot import PartitionState
from rheostat.spark.streams.batch_admission import BatchAdmission
from rheostat.spark.streams.entry_times import ENTRY, EntryTimes
from rheostat.spark.streams.file_statistics import file_statistics
from rheostat.spark.streams.jvm_objects import java_frame
from rheostat.spark.streams.log_reader import LogReader, ReadRows, Retention
from rheostat.spark.streams.offset_log import is_in_topic
from rheostat.spark.streams.parquet_files import FileReader, file_sink
from rheostat.spark.streams.sink_log import SinkLog
from rheostat.spark.streams.stream import Arrival, SpreadRows

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
        if is_in_topic(folder):
            raise PlantError(
                f"the stream in {folder} is a Kafka topic: go on with the same topics, or use another directory"
            )
        folder.mkdir(parents=True, exist_ok=True)
        return FileStream(session, folder, schema, readers, self.compression)

    def close(self) -> None:
        """Nothing is held open."""


class FileStream:
    """One stream. Position n is batch n of the query that writes it."""

    def __init__(
        self, session: SparkSession, folder: Path, schema: StructType, readers: Sequence[str], compression: str
    ) -> None:
        self.schema, self.name = schema, f"stream {folder.name}"
        self.problem: str | None = None
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

    @property
    def first(self) -> int:
        return self.log.first

    def newest(self) -> int:
        return self.log.newest()

    def arrival(self, number: int, output: str | None) -> Arrival:
        """What one published batch holds for readers of `output`."""
        files = self.log.files(number)
        rows, entry = file_statistics(files, output)
        if entry is None and number in self._inherited:
            entry = self._inherited[number].as_of(rows)
        return Arrival(number, self.log.published_s(number), rows, sum(file.bytes for file in files), entry)

    def partitions(self, after: int) -> tuple[PartitionState, ...]:
        return ()

    def reader(
        self, session: SparkSession, name: str, output: str | None, spread: SpreadRows, admission: BatchAdmission
    ) -> LogReader:
        return LogReader(session, self, name, output, spread, admission)

    def rows(self, session: SparkSession) -> ReadRows:
        reader = FileReader(session, self.schema)

        def read(after: int, until: int) -> tuple[DataFrame, Sequence[int]]:
            files = [file for number in range(after + 1, until + 1) for file in self.log.files(number)]
            return reader.read([file.path for file in files]), [file.bytes for file in files]

        return read

    def _remove(self, until: int) -> None:
        self._inherited = {number: entry for number, entry in self._inherited.items() if number > until}
        self.log.remove(until)

"""The running query of one unit: reads its streams, computes, publishes, and keeps a record of its batches."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from rheostat.errors import PlantError, TopologyError
from rheostat.spark.query.assembly import wants_final_rows
from rheostat.spark.query.batch_log import BatchLog, WrittenBatch, entry_of
from rheostat.spark.query.failure import QueryError, reason_of
from rheostat.spark.query.sinks import Sink
from rheostat.spark.query.unit import Unit
from rheostat.spark.streams.entry_times import ENTRY, EntryTimes, watched_times
from rheostat.spark.streams.gate import Gate
from rheostat.spark.streams.outputs import of_output
from rheostat.spark.streams.stream import Stream, StreamReader


class UnitQuery:
    """One Structured Streaming query. `df` is everything it computes, `readers` where its input comes from."""

    def __init__(
        self,
        unit: Unit,
        df: DataFrame,
        readers: Mapping[str, StreamReader],
        stream: Stream | None,
        sinks: Mapping[str, Sink],
        gate: Gate,
        checkpoint: Path,
    ) -> None:
        self.unit = unit
        self.readers = readers
        fused_source = unit.source.name if unit.source and unit.operators else None
        self.batches = BatchLog(checkpoint, fused_source, self._source_report)
        self.query: StreamingQuery | None = None
        self._df = df
        self._stream = stream
        self._sinks = sinks
        self._gate = gate
        self.checkpoint = checkpoint
        self._error: Exception | None = None
        self._is_writing = False

    def start(self, name: str) -> None:
        """Begin where the checkpoint says, or at the beginning."""
        refusal: AnalysisException | None = None
        # Joins of streams, for one, have only final rows to give, and Spark refuses to call them updates.
        for mode in ("append",) if wants_final_rows(self.unit) else ("update", "append"):
            try:
                self.query = self._started(name, mode)
                return
            except AnalysisException as error:
                refusal = error
        assert refusal is not None
        raise TopologyError(f"operator {self.unit.name!r}: {reason_of(refusal)}") from refusal

    def close(self) -> None:
        """Let it finish the batch under way and begin no other."""
        self._gate.close()

    def stop(self) -> None:
        """End it at once; what is not committed is done again when it is started next."""
        self.close()
        if self.query is not None:
            self.query.stop()

    @property
    def is_active(self) -> bool:
        return self.query is not None and self.query.isActive

    @property
    def is_quiet(self) -> bool:
        """Closed, and between two batches. A source knows no gate: there it is the moment after a commit."""
        if not self.is_active:
            return True
        return self._gate.is_quiet if self.readers else not self._is_writing and self.batches.is_settled

    @property
    def has_rows(self) -> bool:
        """Whether something waits in its streams, or may: it is in no committed batch."""
        waiting = [reader.waiting() for reader in self.readers.values()]
        return any(arrivals is None or any(arrival.rows for arrival in arrivals) for arrivals in waiting)

    def failure(self) -> QueryError | None:
        """Why it ended, if it ended with an error."""
        if self.query is None or self.query.isActive:
            return None
        error = self._error or self._gate.error or self.query.exception()
        return None if error is None else QueryError(self.unit.name, reason_of(error))

    def _started(self, name: str, mode: str) -> StreamingQuery:
        writer = self._df.writeStream.queryName(name).outputMode(mode).foreachBatch(self._batch)
        return writer.option("checkpointLocation", str(self.checkpoint)).start()

    def _batch(self, df: DataFrame, batch: int) -> None:
        """Called by Spark. What it raises must be short: Spark searches the text, and overflows on a long one."""
        self._is_writing = True
        try:
            self._write(df, batch)
        except Exception as error:
            self._error = error
            raise PlantError(f"batch {batch} of {self.unit.name!r} failed") from None
        finally:
            self._is_writing = False

    def _write(self, df: DataFrame, batch: int) -> None:
        planned_s = time.time()
        taken = {name: reader.taken() for name, reader in self.readers.items()}
        entry = entry_of([arrival for arrivals in taken.values() for arrival in arrivals])
        with _computed_once(df, bool(self._stream) + len(self._sinks)) as rows:
            if self._stream is not None:
                self._publish(self._stream, rows, batch, entry)
            for result, sink in self._sinks.items():
                sink(self._result(rows, result), batch)
        self.batches.written(WrittenBatch(batch, planned_s, time.time(), taken))

    def _source_report(self, batch: int) -> EntryTimes | None:
        """From Spark's own report on the batch, which comes a moment after the commit."""
        running: Any = self.query
        reports = running._jsq.recentProgress()
        newest = None
        for position in reversed(range(len(reports))):
            number = reports[position].batchId()
            newest = number if newest is None else newest
            if number == batch:
                return watched_times(json.loads(reports[position].json())["observedMetrics"])
            if number < batch:
                break
        if newest is None or newest < batch:
            raise LookupError(f"batch {batch} is not reported yet")
        return None

    def _publish(self, stream: Stream, rows: DataFrame, batch: int, entry: EntryTimes | None) -> None:
        if not stream.is_published(batch):
            stream.publish(rows, batch, entry)
        elif self.unit.keyed:
            # Published before a failure, but Spark still expects the state of this batch to be computed.
            rows.write.format("noop").mode("overwrite").save()

    def _result(self, rows: DataFrame, result: str) -> DataFrame:
        single = len(self.unit.outputs) + len(self.unit.results) == 1
        own = rows if single else of_output(rows, result)
        return own.drop(ENTRY)


@contextmanager
def _computed_once(df: DataFrame, uses: int) -> Iterator[DataFrame]:
    """Kept while it is used more than once: state must not be touched twice in a batch."""
    if uses < 2:
        yield df
        return
    kept = df.persist()
    try:
        yield kept
    finally:
        kept.unpersist()

"""Unit query: the Structured Streaming query of one unit, which publishes its output batch by batch.

Spark hands each batch over by `foreachBatch`. On two cores that costs about 5 % of a small batch, compared with calling
Spark's sink directly. It allows updates (which the file sink refuses), sinks of the user's own, and errors that name
the operator.
"""

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
from rheostat.spark.query.batch_log import BatchLog, WrittenBatch, entry_of
from rheostat.spark.query.failure import QueryError, reason_of
from rheostat.spark.query.sinks import Sink
from rheostat.spark.query.unit import Unit
from rheostat.spark.query.user_functions import emits_final_rows
from rheostat.spark.streams.batch_admission import BatchAdmission
from rheostat.spark.streams.entry_times import ENTRY, EntryTimes, observed_entry_times
from rheostat.spark.streams.named_outputs import of_output
from rheostat.spark.streams.stream import DurableStream, StreamReader


class UnitQuery:
    """One query: reads its input from `readers`, computes `df`, writes it to `stream` and `sinks`. A batch begins
    `interval_s` after the one before, or when that has ended."""

    def __init__(
        self,
        unit: Unit,
        df: DataFrame,
        readers: Mapping[str, StreamReader],
        stream: DurableStream | None,
        sinks: Mapping[str, Sink],
        admission: BatchAdmission,
        checkpoint: Path,
        interval_s: float = 0.0,
    ) -> None:
        self.unit = unit
        self.readers = readers
        self.checkpoint = checkpoint
        fused_source = unit.source.name if unit.source and unit.operators else None
        self.batches = BatchLog(checkpoint, fused_source, self._source_report)
        self.query: StreamingQuery | None = None
        self._df = df
        self._stream = stream
        self._sinks = sinks
        self._admission = admission
        self._interval_ms = round(1000 * interval_s)
        self._error: Exception | None = None
        self._is_writing = False

    def start(self, name: str) -> None:
        """Start from the checkpoint, or from the beginning if there is none."""
        refusal: AnalysisException | None = None
        # Spark refuses "update" for queries that have only final rows, such as joins of streams.
        for mode in ("append",) if self._emits_final_rows else ("update", "append"):
            try:
                self.query = self._started(name, mode)
                return
            except AnalysisException as error:
                refusal = error
        assert refusal is not None
        raise TopologyError(f"operator {self.unit.name!r}: {reason_of(refusal)}") from refusal

    def close(self) -> None:
        """Let it finish the batch under way and start no other."""
        self._admission.close()

    def stop(self) -> None:
        """End it at once; a batch that is not committed is repeated when the query is started next."""
        self.close()
        if self.query is not None:
            self.query.stop()

    @property
    def is_active(self) -> bool:
        return self.query is not None and self.query.isActive

    @property
    def is_quiet(self) -> bool:
        """Whether it is closed and between two batches. Sources are not held: there it is the moment after a commit."""
        if not self.is_active:
            return True
        return self._admission.is_idle if self.readers else not self._is_writing and self.batches.is_settled

    @property
    def has_rows(self) -> bool:
        """Whether its streams have, or may have, rows that are in no committed batch of it."""
        waiting = [reader.waiting() for reader in self.readers.values()]
        return any(arrivals is None or any(arrival.rows for arrival in arrivals) for arrivals in waiting)

    def failure(self) -> QueryError | None:
        """The error that it ended with, if any."""
        if self.query is None or self.query.isActive:
            return None
        error = self._error or self._admission.error or self.query.exception()
        return None if error is None else QueryError(self.unit.name, reason_of(error))

    @property
    def _emits_final_rows(self) -> bool:
        return any(emits_final_rows(operator.function) for operator in self.unit.operators)

    def _started(self, name: str, mode: str) -> StreamingQuery:
        writer = self._df.writeStream.queryName(name).outputMode(mode).foreachBatch(self._batch)
        writer = writer.trigger(processingTime=f"{self._interval_ms} milliseconds")
        return writer.option("checkpointLocation", str(self.checkpoint)).start()

    def _batch(self, df: DataFrame, batch: int) -> None:
        """Called by Spark. It must raise short errors: Spark searches their text and overflows on a long one."""
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
        """Entry times of the rows of a batch, from Spark's progress report, which comes a moment after the commit."""
        running: Any = self.query
        reports = running._jsq.recentProgress()
        newest = None
        for position in reversed(range(len(reports))):
            number = reports[position].batchId()
            newest = number if newest is None else newest
            if number == batch:
                return observed_entry_times(json.loads(reports[position].json())["observedMetrics"])
            if number < batch:
                break
        if newest is None or newest < batch:
            raise LookupError(f"Spark has not reported batch {batch} yet")
        return None

    def _publish(self, stream: DurableStream, rows: DataFrame, batch: int, entry: EntryTimes | None) -> None:
        if not stream.is_published(batch):
            stream.publish(rows, batch, entry)
        else:
            # It was published before a failure, but Spark may still need the state of this batch.
            rows.write.format("noop").mode("overwrite").save()

    def _result(self, rows: DataFrame, result: str) -> DataFrame:
        own = of_output(rows, result) if self.unit.has_several_outputs else rows
        return own.drop(ENTRY)


@contextmanager
def _computed_once(df: DataFrame, uses: int) -> Iterator[DataFrame]:
    """`df`, persisted if it has several uses: state must not be updated twice in a batch."""
    if uses < 2:
        yield df
        return
    kept = df.persist()
    try:
        yield kept
    finally:
        kept.unpersist()

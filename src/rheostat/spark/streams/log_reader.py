"""Log reader: one query's view of a stream that has a log of numbered entries; to Spark a `BatchSource`."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.errors import PlantError
from rheostat.snapshot import PartitionState
from rheostat.spark.streams.batch_admission import BatchAdmission
from rheostat.spark.streams.batch_limit import BatchLimit
from rheostat.spark.streams.named_outputs import of_output, schema_of_output
from rheostat.spark.streams.python_source import NOTHING_YET, open_source
from rheostat.spark.streams.stream import Arrival, SpreadRows

_MOST_EMPTY_BATCHES = 100
"""Batches without rows are not worth reading until there are so many that they should be deleted."""

ReadRows = Callable[[int, int], tuple[DataFrame, Sequence[int]]]
"""The rows of the entries after the first number, the second included, and the sizes of the parts they come in."""


class StreamLog(Protocol):
    """A stream as entries with rising numbers, each of which always has the same rows."""

    name: str
    schema: StructType
    retention: "Retention"

    @property
    def first(self) -> int:
        """The number of the first entry that is left."""
        ...

    @property
    def problem(self) -> str | None:
        """Why it is not known whether there are new entries; None if it is."""
        ...

    def newest(self) -> int:
        """The number of the last entry. Safe to call from several threads."""
        ...

    def arrival(self, number: int, output: str | None) -> Arrival:
        """What one entry holds for readers of `output`."""
        ...

    def partitions(self, after: int) -> tuple[PartitionState, ...]:
        """What lies after the entry `after`, by partition; nothing if the stream is no topic."""
        ...

    def rows(self, session: SparkSession) -> ReadRows: ...


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


class LogReader:
    """The reader called `name`; `output` selects one of several outputs in the stream.

    Spark's query and the control loop ask it from different threads. Positions in the order in which a batch passes
    them: `_seen` (its files are known), `_offered` (Spark was told of it), `_committed` (it is in a committed batch).
    """

    def __init__(
        self,
        session: SparkSession,
        stream: StreamLog,
        name: str,
        output: str | None,
        spread: SpreadRows,
        admission: BatchAdmission,
    ) -> None:
        self._session = session
        self._stream = stream
        self._name = name
        self._output = output
        self._spread = spread
        self._admission = admission
        self._limit = BatchLimit()
        self._rows = stream.rows(session)
        self._arrivals: dict[int, Arrival] = {}
        self._seen = stream.first - 1
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
        return open_source(self._session, self, self._stream.name, self._admission.fail)

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
        df, sizes = self._rows(after, until)
        return self._spread(df if self._output is None else of_output(df, self._output), sizes)

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

    @property
    def problem(self) -> str | None:
        return self._stream.problem

    def waiting(self) -> tuple[Arrival, ...] | None:
        if self._committed is None or self._stream.problem is not None:
            return None
        try:
            self._look()
        except PlantError:
            return None  # the query fails with the same error and reports it
        return self._between(self._committed, self._seen)

    def partitions(self) -> tuple[PartitionState, ...]:
        return () if self._committed is None else self._stream.partitions(self._committed)

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
            for number in range(max(self._seen + 1, self._stream.first), self._stream.newest() + 1):
                self._arrivals[number] = self._stream.arrival(number, self._output)
                self._seen = number

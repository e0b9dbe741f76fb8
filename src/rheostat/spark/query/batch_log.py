"""What is known of the batches of one query: when, how many rows, how long their records had waited."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rheostat.snapshot import Latency
from rheostat.spark.streams.entry_times import EntryTimes, latency_until, together
from rheostat.spark.streams.stream import Arrival

_KEPT = 1000


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One committed batch. Times are in seconds since the epoch; `None` is what could not be measured.

    `started_s` is when Spark had fixed what the batch reads, `planned_s` when it was planned, `written_s` when its
    output was published. `rows` counts what was read, by stream. `waited` is the latency of these rows from their
    arrival in the operator's streams to the commit, `latency` the one from their entry into the topology.
    """

    batch: int
    started_s: float
    planned_s: float
    written_s: float
    committed_s: float
    rows: dict[str, int]
    waited: Latency | None
    latency: Latency | None

    @property
    def duration_s(self) -> float:
        return self.committed_s - self.started_s


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """A batch whose output is published, and which Spark is about to commit."""

    batch: int
    planned_s: float
    written_s: float
    taken: dict[str, tuple[Arrival, ...]]


SourceReport = Callable[[int], EntryTimes | None]
"""When the rows of a batch entered that were read from a source itself; `LookupError` if that is not known yet."""


class BatchLog:
    """The last batches of one query. Their times are those of the files in Spark's own checkpoint."""

    def __init__(self, checkpoint: Path, source: str | None = None, report: SourceReport | None = None) -> None:
        self._offsets = checkpoint / "offsets"
        self._commits = checkpoint / "commits"
        self._source = source
        self._report = report
        self._written: deque[WrittenBatch] = deque(maxlen=_KEPT)
        self._records: deque[BatchRecord] = deque(maxlen=_KEPT)
        self._lock = threading.Lock()

    def written(self, batch: WrittenBatch) -> None:
        with self._lock:
            self._written.append(batch)

    def after(self, batch: int) -> tuple[BatchRecord, ...]:
        """The records of committed batches with a higher number, oldest first."""
        self.settle()
        return tuple(record for record in tuple(self._records) if record.batch > batch)

    @property
    def is_settled(self) -> bool:
        """Whether every batch that was written is committed."""
        self.settle()
        return not self._written

    def settle(self) -> None:
        """Take note of what was committed. Spark forgets batches after some time (by default a hundred later)."""
        with self._lock:
            while self._written and (committed_s := _modified_s(self._commits / str(self._written[0].batch))):
                try:
                    self._records.append(self._record(self._written[0], committed_s))
                except LookupError:
                    return
                self._written.popleft()

    def _record(self, written: WrittenBatch, committed_s: float) -> BatchRecord:
        arrivals = [arrival for taken in written.taken.values() for arrival in taken if arrival.rows]
        rows = {stream: sum(arrival.rows for arrival in taken) for stream, taken in written.taken.items()}
        entry = entry_of(arrivals)
        if self._source is not None and self._report is not None:
            entry = self._report(written.batch)
            rows = {self._source: entry.rows if entry else 0}
        return BatchRecord(
            written.batch,
            _modified_s(self._offsets / str(written.batch)) or written.planned_s,
            written.planned_s,
            written.written_s,
            committed_s,
            rows,
            _latency(committed_s, together([EntryTimes.at(a.published_s, a.rows) for a in arrivals])),
            _latency(committed_s, entry),
        )


def entry_of(taken: Sequence[Arrival]) -> EntryTimes | None:
    """When the records of these arrivals entered, as far as it is known."""
    return together([arrival.entry for arrival in taken if arrival.entry is not None])


def _latency(committed_s: float, times: EntryTimes | None) -> Latency | None:
    return latency_until(committed_s, times) if times else None


def _modified_s(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return None

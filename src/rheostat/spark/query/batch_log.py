"""Batch log: the committed batches of one query, with their times, rows and latencies."""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rheostat.snapshot import Latency
from rheostat.spark.streams.entry_times import EntryTimes, latency_until, together
from rheostat.spark.streams.stream import Arrival

_KEPT = 1000


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One committed batch of one query. Times are in seconds since the epoch; None means unknown.

    A batch of a topology starts when Spark has fixed what it reads, any other when its trigger fires. `rows` is what it
    read, by stream, or by source as Spark describes it. `executing_s` is the part of the duration in which its tasks
    ran and its output was written.

    Topologies only: `waited` is the latency of the rows from their arrival in the operator's streams to the commit,
    `latency` the one from their entry into the topology, `newest` what it read last of each stream. Other queries
    only: `behind` is how many rows the sources had beyond this batch, `state_bytes` the size of all state behind it.
    """

    batch: int
    started_s: float
    committed_s: float
    rows: Mapping[str, int]
    executing_s: float
    waited: Latency | None = None
    latency: Latency | None = None
    newest: Mapping[str, Arrival] = field(default_factory=dict)
    behind: int | None = None
    state_bytes: int | None = None

    @property
    def duration_s(self) -> float:
        return self.committed_s - self.started_s

    @property
    def row_count(self) -> int:
        return sum(self.rows.values())

    @property
    def fixed_s(self) -> float:
        """What the batch took besides running its tasks: planning, logs and commits."""
        return max(0.0, self.duration_s - self.executing_s)


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """A batch whose output is published and which Spark is about to commit.

    `planned_s` is when Spark had planned it, `written_s` when its output was published, `taken` what it read by stream.
    """

    batch: int
    planned_s: float
    written_s: float
    taken: dict[str, tuple[Arrival, ...]]


SourceReport = Callable[[int], EntryTimes | None]
"""Entry times of the rows that a batch read from the source itself; `LookupError` while they are not reported yet."""


class BatchLog:
    """The last batches of one query; their times are those of the files in Spark's own checkpoint.

    `report` gives the entry times of rows that come from `source`, which is fused with the query's operators.
    """

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

    def carry_over(self, earlier: "BatchLog") -> None:
        """Begin with the records of the same query before it was started again."""
        self._records.extend(earlier.after(-1))

    @property
    def is_settled(self) -> bool:
        """Whether every batch that was written is committed."""
        self.settle()
        return not self._written

    @property
    def has_uncommitted(self) -> bool:
        """Whether the newest batch that Spark has planned is not committed."""
        return _newest(self._offsets) > _newest(self._commits)

    def settle(self) -> None:
        """Record what was committed. Spark deletes the files of old batches, by default a hundred batches later."""
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
            committed_s,
            rows,
            written.written_s - written.planned_s,
            waited=_latency(committed_s, together([EntryTimes.at(a.published_s, a.rows) for a in arrivals])),
            latency=_latency(committed_s, entry),
            newest={stream: taken[-1] for stream, taken in written.taken.items() if taken},
        )


def entry_of(taken: Sequence[Arrival]) -> EntryTimes | None:
    """The entry times of the records of these arrivals, as far as they are known."""
    return together([arrival.entry for arrival in taken if arrival.entry is not None])


def _latency(committed_s: float, times: EntryTimes | None) -> Latency | None:
    return latency_until(committed_s, times) if times else None


def _modified_s(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return None


def _newest(folder: Path) -> int:
    """The highest batch number in one of Spark's logs; -1 in one without batches."""
    return max((int(path.name) for path in folder.glob("*") if path.name.isdigit()), default=-1)

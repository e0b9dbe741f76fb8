"""Backlog: the rows that arrived for one operator, completed it, and wait in its streams."""

from collections.abc import Mapping, Sequence

from rheostat.names import OperatorName
from rheostat.snapshot import Snapshot
from rheostat.spark.observe.counters import last_state
from rheostat.spark.observe.operators.variability import ArrivalVariability
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.streams.stream import Arrival

Waiting = Mapping[str, tuple[Arrival, ...] | None]
"""What waits in each stream; None where that is unknown."""


class Backlog:
    """In each reading: `add` the new batches, then `update` with what waits. Counters continue from `base`."""

    def __init__(self, operator: OperatorName, base: Snapshot | None = None) -> None:
        before = last_state(operator, base)
        streams = [] if base is None else [stream for stream in base.streams if stream.consumer == operator]
        self.completed = before.completed or 0
        self._arrived = before.arrived or 0
        read = self.completed / self._arrived if self._arrived else 1.0
        self._streams = {s.name: StreamCounter(round((s.rows or 0) * read), s.rows or 0, s.bytes or 0) for s in streams}
        self._resuming = base is not None
        self._waiting: dict[str, tuple[Arrival, ...]] | None = None
        self._variability = ArrivalVariability()
        self._last: BatchRecord | None = None

    def add(self, batch: BatchRecord) -> None:
        if self._last is not None:
            self._variability.add(batch.started_s - self._last.started_s, batch.row_count)
        self._last = batch
        self.completed += batch.row_count
        for stream, rows in batch.rows.items():
            counter = self._streams.setdefault(stream, StreamCounter())
            counter.read += rows
            counter.newest = batch.newest.get(stream, counter.newest)

    def update(self, waiting: Waiting | None) -> None:
        """`waiting` as the streams report it; None if the operator reads no stream of its own."""
        self._waiting = None if waiting is None else self._uncommitted(waiting)
        if self._waiting is None:
            return
        queued = sum(map(_rows, self._waiting.values()))
        if self._resuming:
            self._resume(queued)
        self._arrived = max(self._arrived, self.completed + queued)
        for name in self._waiting.keys() | self._streams.keys():
            arrivals = self._waiting.get(name, ())
            counter = self._streams.setdefault(name, StreamCounter())
            counter.update(_rows(arrivals), sum(arrival.bytes for arrival in arrivals))
            counter.look_at(arrivals)

    @property
    def is_known(self) -> bool:
        return self._waiting is not None

    @property
    def arrived(self) -> int | None:
        return self._arrived if self.is_known else None

    @property
    def queued(self) -> int | None:
        """Rows that arrived and are not completed.

        Rows of a batch that was committed between two questions are in no stream and in no record: they are queued.
        """
        return self._arrived - self.completed if self.is_known else None

    def oldest_s(self, now_s: float) -> float | None:
        """How long the oldest row has waited in the operator's streams; 0 if none waits."""
        if self._waiting is None:
            return None
        published_s = [a.published_s for arrivals in self._waiting.values() for a in arrivals if a.rows]
        return max(0.0, now_s - min(published_s)) if published_s else 0.0

    def rows_under_way(self) -> int:
        """Rows in the batch under way, or in the next one; 0 if there are none or that is unknown.

        A batch takes what waits when the one before it is committed; if nothing does, what arrives next.
        """
        waiting = [arrival for arrivals in (self._waiting or {}).values() for arrival in arrivals if arrival.rows]
        first_s = min((arrival.published_s for arrival in waiting), default=0.0)
        until_s = max(first_s, 0.0 if self._last is None else self._last.committed_s)
        return sum(arrival.rows for arrival in waiting if arrival.published_s <= until_s)

    def stream(self, name: str) -> "StreamCounter | None":
        """What arrived in one of the streams; None while that is unknown."""
        return (self._streams.get(name) or StreamCounter()) if self.is_known else None

    def arrival_scv(self) -> float | None:
        return self._variability.scv()

    def _uncommitted(self, waiting: Waiting) -> dict[str, tuple[Arrival, ...]] | None:
        """What waits and is in no committed batch, by stream; None if one of the streams is unknown.

        Spark tells a stream of a commit only when the next batch begins. What was there when the last committed batch
        began is in that batch.
        """
        started_s = 0.0 if self._last is None else self._last.started_s
        known = {
            stream: tuple(arrival for arrival in arrivals if arrival.published_s > started_s)
            for stream, arrivals in waiting.items()
            if arrivals is not None
        }
        return known if known.keys() == waiting.keys() else None

    def _resume(self, queued: int) -> None:
        """Rows that were queued in the last snapshot of an earlier run and do not wait any more were completed."""
        self._resuming = False
        self.completed = max(self.completed, self._arrived - queued)
        for name, counter in self._streams.items():
            counter.read = max(counter.read, counter.rows - _rows((self._waiting or {}).get(name, ())))


class StreamCounter:
    """Rows and bytes of one stream; `read` of the rows are completed, the last ones were those of `newest`.

    `until_s` is when the newest of the rows came.

    Rows are exact. Bytes are estimated: rows that arrive weigh as much as those that wait at the time.
    """

    def __init__(self, read: int = 0, rows: int = 0, bytes_: int = 0) -> None:
        self.read, self.rows = read, rows
        self.newest: Arrival | None = None
        self.until_s: float | None = None
        self._bytes = float(bytes_)
        self._row_bytes: float | None = None

    def update(self, waiting: int, waiting_bytes: int) -> None:
        """So many rows of so many bytes wait now."""
        if waiting:
            self._row_bytes = waiting_bytes / waiting
        rows = max(self.rows, self.read + waiting)
        self._bytes += (rows - self.rows) * (self._row_bytes or 0.0)
        self.rows = rows

    def look_at(self, waiting: Sequence[Arrival]) -> None:
        """Follow `until_s`. A batch that was committed between two questions is neither read nor waiting: then rows are
        missing before the newest."""
        all_ = (*(() if self.newest is None else (self.newest,)), *waiting)
        if all_ and all_[-1].position - all_[0].position == len(all_) - 1:
            self.until_s = all_[-1].until_s

    @property
    def known_bytes(self) -> int | None:
        return round(self._bytes) if self._bytes else None


def _rows(arrivals: tuple[Arrival, ...]) -> int:
    return sum(arrival.rows for arrival in arrivals)

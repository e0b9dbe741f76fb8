"""Topic watch: follows where topics end, in a thread of its own, whether anybody reads them or not.

The broker says where topics end now. When a record arrived follows from the readings before and after it; of one that
is older than all readings the broker is asked for the time stamp. So arrivals, backlog and lag are known also while a
batch hangs, and nobody waits for a broker that does not answer.
"""

import threading
import time
from collections import deque
from collections.abc import Collection, Sequence
from itertools import pairwise

from rheostat.errors import PlantError
from rheostat.spark.kafka.broker_client import BrokerClient, Offsets, TopicPartition, TopicReading

STALE_S = 4.0
"""A reading that is older says nothing of now."""

_KEPT = 2400
"""Readings: ten minutes of them at four a second."""


class TopicWatch:
    """Reads `topics`, which may change, every `every_s` until it is closed. `problem` says why a reading failed."""

    def __init__(
        self, client: BrokerClient, topics: Collection[str], every_s: float, *, with_ids: bool = False
    ) -> None:
        self._client, self._every_s, self._with_ids = client, every_s, with_ids
        self.topics = topics
        self._readings: deque[TopicReading] = deque(maxlen=_KEPT)
        self._stamps: dict[TopicPartition, tuple[int, float | None]] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.problem: str | None = None
        self._thread = threading.Thread(target=self._run, name="rheostat topics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()

    def latest(self) -> TopicReading | None:
        """The last reading; None if there is none yet, it failed, or it is too old."""
        with self._lock:
            last = self._readings[-1] if self._readings else None
        return None if self.problem or last is None or time.time() - last.time_s > STALE_S else last

    def oldest_s(self, committed: Offsets, now_s: float) -> float:
        """How long the oldest record beyond `committed` has waited; 0 if none is there."""
        with self._lock:
            readings = tuple(self._readings)
        if not readings:
            return 0.0
        first, end = readings[-1].first, readings[-1].end
        next_ = {each: max(committed.get(each, 0), first.get(each, 0)) for each in end}
        arrived_s = [self._arrived_s(readings, each, next_[each]) for each in end if end[each] > next_[each]]
        return max(0.0, now_s - min(arrived_s)) if arrived_s else 0.0

    def _arrived_s(self, readings: Sequence[TopicReading], partition: TopicPartition, offset: int) -> float:
        arrived_s = arrival_s(readings, partition, offset)
        if arrived_s is not None:
            return arrived_s
        asked, stamp_s = self._stamps.get(partition, (None, None))
        if asked != offset:
            self._stamps[partition] = (offset, None)
        return readings[0].time_s if asked != offset or stamp_s is None else min(stamp_s, readings[0].time_s)

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                reading = self._client.read(self.topics, with_ids=self._with_ids)
                with self._lock:
                    self._readings.append(reading)
                self._read_stamps()
                self.problem = None
            except PlantError as error:
                self.problem = str(error)
            self._closing.wait(self._every_s)
        self._client.close()

    def _read_stamps(self) -> None:
        for partition, (offset, stamp_s) in list(self._stamps.items()):
            if stamp_s is None:
                self._stamps[partition] = (offset, self._client.time_of(partition, offset))


def arrival_s(readings: Sequence[TopicReading], partition: TopicPartition, offset: int) -> float | None:
    """When the record at `offset` arrived, evenly between two readings; None if it was there at the first of them."""
    for before, after in pairwise(readings):
        start, end = before.end.get(partition, 0), after.end.get(partition, 0)
        if start <= offset < end:
            return before.time_s + (after.time_s - before.time_s) * (offset - start + 1) / (end - start)
    return None

"""Counters that never fall, made of what happened since the last look."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from rheostat.snapshot import Latency

Key = TypeVar("Key", bound=Hashable)


class Portion(NamedTuple):
    """One part's share of the rows of an operator."""

    arrived: int
    completed: int
    queued: int


class Split(Generic[Key]):
    """Rows of an operator, split over its executors or substreams by shares that change."""

    def __init__(self, completed: Mapping[Key, int] | None = None) -> None:
        self._completed: dict[Key, float] = dict(completed or {})
        self._arrived: dict[Key, int] = {}

    def add(self, rows: int, shares: Mapping[Key, float]) -> None:
        """`rows` more were completed, by these."""
        for key, share in shares.items():
            self._completed[key] = self._completed.get(key, 0.0) + rows * share

    def portion(self, key: Key, waiting: int, share: float) -> Portion:
        """What waits is taken to belong to the same as what was completed last."""
        completed, queued = int(self._completed.get(key, 0.0)), round(waiting * share)
        arrived = max(self._arrived.get(key, 0), completed + queued)
        self._arrived[key] = arrived
        return Portion(arrived, completed, queued)


class Odometer:
    """A counter that goes on when the process that it counts for is replaced by another."""

    def __init__(self, total: float = 0.0) -> None:
        self.total = total
        self._instance: str | None = None
        self._last = 0.0

    def read(self, instance: str, value: float, share: float = 1.0) -> float:
        """The total, now that `instance` has counted to `value`, of which since the last look `share` is meant. What it
        counted before it came is not ours."""
        if instance == self._instance:
            value = max(value, self._last)
            self.total += share * (value - self._last)
        self._instance, self._last = instance, value
        return self.total


class Rows:
    """What one executor did for the operators it serves. It goes on when it serves others."""

    def __init__(self) -> None:
        self._arrived, self._completed = Odometer(), Odometer()
        self._serves: str | None = None

    def count(self, serves: str, portion: Portion) -> Portion:
        """`portion` is what was done for those it `serves` now; all in all."""
        if self._serves is None:
            self._arrived.read(serves, 0.0)
            self._completed.read(serves, 0.0)
        self._serves = serves
        arrived, completed = (
            self._arrived.read(serves, portion.arrived),
            self._completed.read(serves, portion.completed),
        )
        return Portion(round(arrived), round(completed), portion.queued)


class Traffic:
    """Rows and bytes of one stream. Rows are exact; each weighs what those seen waiting at the time weigh."""

    def __init__(self, rows: int = 0, bytes_: int = 0) -> None:
        self.rows = rows
        self._bytes = float(bytes_)
        self._row_bytes: float | None = None

    def grow(self, rows: int, seen_bytes: int, seen_rows: int) -> None:
        """`rows` have come in all; the last look saw so many bytes in so many rows."""
        if seen_rows:
            self._row_bytes = seen_bytes / seen_rows
        if rows > self.rows and self._row_bytes is not None:
            self._bytes += (rows - self.rows) * self._row_bytes
        self.rows = max(self.rows, rows)

    @property
    def known_bytes(self) -> int | None:
        return round(self._bytes) if self._bytes else None


class Spread:
    """Whether records come one by one or in bursts: their variance over their mean in counts.

    The index of dispersion of counts, which for a renewal process tends to the squared coefficient of variation of
    the times between arrivals (1 for Poisson), and can be had where single arrivals are not seen. Over the last
    `size` intervals; None under eight of them.
    """

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._intervals: list[tuple[float, int]] = []

    def add(self, duration_s: float, rows: int) -> None:
        if duration_s > 0:
            self._intervals = [*self._intervals[1 - self._size :], (duration_s, rows)]

    def scv(self) -> float | None:
        rows, duration_s = sum(rows for _, rows in self._intervals), sum(each for each, _ in self._intervals)
        if len(self._intervals) < 8 or not rows:
            return None
        rate = rows / duration_s
        off = [(count - rate * each) ** 2 / (rate * each) for each, count in self._intervals]
        return sum(off) / (len(off) - 1)


def merged(latencies: Iterable[Latency | None]) -> Latency | None:
    """Several batches as one: mean, spread and maximum exact; the median is the mean of the medians, and the 99th
    percentile the highest one, which it cannot exceed."""
    known = [latency for latency in latencies if latency is not None and latency.count]
    if len(known) < 2:
        return known[0] if known else None
    count = sum(each.count for each in known)
    mean_s = sum(each.count * each.mean_s for each in known) / count
    return Latency(
        count,
        mean_s,
        p50_s=_weighted(known, [each.p50_s for each in known]),
        p99_s=_highest([each.p99_s for each in known]),
        max_s=_highest([each.max_s for each in known]),
        scv=_merged_scv(known, count, mean_s),
    )


def _weighted(latencies: list[Latency], values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < len(latencies):
        return None
    weights = [latency.count for latency in latencies]
    return sum(w * value for w, value in zip(weights, known, strict=True)) / sum(weights)


def _highest(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def _merged_scv(latencies: list[Latency], count: int, mean_s: float) -> float | None:
    if mean_s <= 0 or any(each.scv is None for each in latencies):
        return None
    squares = sum(each.count * each.mean_s**2 * (1 + (each.scv or 0.0)) for each in latencies) / count
    return max(0.0, squares / mean_s**2 - 1)

"""Counters: rows by executor or substream, which never fall and continue after a restart; merged latencies."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from rheostat.names import OperatorName
from rheostat.snapshot import Latency, OperatorState, Snapshot

Key = TypeVar("Key", bound=Hashable)


class RowCount(NamedTuple):
    """Rows that arrived and rows completed so far, and rows that wait now."""

    arrived: int
    completed: int
    queued: int


class RowCounters(Generic[Key]):
    """Rows of each executor or substream. Counters continue from `base`."""

    def __init__(self, base: Mapping[Key, RowCount] | None = None) -> None:
        self._completed: dict[Key, float] = {key: rows.completed for key, rows in (base or {}).items()}
        self._arrived: dict[Key, int] = {key: rows.arrived for key, rows in (base or {}).items()}

    def add(self, completed: Mapping[Key, float]) -> None:
        """So many rows more were completed by each. Shares of a row add up over time."""
        for key, rows in completed.items():
            self._completed[key] = self._completed.get(key, 0.0) + rows

    def count(self, key: Key, queued: int) -> RowCount:
        """All rows of `key`, now that `queued` wait for it. What arrived does not fall when fewer are said to wait."""
        completed = int(self._completed.get(key, 0.0))
        self._arrived[key] = max(self._arrived.get(key, 0), completed + queued)
        return RowCount(self._arrived[key], completed, queued)

    def keep(self, keys: Collection[Key]) -> None:
        """Forget all others."""
        self._completed = {key: rows for key, rows in self._completed.items() if key in keys}
        self._arrived = {key: rows for key, rows in self._arrived.items() if key in keys}


def last_state(operator: OperatorName, base: Snapshot | None) -> OperatorState:
    """The counters from which an operator continues after a restart; none of them is known without `base`."""
    return (None if base is None else base.operators.get(operator)) or OperatorState(operator)


def merged(latencies: Iterable[Latency | None]) -> Latency | None:
    """Several batches as one: mean, variation and maximum are exact. The median is the mean of the medians, the 99th
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

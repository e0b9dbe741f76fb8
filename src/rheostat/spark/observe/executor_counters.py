"""Executor counters: busy time and rows of each executor, by pool and number.

Spark's executors come and go; a number stays. When another process takes it over, its counters continue.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rheostat.snapshot import Snapshot
from rheostat.spark.observe.counters import RowCount, RowCounters
from rheostat.spark.state.executor_book import PoolMember


class PoolNumber(NamedTuple):
    """A pool and a number in it."""

    pool: str
    number: int


class ExecutorCounters:
    """Counters of all executors in a book. They continue from `base`."""

    def __init__(self, base: Snapshot | None = None) -> None:
        before = {PoolNumber(state.pool, state.id): state for state in (() if base is None else base.executors)}
        self._busy_s = {key: state.busy_s or 0.0 for key, state in before.items()}
        self._rows = RowCounters(
            {key: RowCount(state.arrived or 0, state.completed or 0, 0) for key, state in before.items()}
        )
        self._held_s: dict[str, float] = {}

    def grown_s(self, held_s: Mapping[str, float]) -> dict[str, float]:
        """How long tasks have held each executor since the last `add_time`; 0 for one that was not seen before."""
        return {id_: max(0.0, now_s - self._held_s.get(id_, now_s)) for id_, now_s in held_s.items()}

    def add_time(
        self, members: Iterable[PoolMember], held_s: Mapping[str, float], work_shares: Mapping[str, float]
    ) -> dict[str, float]:
        """Count the time since the last call, and forget executors that are not among `members`.

        `held_s` is how long tasks have held Spark's executors since they started, `work_shares` which share of that is
        work. What an executor did before it was first seen does not count. Returns the busy time added, by pool.
        """
        grown_s = self.grown_s(held_s)
        self._held_s = {id_: max(now_s, self._held_s.get(id_, now_s)) for id_, now_s in held_s.items()}
        executors = {PoolNumber(member.pool, member.number): member.executor for member in members}
        self._busy_s = {key: self._busy_s.get(key, 0.0) for key in executors}
        self._rows.keep(executors)
        added_s: dict[str, float] = {}
        for key, executor in executors.items():
            if executor is not None and executor.id in grown_s:
                busy_s = grown_s[executor.id] * work_shares[executor.id]
                self._busy_s[key] += busy_s
                added_s[key.pool] = added_s.get(key.pool, 0.0) + busy_s
        return added_s

    def add_rows(self, pool: str, completed: Mapping[int, float]) -> None:
        """So many rows more were completed by the executors of `pool`, by number."""
        self._rows.add({PoolNumber(pool, number): rows for number, rows in completed.items()})

    def busy_s(self, pool: str, number: int) -> float:
        return self._busy_s.get(PoolNumber(pool, number), 0.0)

    def rows(self, pool: str, number: int, queued: int) -> RowCount:
        """All rows of an executor, now that `queued` wait for it."""
        return self._rows.count(PoolNumber(pool, number), queued)

"""How an executor of a running application leaves: it gets no more tasks, and ends when nobody needs it any more.

A job that was under way may still read what the executor computed for it. Ended at once, Spark would have to
compute that again, and the batch would wait.
"""

from collections.abc import Iterable

from rheostat.spark.act.allocation import Allocation

_PATIENCE_S = 60.0
"""Some jobs never end. After this time Spark may compute again what it misses."""


class Farewell:
    """The executors on their way out. There is no way back for them."""

    def __init__(self, allocation: Allocation) -> None:
        self._allocation = allocation
        self._jobs: dict[str, frozenset[int]] = {}
        self._since_s: dict[str, float] = {}

    @property
    def leaving(self) -> frozenset[str]:
        return frozenset(self._jobs)

    def say(self, executor_ids: Iterable[str], now_s: float) -> None:
        """Let these go, a step further with each call. One that is not named any more has gone."""
        wanted, jobs = tuple(executor_ids), self._allocation.active_jobs()
        if fresh := [each for each in wanted if each not in self._jobs]:
            self._allocation.decommission(fresh)
        self._jobs = {each: self._jobs.get(each, jobs) & jobs for each in wanted}
        self._since_s = {each: self._since_s.get(each, now_s) for each in wanted}
        waited = [each for each in wanted if each not in fresh]
        if ready := [each for each in waited if self._is_free(each, now_s)]:
            self._allocation.kill(ready)

    def _is_free(self, executor_id: str, now_s: float) -> bool:
        return not self._jobs[executor_id] or now_s - self._since_s[executor_id] > _PATIENCE_S

"""Executor time: how long tasks have held each executor, those that still run included.

Spark adds up the tasks of an executor when they end. Without the running ones a long task would seem to happen all at
once, and its executor to be idle before and overloaded then. And the sum is only sure to be up to date while no task
runs (see `status_store`). So the tasks of stages that were seen while they ran are summed here, and what an executor
has done besides is the rest of Spark's sum. That sum is read before the stages: tasks that end in between are missing
from it, so that the rest may be too small while stages run, and never too large.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rheostat.spark.observe.status_store import ActiveStage, ExecutorSummary, StageData, StageShare, StatusStore


class HeldTime(NamedTuple):
    """An executor, and how long tasks have held it: a second is a second of all its slots."""

    executor: ExecutorSummary
    held_s: float


class ExecutorTime:
    """Follows the stages that are computed, from one reading to the next."""

    def __init__(self, store: StatusStore) -> None:
        self._store = store
        self._open: dict[tuple[int, int], StageData] = {}
        self._closed_s: defaultdict[str, float] = defaultdict(float)
        self._unseen_s: dict[str, float] = {}

    def update(
        self, executors: Iterable[ExecutorSummary], active: Sequence[ActiveStage], now_s: float
    ) -> list[HeldTime]:
        """The held times of all `executors`, of which `active` are the stages."""
        at_rest = not self._close(active) and not active
        seen_s = self._closed_s.copy()
        running_s: defaultdict[str, float] = defaultdict(float)
        for stage in active:
            _add(seen_s, stage.shares)
            for task in stage.running:
                running_s[task.executor_id] += task.elapsed_s(now_s)
        times = []
        for each in executors:
            unseen_s = self._unseen_s.get(each.id, 0.0)
            if each.active_tasks == 0 or each.id not in self._unseen_s:
                now_unseen_s = max(0.0, each.task_s - seen_s[each.id])
                unseen_s = now_unseen_s if at_rest else max(unseen_s, now_unseen_s)
                self._unseen_s[each.id] = unseen_s
            ended_s = max(each.task_s, seen_s[each.id] + unseen_s)
            times.append(HeldTime(each, (ended_s + running_s[each.id]) / max(1, each.slots)))
        return times

    def _close(self, active: Sequence[ActiveStage]) -> bool:
        """Add the final times of stages that have ended, and tell whether any has."""
        now = {(each.stage.stage_id, each.stage.attempt_id): each.stage for each in active}
        ended = [stage for key, stage in self._open.items() if key not in now]
        for stage in ended:
            _add(self._closed_s, self._store.shares(stage))
        self._open = now
        return bool(ended)


def _add(times_s: defaultdict[str, float], shares: Mapping[str, StageShare]) -> None:
    for executor, share in shares.items():
        times_s[executor] += share.task_s

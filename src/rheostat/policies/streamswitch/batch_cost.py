"""What a micro-batch costs beside its work, c = c0 + c1·tasks, fitted to the batches seen."""

from collections import deque
from collections.abc import Mapping, Sequence

from rheostat.queueing.microbatch import fitted_cost_s
from rheostat.snapshot import Batch, ExecutorState

_REMEMBERED = 64


class BatchCosts:
    """Of one operator. Where the plant does not tell the cost, it is the duration less the work of the busiest
    executor, which is what a batch waits for."""

    def __init__(self) -> None:
        self._tasks: deque[float] = deque(maxlen=_REMEMBERED)
        self._costs_s: deque[float] = deque(maxlen=_REMEMBERED)
        self._batch: Batch | None = None
        self._busy_s: Mapping[int, float] = {}

    def update(self, batch: Batch | None, executors: Sequence[ExecutorState]) -> None:
        """The batches that ended since the last look; None on an engine without batches."""
        before, busy_before_s = self._batch, self._busy_s
        if batch is None or (before is not None and batch.count == before.count):
            return
        self._batch, self._busy_s = batch, {each.id: each.busy_s for each in executors if each.busy_s is not None}
        if before is not None and batch.count > before.count:
            work_s = max((busy_s - busy_before_s.get(e, busy_s) for e, busy_s in self._busy_s.items()), default=0.0)
            self._add(before, batch, max(0.0, work_s))

    def at(self, tasks: float | None = None) -> float | None:
        """The cost of a batch of so many tasks, or of as many as the last ones had; None when no batch was seen."""
        if not self._costs_s:
            return None
        fixed_s, per_task_s = fitted_cost_s(self._tasks, self._costs_s, [0.0] * len(self._costs_s))
        return fixed_s + per_task_s * (self._tasks[-1] if tasks is None else tasks)

    def with_executors(self, before: int, after: int) -> float | None:
        """The cost once `before` executors have become `after`: where each has a task of its own, their number
        changes with them."""
        if not self._tasks:
            return None
        follows = abs(self._tasks[-1] - before) < 0.5
        return self.at(after if follows else None)

    def _add(self, before: Batch, now: Batch, work_s: float) -> None:
        batches = now.count - before.count
        if now.fixed_s is not None and before.fixed_s is not None:
            cost_s = now.fixed_s - before.fixed_s
        else:
            cost_s = now.duration_s - before.duration_s - work_s
        tasks = 1 if now.tasks is None or before.tasks is None else now.tasks - before.tasks
        self._costs_s.append(max(0.0, cost_s) / batches)
        self._tasks.append(tasks / batches if now.tasks is not None else 1.0)

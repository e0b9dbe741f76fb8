"""Batch cost so far: what a record costs at least, by what the batch under way has cost until now."""

import math

from rheostat.snapshot import BatchUnderWay

_VARIATION = 2.0
"""Squared coefficient of variation of service times that is allowed for."""

_ERRORS = 5.0
"""Standard errors by which a record has to cost more than learned: chance must not look like a jump."""

_BESIDE_S = 0.05
_BESIDE = 2.0
"""A task may take so much longer than usual, or so many times what tasks cost beside their work, whatever its records:
a few records that cost little would seem to cost several times as much."""

_SAME_BATCH_S = 0.05
"""Two readings whose batches began no further apart are of the same batch."""


class BatchCostSoFar:
    """Follows the batches of one operator while they run: a jump of the cost is seen before the first batch with it has
    finished. It is believed until what has finished is learned from, or a later batch says otherwise."""

    def __init__(self) -> None:
        self._began_s: float | None = None
        self._filled_s: float | None = None
        self._of_s: float | None = None
        self._cost_s = self._records = self._beside_s = 0.0

    def update(
        self,
        time_s: float,
        batch: BatchUnderWay | None,
        rate: float | None,
        task_s: float = 0.0,
        *,
        queued: int | None = None,
        is_keyed: bool,
    ) -> None:
        """Add one more turn. Where the rows of the batch are not known, `rate` and `queued` are used, which has them in
        it. A task costs `task_s` beside its work. The tasks of a keyed operator differ, so that those that wait may be
        shorter than those that run: only what was worked counts."""
        if batch is None:
            return
        rows = self._rows(time_s - batch.elapsed_s, batch, rate, queued or 0)
        begun = batch.finished + batch.running
        if not rows or not begun:
            return
        cost_s = (batch.worked_s if is_keyed else batch.likely_work_s) / rows
        if self._of_s == self._began_s or cost_s >= self._cost_s or batch.finished >= batch.tasks / 2:
            self._of_s, self._cost_s, self._records = self._began_s, cost_s, rows * min(1.0, begun / batch.tasks)
            self._beside_s = max(_BESIDE_S, _BESIDE * task_s) * batch.tasks / rows

    def forget(self) -> None:
        """The batches up to now were learned from."""
        self._of_s, self._cost_s, self._records = None, 0.0, 0.0

    def at_least_s(self, learned_s: float | None) -> float | None:
        """What a record costs: `learned_s`, or more if that cannot be chance."""
        if not self._records:
            return learned_s
        chance = 1 + _ERRORS * math.sqrt(_VARIATION / max(1.0, self._records))
        is_more = learned_s is None or self._cost_s - self._beside_s > chance * learned_s
        return self._cost_s if is_more else learned_s

    def _rows(self, began_s: float, batch: BatchUnderWay, rate: float | None, queued: int) -> float | None:
        """As the plant says, or what arrived between the beginnings of the batch before and of this one; or more, if it
        is queued and has not come since then: another operator sends its records batch by batch."""
        if self._began_s is None or began_s > self._began_s + _SAME_BATCH_S:
            self._filled_s = None if self._began_s is None else began_s - self._began_s
            self._began_s = began_s
        if batch.rows is not None or rate is None or self._filled_s is None:
            return batch.rows
        return max(rate * self._filled_s, queued - rate * batch.elapsed_s)

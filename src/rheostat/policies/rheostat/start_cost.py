"""Start cost: how much longer batches take because executors begin to serve in them.

A new executor loads classes, compiles and starts its Python workers with its first task, and the batch waits for that
task; on nodes with few cores it slows down the others as well. A batch that waits for new executors is a part of what a
scale-out costs.
"""

from collections import deque
from collections.abc import Callable

from rheostat.snapshot import OperatorState

_REMEMBERED = 3
"""Scale-outs."""

_MOST_S = 10.0
"""Of one scale-out: batches that take longer do so for another reason."""

BatchTime = Callable[[float, int], float]
"""How long a batch of so many records should take on so many executors."""


class StartCost:
    """Follows the batches of one operator. `mean_s` is 0 until a scale-out was seen."""

    def __init__(self) -> None:
        self._last: OperatorState | None = None
        self._under_way_s: float | None = None
        self._paid_s: deque[float] = deque(maxlen=_REMEMBERED)

    @property
    def mean_s(self) -> float:
        """Of the last scale-outs."""
        return sum(self._paid_s) / len(self._paid_s) if self._paid_s else 0.0

    def update(self, state: OperatorState, warm: int, expected_s: BatchTime, *, is_cold: bool) -> None:
        """Add one more turn with `warm` executors that have served for a while. With `is_cold` batches may have ended
        since the last turn in which others began to."""
        last, self._last = self._last, state
        if is_cold and warm > 0:
            self._under_way_s = (self._under_way_s or 0.0) + _longer_s(last, state, warm, expected_s)
        elif self._under_way_s is not None:
            self._paid_s.append(min(max(0.0, self._under_way_s), _MOST_S))
            self._under_way_s = None


def _longer_s(last: OperatorState | None, now: OperatorState, size: int, expected_s: BatchTime) -> float:
    """How much longer than expected the batches took that have ended since."""
    if last is None or last.batch is None or now.batch is None or last.completed is None or now.completed is None:
        return 0.0
    batches, took_s = now.batch.count - last.batch.count, now.batch.duration_s - last.batch.duration_s
    if batches <= 0:
        return 0.0
    return took_s - batches * expected_s((now.completed - last.completed) / batches, size)

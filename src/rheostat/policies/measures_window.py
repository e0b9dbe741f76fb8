"""Measures window: the measures of each operator over the last seconds, as means over the turns in them."""

from collections import deque
from collections.abc import Callable
from operator import attrgetter

from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.names import OperatorName


class MeasuresWindow:
    """Keeps the turns of the last `length_s` seconds. A time that goes back starts it again."""

    def __init__(self, length_s: float) -> None:
        self._length_s = length_s
        self._turns: deque[tuple[float, Measures]] = deque()

    def add(self, time_s: float, measures: Measures) -> None:
        """One more turn; those that ended before the window are forgotten."""
        if self._turns and time_s < self._turns[-1][0]:
            self.clear()
        self._turns.append((time_s, measures))
        while len(self._turns) > 1 and self._turns[0][0] <= time_s - self._length_s:
            self._turns.popleft()

    def clear(self) -> None:
        """Forget all turns."""
        self._turns.clear()

    @property
    def external_rate(self) -> float | None:
        """Records per second that entered; None when no turn knows it."""
        return _mean(self._turns, attrgetter("external_rate"))

    def mean(self, operator: OperatorName, of: str) -> float | None:
        """The mean of one measure of `operator`, for example "utilisation"; None when no turn knows it."""
        return _mean(self._turns, lambda measures: getattr(measures.operators.get(operator, OperatorMeasures()), of))


def _mean(turns: deque[tuple[float, Measures]], read: Callable[[Measures], float | None]) -> float | None:
    """Weighted by the lengths of the turns, over those that know the value."""
    known = [(measures.interval_s, value) for _, measures in turns if (value := read(measures)) is not None]
    total_s = sum(interval_s for interval_s, _ in known)
    return sum(interval_s * value for interval_s, value in known) / total_s if total_s > 0 else None

"""Failed sizes: those that a pool was scaled in to, and that were too few soon after, though the load was no higher."""

from typing import NamedTuple

_SOON_S = 600.0
_REMEMBERED_S = 3600.0
_NO_HIGHER = 1.15
"""Share up to which the work of two moments is the same: it is measured with an error."""

_LOWER = 0.85


class _Trial(NamedTuple):
    """A size, and the work for which it was taken to be enough."""

    time_s: float
    size: int
    work: float


class FailedSizes:
    """Of one pool. The model was wrong about them, and by how much is not known: they are not tried again at the same
    load for a while, or the pool would go in and out for ever."""

    def __init__(self) -> None:
        self._last: _Trial | None = None
        self._failed: dict[int, _Trial] = {}

    def scaled_in(self, time_s: float, size: int, work: float) -> None:
        """`size` executors should be enough for what keeps `work` of them busy."""
        self._last = _Trial(time_s, size, work)

    def scaled_out(self, time_s: float, work: float) -> None:
        """More are needed."""
        last, self._last = self._last, None
        if last is not None and time_s - last.time_s <= _SOON_S and work <= _NO_HIGHER * last.work:
            self._failed[last.size] = last._replace(time_s=time_s)

    def least(self, time_s: float, work: float) -> int:
        """The fewest executors that are worth a trial."""
        failed = [
            trial.size
            for trial in self._failed.values()
            if time_s - trial.time_s <= _REMEMBERED_S and work >= _LOWER * trial.work
        ]
        return max(failed) + 1 if failed else 0

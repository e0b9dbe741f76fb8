"""How much service times vary, from the records that were timed alone in the executors (DRS: every N_m-th)."""

from rheostat.spark.query.per_record.timings import Timings

_FEWEST_SAMPLES = 8
"""Fewer say nothing about a spread: the one before is kept."""


class ServiceSpread:
    """The squared coefficient of variation of the service times sampled between two updates."""

    def __init__(self) -> None:
        self._count = 0
        self._sum_s = self._sum_s2 = 0.0
        self._scv: float | None = None

    def update(self, timings: Timings | None) -> float | None:
        """From cumulative timings; None for a function that is not timed, or before there are enough samples."""
        if timings is None:
            return None
        count, total_s = timings.sampled - self._count, timings.sampled_s - self._sum_s
        total_s2 = timings.sampled_s2 - self._sum_s2
        self._count, self._sum_s, self._sum_s2 = timings.sampled, timings.sampled_s, timings.sampled_s2
        if count >= _FEWEST_SAMPLES and total_s > 0:
            self._scv = max(0.0, total_s2 * count / total_s**2 - 1)
        return self._scv

"""Variability: squared coefficients of variation of arrivals and of service times."""

from rheostat.spark.query.per_record.timings import Timings

_FEWEST_INTERVALS = 8
_FEWEST_SAMPLES = 8


class ArrivalVariability:
    """Whether records arrive one by one or in bursts: the variance of their counts over the mean.

    The index of dispersion of counts. For a renewal process it tends to the squared coefficient of variation of the
    times between arrivals (1 for Poisson), and it needs no times of single arrivals. Over the last `size` intervals.
    """

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._intervals: list[tuple[float, int]] = []

    def add(self, duration_s: float, rows: int) -> None:
        if duration_s > 0:
            self._intervals = [*self._intervals[1 - self._size :], (duration_s, rows)]

    def scv(self) -> float | None:
        """None for fewer than eight intervals."""
        rows, duration_s = sum(rows for _, rows in self._intervals), sum(each for each, _ in self._intervals)
        if len(self._intervals) < _FEWEST_INTERVALS or not rows:
            return None
        rate = rows / duration_s
        off = [(count - rate * each) ** 2 / (rate * each) for each, count in self._intervals]
        return sum(off) / (len(off) - 1)


class ServiceVariability:
    """The variation of service times among the records timed alone in the executors (DRS: every N_m-th)."""

    def __init__(self) -> None:
        self._count = 0
        self._sum_s = self._sum_s2 = 0.0
        self._scv: float | None = None

    def update(self, timings: Timings | None) -> float | None:
        """Between two updates, from cumulative timings; the last value if there were fewer than eight samples.

        None for a function that is not timed, and before there are enough samples.
        """
        if timings is None:
            return None
        count, total_s = timings.sampled - self._count, timings.sampled_s - self._sum_s
        total_s2 = timings.sampled_s2 - self._sum_s2
        self._count, self._sum_s, self._sum_s2 = timings.sampled, timings.sampled_s, timings.sampled_s2
        if count >= _FEWEST_SAMPLES and total_s > 0:
            self._scv = max(0.0, total_s2 * count / total_s**2 - 1)
        return self._scv

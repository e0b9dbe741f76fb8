"""Load-aware grouping (PA-SPS Algorithm 1): the executor with the least utilisation gets the next record."""

from collections.abc import Sequence

import numpy as np

from rheostat.errors import ConfigError
from rheostat.grouping.countmin import Floats
from rheostat.grouping.grouping import Choices, Values, check_executors
from rheostat.grouping.round_robin import RoundRobin


class LoadAware:
    """Tracks the utilisation U of each executor through an interval of `interval_s` (td).

    `read` sets U at the start of each interval, and each record adds et/td. Where all are at 1 or above, or all are
    equal, records go round robin (until the next `read`: equals stay equal).

    U starts at the mean of the last reading and the value that the interval before started at. Read as printed, what
    is made up for in one interval is a difference again in the next: deviations change their sign from interval to
    interval and never become smaller, and chance adds to them (mean latency three times that of round robin).

    Unlike in the printed listing all executors are candidates, the first too, and et is the executor's own: with the
    operator's mean a slow executor would look idle and get more.
    """

    def __init__(self, executors: int, interval_s: float) -> None:
        self.executors = check_executors(executors)
        if not interval_s > 0:
            raise ConfigError(f"load-aware interval {interval_s!r} must be a time > 0")
        self._interval_s = interval_s
        self._turns = RoundRobin(executors)
        self._utilisation = np.zeros(executors)
        self._smoothed: list[float | None] = [None] * executors
        self._step = np.zeros(executors)

    def read(self, utilisation: Sequence[float], service_s: Sequence[float | None]) -> None:
        """What was measured in the interval that ends: useful share and mean service time of each executor.

        An executor whose service time is not known yet is taken to be as fast and as busy as the mean of the others:
        as an idle one it would get everything until it is as busy as they are. While none is known, all count as equal.
        """
        self._check(len(utilisation), len(service_s))
        known = [time for time in service_s if time]
        usual_s = sum(known) / len(known) if known else 0.0
        smoothed = zip(self._smoothed, utilisation, service_s, strict=True)
        self._smoothed = [_mean(before, share) if time else before for before, share, time in smoothed]
        used = [share for share, time in zip(self._smoothed, service_s, strict=True) if time and share is not None]
        usual = sum(used) / len(used) if used else 0.0
        self._utilisation = np.array([usual if share is None else share for share in self._smoothed])
        self._step = np.array([time or usual_s for time in service_s]) / self._interval_s

    def choose(self, value: int = 0) -> int:
        """The executor with the least utilisation, the first of equals; `value` is ignored."""
        chosen = int(self._utilisation.argmin())
        least = self._utilisation[chosen]
        if least >= 1.0 or least == self._utilisation.max():
            return self._turns.choose()
        self._utilisation[chosen] += self._step[chosen]
        return chosen

    def assign(self, values: Values) -> Choices:
        """Records go to executors in the order of their levels: U before the first record, the second, and so on."""
        levels = self._levels(len(values))
        order = np.argsort(levels, axis=None, kind="stable")
        by_level = order[: self._until_round_robin(levels.ravel()[order], len(values))] // levels.shape[1]
        given = np.bincount(by_level, minlength=self.executors)
        self._utilisation = levels[np.arange(self.executors), given]
        return np.concatenate([by_level, self._turns.assign(values[len(by_level) :])])

    def _levels(self, records: int) -> Floats:
        """`[x, n]` is the utilisation of executor x after n more records."""
        steps = np.broadcast_to(self._step[:, None], (self.executors, records))
        return np.add.accumulate(np.column_stack([self._utilisation, steps]), axis=1)

    def _until_round_robin(self, levels: Floats, records: int) -> int:
        """The number of records that go by sorted `levels` before all executors are full, or all equal."""
        last = levels[self.executors - 1 :]
        stops = np.flatnonzero((levels[: len(last)] >= 1.0) | (levels[: len(last)] == last))
        return min(records, int(stops[0])) if len(stops) else records

    def _check(self, *lengths: int) -> None:
        for length in lengths:
            if length != self.executors:
                raise ConfigError(f"{length} values for {self.executors} executors: give one for each")


def _mean(before: float | None, share: float) -> float:
    return share if before is None else (before + share) / 2

"""M/M/k and GI/G/k: all executors of an operator serve one queue (DRS eq. 1 to 3, and 5)."""

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from rheostat.errors import ConfigError
from rheostat.queueing.models.erlang import inverse_blocking, inverse_blockings, mean_waiting
from rheostat.queueing.models.model import Counts, Flags, Floats
from rheostat.queueing.models.rates import Rates


class _ErlangStack:
    """Many GI/G/k operators; each row of a block is one step of Erlang's recursion in all of them."""

    def __init__(self, models: Sequence["GIGk"], executors: Counts) -> None:
        self._load = np.array([model.load() for model in models])
        self._scale = np.array([model.variability() * model.load() for model in models])
        self._executors = executors.astype(np.float64)
        self._inverse = inverse_blockings(executors, self._load)
        self._waiting = self._waiting_now()

    def block(self, width: int) -> Floats:
        changes = np.empty((width, self._load.size))
        with np.errstate(over="ignore"):
            for row in changes:
                self._executors += 1.0
                self._inverse = 1.0 + self._inverse * self._executors / self._load
                before, self._waiting = self._waiting, self._waiting_now()
                np.subtract(self._waiting, before, out=row)
        return changes

    def keep(self, which: Flags) -> None:
        self._load, self._scale = self._load[which], self._scale[which]
        self._executors, self._inverse = self._executors[which], self._inverse[which]
        self._waiting = self._waiting[which]

    def _waiting_now(self) -> Floats:
        spare = self._executors - self._load
        waiting: Floats = self._scale * self._executors / (spare * (spare * self._inverse + self._load))
        return waiting


class GIGk(Rates, frozen=True):
    """An operator with one queue for all its executors, by the approximation of DRS eq. 5.

    `arrival_scv` and `service_scv` are the squared coefficients of variation of the times between arrivals
    and of the service times; 1 and 1 is M/M/k, where the formula is exact.
    """

    arrival_scv: float = 1.0
    service_scv: float = 1.0
    convex: ClassVar[bool] = True
    stack: ClassVar[type[_ErlangStack]] = _ErlangStack

    def __post_init__(self) -> None:
        Rates.__post_init__(self)
        if not (0.0 <= self.arrival_scv < math.inf and 0.0 <= self.service_scv < math.inf):
            arrival_is_wrong = not 0.0 <= self.arrival_scv < math.inf
            wrong = ("arrival", self.arrival_scv) if arrival_is_wrong else ("service", self.service_scv)
            raise ConfigError(f"{wrong[0]} SCV {wrong[1]!r} must be a variance over a squared mean, 0 or more")

    def variability(self) -> float:
        """The factor (a + s)/2 by which eq. 5 stretches the queueing delay of M/M/k."""
        return 0.5 * (self.arrival_scv + self.service_scv)

    def sojourn_s(self, executors: int) -> float:
        if executors < self.fewest():
            return math.inf
        if self.load() == 0.0:
            return 1.0 / self.service_rate
        waiting = self.variability() * mean_waiting(executors, self.load())
        return waiting / self.arrival_rate + 1.0 / self.service_rate

    def changes(self, executors: int) -> Iterator[float]:
        load = self.arrival_rate / self.service_rate
        scale = 0.5 * (self.arrival_scv + self.service_scv) * load
        inverse = inverse_blocking(executors, load)
        k = float(executors)
        spare = k - load
        waiting = scale * k / (spare * (spare * inverse + load))
        while True:
            k += 1.0
            inverse = 1.0 + inverse * k / load
            spare = k - load
            before, waiting = waiting, scale * k / (spare * (spare * inverse + load))
            yield waiting - before

    def best(self, least: int = 1) -> float:
        """Without arrivals, or without variation, no tuple waits and no further executor helps."""
        if self.load() > 0.0 and self.arrival_scv + self.service_scv > 0.0:
            return math.inf
        return max(least, self.fewest())

    def floor_s(self, least: int = 1) -> float:
        return 1.0 / self.service_rate


def mmk(arrival_rate: float, service_rate: float) -> GIGk:
    """M/M/k (DRS eq. 1): Poisson arrivals, exponential service, one queue."""
    return GIGk(arrival_rate, service_rate)

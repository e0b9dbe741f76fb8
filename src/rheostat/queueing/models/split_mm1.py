"""M/M/1 queues side by side, with StreamSwitch's safety margin: each executor serves its own share of the keys."""

import math

from rheostat.errors import ConfigError
from rheostat.queueing.models.hyperbola import Hyperbolic
from rheostat.queueing.models.rates import Rates


def projected_latency_s(arrival_rate: float, service_rate: float, margin: float = 0.0) -> float:
    """L_i = 1/((1−ε)μ − λ) of one executor (StreamSwitch 4.2); 0 without arrivals, infinite from (1−ε)μ on.

    >>> projected_latency_s(1799, 2000, margin=0.1)
    1.0
    """
    if arrival_rate <= 0.0:
        return 0.0
    spare_rate = (1.0 - margin) * service_rate - arrival_rate
    return 1.0 / spare_rate if spare_rate > 0.0 else math.inf


class SplitMM1(Hyperbolic, frozen=True):
    """k executors with a queue each; each gets λ/k and counts with (1−ε) of its service rate.

    Executors of different speeds that share the load in proportion to them have the same mean sojourn time as k equal
    ones of their mean speed.
    """

    margin: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.margin < 1.0:
            raise ConfigError(f"safety margin {self.margin!r} must be at least 0 and below 1")

    def load(self) -> float:
        """λ/((1−ε)μ): the margin counts as work."""
        return self.arrival_rate / self._trusted_rate()

    def utilisation(self, executors: int) -> float:
        """The share of time that the executors are really busy, without the margin."""
        return Rates.load(self) / executors

    def sojourn_s(self, executors: int) -> float:
        if executors < self.fewest():
            return math.inf
        return projected_latency_s(self.arrival_rate / executors, self.service_rate, self.margin)

    def hyperbola(self) -> tuple[float, float]:
        """λ/((1−ε)μ − λ/k) = a + a²/(k − a)."""
        load = self.load()
        return load * load, 0.0  # infinite where load**2 would raise an OverflowError

    def floor_s(self, least: int = 1) -> float:
        return 1.0 / self._trusted_rate() if self.arrival_rate else 0.0

    def _trusted_rate(self) -> float:
        return (1.0 - self.margin) * self.service_rate


def mm1(arrival_rate: float, service_rate: float) -> SplitMM1:
    """M/M/1 queues side by side without a margin."""
    return SplitMM1(arrival_rate, service_rate)

"""Rates: the arrival rate of an operator and the service rate of one executor, the basis of every model."""

import math

import msgspec

from rheostat.errors import ConfigError

_ROUNDING = 1.0 + 1e-12
"""Tolerance for rates that result from divisions: 0.3/0.1 is a load of 3, though it prints as 2.9999999999999996."""
_LARGEST_RATE, _LARGEST_LOAD = 1e18, 1e12
"""Beyond this arrival rate, or this number of executors, counts and latencies would overflow."""


class Rates(msgspec.Struct, frozen=True):
    """Arrival rate λ of an operator and service rate μ of one of its executors, in tuples a second."""

    arrival_rate: float
    service_rate: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.arrival_rate <= _LARGEST_RATE:
            raise ConfigError(
                f"arrival rate {self.arrival_rate!r} must be a number of tuples a second from 0 to {_LARGEST_RATE:g}"
            )
        if not 0.0 < self.service_rate < math.inf:
            raise ConfigError(f"service rate {self.service_rate!r} must be a number of tuples a second above 0")
        if self.arrival_rate > _LARGEST_LOAD * self.service_rate:
            raise ConfigError(
                f"service rate {self.service_rate!r} is too low for the arrival rate {self.arrival_rate!r}: "
                f"more than {_LARGEST_LOAD:g} executors would be needed; check both"
            )

    def load(self) -> float:
        """λ/μ: the number of executors that the arriving work keeps busy."""
        return self.arrival_rate / self.service_rate

    def fewest(self) -> float:
        """The fewest executors that keep up (ρ < 1); at least one, also when nothing arrives."""
        return int(self.load() * _ROUNDING) + 1

    def utilisation(self, executors: int) -> float:
        """ρ: the share of their time that the executors are busy; 1 or more when they cannot keep up."""
        return self.load() / executors

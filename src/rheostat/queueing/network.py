"""Network: an open network of operators, and the time E[T] that a tuple and its descendants spend in it (DRS eq. 4)."""

import math
from collections.abc import Iterable, Sequence
from typing import Self

import msgspec

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.queueing.allocation.bounded_models import BoundedModels
from rheostat.queueing.models.model import QueueModel


class Station(msgspec.Struct, frozen=True):
    """An operator in a queueing network: its model, and the bounds of its number of executors."""

    name: str
    model: QueueModel
    least: int = 1
    most: float = math.inf

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ConfigError(
                f"operator {self.name!r} cannot have at least {self.least} and at most {self.most} executors: "
                "the lower bound must be 1 or more, the upper one no smaller"
            )

    def bounds(self) -> tuple[int, float]:
        """The fewest executors that are allowed and keep up, and the most that are allowed and useful."""
        fewest = self.model.fewest()
        if fewest > self.most or fewest == math.inf:
            raise self._never_keeps_up(fewest)
        lowest = self.least if self.least > fewest else int(fewest)
        best = self.model.best(lowest)
        return lowest, self.most if self.most < best else best

    def floor_s(self) -> float:
        """The least sojourn time within the bounds; without an upper bound, its limit."""
        lowest, highest = self.bounds()
        if highest == math.inf:
            return self.model.floor_s(lowest)
        candidates = [int(highest)] if self.model.convex else range(lowest, int(highest) + 1)
        return min(map(self.model.sojourn_s, candidates))

    def _never_keeps_up(self, fewest: float) -> InfeasibleError:
        if fewest == math.inf:
            return InfeasibleError(
                f"operator {self.name!r} cannot keep up with any number of executors: give its batches more tasks"
            )
        return InfeasibleError(
            f"operator {self.name!r} needs at least {fewest} executors to keep up, but may have only {self.most}"
        )


class Network(msgspec.Struct, frozen=True):
    """Stations in the order they were declared, and the rate λ0 at which tuples enter from outside."""

    stations: tuple[Station, ...]
    external_rate: float

    def __post_init__(self) -> None:
        if not 0.0 < self.external_rate < math.inf:
            raise ConfigError(f"external rate {self.external_rate!r} must be a number of tuples a second above 0")
        if not self.stations:
            raise ConfigError("a network without operators has nothing to allocate: give at least one")
        if len({station.name for station in self.stations}) < len(self.stations):
            names = self.names()
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"two operators are named {twice!r}: names must differ")

    @classmethod
    def of(cls, external_rate: float, **models: QueueModel) -> Self:
        """A network of operators without bounds, by name."""
        return cls(tuple(Station(name, model) for name, model in models.items()), external_rate)

    def names(self) -> list[str]:
        return [station.name for station in self.stations]

    def bounded_models(self) -> BoundedModels[QueueModel]:
        """The models of the stations with the bounds of their executors."""
        models, lowest, highest = [], [], []
        for station in self.stations:
            low, high = station.bounds()
            models.append(station.model)
            lowest.append(low)
            highest.append(high)
        return BoundedModels(models, lowest, highest)

    def expected_latency_s(self, executors: Sequence[int]) -> float:
        """E[T] = (1/λ0) Σ λi·E[Ti](ki) (DRS eq. 4), rounded once; infinite if an operator cannot keep up."""
        sojourns = (station.model.sojourn_s(k) for station, k in zip(self.stations, executors, strict=True))
        return self._mean(sojourns)

    def floor_s(self) -> float:
        """The lower bound of E[T]: Σ (λi/λ0)·E[Ti] with each operator at its best.

        DRS's Algorithm 2 prints Σ 1/μi, which is wrong as soon as a tuple visits an operator more or less
        than once.
        """
        return self._mean(station.floor_s() for station in self.stations)

    def floor_is_reached(self) -> bool:
        """Whether a finite number of executors reaches `floor_s()`."""
        return all(station.bounds()[1] < math.inf for station in self.stations)

    def _mean(self, sojourns: Iterable[float]) -> float:
        """Rounded only once, so that the sum does not depend on the order of operators."""
        visited = zip(self.stations, sojourns, strict=True)
        tuples = [s.model.arrival_rate * sojourn for s, sojourn in visited if s.model.arrival_rate > 0.0]
        return math.fsum(tuples) / self.external_rate


class ExecutorAllocation(msgspec.Struct, frozen=True):
    """Executors for each station of a network, in its order."""

    network: Network
    executors: tuple[int, ...]

    def total(self) -> int:
        return sum(self.executors)

    def by_name(self) -> dict[str, int]:
        return dict(zip(self.network.names(), self.executors, strict=True))

    def expected_latency_s(self) -> float:
        return self.network.expected_latency_s(self.executors)

    def utilisation(self) -> dict[str, float]:
        """ρ of each operator by name."""
        visited = zip(self.network.stations, self.executors, strict=True)
        return {station.name: station.model.utilisation(k) for station, k in visited}

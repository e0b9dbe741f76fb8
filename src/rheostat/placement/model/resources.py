"""Resources that tasks need and nodes have: processor, memory and I/O, in the same unit for both."""

from typing import NamedTuple

import msgspec

from rheostat.errors import ConfigError


class Resources(NamedTuple):
    """An amount of each resource, not negative."""

    cpu: float = 0.0
    memory: float = 0.0
    io: float = 0.0

    def scaled(self, factor: float) -> "Resources":
        return Resources(self.cpu * factor, self.memory * factor, self.io * factor)

    def __str__(self) -> str:
        return f"cpu {self.cpu:g}, memory {self.memory:g}, io {self.io:g}"


class ResourceWeights(msgspec.Struct, frozen=True):
    """The weight of each resource in a weighted sum (Ra-Stream's α and β, or γ and δ); I/O has the rest to 1."""

    cpu: float = 0.50
    memory: float = 0.35

    def __post_init__(self) -> None:
        if self.cpu < 0 or self.memory < 0 or self.cpu + self.memory > 1:
            raise ConfigError(f"weights cpu {self.cpu!r} and memory {self.memory!r} must be >= 0 and add up to <= 1")

    @property
    def io(self) -> float:
        return 1.0 - self.cpu - self.memory

    def of(self, shares: Resources) -> float:
        """The weighted sum (Ra-Stream eq. 6)."""
        return self.cpu * shares.cpu + self.memory * shares.memory + self.io * shares.io

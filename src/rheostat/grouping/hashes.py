"""Hash functions for Count-Min: two values collide with probability at most 1/c."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigError
from rheostat.grouping.grouping import Values

PRIME = 2**31 - 1
"""Values count modulo this prime; a product of two numbers below it fits into 64 bits."""


@dataclass(frozen=True, slots=True)
class Hashes:
    """One function for each row of a sketch: ((a·x + b) mod p) mod c, with random a and b (Carter and Wegman 1979)."""

    factors: tuple[int, ...]
    offsets: tuple[int, ...]
    columns: int

    @property
    def rows(self) -> int:
        return len(self.factors)

    @classmethod
    def drawn(cls, rows: int, columns: int, rng: np.random.Generator) -> "Hashes":
        factors, offsets = rng.integers(1, PRIME, rows), rng.integers(0, PRIME, rows)
        return cls(tuple(map(int, factors)), tuple(map(int, offsets)), columns)

    def columns_of(self, values: Values) -> npt.NDArray[np.int64]:
        """The column of each value, a row for each function."""
        folded = np.atleast_1d(np.asarray(values)).astype(np.int64) % PRIME
        factors, offsets = np.array(self.factors)[:, None], np.array(self.offsets)[:, None]
        return np.asarray((factors * folded + offsets) % PRIME % self.columns)


def sketch_hashes(epsilon: float, delta: float, rng: np.random.Generator) -> Hashes:
    """For a sketch that is too high by more than ε·m with probability at most δ: ⌈ln 1/δ⌉ rows, ⌈e/ε⌉ columns."""
    for name, share in (("epsilon", epsilon), ("delta", delta)):
        if not 0 < share < 1:
            raise ConfigError(f"sketch {name} {share!r} must lie between 0 and 1")
    return Hashes.drawn(math.ceil(math.log(1 / delta)), math.ceil(math.e / epsilon), rng)

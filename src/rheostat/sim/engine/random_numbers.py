"""Random numbers for compiled code: xoshiro256++, its state in the simulator's own memory.

There are two streams: arrivals are drawn from one and what happens to them from the other, so that all policies get
the same arrivals under the same seed.

In compiled code every draw from a `numpy.random.Generator` costs reference counts, several times the price of the
number itself. It only seeds: `seed` fills the state from the generator passed in.
"""

import math

import numpy as np

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.state import EngineState

ARRIVALS, SERVICE = 0, 1
STREAMS, WORDS = 2, 4
_TWO_TO_53 = float(1 << 53)


def seed(s: EngineState, rng: np.random.Generator) -> None:
    """Start the simulator's randomness from `rng`."""
    s.chance.word[:] = rng.integers(np.iinfo(np.int64).min, np.iinfo(np.int64).max, size=STREAMS * WORDS)


@jit
def _rotated(word: int, by: int) -> int:
    return (word << by) | ((word >> (64 - by)) & ((1 << by) - 1))


@jit
def uniform(s: EngineState, stream: int) -> float:
    """A number from [0, 1) with 53 random bits."""
    first = stream * WORDS
    a, b, c, d = at(s.chance, first), at(s.chance, first + 1), at(s.chance, first + 2), at(s.chance, first + 3)
    result = _rotated(a.word + d.word, 23) + a.word
    shifted = b.word << 17
    c.word ^= a.word
    d.word ^= b.word
    b.word ^= c.word
    a.word ^= d.word
    c.word ^= shifted
    d.word = _rotated(d.word, 45)
    return ((result >> 11) & ((1 << 53) - 1)) / _TWO_TO_53


@jit
def exponential(s: EngineState, stream: int) -> float:
    """An exponential number of mean 1."""
    return -math.log(1.0 - uniform(s, stream))


@jit
def normal(s: EngineState, stream: int) -> float:
    """A standard normal number (Box and Muller)."""
    return math.sqrt(2.0 * exponential(s, stream)) * math.cos(2.0 * math.pi * uniform(s, stream))


@jit
def gamma(s: EngineState, stream: int, shape: float) -> float:
    """A gamma number of the given shape and scale 1 (Marsaglia and Tsang)."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(s, stream)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(s, stream)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - uniform(s, stream)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return d * v * boost


@jit
def poisson(s: EngineState, stream: int, mean: float) -> int:
    """A Poisson number, by counting the arrivals of a unit-rate process: correct for any mean, fast for small ones."""
    count = 0
    time = exponential(s, stream)
    while time < mean:
        count += 1
        time += exponential(s, stream)
    return count

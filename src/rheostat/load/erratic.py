"""Erratic load: a new random level in each interval, with occasional high peaks.

A level is a pure function of (seed, interval), by hashing a counter (the SplitMix64 generator of Steele, Lea and Flood,
2014, whose n-th number needs none of the earlier ones). So no state is kept, and every time of a run costs the same.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.duration import seconds
from rheostat.errors import LoadError
from rheostat.load.curves import Band
from rheostat.load.fields import Array, Period, Rate, Share, Whole
from rheostat.load.shape import refuse_too_many

_GAMMA = 0x9E3779B97F4A7C15
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Erratic(Band):
    """Sudden changes, as in DABS-Storm's second stream (figure 11b).

    In each `interval` the rate is uniform between `low` and `high`; with probability `peak_chance` the interval is a
    peak instead, uniform between `high` and `peak_factor` times `high`.
    """

    interval: Period
    seed: Whole = 0
    peak_chance: Share = 0.1
    peak_factor: Rate = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.peak_factor < 1:
            raise LoadError(
                f"Erratic peak_factor {self.peak_factor:g} is below 1, but peaks rise above `high`: give at least 1"
            )

    def _rates(self, times_s: Array) -> Array:
        interval = np.floor(times_s / seconds(self.interval)).astype(np.int64).astype(np.uint64)
        is_peak = random_numbers(3 * self.seed, interval) < self.peak_chance
        level = random_numbers(3 * self.seed + 1, interval)
        height = random_numbers(3 * self.seed + 2, interval)
        peak = self.high * (1 + (self.peak_factor - 1) * height)
        return np.where(is_peak, peak, self.between(level))

    def breakpoints(self, until_s: float) -> Array:
        refuse_too_many("Erratic interval", seconds(self.interval), until_s)
        return np.arange(0.0, until_s, seconds(self.interval))


def random_numbers(seed: int, counters: npt.NDArray[np.uint64]) -> Array:
    """Numbers in [0, 1), one for each counter; other seeds give independent ones."""
    start = int(_mixed(np.array(seed & _MASK, dtype=np.uint64)))
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is meant
        bits = _mixed(np.uint64(start) + (counters + np.uint64(1)) * np.uint64(_GAMMA))
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53)


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * _MIX_1
        bits = (bits ^ (bits >> np.uint64(27))) * _MIX_2
    return bits ^ (bits >> np.uint64(31))

"""Latency histograms of fixed size: 32 bins per octave from a microsecond to a day, accurate to 3 %.

The bin is read from the bits of the floating-point number, which takes a nanosecond and no logarithm.
"""

import numpy as np

from rheostat.sim.engine.jit import jit

_SUB_BITS = 5
_LOWEST_EXPONENT = -20
_OCTAVES = 37
BINS = _OCTAVES << _SUB_BITS
_SHIFT = 52 - _SUB_BITS
_OFFSET = (1023 + _LOWEST_EXPONENT) << _SUB_BITS


@jit
def bin_of(value: float) -> int:
    """The bin of `value`; values outside the range go to the first and last bin."""
    index = (np.float64(value).view(np.int64) >> _SHIFT) - _OFFSET
    return max(0, min(BINS - 1, int(index)))


def edges() -> np.ndarray:
    """The lower edges of all bins and the upper edge of the last."""
    index = np.arange(BINS + 1)
    mantissa = 1 + (index & ((1 << _SUB_BITS) - 1)) / (1 << _SUB_BITS)
    edge = mantissa * 2.0 ** (_LOWEST_EXPONENT + (index >> _SUB_BITS))
    edge[0] = 0.0
    return edge


def quantile(counts: np.ndarray, share: float) -> float | None:
    """The value below which `share` of the counts lies, interpolated within its bin; None without counts."""
    total = int(counts.sum())
    if total == 0:
        return None
    cumulative = np.cumsum(counts)
    index = int(np.searchsorted(cumulative, share * total))
    index = min(index, BINS - 1)
    below = cumulative[index] - counts[index]
    lower, upper = edges()[index : index + 2]
    return float(lower + (upper - lower) * (share * total - below) / counts[index])

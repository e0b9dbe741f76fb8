"""Ra-Stream's edge weight: a mean that one outlier on either side cannot move."""

import math
from collections.abc import Sequence


def trimmed_mean(samples: Sequence[float]) -> float | None:
    """The mean without the largest and the smallest sample (Ra-Stream eq. 1, divided by n − 2).

    Under three samples it is the plain mean, without any it is None.
    """
    if not samples:
        return None
    if len(samples) < 3:
        return math.fsum(samples) / len(samples)
    return math.fsum(sorted(samples)[1:-1]) / (len(samples) - 2)

"""Correction: from the model's estimate to a prediction, by measured/estimated or a line through past measurements.

Eq. 4 sums over all derived records, while a measured latency ends with the last of them, and branches run in
parallel: the two may differ by a factor, but they rise and fall together (section V-C-1).
"""

import math
from collections import deque
from typing import Protocol

import msgspec
import numpy as np

_PAIRS = 30
_FEWEST_PAIRS = 3


class Correction(msgspec.Struct, frozen=True):
    """predicted = offset_s + slope · estimate, with a slope above 0."""

    slope: float = 1.0
    offset_s: float = 0.0

    def predicted_s(self, estimate_s: float) -> float:
        return self.offset_s + self.slope * estimate_s

    def estimate_s(self, predicted_s: float) -> float:
        """The estimate that stands for a predicted latency."""
        return (predicted_s - self.offset_s) / self.slope


UNCORRECTED = Correction()


class Corrector(Protocol):
    """Learns from one measurement after the other."""

    def update(self, measured_s: float | None, estimate_s: float) -> Correction:
        """The correction that holds now, when `measured_s` was measured where the model says `estimate_s`."""
        ...


class NoCorrection:
    """The estimate is the prediction."""

    def update(self, measured_s: float | None, estimate_s: float) -> Correction:
        return UNCORRECTED


class Ratio:
    """measured/estimated; 1 without a measurement or with an infinite estimate."""

    def update(self, measured_s: float | None, estimate_s: float) -> Correction:
        if not measured_s or not 0 < estimate_s < math.inf:
            return UNCORRECTED
        return Correction(measured_s / estimate_s)


class Regression:
    """Least squares over the last pairs of estimate and measurement; the ratio until they make a rising line."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[float, float]] = deque(maxlen=_PAIRS)

    def update(self, measured_s: float | None, estimate_s: float) -> Correction:
        if measured_s and 0 < estimate_s < math.inf:
            self._pairs.append((estimate_s, measured_s))
        return self._fitted() or Ratio().update(measured_s, estimate_s)

    def _fitted(self) -> Correction | None:
        if len({estimate for estimate, _ in self._pairs}) < _FEWEST_PAIRS:
            return None
        estimates, measured = np.array(self._pairs).T
        deviations = estimates - estimates.mean()
        slope = float(deviations @ measured / (deviations @ deviations))
        return Correction(slope, float(measured.mean() - slope * estimates.mean())) if slope > 0 else None


def correction_named(name: str) -> Corrector:
    """By the value of the option."""
    kinds: dict[str, type[Corrector]] = {"ratio": Ratio, "regression": Regression, "none": NoCorrection}
    return kinds[name]()

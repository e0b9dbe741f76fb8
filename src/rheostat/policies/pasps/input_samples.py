"""Input samples: the input rate in samples of equal length, from measurements at any times."""

import math
from collections import deque

from rheostat.policies.observation import Observation


class InputSamples:
    """Events per second from outside, for each of the last `window` samples of `sample_s` seconds.

    A measurement covers the time since the one before, also when some in between failed. It is divided between the
    samples it overlaps; the last sample is left out until it is complete.
    """

    def __init__(self, sample_s: float, window: int) -> None:
        self._sample_s = sample_s
        self._full: deque[float] = deque(maxlen=window)
        self._since_s: float | None = None
        self._covered_s = 0.0
        self._events = 0.0

    def update(self, observation: Observation) -> None:
        time_s, rate = observation.snapshot.time_s, observation.measures.external_rate
        if self._since_s is None or rate is None:
            self._since_s = time_s if self._since_s is None else self._since_s
            return
        self._add(rate, time_s - self._since_s)
        self._since_s = time_s

    def window(self) -> list[float]:
        """The samples, the latest last."""
        return list(self._full)

    def _add(self, rate: float, duration_s: float) -> None:
        while duration_s > 0:
            part_s = min(duration_s, self._sample_s - self._covered_s)
            self._events += rate * part_s
            self._covered_s += part_s
            duration_s = _without_rounding(duration_s - part_s, self._sample_s)
            if not _without_rounding(self._sample_s - self._covered_s, self._sample_s):
                self._full.append(self._events / self._covered_s)
                self._events = self._covered_s = 0.0


def _without_rounding(rest_s: float, whole_s: float) -> float:
    """0 for what is left of a subtraction of equal times."""
    return 0.0 if math.isclose(rest_s, 0.0, abs_tol=1e-9 * whole_s) else rest_s

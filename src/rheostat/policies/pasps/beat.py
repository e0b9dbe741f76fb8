"""Every so often, however often one is asked."""

import math


class Beat:
    """Due every `every_s` seconds after the first question, without drift; what was missed is not made up for."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._start_s: float | None = None
        self._beats = 0

    def due(self, time_s: float) -> bool:
        if self._start_s is None:
            self._start_s = time_s
        beats = math.floor((time_s - self._start_s) / self._every_s + 1e-9)
        due, self._beats = beats > self._beats, max(beats, self._beats)
        return due

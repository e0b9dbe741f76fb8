"""Every so often, however often one is asked."""

import math

_EARLY = 0.1
"""By what share of the time between two questions one may come too early and still count as punctual."""


class IntervalTimer:
    """Due every `every_s` seconds after the first question, without drift; what was missed is not made up for.

    A loop's turns are never exactly a period apart. Were a question that comes a millisecond too early put off to the
    next one, a loop that turns once for each beat would miss half of them.
    """

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._start_s: float | None = None
        self._asked_s = 0.0
        self._beats = 0

    def due(self, time_s: float) -> bool:
        if self._start_s is None:
            self._start_s = self._asked_s = time_s
        early_s = _EARLY * min(time_s - self._asked_s, self._every_s)
        beats = math.floor((time_s + early_s - self._start_s) / self._every_s + 1e-9)
        due, self._beats, self._asked_s = beats > self._beats, max(beats, self._beats), time_s
        return due

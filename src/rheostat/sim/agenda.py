"""What the plant has to do at given times, apart from moving tuples: a calendar of Python actions."""

import heapq
import math
from collections.abc import Callable


class Agenda:
    """Actions by time; those of the same time happen in the order in which they were noted."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._noted = 0

    def at(self, time_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._entries, (time_s, self._noted, action))
        self._noted += 1

    def next_time(self) -> float:
        return self._entries[0][0] if self._entries else math.inf

    def run_due(self, now_s: float) -> None:
        """Do everything noted for `now_s` or before, in order, including what that adds for now."""
        while self._entries and self._entries[0][0] <= now_s:
            heapq.heappop(self._entries)[2]()

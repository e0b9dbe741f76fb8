"""How fast a cumulative counter grows, when some readings are missing and a restart sets it back."""


class Counter:
    """The last known reading of one counter.

    A missing reading is bridged: the next known one is compared with the last known one. A counter that fell was
    started anew, and what it had grown by before is lost: its rate is not known.
    """

    __slots__ = ("_time_s", "_value")

    def __init__(self, value: float | None = None, time_s: float = 0.0) -> None:
        self._value = value
        self._time_s = time_s

    def rate(self, value: float | None, time_s: float) -> float | None:
        """Its growth per second up to `time_s`, or None when it is not known."""
        if value is None:
            return None
        before, since_s = self._value, self._time_s
        self._value, self._time_s = value, time_s
        if before is None or value < before or time_s <= since_s:
            return None
        return (value - before) / (time_s - since_s)

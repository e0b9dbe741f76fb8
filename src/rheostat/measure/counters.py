"""Counters: growth rates and service rates from cumulative counters, with missing readings and restarts."""


class Counter:
    """The last known reading of one counter.

    A missing reading is bridged: the next known one is compared with the last known one. A counter that fell was
    restarted, and its growth before that is lost: its rate is not known.
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


class ServiceRate:
    """Completions per useful second since something completed last.

    A period in which nothing completes is not used yet: its useful time counts when the next record completes.
    Otherwise services that are longer than a period would look fast. While the useful time is unknown records may
    complete without it: it starts again then.
    """

    def __init__(self, completed: float | None = None) -> None:
        self._completed = completed
        self._busy_s = 0.0

    def update(self, completed: float | None, busy_s: float | None) -> float | None:
        """From both cumulative counters; None when nothing new completed, or a counter is missing or fell."""
        if busy_s is None:
            self._completed = None
        if completed is None or busy_s is None or completed == self._completed:
            return None
        before, since_s = self._completed, self._busy_s
        self._completed, self._busy_s = completed, busy_s
        if before is None or completed < before or busy_s <= since_s:
            return None
        return (completed - before) / (busy_s - since_s)

"""Service rate: completions per useful second, also of services that last longer than a period."""


class ServiceRate:
    """Completions per useful second since something completed last.

    A period in which nothing completes says nothing yet: its useful time counts when the next record completes.
    Otherwise services that are longer than a period would look fast.
    """

    def __init__(self, completed: float | None = None) -> None:
        self._completed = completed
        self._busy_s = 0.0

    def update(self, completed: float | None, busy_s: float | None) -> float | None:
        """From both cumulative counters; None when nothing new completed, or a counter is missing or fell."""
        if completed is None or busy_s is None or completed == self._completed:
            return None
        before, since_s = self._completed, self._busy_s
        self._completed, self._busy_s = completed, busy_s
        if before is None or completed < before or busy_s <= since_s:
            return None
        return (completed - before) / (busy_s - since_s)

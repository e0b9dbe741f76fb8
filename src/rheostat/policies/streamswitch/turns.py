"""Turns of the loop by number, from the times of the snapshots alone: a policy reads no clock."""


class Turns:
    """`period_s` is the shortest time between two snapshots, jitter apart; turns that were left out are counted.

    `era` changes when the period turns out to be shorter than it seemed, and the numbers begin anew.
    """

    def __init__(self) -> None:
        self.period_s: float | None = None
        self.number = 0
        self.era = 0
        self._time_s: float | None = None

    def update(self, time_s: float) -> None:
        before_s, self._time_s = self._time_s, time_s
        if before_s is None:
            return
        interval_s = time_s - before_s
        if self.period_s is None or interval_s < 0.75 * self.period_s:
            self.period_s, self.number, self.era = interval_s, 0, self.era + 1
        else:
            self.number += max(1, round(interval_s / self.period_s))

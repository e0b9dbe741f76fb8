"""Round robin: Storm's shuffle grouping. Every executor gets the same number of records, whatever they cost."""

import numpy as np

from rheostat.grouping.grouping import Choices, Values, check_executors


class RoundRobin:
    """One executor after the other, starting with the first."""

    def __init__(self, executors: int) -> None:
        self.executors = check_executors(executors)
        self._turn = 0

    def choose(self, value: int = 0) -> int:
        """The next executor; `value` is ignored."""
        chosen = self._turn
        self._turn = (chosen + 1) % self.executors
        return chosen

    def assign(self, values: Values) -> Choices:
        choices = (self._turn + np.arange(len(values))) % self.executors
        self._turn = (self._turn + len(values)) % self.executors
        return choices

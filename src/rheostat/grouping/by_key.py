"""Grouping by key: records with the same value go to the same executor."""

import numpy as np

from rheostat.grouping.grouping import Choices, Values, check_executors


class KeyGrouping:
    """Value v goes to executor v modulo their number, as values go to substreams."""

    def __init__(self, executors: int) -> None:
        self.executors = check_executors(executors)

    def choose(self, value: int) -> int:
        return value % self.executors

    def assign(self, values: Values) -> Choices:
        return np.asarray(values, dtype=np.int64) % self.executors

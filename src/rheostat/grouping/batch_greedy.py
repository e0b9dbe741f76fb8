"""Batch-greedy grouping of a whole batch: the longest records first, each to the executor with the least work.

Record by record, a long record that comes last adds to an already even load; here short records fill the gaps.
"""

from typing import Protocol

import numpy as np

from rheostat.grouping.countmin import Floats
from rheostat.grouping.grouping import Choices, Values, check_executors
from rheostat.grouping.least_loaded import to_the_least_loaded


class Estimates(Protocol):
    """The expected cost of a record by its value; a `CostSketch` is one."""

    def seconds(self, values: Values) -> Floats: ...


class BatchGreedy:
    """Longest estimated time first. Every batch starts from equal loads: a micro-batch ends with its last task."""

    def __init__(self, executors: int, estimates: Estimates) -> None:
        self.executors = check_executors(executors)
        self._estimates = estimates

    def assign(self, values: Values) -> Choices:
        known, kinds = np.unique(values, return_inverse=True)
        seconds = np.asarray(self._estimates.seconds(known), dtype=float)
        longest_first = np.argsort(-seconds[kinds], kind="stable")
        on_each = np.broadcast_to(seconds, (self.executors, len(known)))
        choices = np.empty(len(values), dtype=np.int64)
        choices[longest_first], _ = to_the_least_loaded(np.zeros(self.executors), on_each, kinds[longest_first])
        return choices

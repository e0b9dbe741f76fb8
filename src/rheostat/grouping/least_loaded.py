"""Greedy schedule: each record, in the given order, to the executor with the least work."""

import heapq

import numpy as np

from rheostat.grouping.countmin import Floats
from rheostat.grouping.grouping import Choices


def to_the_least_loaded(loads_s: Floats, seconds: Floats, kinds: Choices | None = None) -> tuple[Choices, Floats]:
    """The executor of each record, and the loads afterwards. `seconds[x, i]` is the time of record i on executor x, or
    of all records of kind i if `kinds` gives the kind of each record.

    Ties go to the first executor. With exact times and equal executors the longest load is at most 2 − 1/k times the
    least possible (Graham 1966), and 4/3 − 1/(3k) times if the longest records come first (Graham 1969).
    """
    heap = [(float(load_s), executor) for executor, load_s in enumerate(loads_s)]
    heapq.heapify(heap)
    times_s: list[list[float]] = seconds.tolist()
    choices: list[int] = []
    for kind in range(seconds.shape[1]) if kinds is None else kinds.tolist():
        load_s, executor = heap[0]
        choices.append(executor)
        heapq.heapreplace(heap, (load_s + times_s[executor][kind], executor))
    after = np.empty(len(heap))
    for load_s, executor in heap:
        after[executor] = load_s
    return np.array(choices, dtype=np.int64), after

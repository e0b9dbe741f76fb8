"""A batch as a whole in the event loop, as `rheostat.grouping.batch_greedy` says. Costs are learned as OSG learns them.

Its arrays are made once for each batch, not for each record, so that they may cost what arrays cost.
"""

import numpy as np

from rheostat.sim.engine.grouping import osg, sketches
from rheostat.sim.engine.grouping.turns import next_in_turn, server
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State


@jit
def assign(s: State, operator: int) -> None:
    """Say of every row of the batch who gets it: in turn until costs are known, then the longest first."""
    it = at(s.operators, operator)
    rows = np.empty(it.batch_rows, dtype=np.int64)
    row = it.batch_head
    for position in range(rows.size):
        rows[position] = row
        row = at(s.tuples, row).next
    if osg.has_learned(s, operator):
        _longest_first(s, operator, rows)
    else:
        for each in rows:
            at(s.tuples, each).executor = next_in_turn(s, operator)


@jit
def _longest_first(s: State, operator: int, rows: np.ndarray) -> None:
    """Each to the executor with the least work so far; how long one takes there is what that executor has told."""
    work_s = np.zeros(at(s.operators, operator).servers)
    expected_s = np.empty(rows.size)
    for position in range(rows.size):
        expected_s[position] = sketches.seconds(s, operator, server(s, operator, 0), at(s.tuples, rows[position]).value)
    for position in np.argsort(-expected_s, kind="mergesort"):
        row, least = at(s.tuples, rows[position]), int(np.argmin(work_s))
        row.executor = server(s, operator, least)
        work_s[least] += sketches.seconds(s, operator, row.executor, row.value)

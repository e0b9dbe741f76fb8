"""Batch-greedy grouping in the event loop: `rheostat.grouping.batch_greedy`, compiled, with costs learned as by OSG.

It allocates arrays once for each batch, not for each record, which is cheap enough.
"""

import numpy as np

from rheostat.sim.engine.grouping import osg, sketches
from rheostat.sim.engine.grouping.executors import next_round_robin, server
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.state import EngineState


@jit
def assign(s: EngineState, operator: int) -> None:
    """Assign every row of the batch to an executor: round robin until costs are known, then the longest first."""
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
            at(s.tuples, each).executor = next_round_robin(s, operator)


@jit
def _longest_first(s: EngineState, operator: int, rows: np.ndarray) -> None:
    """Each row to the executor with the least work so far, by the costs that this executor reported."""
    work_s = np.zeros(at(s.operators, operator).servers)
    expected_s = np.empty(rows.size)
    for position in range(rows.size):
        expected_s[position] = sketches.seconds(s, operator, server(s, operator, 0), at(s.tuples, rows[position]).value)
    for position in np.argsort(-expected_s, kind="mergesort"):
        row, least = at(s.tuples, rows[position]), int(np.argmin(work_s))
        row.executor = server(s, operator, least)
        work_s[least] += sketches.seconds(s, operator, row.executor, row.value)

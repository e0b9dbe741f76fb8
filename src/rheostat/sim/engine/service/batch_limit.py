"""Batch limit: the most rows of the next batch, by a fixed number or, as on Spark, by the pace of the batch before.

The rule is that of `rheostat.spark.streams.batch_limit`, with its constants.
"""

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.state import EngineState

LONGEST_S = 10.0
GROWTH = 2.0


@jit
def admitted_rows(s: EngineState, operator: int) -> int:
    """How many of the waiting rows the next batch of `operator` takes: at least one."""
    it = at(s.operators, operator)
    rows = min(it.queued, it.batch_limit)
    return max(1, int(it.batch_most)) if it.batch_most < rows else rows


@jit
def batch_ended(s: EngineState, now: float, operator: int) -> None:
    """Note the pace of the batch that ends `now`."""
    it = at(s.operators, operator)
    if now > it.batch_started:
        it.batch_most = it.batch_rows * max(GROWTH, it.batch_longest_s / (now - it.batch_started))

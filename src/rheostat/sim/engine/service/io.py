"""I/O of a node: it reads one record after the other, for all of its executors."""

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.state import EngineState


@jit
def read_until(s: EngineState, ready: float, i: int, executor: int) -> float:
    """When tuple `i`, asked for at `ready`, has been read by the node of `executor`: later if it comes from another.

    What was asked for is read, even if the executor fails meanwhile.
    """
    tuple_ = at(s.tuples, i)
    where = at(s.executors, executor).node
    cost = at(s.operators, tuple_.operator).io_s
    if tuple_.sender != NONE and at(s.executors, tuple_.sender).node != where:
        cost += s.world.node_io_s
    if cost == 0.0 or where == NONE:
        return ready
    node = at(s.nodes, where)
    node.io_until = max(ready, node.io_until) + cost
    node.io_s += cost
    return float(node.io_until)

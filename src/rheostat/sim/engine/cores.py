"""The cores of a node: how many executors are busy on it, and how much more slowly they work for it."""

from rheostat.sim.engine.codes import NONE
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State


@jit
def occupy(s: State, node: int) -> None:
    """One executor more is busy on `node`."""
    if node != NONE:
        at(s.nodes, node).busy += 1


@jit
def vacate(s: State, node: int) -> None:
    if node != NONE:
        at(s.nodes, node).busy -= 1


@jit
def crowding(s: State, node: int) -> float:
    """By what service on `node` is stretched: busy executors for each core, if there are more than cores."""
    if node == NONE:
        return 1.0
    return max(1.0, at(s.nodes, node).busy / at(s.nodes, node).cores)

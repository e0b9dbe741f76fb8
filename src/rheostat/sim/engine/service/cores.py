"""Cores of a node: how many executors are busy on it, and how much that slows them down."""

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.state import EngineState


@jit
def occupy(s: EngineState, node: int) -> None:
    """One more executor is busy on `node`."""
    if node != NONE:
        at(s.nodes, node).busy += 1


@jit
def vacate(s: EngineState, node: int) -> None:
    if node != NONE:
        at(s.nodes, node).busy -= 1


@jit
def crowding(s: EngineState, node: int) -> float:
    """The factor by which service on `node` is slower: busy executors per core, at least 1."""
    if node == NONE:
        return 1.0
    return max(1.0, at(s.nodes, node).busy / at(s.nodes, node).cores)

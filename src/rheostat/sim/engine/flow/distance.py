"""Distance between executors: how long a record takes from one to another, and what receiving it costs."""

from rheostat.sim.engine.grouping.executors import server
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.state import EngineState

PROCESS, NODE, ELSEWHERE = 0, 1, 2


@jit
def distance(s: EngineState, one: int, other: int) -> int:
    """Ra-Stream's three levels: within a process, between processes of a node, between nodes."""
    here, there = at(s.executors, one), at(s.executors, other)
    if here.node != there.node:
        return ELSEWHERE
    return PROCESS if here.process == there.process else NODE


@jit
def hop_s(s: EngineState, one: int, other: int) -> float:
    """The time that a record takes between two executors."""
    level = distance(s, one, other)
    if level == ELSEWHERE:
        return s.world.node_hop_s
    return 0.0 if level == PROCESS else s.world.process_hop_s


@jit
def mean_hop_s(s: EngineState, one: int, operator: int) -> float:
    """The mean time that a record takes to the executors of `operator`, any of which may serve it."""
    total, servers = 0.0, at(s.operators, operator).servers
    for position in range(servers):
        total += hop_s(s, one, server(s, operator, position))
    return total / servers


@jit
def receiving_s(s: EngineState, sender: int, executor: int) -> float:
    """The work that receiving a record from another process or node costs `executor`."""
    if sender == NONE or s.world.node_cost_s + s.world.process_cost_s == 0.0:
        return 0.0
    level = distance(s, sender, executor)
    if level == ELSEWHERE:
        return s.world.node_cost_s
    return 0.0 if level == PROCESS else s.world.process_cost_s

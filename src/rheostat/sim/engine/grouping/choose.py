"""Which executor a record goes to: by the grouping that its operator has now."""

from rheostat.sim.engine import randomness
from rheostat.sim.engine.codes import BATCH_GREEDY, BY_KEY, BY_VALUE, LOAD_AWARE, NEAREST, OSG, RANDOM
from rheostat.sim.engine.grouping import load_aware, near, osg
from rheostat.sim.engine.grouping.turns import next_in_turn, server
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.randomness import SERVICE
from rheostat.sim.engine.state import State


@jit
def choose(s: State, i: int, operator: int) -> int:
    """The executor for tuple `i`; the operator has at least one that serves."""
    it = at(s.operators, operator)
    if it.grouping == BY_KEY:
        return int(at(s.substreams, substream_of(s, i, operator)).owner)
    if it.grouping == RANDOM:
        return server(s, operator, int(randomness.uniform(s, SERVICE) * it.servers))
    if it.grouping == BY_VALUE:
        return server(s, operator, at(s.tuples, i).value % it.servers)
    if it.grouping == LOAD_AWARE:
        return load_aware.choose(s, operator)
    if it.grouping == OSG:
        return osg.choose(s, i, operator)
    if it.grouping == BATCH_GREEDY:
        return int(at(s.tuples, i).executor)
    if it.grouping == NEAREST:
        return near.choose(s, i, operator)
    return next_in_turn(s, operator)


@jit
def substream_of(s: State, i: int, operator: int) -> int:
    it = at(s.operators, operator)
    return int(it.first_substream + at(s.tuples, i).value % it.substreams)


@jit
def resized(s: State, operator: int) -> None:
    """Executors began or ceased to serve `operator`."""
    it = at(s.operators, operator)
    if it.grouping == LOAD_AWARE:
        load_aware.resized(s, operator)
    elif it.grouping in (OSG, BATCH_GREEDY):
        osg.resized(s, operator)

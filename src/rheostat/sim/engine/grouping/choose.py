"""Choice of an executor: where a record goes by the current grouping of its operator."""

from rheostat.sim.engine import random_numbers
from rheostat.sim.engine.flow.distance import ELSEWHERE, distance
from rheostat.sim.engine.grouping import load_aware, osg
from rheostat.sim.engine.grouping.executors import next_round_robin, server
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.random_numbers import SERVICE
from rheostat.sim.engine.tables.codes import BATCH_GREEDY, BY_KEY, BY_VALUE, LOAD_AWARE, NEAREST, NONE, OSG, RANDOM
from rheostat.sim.engine.tables.state import EngineState

_SHORT_QUEUE = 2
"""How many more records than the shortest queue has one may have whose executor still counts as keeping up."""


@jit
def choose(s: EngineState, i: int, operator: int) -> int:
    """The executor for tuple `i`; at least one must serve the operator."""
    it = at(s.operators, operator)
    if it.grouping == BY_KEY:
        return int(at(s.substreams, substream_of(s, i, operator)).owner)
    if it.grouping == RANDOM:
        return server(s, operator, int(random_numbers.uniform(s, SERVICE) * it.servers))
    if it.grouping == BY_VALUE:
        return server(s, operator, at(s.tuples, i).value % it.servers)
    if it.grouping == LOAD_AWARE:
        return load_aware.choose(s, operator)
    if it.grouping == OSG:
        return osg.choose(s, i, operator)
    if it.grouping == BATCH_GREEDY:
        return int(at(s.tuples, i).executor)
    if it.grouping == NEAREST:
        return _nearest(s, i, operator)
    return next_round_robin(s, operator)


@jit
def _nearest(s: EngineState, i: int, operator: int) -> int:
    """Round robin among the nearest executors that keep up, as Storm's shuffle does since 2.0; else among all.

    Queues are compared, so that a high load of all executors sends no record further away.
    """
    sender = at(s.tuples, i).sender
    it = at(s.operators, operator)
    if sender != NONE:
        longest = _shortest_queue(s, operator) + _SHORT_QUEUE
        for level in range(ELSEWHERE):
            for step in range(it.servers):
                position = (it.turn + step) % it.servers
                executor = server(s, operator, position)
                if distance(s, sender, executor) == level and at(s.executors, executor).queued <= longest:
                    it.turn = position + 1
                    return executor
    return next_round_robin(s, operator)


@jit
def _shortest_queue(s: EngineState, operator: int) -> int:
    shortest = at(s.executors, server(s, operator, 0)).queued
    for position in range(1, at(s.operators, operator).servers):
        shortest = min(shortest, at(s.executors, server(s, operator, position)).queued)
    return int(shortest)


@jit
def substream_of(s: EngineState, i: int, operator: int) -> int:
    it = at(s.operators, operator)
    return int(it.first_substream + at(s.tuples, i).value % it.substreams)


@jit
def resized(s: EngineState, operator: int) -> None:
    """Executors started or stopped serving `operator`."""
    it = at(s.operators, operator)
    if it.grouping == LOAD_AWARE:
        load_aware.resized(s, operator)
    elif it.grouping in (OSG, BATCH_GREEDY):
        osg.resized(s, operator)

"""Streams: the output of a processed record, and its way to the operators that read it."""

import math

from rheostat.sim.engine import draw, random_numbers
from rheostat.sim.engine.calendar import TRANSIT, push
from rheostat.sim.engine.flow import tuples
from rheostat.sim.engine.flow.arrival import arrive
from rheostat.sim.engine.flow.distance import hop_s, mean_hop_s
from rheostat.sim.engine.grouping.choose import choose
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.random_numbers import SERVICE
from rheostat.sim.engine.tables.codes import BY_KEY, NONE, OWN_QUEUES
from rheostat.sim.engine.tables.state import EngineState


@jit
def emit(s: EngineState, now: float, producer: int, root: int, value: int, executor: int) -> None:
    """Write the output of one processed record to every stream of `producer`."""
    it = at(s.producers, producer)
    if it.exclusive:
        _emit_to_one(s, now, producer, root, value, executor)
        return
    for edge in range(it.first, it.last):
        for _ in range(draw.children(s, edge)):
            _send(s, now, edge, root, value, executor)


@jit
def _emit_to_one(s: EngineState, now: float, producer: int, root: int, value: int, executor: int) -> None:
    """Selectivities are probabilities here: the record goes to one stream, or leaves if they add up to less than 1."""
    it = at(s.producers, producer)
    u = random_numbers.uniform(s, SERVICE)
    for edge in range(it.first, it.last):
        u -= at(s.edges, edge).selectivity
        if u < 0.0:
            _send(s, now, edge, root, value, executor)
            return


@jit
def _send(s: EngineState, now: float, edge: int, root: int, value: int, executor: int) -> None:
    i = _write(s, edge, root, value, executor)
    if executor != NONE and s.world.longest_hop_s > 0.0:
        way = _way_s(s, i)
        if way > 0.0:
            push(s, now + way, TRANSIT, i)
            return
    batch_s = at(s.edges, edge).batch_s
    if batch_s > 0.0:
        push(s, (math.floor(now / batch_s) + 2.0) * batch_s, TRANSIT, i)
        return
    arrive(s, now, i)


@jit
def _write(s: EngineState, edge: int, root: int, value: int, executor: int) -> int:
    """A new tuple of `root` on the stream `edge`, written by `executor`."""
    stream = at(s.edges, edge)
    stream.rows += 1
    at(s.roots, root).pending += 1
    i = tuples.new(s)
    it = at(s.tuples, i)
    it.root = root
    it.operator = stream.target
    it.value = value if stream.value == NONE else draw.value_from(s, SERVICE, stream.value)
    it.substream = NONE
    it.sender = executor
    it.executor = NONE
    it.scheduler = 0 if executor == NONE else executor % at(s.operators, stream.target).schedulers
    it.epoch = NONE
    return i


@jit
def _way_s(s: EngineState, i: int) -> float:
    """The time that tuple `i` takes, to its executor where that is known when it is sent."""
    it = at(s.tuples, i)
    target = at(s.operators, it.operator)
    if target.servers == 0:
        return 0.0
    if target.mode == OWN_QUEUES or target.grouping == BY_KEY:
        it.executor = choose(s, i, it.operator)
        return hop_s(s, it.sender, it.executor)
    return mean_hop_s(s, it.sender, it.operator)

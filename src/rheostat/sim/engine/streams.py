"""Streams: what one processed record gives, and its way to the operators that read it."""

from rheostat.sim.engine import draw, randomness, tuples
from rheostat.sim.engine.arrival import arrive
from rheostat.sim.engine.codes import BY_KEY, NONE, OWN_QUEUES
from rheostat.sim.engine.distance import hop_s, mean_hop_s
from rheostat.sim.engine.grouping.choose import choose
from rheostat.sim.engine.heap import TRANSIT, push
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.randomness import SERVICE
from rheostat.sim.engine.state import State


@jit
def emit(s: State, now: float, producer: int, root: int, value: int, executor: int) -> None:
    """Write what one processed record gives to every stream behind `producer`."""
    it = at(s.producers, producer)
    if it.exclusive:
        _emit_to_one(s, now, producer, root, value, executor)
        return
    for edge in range(it.first, it.last):
        for _ in range(draw.children(s, edge)):
            _send(s, now, edge, root, value, executor)


@jit
def _emit_to_one(s: State, now: float, producer: int, root: int, value: int, executor: int) -> None:
    """The selectivities are shares here: the record goes to one stream, or leaves with what is missing to 1."""
    it = at(s.producers, producer)
    u = randomness.uniform(s, SERVICE)
    for edge in range(it.first, it.last):
        u -= at(s.edges, edge).selectivity
        if u < 0.0:
            _send(s, now, edge, root, value, executor)
            return


@jit
def _send(s: State, now: float, edge: int, root: int, value: int, executor: int) -> None:
    i = _write(s, edge, root, value, executor)
    if executor != NONE and s.world.longest_hop_s > 0.0:
        way = _way_s(s, i)
        if way > 0.0:
            push(s, now + way, TRANSIT, i)
            return
    arrive(s, now, i)


@jit
def _write(s: State, edge: int, root: int, value: int, executor: int) -> int:
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
def _way_s(s: State, i: int) -> float:
    """How long tuple `i` is on its way: to the executor that gets it, where that is known when it is sent."""
    it = at(s.tuples, i)
    target = at(s.operators, it.operator)
    if target.servers == 0:
        return 0.0
    if target.mode == OWN_QUEUES or target.grouping == BY_KEY:
        it.executor = choose(s, i, it.operator)
        return hop_s(s, it.sender, it.executor)
    return mean_hop_s(s, it.sender, it.operator)

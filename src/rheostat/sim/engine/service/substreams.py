"""Substreams: the order of their tuples, which completions must keep, and the tuples held until there is an owner."""

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.state import EngineState


@jit
def join(s: EngineState, i: int, substream: int) -> None:
    """Tuple `i` is the latest of `substream`."""
    it = at(s.substreams, substream)
    new = at(s.tuples, i)
    new.substream = substream
    new.order = it.arrived
    new.next_in_substream = NONE
    it.arrived += 1
    if it.head == NONE:
        it.head = i
    else:
        at(s.tuples, it.tail).next_in_substream = i
    it.tail = i


@jit
def leave(s: EngineState, i: int, latency: float) -> None:
    """Tuple `i` is done; if it was not the first of its substream, that counts as disorder."""
    done = at(s.tuples, i)
    it = at(s.substreams, done.substream)
    it.completed += 1
    it.latency += latency
    if done.order <= it.last or it.head != i:
        s.world.disorder += 1
    it.last = done.order
    it.head = done.next_in_substream


@jit
def begin(s: EngineState, substream: int, executor: int) -> None:
    """`executor` starts a tuple of `substream`; a second executor at the same time counts as overlap."""
    it = at(s.substreams, substream)
    if it.serving != NONE:
        s.world.overlap += 1
    it.serving = executor


@jit
def keep(s: EngineState, i: int, substream: int) -> None:
    """Hold tuple `i` with the substream until the substream has an owner."""
    it = at(s.substreams, substream)
    at(s.tuples, i).next = NONE
    if it.held_head == NONE:
        it.held_head = i
    else:
        at(s.tuples, it.held_tail).next = i
    it.held_tail = i


@jit
def keep_first(s: EngineState, i: int, substream: int) -> None:
    """Hold tuple `i`, whose service had started, before all others that are held."""
    it = at(s.substreams, substream)
    if it.held_head == NONE:
        it.held_tail = i
    at(s.tuples, i).next = it.held_head
    it.held_head = i

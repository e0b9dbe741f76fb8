"""Entered records: the roots of all tuples, each followed until nothing derived from it is left."""

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.latency_histogram import bin_of
from rheostat.sim.engine.tables.state import EngineState


@jit
def enter(s: EngineState, now: float) -> int:
    """A record enters. It counts as pending itself until all its copies have been sent."""
    world = s.world
    root = world.free_root
    it = at(s.roots, root)
    world.free_root = it.next
    world.free_roots -= 1
    world.entered += 1
    it.entry = now
    it.lost = 0
    it.pending = 1
    return root


@jit
def settle(s: EngineState, now: float, root: int) -> None:
    """One tuple of `root` is done; the record leaves when nothing derived from it is pending."""
    it = at(s.roots, root)
    it.pending -= 1
    if it.pending > 0:
        return
    if it.lost:
        s.world.lost += 1
    else:
        _note_latency(s, now - it.entry)
    it.next = s.world.free_root
    s.world.free_root = root
    s.world.free_roots += 1


@jit
def _note_latency(s: EngineState, latency: float) -> None:
    world = s.world
    world.left += 1
    world.latency_sum += latency
    world.latency_squares += latency * latency
    world.latency_max = max(world.latency_max, latency)
    at(s.histogram, bin_of(latency)).count += 1
    if latency > world.timeout_s:
        world.late += 1

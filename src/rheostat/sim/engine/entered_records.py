"""Records that entered, the roots of all tuples: each is followed until nothing derived from it is left."""

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State
from rheostat.sim.histogram import bin_of


@jit
def enter(s: State, now: float) -> int:
    """A record enters. It is pending once itself, until all its copies have been sent."""
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
def settle(s: State, now: float, root: int) -> None:
    """One tuple of `root` is done; the record has left when nothing derived from it is pending."""
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
def _note_latency(s: State, latency: float) -> None:
    world = s.world
    world.left += 1
    world.latency_sum += latency
    world.latency_squares += latency * latency
    world.latency_max = max(world.latency_max, latency)
    at(s.histogram, bin_of(latency)).count += 1
    if latency > world.timeout_s:
        world.late += 1

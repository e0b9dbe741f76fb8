"""Records enter: when the next one does, by the rates that are known, and what it is when it does."""

import numpy as np

from rheostat.sim.engine import draw, entered_records, randomness
from rheostat.sim.engine.codes import NONE
from rheostat.sim.engine.heap import SOURCE, pop, push, replace
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.randomness import ARRIVALS
from rheostat.sim.engine.state import State
from rheostat.sim.engine.streams import emit


@jit
def wake_sources(s: State) -> None:
    """Schedule the next arrival of every source that ran out of known rates, now that `rates` is new."""
    for source in range(s.world.sources):
        if at(s.sources, source).parked:
            time = _next_arrival(s, source, s.world.chunk_start)
            if time != np.inf:
                push(s, time, SOURCE, source)


@jit
def let_in(s: State, now: float, source: int) -> None:
    """A record enters at `source`, and the next arrival there is scheduled."""
    following = _next_arrival(s, source, now)
    if following == np.inf:
        pop(s)
    else:
        replace(s, following, SOURCE, source)
    root = entered_records.enter(s, now)
    distribution = at(s.sources, source).value
    value = 0 if distribution == NONE else draw.value_from(s, ARRIVALS, distribution)
    emit(s, now, s.world.operators + source, root, value, NONE)
    entered_records.settle(s, now, root)


@jit
def _next_arrival(s: State, source: int, now: float) -> float:
    """When the next record enters: a renewal process in operational time, mapped back through the rates.

    Infinite when that is beyond the known rates; the source is parked then and keeps what is left of the gap.
    """
    world = s.world
    it = at(s.sources, source)
    left = it.left if it.left >= 0.0 else draw.gap(s, source)
    slot = int((now - world.chunk_start) / world.chunk_width)
    while slot < world.slots:
        slot_end = world.chunk_start + (slot + 1) * world.chunk_width
        end = min(slot_end, it.until)
        rate = at(s.rates, source * world.slots + slot).rate * (it.burst_factor if it.bursting else it.calm_factor)
        if rate > 0.0 and rate * (end - now) >= left:
            it.left = -1.0
            it.parked = 0
            return now + left / rate
        if end > now:
            left -= rate * (end - now)
            now = end
        if it.until <= now:
            _change_mood(s, source, now)
        if slot_end <= now:
            slot += 1
    it.left = left
    it.parked = 1
    return np.inf


@jit
def _change_mood(s: State, source: int, now: float) -> None:
    """A burst begins or ends, and when the next change comes is drawn."""
    it = at(s.sources, source)
    it.bursting = 1 - it.bursting
    it.until = now + (it.burst_s if it.bursting else it.calm_s) * randomness.exponential(s, ARRIVALS)

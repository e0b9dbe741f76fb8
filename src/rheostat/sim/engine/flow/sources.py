"""Sources: when the next record enters, by the known rates, and which value it carries."""

import numpy as np

from rheostat.sim.engine import draw, random_numbers
from rheostat.sim.engine.calendar import SOURCE, pop, push, replace
from rheostat.sim.engine.flow import entered_records
from rheostat.sim.engine.flow.streams import emit
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.random_numbers import ARRIVALS
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.state import EngineState


@jit
def wake_sources(s: EngineState) -> None:
    """Schedule the next arrival of every source that ran out of known rates, now that `rates` has new ones."""
    for source in range(s.world.sources):
        if at(s.sources, source).parked:
            time = _next_arrival(s, source, s.world.chunk_start)
            if time != np.inf:
                push(s, time, SOURCE, source)


@jit
def admit(s: EngineState, now: float, source: int) -> None:
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
def _next_arrival(s: EngineState, source: int, now: float) -> float:
    """The time at which the next record enters: a renewal process in operational time, mapped back through the rates.

    Infinite if that is beyond the known rates; then the source is parked and keeps the rest of the gap.
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
            _toggle_burst(s, source, now)
        if slot_end <= now:
            slot += 1
    it.left = left
    it.parked = 1
    return np.inf


@jit
def _toggle_burst(s: EngineState, source: int, now: float) -> None:
    """Start or end a burst, and draw the time of the next change."""
    it = at(s.sources, source)
    it.bursting = 1 - it.bursting
    it.until = now + (it.burst_s if it.bursting else it.calm_s) * random_numbers.exponential(s, ARRIVALS)

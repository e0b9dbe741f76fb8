"""Event loop: takes the next event of the calendar and calls its handler."""

from typing import Any

from rheostat.sim.engine.calendar import BATCH_END, DONE, SOURCE, TRANSIT, TRIGGER, kind_of, pop, subject_of
from rheostat.sim.engine.flow.arrival import arrive
from rheostat.sim.engine.flow.completion import finish_batch, finish_service
from rheostat.sim.engine.flow.sources import admit
from rheostat.sim.engine.jit import at, entry, jit
from rheostat.sim.engine.service.batches import start_batch
from rheostat.sim.engine.tables.state import EngineState, tables_at

FINISHED, NEEDS_MEMORY = 0, 1


@entry
def run(tables: Any, until: float) -> int:
    """Process every event up to `until`. Returns NEEDS_MEMORY, having lost nothing, when more room is needed."""
    s = tables_at(tables)
    world = s.world
    while world.events > 0 and at(s.heap, 0).time <= until:
        now = at(s.heap, 0).time
        code = at(s.heap, 0).code
        kind = kind_of(code)
        subject = subject_of(code)
        if world.free_tuples < _tuples_needed(s, kind, subject) or world.free_roots < 1:
            return NEEDS_MEMORY
        world.now = now
        if kind == DONE:
            finish_service(s, now, subject)
        elif kind == SOURCE:
            admit(s, now, subject)
        else:
            pop(s)
            if kind == TRANSIT:
                arrive(s, now, subject)
            elif kind == TRIGGER:
                start_batch(s, now, subject)
            else:
                finish_batch(s, now, subject)
    world.now = until
    return FINISHED


@jit
def _tuples_needed(s: EngineState, kind: int, subject: int) -> int:
    """The most tuples that handling the event may add."""
    if kind == DONE:
        return at(s.producers, at(s.tuples, at(s.executors, subject).current).operator).fanout
    if kind == SOURCE:
        return at(s.producers, s.world.operators + subject).fanout
    if kind == BATCH_END:
        return at(s.producers, subject).fanout * at(s.operators, subject).batch_rows
    return 0

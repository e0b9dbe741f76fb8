"""Commands: what a changing cluster does to tuples, between two runs of the event loop."""

from typing import Any

from rheostat.sim.engine.changes.breakdown import abandon_batch, give_back, interrupt, lose_queue, lose_waiting
from rheostat.sim.engine.changes.handover import dispatch_waiting, give, hold, resume
from rheostat.sim.engine.flow.sources import wake_sources
from rheostat.sim.engine.grouping.choose import resized
from rheostat.sim.engine.jit import entry
from rheostat.sim.engine.service.batches import join_batch, trigger
from rheostat.sim.engine.tables.state import tables_at

# Each command is carried out by the function of the same name.
WAKE_SOURCES, TRIGGER, HOLD, GIVE, RESUME, INTERRUPT, GIVE_BACK, DISPATCH_WAITING, ABANDON_BATCH, RESIZED = range(10)
LOSE_QUEUE, LOSE_WAITING, JOIN_BATCH = 10, 11, 12


@entry
def carry_out(tables: Any, command: int, subject: int, target: int) -> None:
    """Carry out one of the above. They share one entry point: each would be compiled with most of the event loop."""
    s = tables_at(tables)
    if command == WAKE_SOURCES:
        wake_sources(s)
    elif command == TRIGGER:
        trigger(s, s.world.now, subject)
    elif command == HOLD:
        hold(s, subject)
    elif command == GIVE:
        give(s, subject, target)
    elif command == RESUME:
        resume(s, subject)
    elif command == INTERRUPT:
        interrupt(s, subject)
    elif command == GIVE_BACK:
        give_back(s, subject, target)
    elif command == DISPATCH_WAITING:
        dispatch_waiting(s, subject)
    elif command == ABANDON_BATCH:
        abandon_batch(s, subject)
    elif command == LOSE_QUEUE:
        lose_queue(s, subject)
    elif command == LOSE_WAITING:
        lose_waiting(s, subject)
    elif command == JOIN_BATCH:
        join_batch(s, s.world.now, subject)
    else:
        resized(s, subject)

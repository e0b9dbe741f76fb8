"""The one way in for what a cluster that changes does to tuples, between two runs of the event loop."""

from typing import Any

from rheostat.sim.engine.batches import trigger
from rheostat.sim.engine.breakdown import abandon_batch, give_back, interrupt, lose_queue, lose_waiting
from rheostat.sim.engine.grouping.choose import resized
from rheostat.sim.engine.handover import deal_out, give, hold, resume
from rheostat.sim.engine.jit import entry
from rheostat.sim.engine.sources import wake_sources
from rheostat.sim.engine.state import tables_at

# What can be done, each by the function of that name.
WAKE_SOURCES, TRIGGER, HOLD, GIVE, RESUME, INTERRUPT, GIVE_BACK, DEAL_OUT, ABANDON_BATCH, RESIZED = range(10)
LOSE_QUEUE, LOSE_WAITING = 10, 11


@entry
def act(tables: Any, verb: int, subject: int, target: int) -> None:
    """Do one of the above. There is one way in for all, since each would be compiled with most of the event loop."""
    s = tables_at(tables)
    if verb == WAKE_SOURCES:
        wake_sources(s)
    elif verb == TRIGGER:
        trigger(s, s.world.now, subject)
    elif verb == HOLD:
        hold(s, subject)
    elif verb == GIVE:
        give(s, subject, target)
    elif verb == RESUME:
        resume(s, subject)
    elif verb == INTERRUPT:
        interrupt(s, subject)
    elif verb == GIVE_BACK:
        give_back(s, subject, target)
    elif verb == DEAL_OUT:
        deal_out(s, subject)
    elif verb == ABANDON_BATCH:
        abandon_batch(s, subject)
    elif verb == LOSE_QUEUE:
        lose_queue(s, subject)
    elif verb == LOSE_WAITING:
        lose_waiting(s, subject)
    else:
        resized(s, subject)

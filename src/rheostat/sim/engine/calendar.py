"""Calendar of events: a binary heap on (time, order of scheduling), so that ties are deterministic.

An event is one number: its order in the high bits, then its subject, then its kind. The number is unique, so it also
identifies an event that is to be cancelled.
"""

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.state import EngineState

KIND_BITS = 3
SUBJECT_BITS = 24

# Kinds of event.
SOURCE, DONE, TRANSIT, TRIGGER, BATCH_END = range(5)


@jit
def kind_of(code: int) -> int:
    return code & ((1 << KIND_BITS) - 1)


@jit
def subject_of(code: int) -> int:
    return (code >> KIND_BITS) & ((1 << SUBJECT_BITS) - 1)


@jit
def push(s: EngineState, time: float, kind: int, subject: int) -> int:
    """Schedule an event and return its code."""
    code = _new_code(s, kind, subject)
    last = s.world.events
    s.world.events = last + 1
    _put(s, _risen(s, last, time, code), time, code)
    return code


@jit
def pop(s: EngineState) -> None:
    """Remove the next event."""
    s.world.events -= 1
    if s.world.events > 0:
        last = at(s.heap, s.world.events)
        _sink(s, 0, last.time, last.code)


@jit
def replace(s: EngineState, time: float, kind: int, subject: int) -> int:
    """`pop` and `push` in one: most events schedule the next of their kind."""
    code = _new_code(s, kind, subject)
    _sink(s, 0, time, code)
    return code


@jit
def cancel(s: EngineState, code: int) -> None:
    """Cancel a scheduled event. It is searched in the whole calendar: only for rare cases."""
    position = 0
    while at(s.heap, position).code != code:
        position += 1
    s.world.events -= 1
    if position < s.world.events:
        last = at(s.heap, s.world.events)
        _sink(s, _risen(s, position, last.time, last.code), last.time, last.code)


@jit
def _new_code(s: EngineState, kind: int, subject: int) -> int:
    code = (s.world.sequence << (KIND_BITS + SUBJECT_BITS)) | (subject << KIND_BITS) | kind
    s.world.sequence += 1
    return code


@jit
def _put(s: EngineState, position: int, time: float, code: int) -> None:
    entry = at(s.heap, position)
    entry.time = time
    entry.code = code


@jit
def _precedes(time: float, code: int, other_time: float, other_code: int) -> bool:
    return time < other_time or (time == other_time and code < other_code)


@jit
def _risen(s: EngineState, position: int, time: float, code: int) -> int:
    """The place of an event that enters at `position`; the events that it passes move down."""
    while position > 0:
        parent = (position - 1) >> 1
        above = at(s.heap, parent)
        if not _precedes(time, code, above.time, above.code):
            break
        _put(s, position, above.time, above.code)
        position = parent
    return position


@jit
def _sink(s: EngineState, position: int, time: float, code: int) -> None:
    """Replace the event at `position` by another and sink it to its place."""
    size = s.world.events
    while True:
        child = 2 * position + 1
        if child >= size:
            break
        below = at(s.heap, child)
        if child + 1 < size:
            right = at(s.heap, child + 1)
            if _precedes(right.time, right.code, below.time, below.code):
                child += 1
                below = right
        if _precedes(time, code, below.time, below.code):
            break
        _put(s, position, below.time, below.code)
        position = child
    _put(s, position, time, code)

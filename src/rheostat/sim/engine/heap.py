"""The calendar of events: a binary heap on (time, order of scheduling), so that ties never depend on chance.

An event is one number: the order in the high bits, then the thing it concerns, then its kind. The number is
unique, and so serves as the token by which an event is cancelled.
"""

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State

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
def push(s: State, time: float, kind: int, subject: int) -> int:
    """Schedule an event and return its code."""
    code = _new_code(s, kind, subject)
    last = s.world.events
    s.world.events = last + 1
    _put(s, _risen(s, last, time, code), time, code)
    return code


@jit
def pop(s: State) -> None:
    """Take the next event away."""
    s.world.events -= 1
    if s.world.events > 0:
        last = at(s.heap, s.world.events)
        _sink(s, 0, last.time, last.code)


@jit
def replace(s: State, time: float, kind: int, subject: int) -> int:
    """`pop` and `push` in one: most events are followed by the next of their kind."""
    code = _new_code(s, kind, subject)
    _sink(s, 0, time, code)
    return code


@jit
def cancel(s: State, code: int) -> None:
    """Take a scheduled event back. It is looked for in the whole calendar: for what happens rarely."""
    position = 0
    while at(s.heap, position).code != code:
        position += 1
    s.world.events -= 1
    if position < s.world.events:
        last = at(s.heap, s.world.events)
        _sink(s, _risen(s, position, last.time, last.code), last.time, last.code)


@jit
def _new_code(s: State, kind: int, subject: int) -> int:
    code = (s.world.sequence << (KIND_BITS + SUBJECT_BITS)) | (subject << KIND_BITS) | kind
    s.world.sequence += 1
    return code


@jit
def _put(s: State, position: int, time: float, code: int) -> None:
    entry = at(s.heap, position)
    entry.time = time
    entry.code = code


@jit
def _precedes(time: float, code: int, other_time: float, other_code: int) -> bool:
    return time < other_time or (time == other_time and code < other_code)


@jit
def _risen(s: State, position: int, time: float, code: int) -> int:
    """Where an event that enters at `position` belongs; what it passes on its way up is moved down."""
    while position > 0:
        parent = (position - 1) >> 1
        above = at(s.heap, parent)
        if not _precedes(time, code, above.time, above.code):
            break
        _put(s, position, above.time, above.code)
        position = parent
    return position


@jit
def _sink(s: State, position: int, time: float, code: int) -> None:
    """Put an event in the place of the one at `position` and let it sink to where it belongs."""
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

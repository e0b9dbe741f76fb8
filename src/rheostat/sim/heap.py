"""The calendar of events: a binary heap on (time, order of scheduling), so that ties never depend on chance.

An event is one number: the order in the high bits, then the thing it concerns, then its kind. The number is
unique, and so serves as the token by which a cancelled event is recognised when its time comes.
"""

from rheostat.sim.jit import at, jit
from rheostat.sim.state import State

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
    position = s.world.events
    s.world.events = position + 1
    while position > 0:
        parent = (position - 1) >> 1
        above = at(s.heap, parent)
        if above.time <= time:
            break  # of two events at the same time the one scheduled first comes first
        _put(s, position, above.time, above.code)
        position = parent
    _put(s, position, time, code)
    return code


@jit
def pop(s: State) -> None:
    """Take the next event away."""
    s.world.events -= 1
    if s.world.events > 0:
        last = at(s.heap, s.world.events)
        _sift_down(s, last.time, last.code)


@jit
def replace(s: State, time: float, kind: int, subject: int) -> int:
    """`pop` and `push` in one: most events are followed by the next of their kind."""
    code = _new_code(s, kind, subject)
    _sift_down(s, time, code)
    return code


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
def _sift_down(s: State, time: float, code: int) -> None:
    """Put an event in the place of the first one and let it sink to where it belongs."""
    size = s.world.events
    position = 0
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

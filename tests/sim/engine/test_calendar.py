"""The calendar of events against a sorted list."""

import bisect

from hypothesis import given
from hypothesis import strategies as st
from test_random_numbers import new_state

from rheostat.sim.engine import calendar as heap
from rheostat.sim.engine.jit import addressed, at, entry
from rheostat.sim.engine.tables.state import tables_at

PUSH, POP, REPLACE, CANCEL = range(4)


@entry
def change(tables, verb, time, argument):
    """Returns the code of the event that was added; `argument` is a subject, or the code to cancel."""
    s = tables_at(tables)
    if verb == PUSH:
        return heap.push(s, time, heap.DONE, argument)
    if verb == REPLACE:
        return heap.replace(s, time, heap.TRANSIT, argument)
    if verb == POP:
        heap.pop(s)
    else:
        heap.cancel(s, argument)
    return -1


@entry
def first(tables):
    s = tables_at(tables)
    code = at(s.heap, 0).code
    return at(s.heap, 0).time, code, heap.kind_of(code), heap.subject_of(code)


steps = st.lists(
    st.tuples(
        st.sampled_from([PUSH, PUSH, PUSH, POP, REPLACE, CANCEL]),
        st.sampled_from([0.0, 1.0, 2.0, 2.5]) | st.floats(0, 100),
        st.integers(0, 2**24 - 1),
    ),
    max_size=120,
)


@given(steps)
def test_events_come_in_the_order_of_their_times_and_of_their_scheduling(told):
    state = new_state()
    tables, expected = addressed(state), []
    for verb, time, argument in told:
        if verb != PUSH and not expected:
            continue
        if verb == CANCEL:
            gone = expected.pop(argument % len(expected))
            change(tables, CANCEL, 0.0, gone[1])
        else:
            code = change(tables, verb, float(time), argument)
            if verb in (POP, REPLACE):
                expected.pop(0)
            if verb != POP:
                bisect.insort(expected, (time, code, heap.DONE if verb == PUSH else heap.TRANSIT, argument))
        assert state.world[0].events == len(expected)
        if expected:
            assert first(tables) == expected[0]


def test_of_two_events_at_the_same_time_the_one_scheduled_first_comes_first():
    state = new_state()
    for subject in range(100):
        change(addressed(state), PUSH, 5.0, subject)
    seen = []
    for _ in range(100):
        seen.append(first(addressed(state))[3])
        change(addressed(state), POP, 0.0, 0)
    assert seen == list(range(100))

"""The calendar of events against a sorted list."""

import bisect

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from test_random_numbers import new_state

from rheostat.sim.agenda import Agenda
from rheostat.sim.engine import heap
from rheostat.sim.engine.jit import addressed, at, entry
from rheostat.sim.engine.state import tables_at

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


@given(st.lists(st.integers(0, 5), max_size=30))
def test_an_agenda_does_things_in_the_order_of_their_times_and_of_their_noting(times):
    agenda, log = Agenda(), []
    for number, time_s in enumerate(times):
        agenda.at(float(time_s), lambda number=number, time_s=time_s: log.append((time_s, number)))
    agenda.run_due(3.0)
    expected = sorted((time_s, number) for number, time_s in enumerate(times))
    assert log == [entry for entry in expected if entry[0] <= 3]
    assert agenda.next_time() == min((time_s for time_s in times if time_s > 3), default=np.inf)


def test_an_agenda_does_also_what_is_noted_for_now_while_it_is_at_it():
    agenda, log = Agenda(), []
    agenda.at(1.0, lambda: agenda.at(1.0, lambda: log.append("then")))
    agenda.run_due(1.0)
    assert log == ["then"]

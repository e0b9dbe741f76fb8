import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rheostat.sim.cluster.simulation import Timers


@given(st.lists(st.integers(0, 5), max_size=30))
def test_timers_run_actions_in_the_order_of_their_times_and_of_their_adding(times):
    timers, log = Timers(), []
    for number, time_s in enumerate(times):
        timers.at(float(time_s), lambda number=number, time_s=time_s: log.append((time_s, number)))
    timers.run_due(3.0)
    expected = sorted((time_s, number) for number, time_s in enumerate(times))
    assert log == [entry for entry in expected if entry[0] <= 3]
    assert timers.next_time() == min((time_s for time_s in times if time_s > 3), default=np.inf)


def test_timers_also_run_what_an_action_adds_for_now():
    timers, log = Timers(), []
    timers.at(1.0, lambda: timers.at(1.0, lambda: log.append("then")))
    timers.run_due(1.0)
    assert log == ["then"]

"""The latency that no operator accounts for: of sources, and of streams between operators."""

import pytest

from rheostat.policies.rheostat.latency_outside import LatencyOutside
from rheostat.snapshot import Latency


def after(turns, window_s=10.0):
    """`turns` have the latency in all and that at each operator."""
    outside = LatencyOutside(window_s)
    for turn, (in_all_s, *at_s) in enumerate(turns):
        at = {f"operator {n}": None if each_s is None else Latency(10, each_s) for n, each_s in enumerate(at_s)}
        outside.update(2.0 * turn, None if in_all_s is None else Latency(50, in_all_s), at)
    return outside.median_s


def test_it_is_what_the_operators_leave_of_the_latency_from_entry_to_result():
    assert after([(3.5, 1.2, 0.9)] * 10) == pytest.approx(1.4)


def test_nothing_is_believed_from_a_few_turns():
    assert after([(3.5, 1.2, 0.9)] * 4) == 0.0


def test_operators_beside_each_other_do_not_make_it_negative():
    assert after([(2.0, 1.5, 1.6)] * 10) == 0.0


def test_an_operator_of_which_nothing_is_known_leaves_it_unknown():
    assert after([(3.5, 1.2, None)] * 10) == 0.0
    assert after([(None, 1.2, 0.9)] * 10) == 0.0
    assert after([(3.5,)] * 10) == 0.0


def test_a_backlog_that_has_left_the_first_operator_and_not_the_last_is_no_time_outside():
    steady, drained = (3.5, 1.2, 0.9), (9.0, 1.2, 0.9)
    assert after([steady] * 30 + [drained] * 10 + [steady] * 5) == pytest.approx(1.4)

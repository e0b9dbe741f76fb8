"""The latency that no operator accounts for: of sources, and of streams between operators."""

import pytest

from rheostat.policies.rheostat.latency_outside import LatencyOutside
from rheostat.snapshot import Latency


def after(turns):
    """`turns` have the latency in all and that at each operator."""
    outside = LatencyOutside()
    for in_all_s, *at_s in turns:
        at = {f"operator {n}": None if each_s is None else Latency(10, each_s) for n, each_s in enumerate(at_s)}
        outside.update(None if in_all_s is None else Latency(50, in_all_s), at)
    return outside.usual_s


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


def test_an_operator_that_completed_nothing_in_a_turn_counts_as_in_the_last_one_in_which_it_did():
    assert after([(3.5, 1.2, None), (3.5, None, 0.9)] * 6) == pytest.approx(1.4)


def test_records_that_waited_for_a_source_to_start_are_soon_forgotten():
    assert after([(12.0, 1.2, 0.9)] * 10 + [(3.5, 1.2, 0.9)] * 4) == pytest.approx(1.4)


def test_a_backlog_that_has_left_the_first_operator_and_not_the_last_is_no_time_outside():
    steady, drained = (3.5, 1.2, 0.9), (9.0, 1.2, 0.9)
    assert after([steady] * 20 + [drained] * 20) == pytest.approx(1.4)

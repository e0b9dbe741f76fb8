"""What StreamSwitch knows of an operator: rates, latencies, speeds and batch costs from counters alone."""

import numpy as np
import pytest

from rheostat.measure.latency_from_counts import Counts
from rheostat.policies.streamswitch.examine.examiner import Examiner, StalledTimes
from rheostat.policies.streamswitch.examine.operator_monitor import TurnCounter
from rheostat.policies.streamswitch.examine.service_rates import ServiceRates
from rheostat.policies.streamswitch.settings import Timing
from rheostat.snapshot import ExecutorPhase, ExecutorState, OperatorState, Snapshot, SubstreamState
from rheostat.topology import Operator

KEYED = Operator("count", inputs="in", key="word", substreams=2)


def snapshot(time_s, *counts, owners=(0, 1)):
    """`counts` are arrived and completed of each substream; None where they could not be read."""
    states = [
        SubstreamState("count", index, owners[index], *(pair or (None, None))) for index, pair in enumerate(counts)
    ]
    return Snapshot(time_s, (OperatorState("count"),), substreams=tuple(states))


def examined(*rows, slots=2, turns=1):
    examiner = Examiner(KEYED, Timing(1.0 * turns, turns, slots))
    return [examiner.examine(turn, snapshot(float(turn), *row)) for turn, row in enumerate(rows)]


def test_rates_are_those_of_the_window_and_not_smoothed():
    first, *_, last = examined([(0, 0), (0, 0)], [(5, 5), (10, 10)], [(25, 25), (20, 20)], [(105, 105), (20, 20)])
    assert not first.measured
    assert last.arrival_rates.tolist() == [(105 - 5) / 2, (20 - 10) / 2]


def test_what_completes_a_slot_after_it_arrived_has_a_latency_of_one_slot():
    *_, last = examined([(0, 0), (0, 0)], [(10, 0), (10, 10)], [(10, 10), (20, 20)])
    assert last.by_executor == {0: 1.0, 1: 0.0}


def test_a_state_with_a_gap_at_its_end_is_not_valid_and_becomes_so_with_the_next_counts():
    *_, gap, closed = examined([(0, 0), (0, 0)], [(10, 10), (10, 10)], [None, (20, 20)], [(30, 30), (30, 30)])
    assert (gap.unknown, gap.measured) == ((0,), False)
    assert (closed.unknown, closed.measured) == ((), True)
    assert closed.arrival_rates.tolist() == [10, 10]


def test_a_look_is_taken_only_at_the_end_of_a_slot():
    looks = examined(*[[(n, n), (n, n)] for n in range(7)], turns=3)
    assert [examine is not None for examine in looks] == [True, False, False, True, False, False, True]
    assert looks[-1].arrival_rates.tolist() == [1, 1]


def test_where_nothing_completes_the_latency_is_what_records_have_waited():
    *_, last = examined([(0, 0), (0, 0)], [(10, 0), (9, 9)], [(20, 0), (18, 18)], [(30, 0), (27, 27)], slots=2)
    assert last.latency_s(0, [0]) == 2.0  # seen waiting first at 1 s, and still at 3 s
    assert last.latency_s(1, [1]) == 0.0


def test_success_is_the_share_of_substreams_that_meet_the_bound():
    *_, last = examined([(0, 0), (0, 0)], [(10, 0), (10, 10)], [(10, 10), (20, 20)], [(10, 10), (30, 30)])
    assert last.success(0.5) == 0.5
    assert last.success(1.0) == 1.0


def test_a_substream_that_waits_too_long_counts_as_missed_and_an_idle_one_does_not_count():
    stalled = examined([(0, 0), (0, 0)], [(9, 0), (0, 0)], [(9, 0), (0, 0)], [(9, 0), (0, 0)], [(9, 0), (0, 0)])[-1]
    assert stalled.success(2.0) == 0.0
    assert stalled.success(9.0) is None


def test_a_stateless_operator_is_one_substream_and_lost_records_never_arrived():
    stateless = Operator("map", inputs="in")
    examiner = Examiner(stateless, Timing(1.0, 1, 2))
    for turn in range(3):
        count = OperatorState("map", arrived=30 * turn, completed=20 * turn, lost=10 * turn)
        state = examiner.examine(turn, Snapshot(float(turn), (count,)))
    assert state.arrival_rates.tolist() == [20]
    assert state.overall_s() == 0.0


def test_waiting_ends_when_something_completes_and_goes_on_while_nothing_is_known():
    waiting = StalledTimes(1)

    def examine(time_s, arrived, completed):
        counts = Counts(np.array([float(arrived)]), np.array([float(completed)]), np.array([0]))
        return float(waiting.update(time_s, counts)[0])

    seen = [
        examine(0, 1, 0),
        examine(1, 2, 0),
        examine(2, "nan", "nan"),
        examine(3, 2, 0),
        examine(4, 2, 1),
        examine(5, 2, 1),
        examine(6, 2, 2),
    ]
    assert seen == [0, 1, 2, 3, 0, 1, 0]


def executor(number, completed, busy_s, phase=ExecutorPhase.ACTIVE, instance=None):
    return ExecutorState("count", number, phase, completed=completed, busy_s=busy_s, instance=instance)


def test_the_service_rate_is_an_average_with_weight_eta_on_the_newest():
    rates = ServiceRates(eta=0.25)
    for completed, busy_s in [(0, 0.0), (100, 1.0), (300, 2.0)]:
        rates.update([executor(0, completed, busy_s)], [0])
    assert rates.rate(0) == 0.75 * 100 + 0.25 * 200


def test_one_very_short_record_does_not_make_an_executor_look_fast():
    """The average of the quotients, as printed, would come out at 7/8·100 + 1/8·10,000."""
    rates = ServiceRates(eta=0.125)
    for completed, busy_s in [(0, 0.0), (100, 1.0), (101, 1.0001)]:
        rates.update([executor(0, completed, busy_s)], [0])
    assert rates.rate(0) == pytest.approx(100, rel=0.01)


def test_a_new_executor_is_not_judged_by_its_first_record():
    rates = ServiceRates(eta=0.125)
    for n in range(2):
        rates.update([executor(0, 100 * n, n * 1.0)], [0])
    rates.inherit(1, source=0)
    rates.update([executor(0, 100, 1.0), executor(1, 1, 0.0001)], [0, 1])
    assert rates.rate(1) == 100
    rates.update([executor(0, 100, 1.0), executor(1, 9, 0.1801)], [0, 1])
    assert rates.rate(1) == pytest.approx(50, rel=0.01)


def test_useful_time_without_a_completion_counts_when_the_record_completes():
    rates = ServiceRates(eta=1.0)
    for completed, busy_s in [(0, 0.0), (0, 1.0), (0, 2.0), (1, 2.5)]:
        rates.update([executor(0, completed, busy_s)], [0])
    assert rates.rate(0) == 0.4


def test_records_completed_while_the_useful_time_was_unknown_do_not_count():
    rates = ServiceRates(eta=0.125)
    for completed, busy_s in [(0, 0.0), (100, 1.0), (5000, None), (9000, 1.5), (9100, 2.5)]:
        rates.update([executor(0, completed, busy_s)], [0])
    assert rates.rate(0) == 100


def test_executors_of_different_speeds_are_told_apart():
    rates = ServiceRates(eta=0.125)
    for n in range(3):
        rates.update([executor(0, 100 * n, n * 1.0), executor(1, 50 * n, n * 1.0)], [0, 1])
    assert (rates.rate(0), rates.rate(1)) == (100, 50)


def test_a_new_executor_is_as_fast_as_its_source_until_it_is_measured():
    rates = ServiceRates(eta=0.125)
    for n in range(2):
        rates.update([executor(0, 100 * n, n * 1.0), executor(1, 60 * n, n * 1.0)], [0, 1])
    rates.inherit(2, source=1)
    assert rates.rate(2) == 60
    rates.update(
        [executor(0, 100, 1.0), executor(1, 60, 1.0), executor(2, None, None, ExecutorPhase.STARTING)], [0, 1, 2]
    )
    assert rates.rate(2) == 60
    rates.update([executor(0, 100, 1.0), executor(1, 60, 1.0), executor(2, 30, 1.0)], [0, 1, 2])
    assert rates.rate(2) == 30


def test_a_restarted_executor_keeps_its_rate_until_the_new_one_is_measured():
    rates = ServiceRates(eta=0.125)
    for n in range(3):
        rates.update([executor(0, 100 * n, n * 1.0, instance="a")], [0])
    rates.update([executor(0, 0, 0.0, instance="b")], [0])
    assert rates.rate(0) == 100
    rates.update([executor(0, 20, 1.0, instance="b")], [0])
    assert rates.rate(0) == 20


def test_nothing_measured_is_not_known():
    rates = ServiceRates(eta=0.125)
    rates.update([executor(0, 10, 1.0)], [0])
    assert rates.rate(0) is None


def test_a_plant_that_does_not_tell_executors_apart_gives_them_all_the_mean():
    rates = ServiceRates(eta=0.5)
    rates.update([], [0, 1], whole=100.0)
    rates.update([], [0, 1], whole=200.0)
    assert (rates.rate(0), rates.rate(1)) == (150, 150)


def test_turns_that_were_left_out_are_counted_and_late_ones_are_not_counted_twice():
    turns = TurnCounter()
    seen = []
    for time_s in (100.0, 101.0, 102.04, 103.0, 106.02, 107.0):
        turns.update(time_s)
        seen.append(turns.number)
    assert (turns.period_s, seen) == (1.0, [0, 0, 1, 2, 5, 6])


def test_a_period_that_turns_out_to_be_shorter_begins_anew():
    turns = TurnCounter()
    for time_s in (0.0, 60.0, 61.0, 62.0):
        turns.update(time_s)
    assert (turns.period_s, turns.number, turns.era) == (1.0, 1, 2)

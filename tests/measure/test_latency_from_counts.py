import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import ConfigError
from rheostat.measure.latency_from_counts import NO_EXECUTOR, Counts, LatencyFromCounts
from rheostat.snapshot import Snapshot, SubstreamState

SLOT_S = 0.5


def counts(arrived, completed, owners=None):
    arrived, completed = np.array(arrived, float), np.array(completed, float)
    return Counts(arrived, completed, np.array(owners if owners is not None else [0] * arrived.size))


def fifo(gaps_s, services_s):
    """True arrival and completion times of records served one after the other."""
    arrivals, completions, free_s = [], [], 0.0
    for now_s, service_s in zip(np.cumsum(gaps_s), services_s, strict=False):
        free_s = max(now_s, free_s) + service_s
        arrivals.append(float(now_s))
        completions.append(free_s)
    return arrivals, completions


def slot_of(time_s):
    """Slot m is ((m − 1)·δ, m·δ]."""
    return math.ceil(time_s / SLOT_S)


def at_the_end_of(slot, times_s):
    return sum(slot_of(time_s) <= slot for time_s in times_s)


times = st.floats(0.001, 3.0)
queue = st.lists(st.tuples(times, times), min_size=1, max_size=25).map(lambda pairs: fifo(*zip(*pairs, strict=True)))


def completions_in_window(latency):
    return latency._completed.sum(axis=0)


@settings(max_examples=100, deadline=None)
@given(st.lists(queue, min_size=1, max_size=4), st.integers(1, 12))
def test_every_slot_agrees_with_each_record_followed_by_hand(queues, window):
    latency = LatencyFromCounts(len(queues), SLOT_S, window)
    last = max(slot_of(completions[-1]) for _, completions in queues)
    for slot in range(last + 1):
        arrived = [at_the_end_of(slot, arrivals) for arrivals, _ in queues]
        completed = [at_the_end_of(slot, completions) for _, completions in queues]
        latency.update(slot, counts(arrived, completed))
        for index, (arrivals, completions) in enumerate(queues):
            in_window = [
                (a, c) for a, c in zip(arrivals, completions, strict=True) if slot - window < slot_of(c) <= slot
            ]
            by_slots = [(slot_of(c) - slot_of(a)) * SLOT_S for a, c in in_window]
            assert completions_in_window(latency)[index] == len(in_window)
            if in_window:
                estimate = latency.by_substream()[index]
                assert estimate == pytest.approx(np.mean(by_slots), abs=1e-9)
                assert abs(estimate - np.mean([c - a for a, c in in_window])) <= SLOT_S + 1e-9
            else:
                assert math.isnan(latency.by_substream()[index])
    assert latency.known.all()


def test_an_executor_weighs_its_substreams_by_their_completions():
    latency = LatencyFromCounts(3, 1.0, 10)
    latency.update(0, counts([0, 0, 0], [0, 0, 0], [5, 5, 9]))
    latency.update(1, counts([3, 1, 4], [0, 1, 4], [5, 5, 9]))
    latency.update(2, counts([3, 1, 4], [3, 1, 4], [5, 5, 9]))
    assert latency.by_executor() == {5: 3 / 4, 9: 0.0}


def test_each_slot_counts_for_the_executor_that_served_it():
    latency = LatencyFromCounts(1, 1.0, 10)
    latency.update(0, counts([0], [0], [1]))
    latency.update(1, counts([4], [0], [1]))
    latency.update(2, counts([4], [1], [1]))
    latency.update(3, counts([4], [1], [NO_EXECUTOR]))
    latency.update(4, counts([4], [4], [2]))
    assert latency.by_executor() == {1: 1.0, 2: 3.0}
    assert latency.by_substream() == [(1 + 9) / 4]


def test_missing_counts_are_interpolated_once_the_next_are_known():
    whole, gappy = LatencyFromCounts(1, 1.0, 20), LatencyFromCounts(1, 1.0, 20)
    for slot in range(9):
        straight = counts([10 * slot], [5 * slot])
        whole.update(slot, straight)
        missing = slot in (3, 4, 5)
        gappy.update(slot, counts([math.nan], [5 * slot]) if missing else straight)
        assert gappy.known.all() == (not missing)
    assert gappy.by_substream() == pytest.approx(whole.by_substream())
    assert gappy.arrival_rates() == pytest.approx([10.0])


def test_slots_left_out_count_as_missing():
    whole, sparse = LatencyFromCounts(2, 1.0, 4), LatencyFromCounts(2, 1.0, 4)
    for slot in range(12):
        straight = counts([10 * slot, 6 * slot], [5 * slot, 6 * slot])
        whole.update(slot, straight)
        if slot % 3 == 2:
            sparse.update(slot, straight)
    assert sparse.by_substream() == pytest.approx(whole.by_substream(), abs=1.0)
    assert completions_in_window(sparse) == pytest.approx(completions_in_window(whole))


def test_a_gap_at_the_end_makes_the_state_invalid_for_that_substream_alone():
    latency = LatencyFromCounts(2, 1.0, 4)
    latency.update(0, counts([0, 0], [0, 0]))
    latency.update(1, counts([5, math.nan], [2, 3]))
    assert not latency.known.all()
    assert latency.known.tolist() == [True, False]
    assert math.isnan(latency.arrival_rates()[1])


def test_nothing_is_valid_before_the_first_slot():
    assert not LatencyFromCounts(1, 1.0, 4).known.any()


def test_counts_that_fell_start_the_substream_afresh():
    latency = LatencyFromCounts(1, 1.0, 3)
    for slot, (arrived, completed) in enumerate([(0, 0), (50, 0), (50, 10), (3, 0), (3, 3)]):
        latency.update(slot, counts([arrived], [completed]))
    assert latency.known.all()
    assert completions_in_window(latency) == [10 + 3]
    assert latency.by_substream() == [(10 * 1 + 3 * 1) / 13]


def test_records_found_waiting_at_the_first_look_count_from_then():
    latency = LatencyFromCounts(1, 1.0, 5)
    latency.update(7, counts([100], [90]))
    latency.update(9, counts([100], [90]))
    latency.update(10, counts([100], [100]))
    assert latency.by_substream() == [3.0]


def test_completions_beyond_the_arrivals_add_no_latency():
    latency = LatencyFromCounts(1, 1.0, 5)
    for slot, (arrived, completed) in enumerate([(0, 0), (4, 6), (8, 8)]):
        latency.update(slot, counts([arrived], [completed]))
    assert latency.by_substream() == [0.0]


def test_a_record_is_followed_as_far_as_the_horizon():
    latency = LatencyFromCounts(1, 1.0, 2, horizon_slots=50)
    latency.update(0, counts([0], [0]))
    for slot in range(1, 200):
        latency.update(slot, counts([1], [0]))
    latency.update(200, counts([1], [1]))
    assert latency.by_substream() == [49.0]


def test_arrival_rates_are_those_of_the_window():
    latency = LatencyFromCounts(2, 0.5, 4)
    for slot in range(30):
        latency.update(slot, counts([3 * slot, max(0, slot - 27)], [0, 0]))
    assert latency.arrival_rates() == pytest.approx([6.0, 1.0])


def test_a_slot_out_of_order_is_refused():
    latency = LatencyFromCounts(1, 1.0, 4)
    latency.update(3, counts([0], [0]))
    with pytest.raises(ConfigError, match="slot 3 comes after slot 3"):
        latency.update(3, counts([0], [0]))


def test_a_window_of_no_slots_is_refused():
    with pytest.raises(ConfigError, match="window_slots 0"):
        LatencyFromCounts(1, 1.0, 0)


def test_counts_come_from_a_snapshot_and_what_it_lacks_is_unknown():
    snapshot = Snapshot(
        1.0, (), substreams=(SubstreamState("count", 1, 4, 10, 7), SubstreamState("count", 0, None, 3, None))
    )
    found = Counts.of(snapshot, "count", 3)
    assert found.owners.tolist() == [NO_EXECUTOR, 4, NO_EXECUTOR]
    np.testing.assert_array_equal(found.arrived, [3, 10, np.nan])
    np.testing.assert_array_equal(found.completed, [np.nan, 7, np.nan])

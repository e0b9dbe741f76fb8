import math

import numpy as np
import pytest

from rheostat.spark.observe.arrival_line import ArrivalLine
from rheostat.spark.query.batch_log import BatchRecord


def line_of(starts_s, arrived, behind=None) -> ArrivalLine:
    """Batches that begin at `starts_s`, when `arrived(start)` rows have come in all."""
    line, before = ArrivalLine(), arrived(starts_s[0])
    for number, start_s in enumerate(starts_s):
        rows = arrived(start_s) - before
        line.add(BatchRecord(number, start_s, start_s + 0.1, {"rows": rows}, 0.05, behind=behind))
        before += rows
    return line


def once_a_second(rate):
    return lambda time_s: rate * math.floor(time_s)


def test_nothing_is_known_from_one_batch():
    line = line_of([3.0], lambda time_s: 70)
    assert line.rate is None
    assert line.since_last(9.0) == 0


@pytest.mark.parametrize("longest_s", [1.2, 3.0, 7.0, 11.0])
def test_lumps_of_a_second_are_an_even_rate_however_long_batches_are(longest_s):
    rng, rate = np.random.default_rng(3), 120
    starts_s = np.cumsum(rng.uniform(1.0, longest_s, 40))
    line = line_of(starts_s, once_a_second(rate))
    assert line.rate == pytest.approx(rate, rel=0.04)
    last_s = float(starts_s[-1])
    for after_s in (0.5, 2.0, 6.0):
        truth = rate * (last_s + after_s) - once_a_second(rate)(last_s)
        assert line.since_last(last_s + after_s) == pytest.approx(truth, abs=rate)


def test_batches_that_become_long_do_not_change_an_even_rate():
    starts_s = [*np.arange(10.02, 40.0, 1.0), 42.8, 47.5, 53.9, 62.0]
    for known in range(30, len(starts_s) + 1):
        assert line_of(starts_s[:known], once_a_second(120)).rate == pytest.approx(120, rel=0.05)


def test_a_step_of_the_rate_is_believed_within_the_last_seconds():
    def arrived(time_s):
        return round(40 * time_s + 200 * max(0.0, time_s - 60))

    line = line_of(np.arange(10.0, 66.0, 1.5), arrived)
    assert line.rate == pytest.approx(240, rel=0.15)


def test_a_rise_is_not_evened_out_over_the_time_before_it():
    def arrived(time_s):
        return round(13 * time_s + 2.5 * max(0.0, time_s - 60) ** 2 / 2)

    errors = []
    for end_s in np.arange(64.0, 75.0, 1.5):
        rate = line_of(np.arange(10.0, end_s, 1.5), arrived).rate
        errors.append(rate / (13 + 2.5 * (end_s - 1.5 - 60)) - 1)
    assert -0.4 < np.mean(errors) < -0.1, "that of a few seconds before"


def test_the_batch_under_way_counts_until_it_has_finished():
    line = line_of([10.0, 12.1, 14.0, 16.0], lambda time_s: round(50 * time_s))
    assert (line.rate, line.since_last(18.0)) == (pytest.approx(50), 100)
    line.begin(18.0, 400)
    assert line.rate == pytest.approx(125)
    assert line.since_last(20.0) == 400 + 250
    line.begin(18.0, 301)
    assert line.since_last(20.0) == pytest.approx(301 + 200, abs=1)
    line.add(BatchRecord(9, 18.0, 19.0, {"rows": 101}, 0.5))
    assert (line.rate, line.since_last(20.0)) == (pytest.approx(50, rel=0.02), pytest.approx(101, abs=2))


def test_a_steady_stream_is_averaged_over_more_than_the_last_seconds():
    rng = np.random.default_rng(5)
    moments_s = np.cumsum(rng.exponential(1 / 20, 2000))
    errors = []
    for end_s in np.arange(65.0, 95.0, 1.0):
        line = line_of(np.arange(end_s - 60, end_s, 1.0), lambda time_s: int(np.searchsorted(moments_s, time_s)))
        errors.append(abs(line.rate - 20) / 20)
    assert np.mean(errors) < 0.05, "five seconds alone are wrong by 8 % in the mean"


def test_rows_left_behind_have_arrived():
    line = ArrivalLine()
    for number, behind in enumerate((0, 70, 140, 210)):
        line.add(BatchRecord(number, 2.0 * number, 2.0 * number + 1, {"rows": 100}, 0.5, behind=behind))
    assert line.rate == pytest.approx(85)
    assert line.since_last(8.0) == 170

import numpy as np
import pytest

from rheostat.snapshot import Latency
from rheostat.spark.observe.counters import Odometer, Portion, Rows, Split, Spread, Traffic, merged


def test_rows_are_split_by_the_shares_of_the_time():
    split = Split[str]()
    split.add(100, {"a": 0.75, "b": 0.25})
    split.add(100, {"a": 0.5, "c": 0.5})
    assert split.portion("a", 40, 0.5) == Portion(arrived=145, completed=125, queued=20)
    assert split.portion("c", 40, 0.5) == Portion(arrived=70, completed=50, queued=20)
    assert split.portion("d", 40, 0.0) == Portion(0, 0, 0)


def test_what_arrived_does_not_fall_when_shares_change():
    split = Split({"a": 10})
    assert split.portion("a", 100, 1.0).arrived == 110
    assert split.portion("a", 100, 0.0) == Portion(arrived=110, completed=10, queued=0)


def test_an_odometer_goes_on_with_another_process_and_leaves_out_its_past():
    odometer = Odometer(5.0)
    assert [odometer.read("1", 100.0), odometer.read("1", 103.0)] == [5.0, 8.0]
    assert [odometer.read("2", 50.0), odometer.read("2", 51.0)] == [8.0, 9.0]
    assert [odometer.read("2", 50.5), odometer.read("2", 51.0), odometer.read("2", 52.0)] == [9.0, 9.0, 10.0]


def test_bytes_grow_with_rows_at_the_size_of_those_seen():
    traffic = Traffic()
    assert traffic.known_bytes is None
    traffic.grow(10, seen_bytes=1000, seen_rows=10)
    traffic.grow(20, seen_bytes=0, seen_rows=0)
    assert (traffic.rows, traffic.known_bytes) == (20, 2000)
    traffic.grow(21, seen_bytes=7, seen_rows=1)
    assert (traffic.rows, traffic.known_bytes) == (21, 2007)
    traffic.grow(5, seen_bytes=7, seen_rows=1)
    assert traffic.rows == 21


def test_the_spread_of_poisson_arrivals_is_one_whatever_the_lengths_of_the_intervals():
    random = np.random.default_rng(7)
    spread = Spread(size=4000)
    for duration_s in random.uniform(0.5, 3.0, 4000):
        spread.add(duration_s, int(random.poisson(50 * duration_s)))
    found = spread.scv()
    assert found is not None
    assert found == pytest.approx(1.0, abs=4 * np.sqrt(2 / 4000))  # four standard errors of a chi-square mean


def test_arrivals_in_bulks_spread_as_wide_as_the_bulks():
    random = np.random.default_rng(7)
    spread = Spread(size=4000)
    for _ in range(4000):
        spread.add(1.0, 10 * int(random.poisson(20)))
    assert spread.scv() == pytest.approx(10.0, rel=4 * np.sqrt(2 / 4000) + 0.03)


def test_the_spread_is_that_of_the_last_intervals_and_unknown_for_few():
    spread = Spread(size=8)
    for rows in (1, 1000, 1, 1000, *[5] * 7):
        spread.add(1.0, rows)
    assert Spread().scv() is None
    assert spread.scv() is not None
    spread.add(1.0, 5)
    assert spread.scv() == 0.0


def test_latencies_of_batches_merge_exactly_in_mean_spread_and_maximum():
    random = np.random.default_rng(3)
    parts = [random.gamma(2.0, 1.0, size) for size in (50, 200, 7)]
    latencies = [
        Latency(len(p), p.mean(), np.median(p), np.quantile(p, 0.99), p.max(), p.var() / p.mean() ** 2) for p in parts
    ]
    whole, together = np.concatenate(parts), merged([*latencies, None])
    assert together is not None
    assert together.count == 257
    assert together.mean_s == pytest.approx(whole.mean())
    assert together.scv == pytest.approx(whole.var() / whole.mean() ** 2)
    assert together.max_s == whole.max()
    assert together.p99_s == max(latency.p99_s or 0 for latency in latencies)


def test_what_one_batch_does_not_know_the_merged_one_does_not_know():
    together = merged([Latency(1, 1.0, 1.0, 1.0, 1.0, 0.0), Latency(3, 2.0)])
    assert together == Latency(4, 1.75)
    assert merged([]) is None
    assert merged([None, Latency(0, 0.0)]) is None


def test_what_an_executor_did_goes_on_when_it_serves_other_operators():
    rows = Rows()
    assert rows.count("count", Portion(12, 10, 2)) == Portion(12, 10, 2)
    assert rows.count("split", Portion(500, 400, 1)) == Portion(12, 10, 1)
    assert rows.count("split", Portion(510, 405, 5)) == Portion(22, 15, 5)
    assert rows.count("count", Portion(12, 10, 0)) == Portion(22, 15, 0)

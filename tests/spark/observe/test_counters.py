import numpy as np
import pytest

from rheostat.snapshot import Latency
from rheostat.spark.observe.counters import RowCount, RowCounters, merged


def test_shares_of_rows_add_up():
    rows = RowCounters[str]()
    rows.add({"a": 75.5, "b": 24.5})
    rows.add({"a": 50, "c": 50})
    assert rows.count("a", 20) == RowCount(arrived=145, completed=125, queued=20)
    assert rows.count("c", 20) == RowCount(arrived=70, completed=50, queued=20)
    assert rows.count("d", 0) == RowCount(0, 0, 0)


def test_what_arrived_does_not_fall_when_fewer_wait():
    rows = RowCounters({"a": RowCount(15, 10, 0)})
    assert rows.count("a", 0) == RowCount(arrived=15, completed=10, queued=0)
    assert rows.count("a", 100).arrived == 110
    assert rows.count("a", 0) == RowCount(arrived=110, completed=10, queued=0)


def test_what_is_not_kept_starts_again():
    rows = RowCounters({"a": RowCount(15, 10, 0), "b": RowCount(5, 5, 0)})
    rows.keep(["a"])
    assert rows.count("a", 0) == RowCount(15, 10, 0)
    assert rows.count("b", 1) == RowCount(1, 0, 1)


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

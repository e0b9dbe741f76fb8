"""Entry times: stamped by sources, summed up, and the latency that follows."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from rheostat.errors import TopologyError
from rheostat.spark.streams.entry_times import (
    ENTRY,
    EntryTimes,
    entered_at,
    entry_times,
    latency_until,
    observed_entry_times,
    stamped,
    together,
)
from rheostat.spark.streams.stream import Arrival


def column(*microseconds: int | None) -> pa.ChunkedArray:
    values = [None if value is None else Decimal(value) for value in microseconds]
    return pa.chunked_array([pa.array(values, pa.decimal128(18, 0))])


def test_entry_times_are_read_in_seconds() -> None:
    assert entry_times(column(1_000_000, 1_000_000)) == EntryTimes.at(1.0, 2)


def test_unknown_entry_times_are_counted_but_not_averaged() -> None:
    times = entry_times(column(None, 3_000_000, 1_000_000))
    assert (times.rows, times.known, times.mean_s) == (3, 2, 2.0)
    assert (times.points_s[0], times.points_s[-1]) == (1.0, 3.0)


def test_without_any_entry_time_the_latency_is_not_known() -> None:
    times = entry_times(column(None))
    assert times.known == 0
    assert latency_until(5.0, times) is None
    assert together([]) is None


def test_latency_of_a_batch_agrees_with_its_records() -> None:
    entered_us = np.random.default_rng(1).exponential(2e6, 5000).astype(int)
    commit_s = 30.0
    true_s = commit_s - entered_us / 1e6
    latency = latency_until(commit_s, entry_times(column(*(int(value) for value in entered_us))))
    assert latency is not None
    assert latency.count == 5000
    assert latency.mean_s == pytest.approx(true_s.mean(), abs=1e-9)
    assert latency.max_s == pytest.approx(true_s.max(), abs=1e-9)
    assert latency.p50_s == pytest.approx(np.quantile(true_s, 0.5), rel=0.01)
    assert latency.p99_s == pytest.approx(np.quantile(true_s, 0.99), rel=0.01)
    assert latency.scv == pytest.approx(true_s.var() / true_s.mean() ** 2)


def test_batches_together_weigh_by_their_records() -> None:
    whole = together([EntryTimes.at(10.0, 300), EntryTimes.at(20.0, 100), EntryTimes.unknown(7)])
    assert whole is not None
    assert (whole.rows, whole.known, whole.mean_s) == (407, 400, 12.5)
    latency = latency_until(25.0, whole)
    assert latency is not None
    assert latency.mean_s == 12.5
    assert latency.max_s == pytest.approx(15.0)
    assert latency.scv == pytest.approx(np.var([15.0] * 300 + [5.0] * 100) / 12.5**2)


def test_records_made_of_others_have_their_times() -> None:
    assert EntryTimes(4, 4, 2.0, 0.5, (1.0, 3.0)).as_of(40) == EntryTimes(40, 40, 2.0, 0.5, (1.0, 3.0))
    assert EntryTimes.unknown(4).as_of(40).known == 0


def test_records_of_several_files_that_entered_at_one_moment_are_taken_for_one_file() -> None:
    assert together([EntryTimes.at(5.0, 3), EntryTimes.unknown(2), EntryTimes.at(5.0, 4)]) == EntryTimes(
        9, 7, 5.0, 0.0, (5.0,)
    )


def test_what_spark_observed_has_its_mean() -> None:
    observed = {"rows": 4, "known": 2, "mean_us": 3_000_000.0, "first_us": 2_000_000, "last_us": 4_000_000}
    assert observed_entry_times({"rheostat_entry": observed}) == EntryTimes(4, 2, 3.0, 4 / 12, (2.0, 4.0))
    assert observed_entry_times({}) is None
    at_once = observed | {"mean_us": 2_000_000.3, "last_us": 2_000_000}
    assert observed_entry_times({"rheostat_entry": at_once}) == EntryTimes(4, 2, 2.0, 0.0, (2.0, 2.0))


@pytest.mark.spark
def test_a_source_that_names_a_missing_entry_column_is_refused(spark: SparkSession) -> None:
    @entered_at("time")
    def reader(_: SparkSession) -> None: ...

    with pytest.raises(TopologyError, match=r"entered_at\('time'\) but has no such column: id"):
        stamped(spark.range(1), "clicks", reader)


@pytest.mark.spark
def test_a_sources_own_time_is_the_entry(spark: SparkSession) -> None:
    @entered_at("time")
    def reader(_: SparkSession) -> None: ...

    df = spark.sql("select timestamp_micros(1234567) as time")
    assert int(stamped(df, "clicks", reader).collect()[0][ENTRY]) == 1234567


def test_what_has_come_by_the_newest_entry_time_has_arrived_unless_these_times_are_from_long_ago() -> None:
    moments = entry_times(column(90_000_000, 97_000_000, 95_000_000))
    assert Arrival(0, 98.0, 3, 30, moments).until_s == 97.0
    assert Arrival(0, 500.0, 3, 30, moments).until_s == 500.0
    assert Arrival(0, 98.0, 3, 30, None).until_s == 98.0
    assert Arrival(0, 98.0, 3, 30, EntryTimes.unknown(3)).until_s == 98.0

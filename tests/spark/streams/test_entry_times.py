"""Entry times: carried through what users write, and the latency that follows."""

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from rheostat.errors import TopologyError
from rheostat.spark.query.entry_time_column import with_carried_entry_times
from rheostat.spark.streams.entry_times import (
    ENTRY,
    EntryTimes,
    entered_at,
    entry_column,
    entry_times,
    latency_until,
    observed_entry_times,
    stamped,
    together,
)


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


@pytest.fixture(scope="module")
def entered(spark: SparkSession) -> DataFrame:
    """Records that know their entry: number n entered at microsecond 1000 + n."""
    rows = spark.range(0, 12, 1, 2).select(sf.col("id").alias("n"), (sf.col("id") % 3).alias("kind"))
    return rows.withColumn(ENTRY, entry_column(sf.col("n") + 1000))


def square(df: DataFrame) -> DataFrame:
    return df.select((sf.col("n") * sf.col("n")).alias("square"))


def explode_and_filter(df: DataFrame) -> DataFrame:
    return (
        df.select("n", sf.explode(sf.array("n", "kind")).alias("part")).filter("part > 1").withColumn("one", sf.lit(1))
    )


def count_by_kind(df: DataFrame) -> DataFrame:
    return df.groupBy("kind").count()


def unite(df: DataFrame) -> DataFrame:
    return df.select("n").union(df.select("kind")).union(df.select("n"))


def join_with_table(df: DataFrame) -> DataFrame:
    return df.join(df.sparkSession.range(2), sf.col("n") == sf.col("id"), "left_outer").drop("id")


def drop_duplicates(df: DataFrame) -> DataFrame:
    return df.dropDuplicates(["kind"]).select("kind")


def by_sql(df: DataFrame) -> DataFrame:
    return df.sparkSession.sql("select n * 2 as twice from {df} where n > 3", df=df)


@pytest.mark.spark
@pytest.mark.parametrize(
    "function", [square, explode_and_filter, count_by_kind, unite, join_with_table, drop_duplicates, by_sql]
)
def test_results_are_the_same_with_entry_times_carried_along(
    entered: DataFrame, function: Callable[[DataFrame], DataFrame]
) -> None:
    plain = function(entered.drop(ENTRY))
    threaded = with_carried_entry_times(plain)
    assert threaded.columns == [*plain.columns, ENTRY]
    assert sorted(map(tuple, threaded.drop(ENTRY).collect())) == sorted(map(tuple, plain.collect()))


@pytest.mark.spark
def test_each_record_keeps_its_own_entry_time(entered: DataFrame) -> None:
    rows = with_carried_entry_times(explode_and_filter(entered.drop(ENTRY))).collect()
    assert rows
    assert all(int(row[ENTRY]) == 1000 + row.n for row in rows)


@pytest.mark.spark
def test_an_aggregate_entered_with_its_newest_record(entered: DataFrame) -> None:
    rows = with_carried_entry_times(count_by_kind(entered.drop(ENTRY))).collect()
    assert {row.kind: int(row[ENTRY]) for row in rows} == {0: 1009, 1: 1010, 2: 1011}


@pytest.mark.spark
def test_a_join_entered_with_the_newer_of_the_two(entered: DataFrame) -> None:
    left = entered.drop(ENTRY).select("n")
    right = entered.drop(ENTRY).select((sf.col("n") - 2).alias("m"))
    rows = with_carried_entry_times(left.join(right, sf.col("n") == sf.col("m"))).collect()
    assert {row.n: int(row[ENTRY]) for row in rows} == {n: 1002 + n for n in range(10)}


@pytest.mark.spark
def test_distinct_rows_are_not_told_apart_by_their_entry(entered: DataFrame) -> None:
    kinds = entered.drop(ENTRY).select("kind")
    assert with_carried_entry_times(kinds.distinct()).count() == 3
    assert with_carried_entry_times(kinds.intersect(kinds)).count() == 3


@pytest.mark.spark
def test_what_cannot_carry_it_is_left_as_it_is(entered: DataFrame) -> None:
    opaque = entered.drop(ENTRY).mapInArrow(lambda batches: batches, "n long, kind long")
    assert with_carried_entry_times(opaque).columns == ["n", "kind"]


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

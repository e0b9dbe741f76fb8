"""Entry time column: carried through what users write, without a change of their results."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from rheostat.spark.query.entry_time_column import with_carried_entry_times
from rheostat.spark.streams.entry_times import ENTRY, entry_column

pytestmark = pytest.mark.spark


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


@pytest.mark.parametrize(
    "function", [square, explode_and_filter, count_by_kind, unite, join_with_table, drop_duplicates, by_sql]
)
def test_results_are_the_same_with_entry_times_carried_along(
    entered: DataFrame, function: Callable[[DataFrame], DataFrame]
) -> None:
    plain = function(entered.drop(ENTRY))
    carried = with_carried_entry_times(plain)
    assert carried.columns == [*plain.columns, ENTRY]
    assert sorted(map(tuple, carried.drop(ENTRY).collect())) == sorted(map(tuple, plain.collect()))


def test_each_record_keeps_its_own_entry_time(entered: DataFrame) -> None:
    rows = with_carried_entry_times(explode_and_filter(entered.drop(ENTRY))).collect()
    assert rows
    assert all(int(row[ENTRY]) == 1000 + row.n for row in rows)


def test_an_aggregate_entered_with_its_newest_record(entered: DataFrame) -> None:
    rows = with_carried_entry_times(count_by_kind(entered.drop(ENTRY))).collect()
    assert {row.kind: int(row[ENTRY]) for row in rows} == {0: 1009, 1: 1010, 2: 1011}


def test_a_join_entered_with_the_newer_of_the_two(entered: DataFrame) -> None:
    left = entered.drop(ENTRY).select("n")
    right = entered.drop(ENTRY).select((sf.col("n") - 2).alias("m"))
    rows = with_carried_entry_times(left.join(right, sf.col("n") == sf.col("m"))).collect()
    assert {row.n: int(row[ENTRY]) for row in rows} == {n: 1002 + n for n in range(10)}


def test_distinct_rows_are_not_told_apart_by_their_entry(entered: DataFrame) -> None:
    kinds = entered.drop(ENTRY).select("kind")
    assert with_carried_entry_times(kinds.distinct()).count() == 3
    assert with_carried_entry_times(kinds.intersect(kinds)).count() == 3


def test_what_cannot_carry_it_is_left_as_it_is(entered: DataFrame) -> None:
    opaque = entered.drop(ENTRY).mapInArrow(lambda batches: batches, "n long, kind long")
    assert with_carried_entry_times(opaque).columns == ["n", "kind"]

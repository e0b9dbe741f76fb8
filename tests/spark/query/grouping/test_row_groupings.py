"""Rows over tasks: how many, which, and that it changes from batch to batch."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from drain import drain
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from rheostat.errors import ConfigError
from rheostat.spark.query.grouping.row_groupings import (
    ByColumnHash,
    Evenly,
    RowGrouping,
    WholeFiles,
    by_number,
    cap_for,
)
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.topology import Operator, Source, Topology

sizes = st.lists(st.integers(1, 30), min_size=1, max_size=7)


def packed(file_bytes: list[int], cap: int) -> list[list[int]]:
    """As Spark packs: in falling order, a new task when the next file would exceed the cap."""
    tasks: list[list[int]] = []
    for size in sorted(file_bytes, reverse=True):
        if not tasks or sum(tasks[-1]) + size > cap:
            tasks.append([])
        tasks[-1].append(size)
    return tasks


@given(sizes, st.integers(1, 8))
def test_the_cap_is_the_smallest_that_needs_no_more_tasks_than_wanted(file_bytes: list[int], tasks: int) -> None:
    cap = cap_for(file_bytes, tasks)
    assert cap >= max(file_bytes)
    fitting = [c for c in range(max(file_bytes), sum(file_bytes) + 1) if len(packed(file_bytes, c)) <= tasks]
    assert cap == fitting[0]


def test_a_batch_without_files_has_a_cap_too() -> None:
    assert cap_for([], 3) == 1


@pytest.mark.parametrize("grouping", [WholeFiles, Evenly, lambda n: ByColumnHash(n, "k")])
@pytest.mark.parametrize("tasks", [0, -1, True, 1.5])
def test_a_number_of_tasks_that_is_no_count_is_refused_with_its_value(grouping: Any, tasks: Any) -> None:
    with pytest.raises(ConfigError, match=f"{tasks!r} tasks"):
        grouping(tasks)


@pytest.fixture(scope="module")
def packing(spark: SparkSession) -> SparkSession:
    java = spark._jsparkSession.cloneSession()  # type: ignore[attr-defined]
    return SparkSession(spark.sparkContext, java)


@pytest.fixture(scope="module")
def stored(
    packing: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], tuple[DataFrame, list[int]]]:
    """A thousand numbers in some files, and the files' sizes."""
    folders: dict[int, Path] = {}

    def read(files: int) -> tuple[DataFrame, list[int]]:
        if files not in folders:
            folders[files] = tmp_path_factory.mktemp("stored")
            packing.range(0, 1000, 1, files).write.mode("overwrite").parquet(str(folders[files]))
        file_bytes = [path.stat().st_size for path in folders[files].glob("*.parquet")]
        return packing.read.parquet(str(folders[files])), file_bytes

    return read


def by_task(df: DataFrame) -> dict[int, list[int]]:
    rows = df.select("id", sf.spark_partition_id().alias("task")).collect()
    ordered = sorted((row["task"], row["id"]) for row in rows)
    return {task: [n for _, n in group] for task, group in itertools.groupby(ordered, key=lambda pair: pair[0])}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("files", "tasks", "shuffles"), [(6, 3, False), (6, 6, False), (6, 4, True), (2, 5, True), (3, 1, False)]
)
def test_rows_are_spread_evenly_with_a_shuffle_only_where_files_do_not_fit(
    stored: Callable[[int], tuple[DataFrame, list[int]]], files: int, tasks: int, shuffles: bool
) -> None:
    df = Evenly(tasks).spread(*stored(files))
    assert ("Exchange" in df._jdf.queryExecution().executedPlan().toString()) == shuffles  # type: ignore[attr-defined]
    found = by_task(df)
    assert len(found) == tasks
    assert sorted(itertools.chain(*found.values())) == list(range(1000))
    assert max(map(len, found.values())) - min(map(len, found.values())) <= max(files, 1000 % tasks)


@pytest.mark.spark
def test_rows_dealt_out_again_go_to_the_same_tasks(stored: Callable[[int], tuple[DataFrame, list[int]]]) -> None:
    assert by_task(Evenly(5).spread(*stored(2))) == by_task(Evenly(5).spread(*stored(2)))


@pytest.mark.spark
def test_rows_of_a_key_stay_together(stored: Callable[[int], tuple[DataFrame, list[int]]]) -> None:
    df, file_bytes = stored(2)
    keyed = df.withColumn("key", sf.col("id") % 10)
    grouped = ByColumnHash(4, "key").spread(keyed, file_bytes)
    rows = grouped.select("key", sf.spark_partition_id().alias("task")).distinct()
    tasks = {row["key"]: row["task"] for row in rows.collect()}
    assert rows.count() == len(tasks) == 10


@pytest.mark.spark
def test_a_computed_number_is_the_task_and_wraps_around(stored: Callable[[int], tuple[DataFrame, list[int]]]) -> None:
    df, _ = stored(2)
    found = by_task(by_number(df, 3, sf.col("id") - 1))
    assert found == {task: [n for n in range(1000) if (n - 1) % 3 == task] for task in range(3)}


def tasks_of(numbers: DataFrame) -> DataFrame:
    """For every number the task that works on it."""
    return numbers.select(sf.col("value").cast("long").alias("n"), sf.spark_partition_id().alias("task"))


@dataclass(frozen=True)
class ByValue:
    """A grouping of the test's own: each number goes to the task of that number."""

    tasks: int

    def spread(self, df: DataFrame, file_bytes: Sequence[int]) -> DataFrame:
        return by_number(df, self.tasks, sf.col("value").cast("int"))


def drop(inbox: Path, batch: int, file: int = 0) -> None:
    """A file with the numbers 0 to 11."""
    draft = inbox / f".{batch}-{file}"
    draft.write_text("".join(f"{n}\n" for n in range(12)))
    draft.rename(inbox / f"{batch}-{file}.txt")


@pytest.mark.spark
def test_the_grouping_of_a_running_operator_changes_with_the_next_batch(spark: SparkSession, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    source = Source("numbers", reader=lambda session: session.readStream.text(str(inbox)))
    topology = Topology("numbers", [source, Operator("tell", tasks_of, inputs="numbers")])
    wanted: list[tuple[RowGrouping | None, set[int]]] = [
        (None, {0}),
        (Evenly(3), {0, 1, 2}),
        (ByValue(4), {0, 1, 2, 3}),
        (Evenly(1), {0}),
    ]
    with Runtime(topology, spark, RunDirectory(tmp_path / "run", topology)) as runtime:
        for batch, (grouping, _) in enumerate(wanted):
            if grouping is not None:
                runtime.regroup("tell", grouping)
            drop(inbox, batch)
            drain(runtime)
        rows = [(row["batch"], row["n"], row["task"]) for row in runtime.results("tell").collect()]
    assert [{task for batch, _, task in rows if batch == number} for number in range(4)] == [
        tasks for _, tasks in wanted
    ]
    assert {(n, task) for batch, n, task in rows if batch == 2} == {(n, n % 4) for n in range(12)}
    assert sorted(n for _, n, _ in rows) == sorted(list(range(12)) * 4)

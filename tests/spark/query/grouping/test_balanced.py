"""Rows over tasks by what they cost: what executors learn of values, and what groupings make of it."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from drain import drain
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from rheostat.errors import ConfigError, TopologyError
from rheostat.grouping import CostSketch
from rheostat.load.skew import zipf
from rheostat.spark.query.grouping.balanced import BALANCED, balanced
from rheostat.spark.query.grouping.recent_costs import REMEMBERED, VALUE, RecentCosts, value_of
from rheostat.spark.query.grouping.row_groupings import Evenly, InParts
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.query.per_record.record_stage import record_stage, record_worker
from rheostat.spark.query.per_record.timings import Stopwatch, Timings, Work
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.topology import Operator, Source, Topology

TASKS = 4
COSTS_S = {value: 0.001 * (1 + value * 37 % 64) for value in range(200)}


WORD_AND_N = StructType().add("word", "string").add("n", "long")


@per_record(WORD_AND_N, cost="word")
def echo(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"word": record["word"], "n": record["n"]}


OPERATOR = Operator("echo", echo, inputs="words")


class FakeStopwatch:
    def __init__(self) -> None:
        self.timings = Timings()

    def add(self, timings: Timings) -> None:
        self.timings.add(timings)


def learned(values: np.ndarray, seconds: np.ndarray | float) -> Timings:
    timings = Timings()
    timings.learn(RecentCosts.learned(values, seconds))
    return timings


def drawn(rows: int, seed: int = 0) -> list[int]:
    return [int(value) for value in np.random.default_rng(seed).choice(200, size=rows, p=zipf(200, 1.5))]


def test_what_each_task_learns_is_merged_and_no_value_is_counted_too_low() -> None:
    values, stopwatch = drawn(3000), FakeStopwatch()
    for part in np.array_split(values, 3):
        words = pa.RecordBatch.from_pydict({"word": [str(value) for value in part], "n": part, VALUE: part})
        (made,) = record_worker("echo", echo, stopwatch).run(iter([words]))
        assert made.to_pydict() == {"word": [str(value) for value in part], "n": list(part)}
    costs = stopwatch.timings.costs
    assert costs is not None
    exact = Counter(values)
    estimates = costs.sketch.counts.at(np.array(list(exact))).min(axis=0)
    assert all(estimate >= count for estimate, count in zip(estimates, exact.values(), strict=True))
    assert costs.sketch.counts.total == 3000
    assert costs.sketch.times_s.total == pytest.approx(stopwatch.timings.busy_s)
    assert stopwatch.timings.tasks == {0: Work(3000, pytest.approx(stopwatch.timings.busy_s))}


def test_what_was_learned_long_ago_is_forgotten() -> None:
    known = RecentCosts.learned(np.full(REMEMBERED, 7), 1.0)
    for _ in range(3):
        known = known.and_then(RecentCosts.learned(np.full(REMEMBERED // 2, 7), 3.0))
    assert known.sketch.counts.total == REMEMBERED
    assert known.sketch.seconds(np.array([7])) == pytest.approx([3.0])


def test_a_grouping_by_cost_needs_the_column_that_decides_it() -> None:
    plain = Operator("plain", lambda df: df, inputs="words")
    unnamed = Operator("unnamed", per_record("word string")(echo.function), inputs="words")
    for operator in (plain, unnamed):
        for name in BALANCED:
            with pytest.raises(ConfigError, match=f"operator '{operator.name}': '{name}' needs .* cost=COLUMN"):
                balanced(name, operator, 2, Timings)
    with pytest.raises(ConfigError, match="cannot have 0 tasks"):
        balanced("osg", OPERATOR, 0, Timings)


Words = tuple[DataFrame, list[int]]


@pytest.fixture(scope="module")
def words(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Words]:
    """Four thousand words of a Zipf distribution in some files, and the files' sizes."""
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())  # type: ignore[attr-defined]
    frame = session.createDataFrame([(str(value), value) for value in drawn(4000)], WORD_AND_N)

    @cache
    def read(files: int) -> Words:
        folder = tmp_path_factory.mktemp("words")
        frame.repartition(files).write.mode("overwrite").parquet(str(folder))
        return session.read.parquet(str(folder)), [path.stat().st_size for path in folder.glob("*.parquet")]

    return read


def by_task(df: DataFrame) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in df.select("n", sf.spark_partition_id().alias("task")).collect():
        found.setdefault(row["task"], []).append(row["n"])
    return found


def hashes_of(spark: SparkSession) -> np.ndarray:
    words = spark.range(200).select("id", sf.col("id").cast("string").alias("word"))
    rows = words.select("id", value_of("word").alias("hash")).collect()
    return np.array([row["hash"] for row in sorted(rows, key=lambda row: row["id"])])


@pytest.fixture(scope="module")
def known(spark: SparkSession) -> Timings:
    """Every value was seen as often, with its cost."""
    return learned(hashes_of(spark), np.array([COSTS_S[value] for value in range(200)]))


@pytest.mark.spark
def test_executors_learn_by_the_hash_that_groupings_look_up(spark: SparkSession) -> None:
    values, stopwatch = drawn(2000), Stopwatch(spark.sparkContext)
    frame = spark.createDataFrame([(str(value), value) for value in values], WORD_AND_N)
    made = record_stage(frame.repartition(3), "echo", echo, stopwatch)
    assert made.columns == ["word", "n"]
    assert sorted(row["n"] for row in made.collect()) == sorted(values)
    costs, exact = stopwatch.timings.costs, Counter(values)
    assert costs is not None
    counts = costs.sketch.counts.at(hashes_of(spark)).min(axis=0)
    assert all(counts[value] >= exact[value] for value in range(200))
    assert np.mean(counts - [exact[value] for value in range(200)] > 0.01 * 2000) <= 0.05
    assert costs.sketch.counts.total == 2000
    assert {task: work.records for task, work in stopwatch.timings.tasks.items()}.keys() == {0, 1, 2}


@pytest.mark.spark
def test_a_cost_column_without_a_hash_is_refused_by_its_name(spark: SparkSession) -> None:
    frame = spark.range(3).select(sf.create_map(sf.lit(1), sf.lit(2)).alias("word"), sf.col("id").alias("n"))
    with pytest.raises(TopologyError, match="the cost column 'word' cannot be hashed"):
        record_stage(frame, "echo", echo, Stopwatch(spark.sparkContext))


@pytest.mark.spark
@pytest.mark.parametrize("name", ["osg", "batch-greedy"])
@pytest.mark.parametrize("files", [1, 3])
def test_estimated_loads_are_within_the_bound_of_greedy_schedules(
    words: Callable[[int], Words], known: Timings, spark: SparkSession, name: str, files: int
) -> None:
    found = by_task(balanced(name, OPERATOR, TASKS, lambda: known).spread(*words(files)))
    assert found.keys() == set(range(TASKS))
    assert sorted(n for numbers in found.values() for n in numbers) == sorted(drawn(4000))
    sketch: CostSketch = known.costs.sketch  # type: ignore[union-attr]
    seconds = sketch.seconds(hashes_of(spark))
    loads = [seconds[numbers].sum() for numbers in found.values()]
    # Greedy: when a task got its last row it was the least loaded; of each scheduler, one row may stick out.
    assert max(loads) <= sum(loads) / TASKS + files * seconds.max() * (1 - 1 / TASKS) + 1e-9


@pytest.mark.spark
@pytest.mark.parametrize("name", BALANCED)
def test_rows_are_spread_evenly_while_nothing_is_known(words: Callable[[int], Words], name: str) -> None:
    found = by_task(balanced(name, OPERATOR, TASKS, Timings).spread(*words(1)))
    assert {task: len(numbers) for task, numbers in found.items()} == dict.fromkeys(range(TASKS), 1000)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["osg", "batch-greedy"])
def test_rows_dealt_out_again_go_to_the_same_tasks(words: Callable[[int], Words], known: Timings, name: str) -> None:
    df = balanced(name, OPERATOR, TASKS, lambda: known).spread(*words(2))
    assert {task: sorted(numbers) for task, numbers in by_task(df).items()} == {
        task: sorted(numbers) for task, numbers in by_task(df).items()
    }


@pytest.mark.spark
@pytest.mark.parametrize("files", [1, 2])
def test_load_aware_makes_three_even_parts_for_each_slot(words: Callable[[int], Words], files: int) -> None:
    found = by_task(InParts(2).spread(*words(files)))
    assert sorted(number for numbers in found.values() for number in numbers) == sorted(
        number for numbers in by_task(Evenly(1).spread(*words(files))).values() for number in numbers
    )
    assert len(found) == 6
    assert max(map(len, found.values())) - min(map(len, found.values())) <= files


@pytest.mark.spark
def test_a_running_operator_learns_with_one_batch_and_spreads_the_next_by_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()

    @per_record("value string", cost="value")
    def same(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield {"value": record["value"]}

    source = Source("lines", reader=lambda session: session.readStream.text(str(inbox)))
    topology = Topology("lines", [source, Operator("same", same, inputs="lines")])
    with Runtime(topology, spark, RunDirectory(tmp_path / "run", topology)) as runtime:
        for batch, name in enumerate(("osg", "osg", *BALANCED)):
            operator = topology.operators["same"]
            runtime.regroup("same", balanced(name, operator, TASKS, lambda: runtime.timings("same")))
            draft = inbox / f".{batch}"
            draft.write_text("".join(f"{value}\n" for value in drawn(400, batch)))
            draft.rename(inbox / f"{batch}.txt")
            drain(runtime)
        rows = [(row["batch"], row["value"]) for row in runtime.results("same").collect()]
        timings = runtime.timings("same")
    assert sorted(rows) == sorted((batch, str(value)) for batch in range(4) for value in drawn(400, batch))
    assert timings is not None
    assert timings.costs is not None
    assert timings.costs.sketch.counts.total == timings.records == 1600
    assert timings.tasks.keys() == set(range(TASKS))

import datetime as dt
import json
from pathlib import Path

import pytest
from pyspark.resource import ExecutorResourceRequests, ResourceProfile, ResourceProfileBuilder
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from rheostat.spark.install import jvm_helpers
from rheostat.spark.state.stage_placement import pin, pin_by_identity

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def profile(spark: SparkSession) -> ResourceProfile:
    return ResourceProfileBuilder().require(ExecutorResourceRequests().cores(1).memory("512m")).build


@pytest.fixture(params=[pin, pin_by_identity])
def any_pin(request):
    """The plan node and its fallback: what holds for one must hold for the other."""
    return request.param


def test_pinned_rows_are_the_rows(spark, profile, any_pin):
    columns = ["id", "id / 7 as f", "cast(id as string) as s", "array(id, null) as a", "struct(id, null as n) as t"]
    columns += ["timestamp_seconds(id) as at", "cast(id as decimal(20, 3)) as d", "if(id % 3 = 0, null, id) as o"]
    df = spark.range(50, numPartitions=2).selectExpr(*columns)
    pinned = any_pin(df, profile)
    assert pinned.schema == df.schema
    assert sorted(pinned.collect()) == sorted(df.collect())


def test_the_plan_node_leaves_column_pruning_and_partitioning_alone(spark, profile):
    df = spark.range(50).selectExpr("id % 5 as key", "id as unused").repartition(2, "key")
    plan = pin(df, profile).groupBy("key").count()._jdf.queryExecution().executedPlan().toString()
    assert "Pinned to profile" in plan
    assert plan.count("Exchange") == 1
    assert "unused" not in plan


def test_without_the_helpers_pin_falls_back_to_python(spark, profile, monkeypatch):
    monkeypatch.setattr(jvm_helpers, "is_loaded", lambda jvm: False)
    df = pin(spark.range(3), profile)
    assert "MapInArrow" in df._jdf.queryExecution().toString()


def test_a_pinned_keyed_count_in_a_stream_is_exact_and_runs_on_its_pool_only(spark, profile, any_pin, tmp_path):
    rows = [{"key": i % 7, "value": i} for i in range(200)]
    counted = any_pin(any_pin(stream_of(spark, rows, tmp_path), profile).groupBy("key").count(), profile)
    query, result = run(counted, "complete", tmp_path)
    assert sorted(tuple(row) for row in result) == [(k, sum(i % 7 == k for i in range(200))) for k in range(7)]
    pool, others = executors_of(spark, profile.id)
    used = executors_that_ran(spark, str(query.runId))
    assert used
    assert used <= pool
    assert used.isdisjoint(others)


def test_a_watermark_set_before_the_pin_still_closes_windows_behind_it(spark, profile, any_pin, tmp_path):
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    rows = [{"at": (start + dt.timedelta(seconds=i)).isoformat()} for i in range(30)]
    stream = stream_of(spark, rows, tmp_path, "at timestamp").withWatermark("at", "5 seconds")
    windows = any_pin(stream, profile).groupBy(sf.window("at", "10 seconds")).count()
    _, result = run(windows.select(sf.unix_seconds("window.start").alias("from"), "count"), "append", tmp_path)
    first = int(start.timestamp())
    assert sorted(tuple(row) for row in result) == [(first, 10), (first + 10, 10)]


def stream_of(spark: SparkSession, rows: list[dict], folder: Path, schema="key long, value long") -> DataFrame:
    """`rows` as a stream of two files, one a batch."""
    source = folder / "source"
    source.mkdir()
    for number, part in enumerate((rows[::2], rows[1::2])):
        (source / f"{number}.json").write_text("\n".join(json.dumps(row) for row in part))
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(source))


def run(df: DataFrame, mode: str, folder: Path):
    """The query over all its input, and what it wrote to memory."""
    name = f"out_{abs(hash(folder))}"
    writer = df.writeStream.format("memory").queryName(name).outputMode(mode)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    return query, df.sparkSession.table(name).collect()


def executors_of(spark: SparkSession, profile_id: int) -> tuple[set[str], set[str]]:
    """The ids of the executors in the profile's pool, and of all others."""
    listed = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    rows = [listed.apply(i) for i in range(listed.size())]
    pool = {row.id() for row in rows if row.resourceProfileId() == profile_id and row.id() != "driver"}
    return pool, {row.id() for row in rows} - pool


def executors_that_ran(spark: SparkSession, run_id: str) -> set[str]:
    """Where Spark's records say the tasks of a query ran."""
    tracker, store = spark.sparkContext.statusTracker(), spark.sparkContext._jsc.sc().statusStore()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(run_id)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    tasks = [store.taskList(stage, 0, 1000) for stage in stages]
    return {rows.apply(i).executorId() for rows in tasks for i in range(rows.size())}

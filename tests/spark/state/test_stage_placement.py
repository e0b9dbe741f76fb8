import pytest
from pyspark.resource import ResourceProfile, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql.functions import collect_list

from rheostat.errors import PlantError
from rheostat.spark.state.stage_placement import Preference, ProfilesOnly, StageTarget, Unplaced, stage_placement

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def profile(spark) -> ResourceProfile:
    return a_profile()


def a_profile() -> ResourceProfile:
    return ResourceProfileBuilder().require(TaskResourceRequests().cpus(1)).build


def test_executors_get_no_class_of_ours(spark, profile):
    placed = Preference(spark, profile).place(spark.range(4).selectExpr("id % 2 AS key"))
    sent = serialised(spark, placed._jdf.queryExecution().toRdd())
    assert "SQLExecutionRDD" in sent
    assert "org.apache.spark.sql.rheostat" not in sent


def test_plans_that_are_sent_to_executors_have_no_class_of_ours(spark, profile):
    """As those of stateful operators, of which executors get all that is below them."""
    preference = Preference(spark, profile)
    twice = preference.place(preference.place(spark.range(4)).selectExpr("id % 2 AS key", "id"))
    collected = preference.place(twice.groupBy("key").agg(collect_list("id")))
    sent = serialised(spark, collected._jdf.queryExecution().toRdd())
    assert "ObjectHashAggregateExec" in sent
    assert "org.apache.spark.sql.rheostat" not in sent


def test_two_placements_in_one_stage_have_one_profile(spark, profile):
    preference = Preference(spark, profile)
    twice = preference.place(preference.place(spark.range(4)).selectExpr("id + 1"))
    assert f"Pinned to profile {profile.id}" in twice._jdf.queryExecution().executedPlan().toString()
    assert twice._jdf.queryExecution().toRdd().partitions()


def test_a_placement_leaves_generated_code_in_one_piece(spark, profile):
    placed = Preference(spark, profile).place(spark.range(4).selectExpr("id + 1 AS id")).filter("id > 2")
    plan = placed._jdf.queryExecution().executedPlan().toString()
    assert all("*(1)" in line for line in plan.strip().splitlines()), plan
    assert sorted(row.id for row in placed.collect()) == [3, 4]


def test_operators_are_placed_and_sources_are_not(spark, profile):
    placement = stage_placement(spark, {"work": profile})
    rows = spark.range(4)
    assert placement.can_route
    assert placement.place("source", rows) is rows
    assert "Pinned to profile" in placement.place("work", rows)._jdf.queryExecution().executedPlan().toString()
    assert Unplaced().place("work", rows) is rows


def test_operators_that_run_python_are_noted_when_their_query_is_built(spark, profile):
    placement = stage_placement(spark, {"native": profile, "python": profile})
    rows = spark.readStream.format("rate").load()
    placement.place("native", rows)
    placement.place("python", rows.mapInArrow(lambda batches: batches, rows.schema))
    assert placement.python_operators == {"python"}


def test_without_the_helpers_an_operator_keeps_its_profile(profile):
    placement = ProfilesOnly({"work": profile})
    placement.route("work", StageTarget(profile))
    with pytest.raises(PlantError, match="operator 'work' cannot change its pool while it runs"):
        placement.route("work", StageTarget(a_profile()))


def serialised(spark, thing) -> str:
    """The bytes that would go to executors."""
    java = spark.sparkContext._jvm.java
    sink = java.io.ByteArrayOutputStream()
    java.io.ObjectOutputStream(sink).writeObject(thing)
    return sink.toString("ISO-8859-1")

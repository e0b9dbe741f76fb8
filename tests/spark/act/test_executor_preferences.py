import pytest
from pyspark.resource import ResourceProfile

from rheostat.spark.act.executor_preferences import Seats
from rheostat.spark.act.resource_profiles import pool_profile

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def profile(spark) -> ResourceProfile:
    return pool_profile(spark)


def test_executors_get_no_class_of_ours(spark, profile):
    placed = Seats(spark, profile).place(spark.range(4).selectExpr("id % 2 AS key"))
    sent = serialised(spark, placed._jdf.queryExecution().toRdd())
    assert "SQLExecutionRDD" in sent
    assert "org.apache.spark.sql.rheostat" not in sent


def test_two_placements_in_one_stage_have_one_profile(spark, profile):
    seats = Seats(spark, profile)
    twice = seats.place(seats.place(spark.range(4)).selectExpr("id + 1"))
    assert f"Pinned to profile {profile.id}" in twice._jdf.queryExecution().executedPlan().toString()
    assert twice._jdf.queryExecution().toRdd().partitions()


def test_a_placement_leaves_generated_code_in_one_piece(spark, profile):
    placed = Seats(spark, profile).place(spark.range(4).selectExpr("id + 1 AS id")).filter("id > 2")
    plan = placed._jdf.queryExecution().executedPlan().toString()
    assert all("*(1)" in line for line in plan.strip().splitlines()), plan
    assert sorted(row.id for row in placed.collect()) == [3, 4]


def test_seats_that_are_taken_already_are_not_told_again(spark, profile):
    seats = Seats(spark, profile)
    assert not seats.seat((), ())


def test_pools_have_profiles_of_their_own_though_they_ask_for_the_same(spark):
    assert pool_profile(spark).id != pool_profile(spark).id


def test_a_profile_asks_for_the_node_that_it_is_pinned_to(spark):
    requests = pool_profile(spark, cores=2, node="big").executorResources
    assert requests["cores"].amount == 2
    assert requests["node_big"].amount == 1


def serialised(spark, thing) -> str:
    """As it would go to executors."""
    java = spark.sparkContext._jvm.java
    sink = java.io.ByteArrayOutputStream()
    java.io.ObjectOutputStream(sink).writeObject(thing)
    return sink.toString("ISO-8859-1")

"""The executors with which a run on Spark starts, and the runs that are refused before Spark starts."""

import pytest
from spark_scenarios import changed, scenario

pytest.importorskip("pyspark")

from rheostat.errors import RheostatError
from rheostat.experiments.on_spark.run import check_run, starting_sizes


def test_a_policy_starts_with_the_executors_of_the_scenario():
    it = changed('inputs = ["records"]', 'inputs = ["records"]\nexecutors = 2')
    assert starting_sizes(it, "drs", {}) == {"parse": 2, "count": 1}


def test_static_is_provisioned_for_the_peak_within_the_budget():
    assert starting_sizes(changed("load = 20", "load = 100"), "static", {}) == {"parse": 2, "count": 2}
    assert starting_sizes(changed("load = 20", "load = 50"), "static", {}) == {"parse": 2, "count": 1}
    assert starting_sizes(scenario(), "static", {"executors": 2}) == {"parse": 2, "count": 2}
    assert starting_sizes(scenario(), "static", {"executors": {"parse": 3}}) == {"parse": 3, "count": 1}


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        ("drss", {}, "drs"),
        ("threshold", {"hihg": 1}, "high"),
        ("spark-dra", {"slots": 2}, "slots 2: executors have 1 slot on Spark"),
    ],
)
def test_a_wrong_policy_is_refused_before_spark_starts(policy, options, message):
    with pytest.raises(RheostatError, match=message):
        check_run(scenario(), policy, options)


def test_dynamic_allocation_runs_as_a_plain_query():
    two_readers = changed('inputs = ["parse"]', 'inputs = ["records"]')
    check_run(two_readers, "drs", {})
    with pytest.raises(RheostatError, match="chain of operators"):
        check_run(two_readers, "spark-dra", {})

import subprocess
import sys

import pytest

from rheostat.spark.doctor import Ability, diagnose, examine

pytestmark = pytest.mark.spark


def test_the_embedded_cluster_can_do_everything(spark, cluster):
    abilities = {ability.name: ability for ability in examine(spark, cluster.address.web_url)}
    assert [name for name, ability in abilities.items() if not ability.can] == []
    assert abilities["node labels"].why == "big, left, right"
    assert cluster.master_url in abilities["control of executors"].why


def test_labels_that_cannot_be_looked_up_are_not_said_to_be_missing(spark):
    [labels] = [ability for ability in examine(spark) if ability.name == "node labels"]
    assert labels == Ability(
        "node labels", False, "the labels of the workers are not known: give the address of the master's page"
    )


def test_spark_connect_is_one_row_with_the_reason():
    class Remote:
        """As a Connect session: it has no driver of its own."""

        __module__ = "pyspark.sql.connect.session"

    [ability] = examine(Remote())
    assert (ability.name, ability.can) == ("session", False)
    assert "Spark Connect" in ability.why


def test_a_session_that_cannot_start_is_one_row_with_the_reason(spark):
    [ability] = diagnose("local[1]")
    assert (ability.name, ability.can) == ("session", False)
    assert "session 'tests' is active" in ability.why


@pytest.mark.slow
def test_a_local_master_has_no_pools_and_says_so():
    program = "from rheostat.spark.doctor import diagnose\nfor a in diagnose('local[1]'): print(a.name, a.can, a.why)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=True)
    rows = done.stdout.splitlines()
    assert any(row.startswith("version True") for row in rows)
    for name in ("control of executors", "pools", "standby", "node labels"):
        assert any(row.startswith(f"{name} False master 'local[1]' has no executors") for row in rows), rows

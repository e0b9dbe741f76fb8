import pyspark
import pytest

from rheostat.spark.kafka.connector import connector_settings


def test_the_connector_follows_the_installed_spark():
    expected = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    assert connector_settings({}) == {"spark.jars.packages": expected}
    assert connector_settings({"spark.jars.packages": "a:b:1"}) == {"spark.jars.packages": f"a:b:1,{expected}"}


@pytest.mark.parametrize(
    "given",
    [
        {"spark.jars": "/opt/mine.jar,/opt/spark-sql-kafka-0-10_2.13-4.1.0.jar"},
        {"spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.0"},
    ],
)
def test_a_connector_in_the_settings_is_the_users_own(given):
    assert connector_settings(given) == {}

"""Connector: the jars with which Spark reads and writes Kafka, as settings of a session."""

from collections.abc import Mapping

import pyspark

_NAME = "spark-sql-kafka"
_ARTIFACT = f"org.apache.spark:{_NAME}-0-10_2.13"


def default_connector() -> str:
    """The Maven coordinates of the connector for the installed Spark."""
    return f"{_ARTIFACT}:{pyspark.__version__}"


def connector_settings(given: Mapping[str, object]) -> dict[str, str]:
    """What a new session needs, in addition to the settings `given`, to use Kafka.

    That is the connector for the installed Spark, unless the settings name one: a package, or a jar file.
    """
    jars, packages = (str(given.get(key) or "") for key in ("spark.jars", "spark.jars.packages"))
    if _NAME in jars or _NAME in packages:
        return {}
    return {"spark.jars.packages": ",".join(filter(None, [packages, default_connector()]))}

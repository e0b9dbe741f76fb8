"""Spark home: the installed Spark, and an environment in which its scripts use it and no other."""

import os
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

_KEPT = frozenset({"SPARK_DIST_CLASSPATH", "SPARK_SCALA_VERSION"})


def spark_home() -> Path:
    """The Spark that a session in this process would use."""
    return Path(_find_spark_home())


def neutral_environment() -> dict[str, str]:
    """This process's environment without variables that the user set for other Sparks."""
    inherited = {key: value for key, value in os.environ.items() if _is_neutral(key)}
    return inherited | {"SPARK_HOME": str(spark_home())}


def _is_neutral(variable: str) -> bool:
    return variable in _KEPT or not variable.startswith(("SPARK_", "_SPARK", "PYSPARK_"))

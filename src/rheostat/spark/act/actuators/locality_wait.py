"""Locality wait: how long a task waits for its preferred executor before any other may run it.

The session's setting holds, except while an executor is dead or takes no more tasks. A task keeps the preference that
it had when its stage was submitted, and tasks that read Kafka prefer the executor that read the same partition before,
so without this the tasks of such an executor would wait the whole time. Spark reads the setting again when an executor
joins or is decommissioned.
"""

from typing import Any

from pyspark.sql import SparkSession

_SETTING = "spark.locality.wait.process"
_SPARK_DEFAULT = "3s"
_NO_WAIT = "0s"


class LocalityWait:
    """The locality wait of one application."""

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext._jsc.sc()
        self._conf: Any = context.conf()
        self._configured = str(self._conf.get(_SETTING, self._conf.get("spark.locality.wait", _SPARK_DEFAULT)))

    def set(self, wait: bool) -> None:
        """Wait as configured, or not at all, from the next stage (or the next executor that joins) on."""
        self._conf.set(_SETTING, self._configured if wait else _NO_WAIT)

"""How long a task waits for the very executor it is meant for: as long as the session says, unless that one died.

Spark writes a task's wish for an executor down when its stage is submitted. When the executor dies the tasks it had
still wish for it, and would wait the whole time before another may run them. Spark looks at the setting again when
an executor joins, which is just when there is somebody to run them.
"""

from typing import Any

from pyspark.sql import SparkSession

_WAIT = "spark.locality.wait.process"
_SPARKS_OWN = "3s"
_NONE = "0s"


class Patience:
    """The patience of one application's scheduler."""

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext._jsc.sc()
        self._conf: Any = context.conf()
        self._usual = str(self._conf.get(_WAIT, self._conf.get("spark.locality.wait", _SPARKS_OWN)))
        self._now = self._usual

    def keep(self, patient: bool) -> None:
        """Wait as usual, or not at all, from the next stage (or the next executor that joins) on."""
        wanted = self._usual if patient else _NONE
        if wanted != self._now:
            self._conf.set(_WAIT, wanted)
            self._now = wanted

"""Warming up executors before they get work: a throwaway query of the same kind on exactly those.

A fresh executor spends seconds in its first task: classes, generated code, the state store's native library, a
Python worker. A micro-batch waits for its slowest task, so a cold executor would hold up the whole operator.
"""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import gettempdir
from typing import Any
from uuid import uuid4

from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession

from rheostat.spark.act.allocation import SparkExecutor
from rheostat.spark.act.executor_preferences import Seats

QUERY_PREFIX = "rheostat warm-up "
"""What the names of these queries start with, so that others can leave them out of account."""

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_DEADLINE_S = 120.0
_LOOK_EVERY_S = 1
_ROWS_PER_TASK = 100
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kind:
    """What the work is made of: state, and code in Python."""

    stateful: bool = False
    python: bool = False


class WarmUp:
    """Warms up executors of one pool. `directory` must be visible to all of them; a temporary one by default."""

    def __init__(self, spark: SparkSession, profile: ResourceProfile, kind: Kind, directory: str | None = None) -> None:
        self._spark = spark
        self._profile = profile
        self._kind = kind
        self._directory = directory or gettempdir()
        self._cancelled = threading.Event()

    def run(self, executors: Sequence[SparkExecutor]) -> None:
        """Return when each slot of `executors` has run its share, or when that took too long: it is only a help."""
        name = f"{QUERY_PREFIX}{uuid4()}"
        checkpoint = f"{self._directory}/{name.replace(' ', '-')}"
        session = self._spark.newSession()
        seats = [executor for executor in executors for _ in range(executor.slots)]
        session.conf.set("spark.sql.shuffle.partitions", str(len(seats)))
        session.conf.set(_PROVIDER, str(self._spark.conf.get(_PROVIDER)))
        writer = self._work(session, seats).writeStream.format("noop").outputMode("update").queryName(name)
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        deadline_s = time.monotonic() + _DEADLINE_S
        try:
            while not query.awaitTermination(_LOOK_EVERY_S) and not self._cancelled.is_set():
                if time.monotonic() > deadline_s:
                    _LOG.warning("warming up %s took longer than %d s", _names(executors), _DEADLINE_S)
                    break
        finally:
            query.stop()
            self._remove(checkpoint)

    def cancel(self) -> None:
        """Have `run` return soon; from any thread."""
        self._cancelled.set()

    def _work(self, session: SparkSession, turns: Sequence[SparkExecutor]) -> DataFrame:
        """One task a slot in each stage; nobody is open to all, so the tasks go round in turn."""
        seats = Seats(session, self._profile)
        seats.seat((), turns)
        source = session.readStream.format("rate-micro-batch").option("numPartitions", len(turns))
        rows = source.option("rowsPerBatch", _ROWS_PER_TASK * len(turns)).load()
        if self._kind.python:
            # A lambda travels by value: executors may not have this package.
            rows = rows.mapInArrow(lambda batches: batches, rows.schema)
        work = seats.place(rows)
        if self._kind.stateful:
            work = seats.place(work.groupBy("value").count())
        return work

    def _remove(self, folder: str) -> None:
        jvm: Any = self._spark.sparkContext._jvm
        path = jvm.org.apache.hadoop.fs.Path(folder)
        path.getFileSystem(self._spark.sparkContext._jsc.hadoopConfiguration()).delete(path, True)


def _names(executors: Sequence[SparkExecutor]) -> str:
    return ", ".join(f"executor {executor.id} on {executor.host}" for executor in executors)

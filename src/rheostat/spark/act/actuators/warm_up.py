"""Warm-up: throwaway work on executors before they serve, of the kind that they will get.

A fresh executor spends seconds in its first task: classes, generated code, the state store's native library, a Python
worker. A micro-batch waits for its slowest task, so a cold executor would hold up the whole operator.
"""

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from tempfile import gettempdir
from typing import Any, NamedTuple
from uuid import uuid4

from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession

from rheostat.spark.state.executor_book import SparkExecutor
from rheostat.spark.state.stage_placement import Preference, StageTarget

QUERY_PREFIX = "rheostat warm-up "
"""How the names of warm-up queries start, so that others can leave them out of account."""

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_TIMEOUT_S = 120.0
_POLL_S = 1
_ROWS_PER_TASK = 100
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkKind:
    """What the work is made of: state, and code in Python."""

    stateful: bool = False
    python: bool = False


class WarmUpQuery:
    """A throwaway query on executors of one profile. `directory` must be visible to all of them."""

    def __init__(
        self, spark: SparkSession, profile: ResourceProfile, kind: WorkKind, directory: str | None = None
    ) -> None:
        self._spark, self._profile, self._kind = spark, profile, kind
        self._directory = directory or gettempdir()
        self._cancelled = threading.Event()

    def run(self, executors: Sequence[SparkExecutor]) -> None:
        """Return when each slot of `executors` has run its share, or after a timeout."""
        name = f"{QUERY_PREFIX}{uuid4()}"
        checkpoint = f"{self._directory}/{name.replace(' ', '-')}"
        session = self._spark.newSession()
        slots = [executor for executor in executors for _ in range(executor.slots)]
        session.conf.set("spark.sql.shuffle.partitions", str(len(slots)))
        session.conf.set(_PROVIDER, str(self._spark.conf.get(_PROVIDER)))
        writer = self._work(session, slots).writeStream.format("noop").outputMode("update").queryName(name)
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        deadline_s = time.monotonic() + _TIMEOUT_S
        try:
            while not query.awaitTermination(_POLL_S) and not self._cancelled.is_set():
                if time.monotonic() > deadline_s:
                    _LOG.warning("warming up %s took longer than %d s", _names(executors), _TIMEOUT_S)
                    break
        finally:
            query.stop()
            self._remove(checkpoint)

    def cancel(self) -> None:
        """Have `run` return soon; from any thread."""
        self._cancelled.set()

    def _work(self, session: SparkSession, slots: Sequence[SparkExecutor]) -> DataFrame:
        """One task for each slot in each stage."""
        preference = Preference(session, self._profile)
        preference.set(StageTarget(self._profile, by_substream=slots))
        source = session.readStream.format("rate-micro-batch").option("numPartitions", len(slots))
        rows = source.option("rowsPerBatch", _ROWS_PER_TASK * len(slots)).load()
        if self._kind.python:
            # A lambda travels by value: executors may not have this package.
            rows = rows.mapInArrow(lambda batches: batches, rows.schema)
        work = preference.place(rows)
        if self._kind.stateful:
            work = preference.place(work.groupBy("value").count())
        return work

    def _remove(self, folder: str) -> None:
        jvm: Any = self._spark.sparkContext._jvm
        path = jvm.org.apache.hadoop.fs.Path(folder)
        path.getFileSystem(self._spark.sparkContext._jsc.hadoopConfiguration()).delete(path, True)


class WarmUps:
    """Warm-ups in threads of their own. No call waits for one, except `close`."""

    def __init__(self, spark: SparkSession, directory: str | None = None) -> None:
        self._spark, self._directory = spark, directory
        self._running: list[_RunningWarmUp] = []
        self._finished: set[str] = set()
        self._threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="rheostat warm-up")

    def start(self, executors: Sequence[SparkExecutor], profile: ResourceProfile, kind: WorkKind) -> None:
        query = WarmUpQuery(self._spark, profile, kind, self._directory)
        ids = frozenset(executor.id for executor in executors)
        self._running.append(_RunningWarmUp(ids, query, self._threads.submit(query.run, executors)))

    def finished(self) -> frozenset[str]:
        """Ids of the executors that are warm. After a failed warm-up too: a cold executor is better than none."""
        for each in [each for each in self._running if each.outcome.done()]:
            self._running.remove(each)
            if error := each.outcome.exception():
                _LOG.warning("warming up executors %s failed: %s", ", ".join(sorted(each.executor_ids)), error)
            self._finished |= each.executor_ids
        return frozenset(self._finished)

    def close(self) -> None:
        for each in self._running:
            each.query.cancel()
        self._threads.shutdown(wait=True, cancel_futures=True)


class _RunningWarmUp(NamedTuple):
    executor_ids: frozenset[str]
    query: WarmUpQuery
    outcome: "Future[None]"


def _names(executors: Sequence[SparkExecutor]) -> str:
    return ", ".join(f"executor {executor.id} on {executor.host}" for executor in executors)

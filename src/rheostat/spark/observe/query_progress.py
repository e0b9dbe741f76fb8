"""Query progress: the finished batches of an application's streaming queries, as Spark reports them.

The reports are pulled. A listener in Python would be called back from Spark's listener bus for every event, and only
for the queries of one session. Spark keeps the last reports of each query (100, unless
`spark.sql.streaming.numRecentProgressUpdates` says otherwise), so no batch is missed between two pulls. A pull costs
one call for all queries, four for each query, and two for each batch that has finished since the last one.
"""

import re
from collections import Counter
from collections.abc import Collection
from datetime import datetime
from typing import Any

import msgspec
from pyspark.sql import SparkSession

from rheostat.spark.kafka.query_topics import KafkaSource, TopicLoad, kafka_sources, load_of_all
from rheostat.spark.query.batch_log import BatchRecord

_MS = 1e-3
_RUN = re.compile(r"\[id = ([0-9a-f-]{36}), runId = ([0-9a-f-]{36})\]")
_MOST_DOWN = 8
_INTERVAL = re.compile(r"ProcessingTimeTrigger\((\d+)\)")


class QueryRun:
    """One run of one query. `trigger_s` is the interval of its trigger, 0 if batches follow each other at once.

    `earlier` are the batches from before it was first seen, as far as Spark still knows them.
    """

    def __init__(self, spark: SparkSession, query: Any, query_id: str, run_id: str) -> None:
        self._spark, self._query = spark, query
        self._sources: list[KafkaSource] | None = None
        self.id, self.run_id = query_id, run_id
        self.name: str = query.name() or query_id[:8]
        self.trigger_s = _interval_s(str(query.trigger().toString()))
        self._seen_s = float("-inf")
        self.earlier = self.new_batches()

    def new_batches(self) -> list[BatchRecord]:
        """The batches since the last call, oldest first, none of those from before the run was first seen.

        Reports of a query that had nothing to do are left out.
        """
        reports = self._new_reports()
        self._seen_s = reports[0].started_s if reports else self._seen_s
        return [report.record() for report in reversed(reports) if report.is_batch]

    def is_processing(self) -> bool:
        """Whether a batch with rows is under way."""
        status = self._query.status()
        return bool(status.isTriggerActive() and status.isDataAvailable())

    def topic_load(self, now_s: float) -> TopicLoad | None:
        """Its load as the broker of its topics tells it; None if it reads anything but Kafka, or is not known yet."""
        if self._sources is None:
            self._sources = kafka_sources(self._spark, self._query)
        return load_of_all([source.load(now_s) for source in self._sources]) if self._sources else None

    def close(self) -> None:
        """Ask the broker no more."""
        for source in self._sources or ():
            source.close()

    def failure(self) -> str | None:
        """Why it ended, in one line; None if it runs or was stopped."""
        error = self._query.exception()
        return str(error.get().getMessage()).strip().partition("\n")[0] if error.isDefined() else None

    def _new_reports(self) -> "list[_Report]":
        """Newest first."""
        recent, new = self._query.recentProgress(), []
        for index in range(len(recent) - 1, -1, -1):
            report = _decode(recent[index].json())
            if report.started_s <= self._seen_s:
                break
            new.append(report)
        return new


class StreamingQueries:
    """The streaming queries of an application, of all its sessions. `running` has them by run id.

    `down` has the last runs of those that failed, by query id, until they run again: their topics are still followed.
    """

    def __init__(self, spark: SparkSession) -> None:
        classic: Any = spark
        self._spark = spark
        jvm: Any = spark.sparkContext._jvm
        self._active = classic._jsparkSession.sharedState().activeStreamingQueries()
        self._uuid = jvm.java.util.UUID.fromString
        self.running: dict[str, QueryRun] = {}
        self.down: dict[str, QueryRun] = {}

    def update(self) -> list[QueryRun]:
        """Bring `running` up to date. Returns the runs that have ended since the last update."""
        runs = {run_id: query_id for query_id, run_id in _RUN.findall(self._active.toString())}
        ended = [run for run_id, run in self.running.items() if run_id not in runs]
        self.running = {run_id: run for run_id, run in self.running.items() if run_id in runs}
        self.down |= {run.id: run for run in ended}
        for run_id, query_id in runs.items():
            if run_id not in self.running and (run := self._open(query_id, run_id)) is not None:
                self.running[run_id] = run
        self._forget(runs.values())
        return ended

    def close(self) -> None:
        """Stop following them."""
        for run in (*self.running.values(), *self.down.values()):
            run.close()

    def _forget(self, again: Collection[str]) -> None:
        """Those that run again, that were stopped, and the first of too many."""
        stopped = [query_id for query_id, run in self.down.items() if query_id in again or run.failure() is None]
        for query_id in stopped + [each for each in self.down if each not in stopped][:-_MOST_DOWN]:
            self.down.pop(query_id).close()

    def _open(self, query_id: str, run_id: str) -> QueryRun | None:
        """None if the query ended at this very moment."""
        query = self._active.get(self._uuid(query_id))
        return None if query is None else QueryRun(self._spark, query, query_id, run_id)


def _interval_s(trigger: str) -> float:
    found = _INTERVAL.search(trigger)
    return int(found[1]) * _MS if found else 0.0


def parse_progress(text: str) -> BatchRecord | None:
    """One report of Spark's, a JSON object; None if the query had nothing to do."""
    report = _decode(text)
    return report.record() if report.is_batch else None


def rows_behind(start: Any, end: Any, latest: Any, rows: int) -> int | None:
    """How many rows a source has beyond offset `end`; None if its offsets do not tell.

    Offsets by topic and partition (Kafka) count rows. What plain numbers count is unknown: they are taken to stand for
    as many rows each as between `start` and `end`, which had `rows`.
    """
    if isinstance(end, dict) and isinstance(latest, dict):
        return _rows_between(end, latest)
    if not isinstance(end, int) or not isinstance(latest, int):
        return None
    if latest <= end:
        return 0
    return round((latest - end) * rows / (end - start)) if isinstance(start, int) and end > start else None


def _rows_between(end: dict[str, Any], latest: dict[str, Any]) -> int | None:
    try:
        return sum(
            max(0, int(newest) - int(end.get(topic, {}).get(partition, 0)))
            for topic, partitions in latest.items()
            for partition, newest in partitions.items()
        )
    except (AttributeError, TypeError, ValueError):
        return None


class _Source(msgspec.Struct, frozen=True, rename="camel"):
    description: str = ""
    start_offset: Any = None
    end_offset: Any = None
    latest_offset: Any = None
    num_input_rows: int = 0

    @property
    def behind(self) -> int | None:
        return rows_behind(self.start_offset, self.end_offset, self.latest_offset, self.num_input_rows)


class _State(msgspec.Struct, frozen=True, rename="camel"):
    memory_used_bytes: int = 0


class _Report(msgspec.Struct, frozen=True, rename="camel"):
    timestamp: datetime
    batch_id: int
    duration_ms: dict[str, int] = {}
    sources: list[_Source] = []
    state_operators: list[_State] = []

    @property
    def started_s(self) -> float:
        return self.timestamp.timestamp()

    @property
    def is_batch(self) -> bool:
        return "addBatch" in self.duration_ms

    def record(self) -> BatchRecord:
        behind = [source.behind for source in self.sources]
        rows: Counter[str] = Counter()
        for source in self.sources:
            rows[source.description] += source.num_input_rows
        return BatchRecord(
            batch=self.batch_id,
            started_s=self.started_s,
            committed_s=self.started_s + self.duration_ms.get("triggerExecution", 0) * _MS,
            rows=rows,
            executing_s=self.duration_ms["addBatch"] * _MS,
            behind=None if None in behind or not behind else sum(each for each in behind if each is not None),
            state_bytes=sum(state.memory_used_bytes for state in self.state_operators) or None,
        )


_decode = msgspec.json.Decoder(_Report).decode

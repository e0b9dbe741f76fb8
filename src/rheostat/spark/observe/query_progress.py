"""What the streaming queries of an application did, batch by batch, as Spark reports it.

Pulled, not listened to: a listener in Python would be called back from Spark's listener bus for every event, and
would hear only of the queries that one session started. Spark keeps the last reports of each query (100, unless
`spark.sql.streaming.numRecentProgressUpdates` says otherwise), so nothing is missed between two pulls, and what is
kept is bounded. A pull costs one call for all queries, and two for each batch that has finished since.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from pyspark.sql import SparkSession

_MS = 1e-3
_RUN = re.compile(r"\[id = ([0-9a-f-]{36}), runId = ([0-9a-f-]{36})\]")
_INTERVAL = re.compile(r"ProcessingTimeTrigger\((\d+)\)")


class BatchRecord(msgspec.Struct, frozen=True):
    """One finished batch of one query. `rows` were read, `behind` is how many its sources had beyond them (None
    where they do not say); `phases_s` are Spark's `durationMs` in seconds."""

    batch_id: int
    started_s: float
    duration_s: float
    rows: int
    behind: int | None = None
    rows_out: int | None = None
    phases_s: Mapping[str, float] = {}
    state_bytes: int | None = None
    state_rows: int | None = None

    @property
    def committed_s(self) -> float:
        return self.started_s + self.duration_s

    @property
    def fixed_s(self) -> float:
        """What the batch took beside running its tasks: planning, logs and commits."""
        return max(0.0, self.duration_s - self.phases_s.get("addBatch", 0.0))


class QueryRun:
    """One run of one query. `news` are its batches since the last call; of those before it was first seen none.

    With `from_start`, those that Spark still remembers from before are news as well. `trigger_s` is the interval of
    its trigger, 0 if it starts a batch as soon as it can.
    """

    def __init__(self, query: Any, query_id: str, run_id: str, *, from_start: bool = False) -> None:
        self._query = query
        self.id, self.run_id = query_id, run_id
        self.name: str = query.name() or query_id[:8]
        self.trigger_s = _interval_s(str(query.trigger().toString()))
        self._seen_s = float("-inf")
        if not from_start:
            self.news()

    def news(self) -> list[BatchRecord]:
        """Oldest first. Reports of a query that had nothing to do are left out."""
        reports = self._fresh_reports()
        self._seen_s = reports[0].started_s if reports else self._seen_s
        return [report.record() for report in reversed(reports) if report.is_batch]

    def failure(self) -> str | None:
        """Why it ended, in one line; None if it runs, or was stopped."""
        error = self._query.exception()
        return str(error.get().getMessage()).strip().partition("\n")[0] if error.isDefined() else None

    def _fresh_reports(self) -> "list[_Report]":
        recent, fresh = self._query.recentProgress(), []
        for index in range(len(recent) - 1, -1, -1):
            report = _decode(recent[index].json())
            if report.started_s <= self._seen_s:
                break
            fresh.append(report)
        return fresh


class Queries:
    """The streaming queries of an application, whichever of its sessions started them."""

    def __init__(self, spark: SparkSession) -> None:
        classic: Any = spark
        jvm: Any = spark.sparkContext._jvm
        self._active = classic._jsparkSession.sharedState().activeStreamingQueries()
        self._uuid = jvm.java.util.UUID.fromString
        self.running: dict[str, QueryRun] = {}

    def look(self, *, from_start: bool = False) -> list[QueryRun]:
        """Bring `running`, by run id, up to date. Returns the runs that have ended since the last look."""
        runs = {run_id: query_id for query_id, run_id in _RUN.findall(self._active.toString())}
        ended = [run for run_id, run in self.running.items() if run_id not in runs]
        self.running = {run_id: run for run_id, run in self.running.items() if run_id in runs}
        for run_id, query_id in runs.items():
            if run_id not in self.running and (run := self._open(query_id, run_id, from_start)) is not None:
                self.running[run_id] = run
        return ended

    def _open(self, query_id: str, run_id: str, from_start: bool) -> QueryRun | None:
        """None if the query ended in this very moment."""
        query = self._active.get(self._uuid(query_id))
        return None if query is None else QueryRun(query, query_id, run_id, from_start=from_start)


def _interval_s(trigger: str) -> float:
    found = _INTERVAL.search(trigger)
    return int(found[1]) * _MS if found else 0.0


def parse_progress(text: str) -> BatchRecord | None:
    """One report of Spark's, a JSON object; None if it is of a query that had nothing to do."""
    report = _decode(text)
    return report.record() if report.is_batch else None


def rows_behind(start: Any, end: Any, latest: Any, rows: int) -> int | None:
    """How many rows a source has beyond `end`, by the offsets it reports; None if they do not tell.

    Offsets by topic and partition (Kafka) count rows. Of plain numbers it is not known what they count, but how
    many rows the last step brought for each.
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
    start_offset: Any = None
    end_offset: Any = None
    latest_offset: Any = None
    num_input_rows: int = 0

    @property
    def behind(self) -> int | None:
        return rows_behind(self.start_offset, self.end_offset, self.latest_offset, self.num_input_rows)


class _State(msgspec.Struct, frozen=True, rename="camel"):
    num_rows_total: int = 0
    memory_used_bytes: int = 0


class _Sink(msgspec.Struct, frozen=True, rename="camel"):
    num_output_rows: int = -1


class _Report(msgspec.Struct, frozen=True, rename="camel"):
    timestamp: datetime
    batch_id: int
    num_input_rows: int = 0
    duration_ms: dict[str, int] = {}
    sources: list[_Source] = []
    state_operators: list[_State] = []
    sink: _Sink = _Sink()

    @property
    def started_s(self) -> float:
        return self.timestamp.timestamp()

    @property
    def is_batch(self) -> bool:
        return "addBatch" in self.duration_ms

    def record(self) -> BatchRecord:
        behind = [source.behind for source in self.sources]
        return BatchRecord(
            batch_id=self.batch_id,
            started_s=self.started_s,
            duration_s=self.duration_ms.get("triggerExecution", 0) * _MS,
            rows=self.num_input_rows,
            behind=None if None in behind or not behind else sum(rows for rows in behind if rows is not None),
            rows_out=self.sink.num_output_rows if self.sink.num_output_rows >= 0 else None,
            phases_s={phase: duration * _MS for phase, duration in self.duration_ms.items()},
            state_bytes=sum(state.memory_used_bytes for state in self.state_operators) or None,
            state_rows=sum(state.num_rows_total for state in self.state_operators) or None,
        )


_decode = msgspec.json.Decoder(_Report).decode

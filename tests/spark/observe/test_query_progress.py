import json

import pytest

from rheostat.spark.observe.query_progress import QueryRun, StreamingQueries, parse_progress, rows_behind


def report(batch: int, second: int, *, rows: int = 10, idle: bool = False, **more) -> str:
    """As Spark writes it; a report of a query that found nothing to do has no `addBatch`."""
    durations = {"latestOffset": 1, "triggerExecution": 5} if idle else {"addBatch": 300, "triggerExecution": 500}
    return json.dumps(
        {
            "id": "1",
            "timestamp": f"2026-11-15T09:00:{second:02d}.250Z",
            "batchId": batch,
            "numInputRows": 0 if idle else rows,
            "inputRowsPerSecond": 7.0,
            "durationMs": durations,
            "sources": [{"description": "files", "numInputRows": 0 if idle else rows}],
            "sink": {"description": "x", "numOutputRows": -1},
        }
        | more
    )


class FakeReport:
    def __init__(self, text: str) -> None:
        self._text = text

    def json(self) -> str:
        return self._text


class FakeQuery:
    """The part of Spark's `StreamExecution` that is used."""

    def __init__(self, *reports: str, name: str | None = "words", trigger: str = "ProcessingTimeTrigger(2000)") -> None:
        self.reports = [FakeReport(text) for text in reports]
        self._name, self._trigger = name, trigger
        self.active = self.available = True

    def name(self):
        return self._name

    def trigger(self):
        return self

    def toString(self):
        return self._trigger

    def recentProgress(self):
        return self.reports

    def status(self):
        return self

    def isTriggerActive(self):
        return self.active

    def isDataAvailable(self):
        return self.available


def test_a_report_becomes_a_batch_with_times_in_seconds():
    source = {"description": "topic", "startOffset": 3, "endOffset": 6, "latestOffset": 8, "numInputRows": 300}
    state = {"numRowsTotal": 7, "memoryUsedBytes": 100}
    batch = parse_progress(report(4, 1, rows=300, sources=[source], stateOperators=[state, state]))
    assert batch is not None
    assert (batch.batch, batch.rows, batch.row_count, batch.behind) == (4, {"topic": 300}, 300, 200)
    assert batch.duration_s == 0.5
    assert batch.fixed_s == pytest.approx(0.2)
    assert batch.committed_s - batch.started_s == 0.5
    assert batch.started_s % 60 == 1.25
    assert batch.state_bytes == 200


def test_rows_of_sources_with_the_same_description_add_up():
    source = {"description": "files", "numInputRows": 5}
    batch = parse_progress(report(4, 1, sources=[source, source]))
    assert batch is not None
    assert batch.rows == {"files": 10}


def test_a_report_of_a_query_without_work_is_no_batch():
    assert parse_progress(report(4, 1, idle=True)) is None


@pytest.mark.parametrize(
    ("start", "end", "latest", "rows", "behind"),
    [
        ({"t": {"0": 1}}, {"t": {"0": 5, "1": 2}}, {"t": {"0": 9, "1": 2}}, 4, 4),
        ({"t": {"0": 1}}, {"t": {"0": 5}}, {"t": {"0": 9, "1": 3}}, 4, 7),
        (10, 20, 25, 1000, 500),
        (10, 20, 20, 1000, 0),
        (None, 0, 0, 0, 0),
        (None, 5, 9, 10, None),
        (7, 7, 9, 0, None),
        (3, 4, None, 10, None),
        ({"logOffset": 1}, {"logOffset": 2}, None, 10, None),
        ({"logOffset": 1}, {"logOffset": 2}, {"logOffset": 4}, 10, None),
        ("x", "y", "z", 10, None),
    ],
)
def test_the_backlog_follows_from_offsets_where_they_tell_it(start, end, latest, rows, behind):
    assert rows_behind(start, end, latest, rows) == behind


def test_one_silent_source_makes_the_backlog_of_a_query_unknown():
    known = {"startOffset": 1, "endOffset": 2, "latestOffset": 2, "numInputRows": 5}
    silent = {"startOffset": None, "endOffset": {"logOffset": 1}, "latestOffset": None, "numInputRows": 5}
    batch = parse_progress(report(1, 1, sources=[known, silent]))
    assert batch is not None
    assert batch.behind is None


def test_batches_from_before_a_run_was_first_seen_are_not_new():
    query = FakeQuery(report(1, 1), report(2, 2))
    run = QueryRun(None, query, "id", "run")
    assert run.new_batches() == []
    query.reports += [FakeReport(report(3, 3)), FakeReport(report(4, 4, idle=True)), FakeReport(report(4, 5))]
    assert [batch.batch for batch in run.new_batches()] == [3, 4]
    assert run.new_batches() == []


def test_a_run_is_named_by_its_query_or_else_by_the_start_of_its_id():
    assert QueryRun(None, FakeQuery(), "0123456789", "run").name == "words"
    assert QueryRun(None, FakeQuery(name=None), "0123456789", "run").name == "01234567"


def test_the_interval_of_a_trigger_is_known():
    assert QueryRun(None, FakeQuery(), "id", "run").trigger_s == 2.0
    assert QueryRun(None, FakeQuery(trigger="AvailableNowTrigger"), "id", "run").trigger_s == 0.0


@pytest.mark.spark
def test_queries_of_all_sessions_are_followed_to_their_end(spark, tmp_path, eventually):
    queries = StreamingQueries(spark)
    queries.update()
    rows = spark.newSession().readStream.format("rate-micro-batch").option("rowsPerBatch", 7).load()
    query = rows.writeStream.format("noop").queryName("elsewhere").option("checkpointLocation", str(tmp_path)).start()
    try:
        batch = eventually(lambda: _first_batch(queries, str(query.runId)), "a batch of the query")
        assert batch.row_count == 7
        assert batch.duration_s > 0
        assert queries.running[str(query.runId)].name == "elsewhere"
        assert queries.running[str(query.runId)].failure() is None
    finally:
        query.stop()
    ended = eventually(lambda: queries.update() or None, "the end of the query")
    assert [run.run_id for run in ended] == [str(query.runId)]
    assert ended[0].failure() is None


@pytest.mark.spark
def test_a_query_that_failed_says_why(spark, tmp_path, eventually):
    def broken(batches):
        raise ValueError("no such word")

    queries = StreamingQueries(spark)
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    query = (
        rows.mapInArrow(broken, rows.schema)
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    eventually(lambda: queries.update() or str(query.runId) in queries.running or None, "the query")
    [run] = [run for run in queries.running.values() if run.run_id == str(query.runId)]
    eventually(lambda: None if query.isActive else True, "the failure")
    assert run in eventually(lambda: queries.update() or None, "the end of the query")
    assert "\n" not in (run.failure() or "\n")


def _first_batch(queries: StreamingQueries, run_id: str):
    queries.update()
    return next(iter(queries.running[run_id].new_batches()), None) if run_id in queries.running else None


def test_a_batch_is_under_way_when_the_trigger_is_active_and_there_is_data():
    query = FakeQuery()
    run = QueryRun(None, query, "id", "run")
    assert run.is_processing()
    query.available = False
    assert not run.is_processing(), "it only looks for rows"

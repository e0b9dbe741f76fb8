import pytest

from rheostat.snapshot import Batch
from rheostat.spark.observe.application_totals import ESTIMATED, NO_QUERY, Ledger, estimated_latency_s
from rheostat.spark.query.batch_log import BatchRecord


class FakeRun:
    """A run whose batches are put into `coming`."""

    trigger_s = 0.0

    def __init__(self, name: str, why: str | None = None) -> None:
        self.id, self.run_id, self.name = f"id of {name}", f"run of {name}", name
        self.coming: list[BatchRecord] = []
        self._why = why

    def new_batches(self) -> list[BatchRecord]:
        news, self.coming = self.coming, []
        return news

    def failure(self) -> str | None:
        return self._why


class FakeQueries:
    def __init__(self, *runs: FakeRun) -> None:
        self.running = {run.run_id: run for run in runs}
        self.ended: list[FakeRun] = []

    def end(self, run: FakeRun) -> None:
        del self.running[run.run_id]
        self.ended.append(run)

    def update(self) -> list[FakeRun]:
        ended, self.ended = self.ended, []
        return ended


def batch(number: int, started_s: float, duration_s: float, rows: int, behind: int | None = 0) -> BatchRecord:
    return BatchRecord(number, started_s, started_s + duration_s, {"words": rows}, duration_s * 0.75, behind=behind)


def test_rows_and_batches_of_all_queries_add_up():
    one, other = FakeRun("one"), FakeRun("other")
    ledger = Ledger(FakeQueries(one, other))
    one.coming = [batch(1, 0, 2, 100), batch(2, 2, 2, 50)]
    other.coming = [batch(8, 1, 4, 7, behind=3)]
    ledger.update()
    assert (ledger.rows, ledger.behind, ledger.running) == (157, 3, 2)
    assert ledger.by_query() == {"one": 150, "other": 7}
    assert ledger.batch == Batch(3, 8.0, 2.0)
    assert ledger.problems() == (ESTIMATED,)


def test_the_sums_do_not_fall_when_a_query_ends_and_count_its_last_batch():
    run = FakeRun("one")
    queries = FakeQueries(run)
    ledger = Ledger(queries)
    run.coming = [batch(1, 0, 2, 100)]
    ledger.update()
    run.coming = [batch(2, 2, 2, 20)]
    queries.end(run)
    ledger.update()
    assert (ledger.rows, ledger.running, ledger.by_query()) == (120, 0, {})
    assert ledger.problems() == (NO_QUERY,)


def test_a_failed_query_is_told_until_it_runs_again():
    run = FakeRun("one", why="no such word")
    queries = FakeQueries(run)
    ledger = Ledger(queries)
    ledger.update()
    queries.end(run)
    ledger.update()
    assert ledger.problems() == (NO_QUERY, "query 'one' failed: no such word")
    queries.running[run.run_id] = run
    ledger.update()
    assert ledger.problems() == (ESTIMATED,)


def test_the_latency_is_that_of_the_slowest_query_since_the_last_look():
    one, other = FakeRun("one"), FakeRun("other")
    ledger = Ledger(FakeQueries(one, other))
    one.coming, other.coming = [batch(1, 0, 2, 100)], [batch(1, 0, 4, 7)]
    ledger.update()
    latency = ledger.latency()
    assert latency is not None
    assert (latency.count, latency.mean_s) == (7, 6.0)
    ledger.update()
    assert ledger.latency() is None


def test_a_source_that_tells_no_backlog_is_named():
    run = FakeRun("files")
    ledger = Ledger(FakeQueries(run))
    run.coming = [batch(1, 0, 2, 100, behind=None)]
    ledger.update()
    assert ledger.behind == 0
    assert "the sources of 'files' tell no backlog" in ledger.problems()[1]


def test_batches_that_follow_each_other_give_one_and_a_half_times_their_duration():
    assert estimated_latency_s(batch(2, 2, 2, 10), batch(1, 0, 2, 10)) == 3.0


def test_after_a_pause_rows_have_not_waited_for_the_pause():
    assert estimated_latency_s(batch(2, 100, 2, 10), batch(1, 0, 1, 10)) == 2.5


def test_rows_wait_for_the_trigger():
    assert estimated_latency_s(batch(2, 10, 2, 10), batch(1, 0, 1, 10), trigger_s=10) == 7.0


def test_rows_behind_a_batch_cost_their_share_of_the_next_ones():
    assert estimated_latency_s(batch(2, 2, 2, 10, behind=20), batch(1, 0, 2, 10)) == pytest.approx(7.0)


def test_a_batch_without_rows_has_its_own_duration_for_an_estimate():
    assert estimated_latency_s(batch(1, 0, 2, 0, behind=20), None) == 3.0

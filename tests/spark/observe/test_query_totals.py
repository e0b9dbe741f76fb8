import math
from dataclasses import replace
from itertools import pairwise

import pytest

from rheostat.clock import ManualClock
from rheostat.snapshot import Latency
from rheostat.spark.kafka.query_topics import TopicLoad
from rheostat.spark.observe.query_totals import ESTIMATED, NO_QUERY, UNDER_WAY, QueryTotals, estimated_latency_s
from rheostat.spark.observe.running_batches import RunningBatch
from rheostat.spark.query.batch_log import BatchRecord


class FakeRun:
    """A run whose batches are put into `coming`."""

    trigger_s = 0.0
    earlier: tuple[BatchRecord, ...] = ()

    load: TopicLoad | None = None

    def __init__(self, name: str, why: str | None = None) -> None:
        self.id, self.run_id, self.name = f"id of {name}", f"run of {name}", name
        self.coming: list[BatchRecord] = []
        self._why = why
        self.processing = False

    def is_processing(self) -> bool:
        return self.processing

    def topic_load(self, now_s: float) -> TopicLoad | None:
        return self.load

    def new_batches(self) -> list[BatchRecord]:
        news, self.coming = self.coming, []
        return news

    def failure(self) -> str | None:
        return self._why


class FakeQueries:
    def __init__(self, *runs: FakeRun) -> None:
        self.running = {run.run_id: run for run in runs}
        self.ended: list[FakeRun] = []
        self.down: dict[str, FakeRun] = {}

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
    totals = QueryTotals(FakeQueries(one, other), clock=lambda: 2.0)
    one.coming = [batch(1, 0, 2, 100), batch(2, 2, 2, 50)]
    other.coming = [batch(8, 1, 4, 7, behind=3)]
    totals.update()
    assert (totals.completed, totals.arrived, totals.queued) == (157, 160, 3)
    assert totals.by_query == {"one": 150, "other": 7}
    assert totals.problems() == [ESTIMATED]


def test_the_rate_from_before_it_was_attached_is_known_from_the_start():
    run, clock = FakeRun("one"), ManualClock(8.0)
    run.earlier = (batch(1, 0, 2, 100), batch(2, 2, 4, 100))
    run.processing = True
    totals = QueryTotals(FakeQueries(run), clock=clock.now)
    totals.update()
    assert (totals.completed, totals.arrived, totals.queued) == (0, 300, 300), "50 a second since 2 s"
    clock.wait_until(9.0)
    run.coming = [batch(3, 6, 3, 200)]
    totals.update()
    assert (totals.completed, totals.arrived, totals.queued) == (200, 350, 150), "50 more have arrived in a second"


def test_latencies_count_in_proportion_to_the_sla_of_their_query():
    fast, slow, free = FakeRun("fast"), FakeRun("slow"), FakeRun("free")
    totals = QueryTotals(FakeQueries(fast, slow, free), weights={"fast": 1.0, "slow": 0.1})
    fast.coming, slow.coming, free.coming = [batch(1, 0, 2, 5)], [batch(1, 0, 40, 7)], [batch(1, 0, 900, 9)]
    totals.update()
    assert totals.latency() == Latency(7, pytest.approx(6.0)), "a tenth of 1.5 times 40 s"
    others = QueryTotals(FakeQueries(free), weights={"fast": 1.0, "*": 0.01})
    free.coming = [batch(1, 0, 900, 9)]
    others.update()
    assert others.latency() == Latency(9, pytest.approx(13.5))


def test_an_sla_for_a_query_that_does_not_run_is_told_with_those_that_do():
    totals = QueryTotals(FakeQueries(FakeRun("orders")), weights={"order": 1.0})
    totals.update()
    assert totals.problems()[1] == "no query named 'order' runs, for which there is an SLA; there are: 'orders'"


def test_the_sums_do_not_fall_when_a_query_ends_and_count_its_last_batch():
    run = FakeRun("one")
    queries = FakeQueries(run)
    totals = QueryTotals(queries)
    run.coming = [batch(1, 0, 2, 100)]
    totals.update()
    run.coming = [batch(2, 2, 2, 20)]
    queries.end(run)
    totals.update()
    assert (totals.completed, totals.is_any_running, totals.by_query) == (120, False, {})
    assert totals.problems() == [NO_QUERY]


def test_what_arrived_does_not_fall_when_a_query_ends_or_its_backlog_was_less_than_told():
    run, other = FakeRun("one"), FakeRun("other")
    queries = FakeQueries(run, other)
    totals = QueryTotals(queries, clock=lambda: 0.0)
    run.coming = [batch(1, 0, 2, 100, behind=500)]
    totals.update()
    assert (totals.arrived, totals.queued) == (600, 500)
    run.coming = [batch(2, 2, 2, 400, behind=0)]
    totals.update()
    assert (totals.arrived, totals.queued) == (600, 0)
    run.coming = [batch(3, 4, 2, 150, behind=20)]
    totals.update()
    assert (totals.arrived, totals.queued) == (670, 20)
    queries.end(run)
    other.coming = [batch(1, 0, 2, 7)]
    totals.update()
    assert (totals.arrived, totals.completed, totals.queued) == (677, 657, 0)


def test_rows_of_a_query_continue_when_it_is_restarted_between_two_updates():
    run, again = FakeRun("one"), FakeRun("one")
    again.run_id = "second run of one"
    queries = FakeQueries(run)
    totals = QueryTotals(queries)
    run.coming = [batch(1, 0, 2, 100)]
    totals.update()
    queries.end(run)
    queries.running[again.run_id] = again
    again.coming = [batch(2, 9, 2, 5)]
    totals.update()
    assert totals.by_query == {"one": 105}


def test_totals_continue_from_those_of_an_earlier_run_of_the_driver():
    run = FakeRun("one")
    before = {"one": 80, "gone": 20}
    totals = QueryTotals(FakeQueries(run), completed=100, arrived=130, by_query=before)
    totals.update()
    assert (totals.completed, totals.arrived, totals.by_query) == (100, 130, {"one": 80})
    run.coming = [batch(1, 0, 2, 10, behind=25)]
    totals.update()
    assert (totals.completed, totals.arrived) == (110, 135), "what was behind before is not counted again"


def test_a_failed_query_is_told_until_it_runs_again():
    run = FakeRun("one", why="no such word")
    queries = FakeQueries(run)
    totals = QueryTotals(queries)
    totals.update()
    queries.end(run)
    totals.update()
    assert totals.problems() == [NO_QUERY, "query 'one' failed: no such word"]
    queries.running[run.run_id] = run
    totals.update()
    assert totals.problems() == [ESTIMATED]


def test_the_latency_is_that_of_the_slowest_query_since_the_last_look():
    one, other = FakeRun("one"), FakeRun("other")
    totals = QueryTotals(FakeQueries(one, other))
    one.coming, other.coming = [batch(1, 0, 2, 100)], [batch(1, 0, 4, 7)]
    totals.update()
    latency = totals.latency()
    assert latency is not None
    assert (latency.count, latency.mean_s) == (7, 6.0)
    totals.update()
    assert totals.latency() is None


def test_a_source_that_tells_no_backlog_is_named():
    run = FakeRun("files")
    totals = QueryTotals(FakeQueries(run))
    run.coming = [batch(1, 0, 2, 100, behind=None)]
    totals.update()
    assert totals.queued == 0
    assert "the sources of 'files' report no backlog" in totals.problems()[1]


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


def test_rows_go_on_to_arrive_while_a_batch_is_under_way():
    run, now = FakeRun("one"), [4.0]
    totals = QueryTotals(FakeQueries(run), clock=lambda: now[0])
    run.coming = [batch(1, 0, 2, 100), batch(2, 2, 2, 100)]
    run.processing = True
    totals.update()
    assert (totals.completed, totals.arrived, totals.queued, totals.oldest_s) == (200, 300, 100, 2.0)
    now[0] = 62.0
    totals.update()
    assert (totals.completed, totals.arrived, totals.queued, totals.oldest_s) == (200, 3200, 3000, 60.0)
    assert totals.problems() == [ESTIMATED, UNDER_WAY]
    run.coming, run.processing = [batch(3, 4, 58, 90)], False
    totals.update()
    assert (totals.completed, totals.queued, totals.oldest_s) == (290, 0, None)
    assert totals.arrived == 3200, "what was estimated too high does not fall, it is caught up with"
    assert totals.problems() == [ESTIMATED]


def test_the_rate_is_that_of_the_batches_of_the_last_seconds():
    run = FakeRun("one")
    totals = QueryTotals(FakeQueries(run), clock=lambda: 13.0)
    rows = (9000, 101, 97, 203, 89, 308)
    run.coming = [batch(number, 2.0 * number, 2, each) for number, each in enumerate(rows)]
    run.processing = True
    totals.update()
    assert totals.queued == round(3 * (89 + 308) / 4)


def test_the_batch_under_way_tells_its_rows_before_it_ends():
    run, now = FakeRun("one"), [9.0]
    totals = QueryTotals(FakeQueries(run), clock=lambda: now[0])
    run.coming, run.processing = [batch(number, 2.0 * number, 2, 100) for number in range(3)], True
    surge = RunningBatch(3, 6.0, 8, (), (), rows=600, read=0.4)
    totals.update({run.run_id: surge})
    assert totals.queued == 250, "too few of its tasks have finished"
    totals.update({run.run_id: replace(surge, read=0.5)})
    assert totals.queued == 600 + 3 * (100 + 600) / 4
    run.coming = [batch(3, 6.0, 3.0, 601)]
    totals.update()
    assert totals.completed == 901
    assert totals.queued == round(3 * 701 / 4)


def test_rows_of_a_batch_under_way_do_not_tell_what_has_arrived_where_others_are_left_behind():
    run = FakeRun("one")
    totals = QueryTotals(FakeQueries(run), clock=lambda: 6.0)
    run.coming, run.processing = [batch(1, 0, 2, 100), batch(2, 2, 2, 100, behind=70)], True
    totals.update({run.run_id: RunningBatch(3, 4.0, 8, (), (), rows=100, read=1.0)})
    assert totals.queued == 410


def test_a_source_that_hands_over_its_rows_once_a_second_has_an_even_rate():
    """Batches begin when there are rows, and take less than a second."""
    run, now = FakeRun("one"), [0.0]
    totals = QueryTotals(FakeQueries(run), clock=lambda: now[0])
    arrived, begun = [], 0
    for turn in range(1, 40):
        now[0] = 0.7 * turn
        run.coming = [batch(second, second, 0.1, 120, behind=None) for second in range(begun, math.ceil(now[0]))]
        begun += len(run.coming)
        totals.update()
        arrived.append(totals.arrived)
    grown = [after - before for before, after in pairwise(arrived[10:])]
    assert grown == pytest.approx([84] * len(grown), abs=1)
    now[0] += 60.0
    totals.update()
    assert totals.arrived - totals.completed == 120, "a source that has dried up is not taken to go on"


def test_nothing_is_estimated_from_one_batch():
    run = FakeRun("one")
    totals = QueryTotals(FakeQueries(run), clock=lambda: 100.0)
    run.coming, run.processing = [batch(1, 0, 2, 100)], True
    totals.update()
    assert (totals.arrived, totals.queued) == (100, 0)


@pytest.mark.parametrize("behind", [0, None])
def test_while_a_query_waits_no_more_rows_arrive_than_between_two_batches_before(behind):
    run = FakeRun("one")
    totals = QueryTotals(FakeQueries(run), clock=lambda: 100.0)
    run.coming = [batch(1, 0, 2, 100, behind), batch(2, 2, 2, 100, behind)]
    totals.update()
    assert (totals.completed, totals.arrived, totals.queued) == (200, 300, 0)


def test_rows_behind_and_rows_that_arrive_add_up():
    run = FakeRun("one")
    totals = QueryTotals(FakeQueries(run), clock=lambda: 6.0)
    run.coming, run.processing = [batch(1, 0, 2, 100), batch(2, 2, 2, 100, behind=70)], True
    totals.update()
    assert (totals.arrived, totals.queued) == (200 + 70 + 340, 410), "170 have arrived in two seconds before"


def test_rows_of_the_batch_under_way_are_what_its_tasks_read_or_what_has_arrived_by_its_start():
    run = FakeRun("one")
    totals = QueryTotals(FakeQueries(run), clock=lambda: 6.0)
    run.coming = [batch(1, 0, 2, 100), batch(2, 2, 2, 100)]
    totals.update()
    assert totals.rows_of("run of one", RunningBatch(3, 5.0, 8, (), ())) == 150
    assert totals.rows_of("run of one", RunningBatch(3, 5.0, 8, (), (), rows=120)) == 120
    assert totals.rows_of("another", RunningBatch(3, 5.0, 8, (), ())) is None


def topic_load(behind: int | None, **others) -> TopicLoad:
    return TopicLoad({}, {}, behind, others.pop("under_way", 0), others.pop("oldest_s", None), **others)


def test_of_a_query_that_reads_kafka_the_broker_tells_what_has_arrived():
    run = FakeRun("orders")
    totals = QueryTotals(FakeQueries(run))
    run.coming, run.processing = [batch(1, 0, 2, 100, behind=20), batch(2, 2, 2, 100, behind=20)], True
    run.load = topic_load(70, under_way=30, oldest_s=4.0)
    totals.update()
    assert (totals.arrived, totals.queued, totals.oldest_s) == (270, 70, 4.0)
    assert totals.rows_of("run of orders", RunningBatch(3, 4.0, 8, (), (), rows=31)) == 30
    assert totals.problems() == [ESTIMATED]


def test_what_has_arrived_is_unknown_while_a_broker_does_not_answer():
    run, other = FakeRun("orders"), FakeRun("files")
    totals = QueryTotals(FakeQueries(run, other))
    run.load = topic_load(70)
    totals.update()
    assert totals.is_arrival_known
    run.load = topic_load(None, problem="the Kafka broker at here:1 does not answer: gone")
    totals.update()
    assert not totals.is_arrival_known
    assert "what has arrived for query 'orders' is unknown: the Kafka broker at here:1" in totals.problems()[1]


def test_what_waits_in_the_topics_of_a_query_that_failed_is_told_until_it_runs_again():
    run, again = FakeRun("orders", why="no such word"), FakeRun("orders")
    again.run_id = "second run of orders"
    queries = FakeQueries(run)
    totals = QueryTotals(queries)
    run.coming, run.load = [batch(1, 0, 2, 100)], topic_load(20, oldest_s=1.0)
    totals.update()
    assert totals.arrived == 120
    queries.end(run)
    queries.down = {run.id: run}
    run.load = topic_load(1_500, oldest_s=30.0)
    totals.update()
    assert not totals.is_arrival_known, "no query runs"
    assert totals.problems()[1] == (
        "query 'orders' failed: no such word; 1,500 records wait in its topics, the oldest for 30s"
    )
    assert totals.topic_loads == {"orders": run.load}
    assert totals.by_query == {"orders": 100}
    queries.running, queries.down = {again.run_id: again}, {}
    again.load = topic_load(1_510, oldest_s=31.0)
    totals.update()
    assert (totals.arrived, totals.queued) == (1_610, 1_510), "what the first run left behind is counted once"
    assert totals.problems() == [ESTIMATED]


def test_records_that_the_broker_deleted_unread_are_told():
    run = FakeRun("orders")
    totals = QueryTotals(FakeQueries(run))
    run.load = topic_load(10, lost=1234)
    totals.update()
    assert "query 'orders' lost 1,234 records" in totals.problems()[1]


def test_a_limit_of_the_source_is_named_once_it_binds():
    run = FakeRun("orders")
    totals = QueryTotals(FakeQueries(run))
    run.load = topic_load(40, limit=20)
    totals.update()
    assert totals.problems() == [ESTIMATED]
    run.load = topic_load(41, limit=20)
    totals.update()
    assert "takes at most 20 records in a batch (maxOffsetsPerTrigger) of the 41 that wait" in totals.problems()[1]

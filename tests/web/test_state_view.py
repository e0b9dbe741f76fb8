"""States as the page shows them, against the snapshots that they come from."""

from pathlib import Path

import pytest
from dashboard_runs import GOAL, SCRIPT
from msgspec import structs

from rheostat.errors import ConfigError
from rheostat.journal import Journal
from rheostat.snapshot import PartitionState, StreamState
from rheostat.web.state_view import PartitionView, StateReader, operator_detail, state_view


@pytest.fixture
def journal(recorded: Path):
    with Journal(recorded, read_only=True) as opened:
        yield opened


def test_rates_are_means_over_the_last_seconds(journal) -> None:
    seen = journal.last_recorded(11)
    first, last = seen[0].snapshot, seen[-1].snapshot
    passed_s = last.time_s - first.time_s
    view = state_view(GOAL, seen)
    for operator in view.operators:
        arrived = last.operators[operator.name].arrived - first.operators[operator.name].arrived
        assert operator.arrival_rate == pytest.approx(arrived / passed_s)
        assert operator.queued == last.operators[operator.name].queued
    by_stream = {(stream.name, stream.consumer): stream.rate for stream in view.streams}
    completed = {each.name: each.completion_rate for each in view.operators}
    assert by_stream["parse.bad", SCRIPT] == pytest.approx(0.1 * completed["parse"])
    assert by_stream["count.again", "count"] == pytest.approx(0.1 * completed["count"])


def test_a_latency_counts_for_as_many_records_as_completed(journal) -> None:
    seen = journal.last_recorded(5)
    latencies = [each.snapshot.operators["count"].latency for each in seen[1:]]
    mean_s = sum(it.count * it.mean_s for it in latencies) / sum(it.count for it in latencies)
    [count] = [each for each in state_view(GOAL, seen).operators if each.name == "count"]
    assert count.latency_s == pytest.approx(mean_s)
    assert count.sla_s == 1.0


def test_executors_are_counted_by_what_they_do(journal) -> None:
    starting = next(
        each for each in journal.recorded(1) if any(it.phase == "starting" for it in each.snapshot.executors)
    )
    pool = next(it.pool for it in starting.snapshot.executors if it.phase == "starting")
    view = state_view(GOAL, [starting])
    [operator] = [each for each in view.operators if each.pool == pool]
    assert operator.coming > 0
    assert operator.planned == starting.plan.pools[pool].size
    assert operator.executors + operator.coming + operator.standby == len(starting.snapshot.executors_of(pool))


def test_a_path_with_an_sla_takes_as_long_as_its_operators_together(journal) -> None:
    view = state_view(GOAL, journal.last_recorded(5))
    latencies = {each.name: each.latency_s for each in view.operators}
    [path] = view.paths
    assert (path.operators, path.sla_s) == (("parse", "count"), 2.0)
    assert path.latency_s == pytest.approx(latencies["parse"] + latencies["count"])


def test_the_present_is_what_a_fresh_reader_finds(journal) -> None:
    reader = StateReader(journal)
    assert reader.latest() == reader.latest() == StateReader(journal).at(1e9)
    assert reader.latest().time_s == 60.0
    assert reader.at(30.4).time_s == 30.0
    assert reader.at(-1.0) is None


def test_substreams_are_shown_with_who_serves_and_who_should(journal) -> None:
    seen = journal.last_recorded(11)
    detail = operator_detail(GOAL, seen, "count")
    assert [each.index for each in detail.substreams] == list(range(8))
    owners = {each.index: each.executor for each in seen[-1].snapshot.substreams_of("count")}
    assert {each.index: each.executor for each in detail.substreams} == owners
    assert tuple(each.planned for each in detail.substreams) == seen[-1].plan.assignment["count"]
    assert sum(each.substreams for each in detail.executors) == 8


def test_an_unknown_operator_is_named(journal) -> None:
    with pytest.raises(ConfigError, match="no operator is called 'cuont'; did you mean 'count'"):
        StateReader(journal).operator("cuont")


def test_partitions_of_topics_are_shown_beside_substreams(journal) -> None:
    first, last = journal.last_recorded(2)

    def reading(seen, end: int):
        stream = StreamState("in", "count", partitions=(PartitionState("words", 0, end, 3),))
        return structs.replace(seen, snapshot=structs.replace(seen.snapshot, streams=(stream,)))

    detail = operator_detail(GOAL, [reading(first, 40), reading(last, 90)], "count")
    rate = 50 / (last.snapshot.time_s - first.snapshot.time_s)
    assert detail.partitions == [PartitionView("words", 0, pytest.approx(rate), 3)]
    assert len(detail.substreams) == 8

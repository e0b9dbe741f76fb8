"""What a standalone master tells of its workers, and what a topology needs at least."""

import logging

import pytest

from rheostat.errors import ConfigError, PlantError
from rheostat.plan import Plan
from rheostat.sla import Budget
from rheostat.spark.act import cluster_room
from rheostat.spark.act.actuators.resource_profiles import ExecutorSize, executor_size
from rheostat.spark.act.cluster_room import StandaloneRoom, check_room, room_on
from rheostat.spark.cluster.master_page import ApplicationEntry, MasterPage, WorkerEntry
from rheostat.topology import Operator, Source, Topology

SIZE = ExecutorSize(cores=2, memory_mb=1000)
CHAIN = Topology("chain", [Source("s"), Operator("a", inputs="s"), Operator("b", inputs="a")])


def worker(cores_free=0, memory_free=0, state="ALIVE"):
    return WorkerEntry("w", "host", state, 10 + cores_free, 10, 8000 + memory_free, 8000, {})


def page(*workers, cores=0):
    applications = [ApplicationEntry("ours", "us", cores, "RUNNING"), ApplicationEntry("other", "them", 9, "RUNNING")]
    return MasterPage("spark://host:1", "ALIVE", list(workers), applications)


@pytest.mark.parametrize(
    ("found", "room"),
    [
        (page(), 0),
        (page(worker(8, 9000)), 4),
        (page(worker(8, 2500)), 2),
        (page(worker(3, 9000), worker(3, 9000)), 2),
        (page(worker(8, 9000, state="DEAD")), 0),
        (page(worker(1, 9000), cores=6), 3),
        (page(worker(4, 9000), cores=6), 5),
    ],
)
def test_room_is_what_fits_into_each_living_worker_and_what_the_application_has(found, room):
    assert room_on(found, "ours", SIZE) == room


def test_the_room_is_unknown_where_the_master_does_not_know_the_application():
    assert room_on(page(worker(8, 9000)), "another", SIZE) is None


def test_an_executor_of_another_size_counts_once():
    assert room_on(page(worker(4, 9000), cores=10), "ours", SIZE, larger_by=6) == 2 + 2


def check(room, budget=None):
    check_room(Plan.initial(CHAIN), budget or Budget(), lambda: room, reserved=1, size=SIZE)


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(cluster_room, "_ROOM_TIMEOUT_S", 0.0)


def test_a_cluster_with_too_little_room_is_refused_with_numbers(hurried):
    wanted = (
        r"3 executors of 2 cores and 1000 MiB are needed at least \(1 for 'a', 1 for 'b', 1 for sources\), "
        "and the cluster has room for 2"
    )
    with pytest.raises(PlantError, match=wanted):
        check(2)


def test_minimums_count(hurried):
    with pytest.raises(PlantError, match=r"5 executors .* are needed at least .1 for 'a', 3 for 'b'"):
        check(4, Budget(least={"b": 3}))


def test_a_budget_below_what_is_needed_is_refused():
    with pytest.raises(ConfigError, match="a budget of 2 executors is below the 3 that are needed"):
        check(9, Budget(2))


def test_a_cluster_with_less_room_than_the_budget_is_told(caplog):
    with caplog.at_level(logging.WARNING):
        check(5, Budget(8))
    assert caplog.messages == ["the budget is 8 executors, and the cluster has room for 5 of 2 cores and 1000 MiB"]
    caplog.clear()
    check(8, Budget(8))
    check(None, Budget(8))
    check(3)
    assert caplog.messages == []


def test_executors_of_an_application_that_just_ended_are_waited_for(monkeypatch):
    monkeypatch.setattr(cluster_room, "_MAX_AGE_S", 0.0)
    rooms = iter([1, 1, 2, 3])
    check_room(Plan.initial(CHAIN), Budget(), lambda: next(rooms), reserved=1, size=SIZE)
    assert next(rooms, None) is None


@pytest.fixture
def unread(monkeypatch):
    """Requests for the page of a master that is behind a firewall."""
    asked = []
    monkeypatch.setattr(cluster_room, "read_master_page", lambda url, timeout_s: asked.append((url, timeout_s)))
    return asked


@pytest.mark.spark
def test_a_page_that_does_not_answer_is_not_asked_for_in_every_step(spark, unread):
    room = StandaloneRoom(spark, SIZE)
    assert [room.read(0) for _ in range(5)] == [None] * 5
    [(_, timeout_s)] = unread
    assert timeout_s <= 2.0


@pytest.mark.spark
def test_the_master_of_a_session_tells_its_room(spark):
    size = executor_size(spark)
    assert (size.cores, size.memory_mb) == (1, 512)
    assert StandaloneRoom(spark, size).read(0) == 8
    assert StandaloneRoom(spark, size).read(9) == 9, "what is registered has room"
    assert StandaloneRoom(spark, ExecutorSize(3, 512)).read(0) <= 4

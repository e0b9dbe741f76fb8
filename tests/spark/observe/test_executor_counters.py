import pytest

from rheostat.snapshot import ExecutorPhase, ExecutorState, Snapshot
from rheostat.spark.observe.counters import RowCount
from rheostat.spark.observe.executor_counters import ExecutorCounters
from rheostat.spark.state.executor_book import PoolMember, SparkExecutor


def members(**numbers: int | None) -> list[PoolMember]:
    """Executors e1, e2, ... under their numbers in a pool; r3 is a number that is requested."""
    return [
        PoolMember("pool", int(name[1:]), ExecutorPhase.REQUESTED, None)
        if number is None
        else PoolMember("pool", number, ExecutorPhase.ACTIVE, SparkExecutor(name[1:], "host:1", 0, 1))
        for name, number in numbers.items()
    ]


def count(counters: ExecutorCounters, pool: list[PoolMember], *, share: float = 1.0, **held_s: float) -> float:
    """The busy time added to the pool."""
    held = {name[1:]: value for name, value in held_s.items()}
    return counters.add_time(pool, held, dict.fromkeys(held, share)).get("pool", 0.0)


def busy_s(counters: ExecutorCounters, *numbers: int) -> list[float]:
    return [counters.busy_s("pool", number) for number in numbers]


def test_executors_are_counted_from_when_they_are_first_seen():
    counters, pool = ExecutorCounters(), members(e7=0, e9=1)
    assert count(counters, pool, e7=100.0, e9=50.0) == 0.0
    assert count(counters, pool, e7=103.0, e9=51.0) == 4.0
    assert busy_s(counters, 0, 1) == [3.0, 1.0]


def test_only_the_share_of_work_counts():
    counters, pool = ExecutorCounters(), members(e1=0)
    count(counters, pool, e1=0.0)
    assert count(counters, pool, share=0.25, e1=8.0) == 2.0
    assert busy_s(counters, 0) == [2.0]


def test_a_replacement_continues_where_the_dead_one_stopped():
    counters = ExecutorCounters()
    count(counters, members(e1=0), e1=0.0)
    count(counters, members(e1=0), e1=8.0)
    count(counters, members(r0=None))
    assert busy_s(counters, 0) == [8.0], "while nobody has the number"
    count(counters, members(e2=0), e2=0.2)
    assert count(counters, members(e2=0), e2=1.2) == pytest.approx(1.0)
    assert busy_s(counters, 0) == pytest.approx([9.0])


def test_an_executor_that_takes_another_number_is_counted_without_a_gap():
    counters = ExecutorCounters()
    count(counters, members(e1=0, e2=1, e3=2), e1=0.0, e2=0.0, e3=0.0)
    count(counters, members(e1=0, e2=1, e3=2), e1=1.0, e2=0.5, e3=7.0)
    added_s = count(counters, members(e1=0, e3=1), e1=1.0, e3=9.0)
    assert (added_s, busy_s(counters, 0, 1, 2)) == (2.0, [1.0, 2.5, 0.0])


def test_busy_time_never_falls_though_a_task_may_be_missing_once():
    counters, pool = ExecutorCounters(), members(e1=0)
    for held_s in (0.0, 5.0, 4.9, 5.0, 5.5):
        count(counters, pool, e1=held_s)
    assert busy_s(counters, 0) == [5.5]


def test_a_number_that_is_gone_is_forgotten():
    counters = ExecutorCounters()
    count(counters, members(e1=0, e2=1), e1=0.0, e2=0.0)
    count(counters, members(e1=0, e2=1), e1=5.0, e2=4.0)
    counters.add_rows("pool", {0: 10, 1: 20})
    assert count(counters, members(e1=0), e1=6.0, e2=4.5) == 1.0
    assert busy_s(counters, 0, 1) == [6.0, 0.0]
    assert counters.rows("pool", 0, 1) == RowCount(11, 10, 1)
    assert counters.rows("pool", 1, 0) == RowCount(0, 0, 0)


def test_counters_continue_after_a_restart_whatever_the_pool_is_called():
    executors = (
        ExecutorState("split+count", 0, ExecutorPhase.ACTIVE, arrived=75, completed=70, busy_s=12.0),
        ExecutorState("split+count", 1, ExecutorPhase.LEAVING),
    )
    counters = ExecutorCounters(Snapshot(1.0, (), executors=executors))
    pool = [PoolMember("split+count", n, ExecutorPhase.ACTIVE, SparkExecutor(str(n), "h:1", 0, 1)) for n in (0, 1)]
    counters.add_time(pool, {"0": 0.0, "1": 0.0}, {"0": 1.0, "1": 1.0})
    counters.add_rows("split+count", {0: 10, 1: 4})
    assert [counters.busy_s("split+count", n) for n in (0, 1)] == [12.0, 0.0]
    assert [counters.rows("split+count", n, 0) for n in (0, 1)] == [RowCount(80, 80, 0), RowCount(4, 4, 0)]

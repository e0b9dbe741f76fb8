import msgspec
import pytest

from rheostat.plan import PoolPlan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.act.allocation import SparkExecutor
from rheostat.spark.act.pool import Pool

STARTING, WARM, ACTIVE, LEAVING, REQUESTED = (
    ExecutorPhase.STARTING,
    ExecutorPhase.WARM,
    ExecutorPhase.ACTIVE,
    ExecutorPhase.LEAVING,
    ExecutorPhase.REQUESTED,
)


def executor(executor_id: str) -> SparkExecutor:
    return SparkExecutor(executor_id, "127.0.0.2:4000", profile=1, slots=1)


def executors(*ids: str) -> list[SparkExecutor]:
    return [executor(each) for each in ids]


def plan(*numbers: int, standby: int = 0) -> PoolPlan:
    return PoolPlan(numbers, max(numbers) + 1, standby)


def serving(*ids: str, standby: int = 0) -> Pool:
    """A pool in which these serve as 0, 1, ..., and `standby` more stand by."""
    spares = [f"s{number}" for number in range(standby)]
    pool = Pool("p", plan(*range(len(ids)), standby=standby))
    pool.see(executors(*ids, *spares))
    pool.warmed_up({*ids, *spares})
    pool.bind()
    assert pool.is_settled
    return pool


def phases(pool: Pool) -> list[tuple[int, ExecutorPhase, str | None]]:
    return [(number, phase, None if who is None else who.id) for number, phase, who in pool.members()]


def ids(found: list[SparkExecutor]) -> list[str]:
    return [each.id for each in found]


def dismiss_when_empty(pool: Pool, seated: set[str] = frozenset(), jobs: frozenset[int] = frozenset()) -> list[str]:
    """Two looks: the first one never finds an executor empty."""
    assert pool.to_dismiss(seated, jobs, 1.0) == []
    return pool.to_dismiss(seated, jobs, 2.0)


def test_a_new_pool_asks_for_its_executors_and_its_standbys():
    pool = Pool("p", plan(0, 1, standby=1))
    pool.see([])
    pool.bind()
    assert pool.total() == 3
    assert phases(pool) == [(0, REQUESTED, None), (1, REQUESTED, None)]
    assert not pool.is_settled


def test_the_first_executor_serves_at_once_since_nobody_else_does():
    pool = Pool("p", plan(0, 1))
    pool.see(executors("a"))
    pool.bind()
    assert phases(pool) == [(0, ACTIVE, "a"), (1, REQUESTED, None)]


def test_an_executor_that_comes_to_others_is_warmed_up_before_it_serves():
    pool = serving("a")
    pool.want(plan(0, 1))
    pool.see(executors("a", "b"))
    pool.bind()
    assert phases(pool) == [(0, ACTIVE, "a"), (1, STARTING, "b")]
    assert ids(pool.to_warm_up()) == ["b"]
    assert ids(pool.open()) == ["a"]
    pool.warmed_up({"b"})
    pool.bind()
    assert phases(pool) == [(0, ACTIVE, "a"), (1, ACTIVE, "b")]
    assert pool.is_settled


def test_a_standby_takes_a_new_number_at_once_and_is_followed_by_another():
    pool = serving("a", standby=1)
    assert ids(pool.open()) == ["a"]
    pool.want(plan(0, 1, standby=1))
    pool.bind()
    assert phases(pool) == [(0, ACTIVE, "a"), (1, ACTIVE, "s0")]
    assert pool.serves_as_wanted
    assert not pool.is_settled
    assert pool.total() == 3


def test_a_dead_executor_loses_its_number_to_a_standby():
    pool = serving("a", "b", standby=1)
    pool.see(executors("b", "s0"))
    pool.bind()
    assert phases(pool) == [(0, ACTIVE, "s0"), (1, ACTIVE, "b")]
    assert pool.total() == 3


def test_the_substreams_of_a_dead_executor_are_shared_out_until_it_is_replaced():
    pool = serving("a", "b", "c")
    wanted = (0, 0, 0, 1, 2, 2)
    before = ids(pool.owners(wanted, ()))
    assert before == ["a", "a", "a", "b", "c", "c"]
    pool.see(executors("b", "c"))
    pool.bind()
    meanwhile = ids(pool.owners(wanted, before))
    assert meanwhile == ["b", "b", "c", "b", "c", "c"]
    pool.see(executors("b", "c", "d"))
    pool.warmed_up({"d"})
    pool.bind()
    assert ids(pool.owners(wanted, meanwhile)) == ["d", "d", "d", "b", "c", "c"]


def test_a_substream_stays_where_it_is_until_its_new_executor_serves():
    pool = serving("a")
    pool.want(plan(0, 1))
    pool.see(executors("a", "b"))
    pool.bind()
    assert ids(pool.owners((0, 1), ("a", "a"))) == ["a", "a"]
    pool.warmed_up({"b"})
    pool.bind()
    assert ids(pool.owners((0, 1), ("a", "a"))) == ["a", "b"]


def test_a_leaving_executor_keeps_its_substreams_until_the_one_that_gets_them_serves():
    pool = serving("a")
    pool.want(plan(1))
    pool.see(executors("a"))
    pool.bind()
    assert phases(pool) == [(1, ACTIVE, "a")]
    pool = serving("a", "b")
    pool.want(plan(0, 2))
    pool.want(plan(0))
    pool.bind()
    assert phases(pool) == [(0, ACTIVE, "a"), (1, LEAVING, "b")]
    assert ids(pool.owners((0, 5), ("a", "b"))) == ["a", "b"]


def test_nobody_owns_a_substream_while_nobody_serves():
    pool = Pool("p", plan(0))
    assert pool.owners((0, 0), ()) == []
    assert pool.open() == []


def test_a_leaving_executor_goes_when_it_has_no_seat_and_the_jobs_of_that_time_are_over():
    pool = serving("a", "b")
    pool.want(plan(0))
    pool.bind()
    assert pool.total() == 2
    assert pool.to_dismiss({"a", "b"}, frozenset({7}), 1.0) == []
    assert pool.to_dismiss({"a"}, frozenset({7}), 2.0) == []
    assert pool.to_dismiss({"a"}, frozenset({7, 8}), 3.0) == []
    assert pool.to_dismiss({"a"}, frozenset({8, 9}), 4.0) == []
    assert pool.to_dismiss({"a"}, frozenset({9}), 5.0) == ["b"]
    assert (pool.total(), pool.total(["b"])) == (2, 1)
    pool.dismissed(["b"])
    assert pool.is_settled
    assert pool.total() == 1


def test_an_endless_job_does_not_keep_a_leaving_executor_for_ever():
    pool = serving("a", "b")
    pool.want(plan(0))
    pool.bind()
    assert [pool.to_dismiss({"a"}, frozenset({7}), time_s) for time_s in (0.0, 1.0, 60.0, 61.0)] == [[], [], [], ["b"]]


def test_a_dismissed_executor_that_spark_still_lists_is_not_taken_in_again():
    pool = serving("a", "b")
    pool.want(plan(0))
    pool.bind()
    pool.dismissed(dismiss_when_empty(pool, {"a"}))
    pool.see(executors("a", "b"))
    pool.bind()
    assert phases(pool) == [(0, ACTIVE, "a")]
    pool.see(executors("a"))
    assert pool.is_settled


def test_one_that_was_busy_when_it_was_to_be_killed_is_named_again():
    pool = serving("a", "b")
    pool.want(plan(0))
    pool.bind()
    assert dismiss_when_empty(pool, {"a"}) == ["b"]
    pool.dismissed([])
    assert pool.to_dismiss({"a"}, frozenset(), 3.0) == ["b"]


def test_a_leaving_executor_stands_by_when_a_standby_is_wanted():
    pool = serving("a", "b")
    pool.want(plan(0, standby=1))
    pool.bind()
    assert dismiss_when_empty(pool, {"a"}) == []
    assert phases(pool) == [(-1, WARM, "b"), (0, ACTIVE, "a")]
    assert pool.is_settled


def test_nobody_is_asked_for_in_place_of_those_that_are_about_to_stand_by():
    pool = serving("a", "b", "c", "d")
    pool.want(plan(0, standby=2))
    pool.bind()
    assert pool.total() == 4  # b, c and d leave: two of them will stand by, one is still needed while it leaves
    assert len(dismiss_when_empty(pool, {"a"})) == 1
    assert [phase for _, phase, _ in phases(pool)].count(WARM) == 2


def test_a_pool_that_is_kept_whole_needs_nobody_new():
    pool = serving("a", standby=2)
    pool.want(plan(0, 1, 2))
    pool.bind()
    assert (pool.total(), [phase for _, phase, _ in phases(pool)]) == (3, [ACTIVE] * 3)
    pool.want(plan(0, standby=2))
    pool.bind()
    assert pool.total() == 3


def test_a_leaving_executor_that_is_wanted_again_stays():
    pool = serving("a", "b")
    pool.want(plan(0))
    pool.bind()
    pool.want(plan(0, 1))
    pool.bind()
    assert pool.is_settled
    pool.want(plan(0))
    pool.bind()
    pool.want(plan(0, 2))
    pool.bind()
    assert phases(pool) == [(0, ACTIVE, "a"), (2, ACTIVE, "b")]


def test_executors_beyond_what_is_wanted_are_dismissed_those_that_just_came_first():
    pool = serving("a", standby=1)
    pool.see(executors("a", "s0", "x"))
    assert pool.to_dismiss({"a"}, frozenset(), 1.0) == ["x"]
    pool.want(plan(0))
    assert pool.to_dismiss({"a"}, frozenset(), 1.0) == ["s0", "x"]


def test_a_shortage_is_told_after_a_while_and_forgotten_when_it_is_over():
    pool = serving("a")
    pool.want(plan(0, 1, 2))
    assert pool.shortage(100.0, patience_s=10) is None
    assert pool.shortage(109.0, patience_s=10) is None
    told = pool.shortage(112.0, patience_s=10)
    assert told is not None
    assert "pool 'p' waits for more than 10s for 2 of its 3 executors" in told
    pool.see(executors("a", "b", "c"))
    assert pool.shortage(113.0, patience_s=10) is None
    pool.see(executors("a"))
    assert pool.shortage(114.0, patience_s=10) is None


@pytest.mark.parametrize(
    ("host_port", "host"), [("127.0.0.2:4000", "127.0.0.2"), ("127.0.0.2", "127.0.0.2"), ("[::1]:80", "[::1]")]
)
def test_the_host_of_an_executor_is_known_before_its_port(host_port, host):
    found = msgspec.structs.replace(executor("7"), host_port=host_port)
    assert found.host == host
    assert found.location == f"executor_{host}_7"


def test_a_pool_is_bereft_from_the_death_of_one_that_served_until_another_is_ready_in_its_place():
    pool = serving("a", "b")
    assert not pool.is_bereft
    pool.see(executors("a"))
    pool.bind()
    assert pool.shortage(1.0, 15.0) is None
    assert pool.is_bereft
    pool.see(executors("a", "c"))
    assert pool.shortage(2.0, 15.0) is None
    assert pool.is_bereft
    pool.warmed_up({"c"})
    pool.bind()
    pool.shortage(3.0, 15.0)
    assert not pool.is_bereft


def test_a_pool_is_bereft_no_longer_when_nobody_can_come():
    pool = serving("a", "b")
    pool.see(executors("a"))
    pool.shortage(1.0, 15.0)
    assert pool.shortage(20.0, 15.0) is not None
    assert not pool.is_bereft


def test_the_loss_of_a_standby_or_of_one_that_was_dismissed_bereaves_nobody():
    pool = serving("a", standby=1)
    pool.see(executors("a"))
    assert not pool.is_bereft

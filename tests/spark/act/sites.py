"""Books of a site for tests of the acting side, without Spark."""

from rheostat.plan import PoolPlan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.act.executor_numbers import bind, note_registered
from rheostat.spark.state.executor_book import SiteBook, SparkExecutor

STARTING, WARM, ACTIVE, LEAVING, REQUESTED = (
    ExecutorPhase.STARTING,
    ExecutorPhase.WARM,
    ExecutorPhase.ACTIVE,
    ExecutorPhase.LEAVING,
    ExecutorPhase.REQUESTED,
)


def executor(executor_id: str, profile: int = 1) -> SparkExecutor:
    return SparkExecutor(executor_id, "127.0.0.2:4000", profile=profile, slots=1)


def executors(*ids: str, profile: int = 1) -> tuple[SparkExecutor, ...]:
    return tuple(executor(each, profile) for each in ids)


def pool_plan(*numbers: int, standby: int = 0) -> PoolPlan:
    return PoolPlan(numbers, max(numbers) + 1, standby)


def serving(*ids: str, standby: int = 0, can_route: bool = True) -> SiteBook:
    """A site where these serve as 0, 1, ..., and `standby` more stand by."""
    spares = [f"s{number}" for number in range(standby)]
    book = SiteBook(pool_plan(*range(len(ids)), standby=standby))
    note_registered(book, executors(*ids, *spares), {*ids, *spares} if can_route else ())
    bind(book, can_route=can_route)
    assert book.is_settled
    return book


def want(book: SiteBook, plan: PoolPlan, *, can_route: bool = True) -> None:
    book.wanted = plan
    bind(book, can_route=can_route)


def see(book: SiteBook, *ids: str, warm: tuple[str, ...] = (), can_route: bool = True) -> None:
    """These are registered now, and these of them are warm."""
    note_registered(book, executors(*ids), warm)
    bind(book, can_route=can_route)


def phases(book: SiteBook) -> list[tuple[int, ExecutorPhase, str | None]]:
    return [(number, phase, None if who is None else who.id) for number, phase, who in book.listed()]


def ids(found: tuple[SparkExecutor, ...] | list[SparkExecutor]) -> list[str]:
    return [each.id for each in found]

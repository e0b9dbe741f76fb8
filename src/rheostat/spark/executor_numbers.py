"""Which of Spark's executors is which of the plan's, when all of them are alike.

A plan knows executors by numbers, Spark by names that end with the process. A number keeps its executor for as
long as that lives; then a new one takes it over.
"""

from collections.abc import Collection, Iterable

from rheostat.plan import PoolPlan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.state.executor_book import ExecutorBook, Member, PoolSite, PoolSites, SiteBook, SparkExecutor


class Crew:
    """Executors by number. Until `want` is called, all that are seen are wanted."""

    def __init__(self) -> None:
        self._members: dict[int, SparkExecutor | None] = {}
        self._wanted: tuple[int, ...] | None = None

    def want(self, numbers: Iterable[int], gone: Collection[str] = ()) -> None:
        """These shall serve, and no others. `gone` are executors that cannot serve again."""
        self._wanted = tuple(numbers)
        for number in self._wanted:
            self._members.setdefault(number, None)
        usable = [number for number in self._surplus() if self._instance(number) not in gone]
        for number, source in zip(self._vacant(), reversed(usable), strict=False):
            self._members[number], self._members[source] = self._members[source], None
        self._forget()

    def see(self, executors: Iterable[SparkExecutor]) -> None:
        """The executors that live now."""
        alive = {each.id: each for each in executors}
        self._members = {n: None if each is None else alive.pop(each.id, None) for n, each in self._members.items()}
        for executor in alive.values():
            self._members[self._free_number()] = executor
        self._forget()

    @property
    def complete(self) -> bool:
        """Whether those that serve are exactly those that are wanted."""
        return not self._vacant() and not self._surplus()

    @property
    def missing(self) -> int:
        return len(self._vacant())

    @property
    def size(self) -> int:
        """How many executors live, those about to leave included."""
        return sum(executor is not None for executor in self._members.values())

    def leaving(self) -> tuple[str, ...]:
        """Spark's names of those that nobody wants."""
        executors = [self._members[number] for number in self._surplus()]
        return tuple(each.id for each in executors if each is not None)

    def book(self, pool: str) -> ExecutorBook:
        """All of them in one pool, which serves an operator of its name."""
        wanted = tuple(self._members) if self._wanted is None else self._wanted
        members = {
            each.id: Member(each, ExecutorPhase.ACTIVE if number in wanted else ExecutorPhase.LEAVING, number)
            for number, each in self._members.items()
            if each is not None
        }
        plan, site = PoolPlan(wanted, len(wanted)), PoolSite(pool)
        return ExecutorBook({pool: PoolSites(plan, site)}, {site: SiteBook(plan, members)}, {pool: pool})

    def _vacant(self) -> list[int]:
        return [number for number in self._wanted or () if self._members[number] is None]

    def _surplus(self) -> list[int]:
        if self._wanted is None:
            return []
        return sorted(n for n, member in self._members.items() if n not in self._wanted and member is not None)

    def _free_number(self) -> int:
        if vacant := self._vacant():
            return vacant[0]
        unused = (n for n in range(len(self._members) + 1) if n not in self._members or self._is_vacant(n))
        return next(unused)

    def _instance(self, number: int) -> str | None:
        executor = self._members[number]
        return None if executor is None else executor.id

    def _is_vacant(self, number: int) -> bool:
        return self._members[number] is None

    def _forget(self) -> None:
        """Numbers that nobody has and nobody wants any more."""
        if self._wanted is not None:
            wanted = self._wanted
            self._members = {n: each for n, each in self._members.items() if n in wanted or each is not None}

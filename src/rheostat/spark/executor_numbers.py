"""Which of Spark's executors is which of the plan's, when all of them are alike.

A plan knows executors by numbers, Spark by names that end with the process. A number keeps its executor for as
long as that lives; then a new one takes it over, and the number's counters go on from where they were.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from rheostat.names import PoolName
from rheostat.snapshot import ExecutorPhase, ExecutorState
from rheostat.spark.observe.status_store import ExecutorFigures


@dataclass(slots=True)
class _Member:
    """One number. `figures` is None while nobody has it; `offset_s` is what others had done under it before."""

    figures: ExecutorFigures | None = None
    busy_s: float = 0.0
    offset_s: float = 0.0

    def take(self, figures: ExecutorFigures, busy_s: float) -> None:
        self.figures, self.offset_s = figures, self.busy_s - busy_s

    def see(self, figures: ExecutorFigures, busy_s: float) -> None:
        """Figures of two calls may not fit to the millisecond: what was reported once stays."""
        self.figures, self.busy_s = figures, max(self.busy_s, self.offset_s + busy_s)


class Crew:
    """Executors by number. Until `want` is called, all that are seen are wanted."""

    def __init__(self) -> None:
        self._members: dict[int, _Member] = {}
        self._wanted: tuple[int, ...] | None = None
        self._retired_s = 0.0

    def want(self, numbers: Iterable[int], gone: Collection[str] = ()) -> None:
        """These shall serve, and no others. `gone` are executors that cannot serve again."""
        self._wanted = tuple(numbers)
        for number in self._wanted:
            self._members.setdefault(number, _Member())
        usable = [number for number in self._surplus() if self._instance(number) not in gone]
        for number, source in zip(self._vacant(), reversed(usable), strict=False):
            self._hand_over(source, number)
        self._forget()

    def see(self, executors: Iterable[ExecutorFigures], busy_s: Mapping[str, float]) -> None:
        """The executors that live now, and what each has done since it started."""
        alive = {each.id: each for each in executors}
        for member in self._members.values():
            if member.figures is not None and (now := alive.pop(member.figures.id, None)) is not None:
                member.see(now, busy_s[now.id])
            else:
                member.figures = None
        for executor in alive.values():
            self._members.setdefault(self._free_number(), _Member()).take(executor, busy_s[executor.id])
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
        return sum(member.figures is not None for member in self._members.values())

    @property
    def busy_s(self) -> float:
        """Useful time of all together, those that have left included."""
        return self._retired_s + sum(member.busy_s for member in self._members.values())

    def leaving(self) -> tuple[str, ...]:
        """Spark's names of those that nobody wants."""
        figures = [self._members[number].figures for number in self._surplus()]
        return tuple(each.id for each in figures if each is not None)

    def states(self, pool: PoolName, nodes: Mapping[str, str]) -> tuple[ExecutorState, ...]:
        """All of them as a snapshot shows them; `nodes` names the hosts that have another name."""
        return tuple(self._state(pool, number, nodes) for number in sorted(self._members))

    def _state(self, pool: PoolName, number: int, nodes: Mapping[str, str]) -> ExecutorState:
        member, figures = self._members[number], self._members[number].figures
        if figures is None:
            return ExecutorState(pool, number, ExecutorPhase.REQUESTED, busy_s=member.busy_s)
        serves = self._wanted is None or number in self._wanted
        return ExecutorState(
            pool,
            number,
            ExecutorPhase.ACTIVE if serves else ExecutorPhase.LEAVING,
            busy_s=member.busy_s,
            node=nodes.get(figures.host, figures.host),
            instance=figures.id,
        )

    def _vacant(self) -> list[int]:
        return [number for number in self._wanted or () if self._members[number].figures is None]

    def _surplus(self) -> list[int]:
        if self._wanted is None:
            return []
        return sorted(n for n, member in self._members.items() if n not in self._wanted and member.figures is not None)

    def _free_number(self) -> int:
        if vacant := self._vacant():
            return vacant[0]
        unused = (n for n in range(len(self._members) + 1) if n not in self._members or self._is_vacant(n))
        return next(unused)

    def _instance(self, number: int) -> str | None:
        figures = self._members[number].figures
        return None if figures is None else figures.id

    def _is_vacant(self, number: int) -> bool:
        return self._members[number].figures is None

    def _hand_over(self, source: int, target: int) -> None:
        """Another number for the same executor is better than to end it and to wait for a new one."""
        member = self._members[source]
        figures, done_s = member.figures, member.busy_s - member.offset_s
        assert figures is not None
        self._members[target].take(figures, done_s)
        member.figures = None

    def _forget(self) -> None:
        """Numbers that nobody has and nobody wants any more."""
        if self._wanted is None:
            return
        gone = [n for n, member in self._members.items() if n not in self._wanted and member.figures is None]
        self._retired_s += sum(self._members.pop(number).busy_s for number in gone)

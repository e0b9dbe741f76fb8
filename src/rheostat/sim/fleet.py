"""The executors of the simulated cluster: who is there, in which phase, and for how long they were paid."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rheostat.names import OperatorName, PoolName
from rheostat.snapshot import ExecutorPhase


class WorkDone(NamedTuple):
    """Counters of an executor's row in the tables."""

    arrived: int = 0
    completed: int = 0
    busy_s: float = 0.0


@dataclass(eq=False)
class Executor:
    """One executor: Rheostat's number in its pool (negative for a standby), its row in the tables, and whom it serves.

    `before` is what its row had counted when it got its number. One that is `stopping` is on its way out and never
    comes back.
    """

    pool: PoolName
    id: int
    index: int
    operators: tuple[OperatorName, ...]
    node: str | None = None
    process: int | None = None
    phase: ExecutorPhase = ExecutorPhase.STARTING
    stopping: bool = False
    before: WorkDone = field(default_factory=WorkDone)


@dataclass
class Fleet:
    """All executors by pool and number, and the executor-seconds spent so far in each phase."""

    members: dict[tuple[PoolName, int], Executor] = field(default_factory=dict)
    seconds: dict[tuple[PoolName, ExecutorPhase], float] = field(default_factory=dict)
    _standbys_numbered: int = 0

    def pay(self, duration_s: float) -> None:
        """Time passes: everybody who is there costs it."""
        for executor in self.members.values():
            key = executor.pool, executor.phase
            self.seconds[key] = self.seconds.get(key, 0.0) + duration_s

    def join(self, executor: Executor) -> Executor:
        self.members[executor.pool, executor.id] = executor
        return executor

    def has(self, executor: Executor) -> bool:
        return self.members.get((executor.pool, executor.id)) is executor

    def leave(self, executor: Executor) -> None:
        del self.members[executor.pool, executor.id]

    def renumber(self, executor: Executor, number: int) -> None:
        """A standby gets a number, or an executor becomes a standby."""
        self.leave(executor)
        executor.id = number
        self.join(executor)

    def next_standby(self) -> int:
        self._standbys_numbered += 1
        return -self._standbys_numbered

    def of(self, pool: PoolName) -> list[Executor]:
        return [executor for executor in self.members.values() if executor.pool == pool]

    def serving(self, pool: PoolName) -> list[Executor]:
        """Those with a number, whatever their phase."""
        return [executor for executor in self.of(pool) if executor.id >= 0]

    def standbys(self, pool: PoolName) -> list[Executor]:
        """Those without a number that are here to stay."""
        return [executor for executor in self.of(pool) if executor.id < 0 and not executor.stopping]

    def on_node(self, node: str) -> int:
        return sum(executor.node == node for executor in self.members.values())

    def free_process(self, pool: PoolName) -> int:
        """The least process number that no executor has: by default each executor is a process of its own."""
        used = {executor.process for executor in self.members.values()}
        return next(number for number in range(len(used) + 1) if number not in used)

"""Executor registry: the executors of the simulated cluster, their phases, and the executor-seconds used so far."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rheostat.names import OperatorName, PoolName
from rheostat.snapshot import ExecutorPhase


class WorkDone(NamedTuple):
    """Counters of an executor's row in the tables."""

    arrived: int = 0
    completed: int = 0
    busy_s: float = 0.0
    io_s: float = 0.0


@dataclass(eq=False)
class SimExecutor:
    """One executor: its number in its pool (negative for a standby), its row in the tables, the operators it serves.

    `usual_speed` is that on its node when it is warm; a `cold` one serves before it is warm. `before` is what its row
    had counted when it got its number. A `stopping` executor is about to end and is not used again.
    """

    pool: PoolName
    id: int
    index: int
    operators: tuple[OperatorName, ...]
    node: str | None = None
    process: int | None = None
    phase: ExecutorPhase = ExecutorPhase.STARTING
    usual_speed: float = 1.0
    cold: bool = False
    stopping: bool = False
    before: WorkDone = field(default_factory=WorkDone)


@dataclass
class ExecutorRegistry:
    """All executors by pool and number, and the executor-seconds so far by pool and phase."""

    members: dict[tuple[PoolName, int], SimExecutor] = field(default_factory=dict)
    seconds: dict[tuple[PoolName, ExecutorPhase], float] = field(default_factory=dict)
    _standbys_numbered: int = 0

    def add_time(self, duration_s: float) -> None:
        """Add `duration_s` to the executor-seconds of every executor present."""
        for executor in self.members.values():
            key = executor.pool, executor.phase
            self.seconds[key] = self.seconds.get(key, 0.0) + duration_s

    def add(self, executor: SimExecutor) -> None:
        self.members[executor.pool, executor.id] = executor

    def has(self, executor: SimExecutor) -> bool:
        return self.members.get((executor.pool, executor.id)) is executor

    def remove(self, executor: SimExecutor) -> None:
        del self.members[executor.pool, executor.id]

    def renumber(self, executor: SimExecutor, number: int) -> None:
        """Give a standby a number, or make an executor a standby."""
        self.remove(executor)
        executor.id = number
        self.add(executor)

    def next_standby(self) -> int:
        self._standbys_numbered += 1
        return -self._standbys_numbered

    def of(self, pool: PoolName) -> list[SimExecutor]:
        return [executor for executor in self.members.values() if executor.pool == pool]

    def serving(self, pool: PoolName) -> list[SimExecutor]:
        """The executors with a number, whatever their phase."""
        return [executor for executor in self.of(pool) if executor.id >= 0]

    def standbys(self, pool: PoolName) -> list[SimExecutor]:
        """The executors without a number that are not stopping."""
        return [executor for executor in self.of(pool) if executor.id < 0 and not executor.stopping]

    def on_node(self, node: str) -> int:
        return sum(executor.node == node for executor in self.members.values())

    def free_process(self, pool: PoolName) -> int:
        """The least process number that no executor has: by default each executor is a process of its own."""
        used = {executor.process for executor in self.members.values()}
        return next(number for number in range(len(used) + 1) if number not in used)

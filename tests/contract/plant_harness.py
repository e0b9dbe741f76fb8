"""Plant harness: one kind of plant, with what the contract's tests need to drive it."""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ClassVar, TypeVar

import msgspec
from snapshot_watch import SnapshotWatch

from rheostat.decision import Scale
from rheostat.names import PoolName
from rheostat.plan import Plan, PoolPlan
from rheostat.plant import Plant
from rheostat.snapshot import ExecutorPhase, Snapshot

T = TypeVar("T")

_DEADLINE_S = 120.0


class PlantHarness:
    """A plant that runs. `home` is the plan that it starts with and returns to, `pool` the pool that tests change.

    `step_s` is how far time moves between two looks. `knows_everything`: nothing in its snapshots can be unknown.
    """

    plant: Plant
    home: Plan
    pool: PoolName
    step_s: ClassVar[float] = 0.25
    knows_everything: ClassVar[bool] = False
    _revision = 0

    def impossible(self) -> AbstractContextManager[Plan]:
        """A plan that cannot be met in the block; only `pool` differs from home."""
        raise NotImplementedError

    def unknown(self) -> AbstractContextManager[Snapshot]:
        """A snapshot in which something is unknown."""
        raise NotImplementedError

    def names(self, problem: str, thing: str) -> bool:
        """Whether `problem` is about this operator or pool."""
        return repr(thing) in problem

    def feed(self) -> None:
        """Have some records for the next batch."""

    def close(self) -> None:
        """End what runs."""

    def advance(self) -> None:
        """Let some time pass and records flow."""
        self.feed()
        self.plant.clock.wait_until(self.plant.clock.now() + self.step_s)

    def until(self, look: Callable[[], T | None], what: str) -> T:
        """What `look` finds, asked again and again while time passes; fails after a deadline."""
        end_s = self.plant.clock.now() + _DEADLINE_S
        while (found := look()) is None:
            assert self.plant.clock.now() < end_s, f"waited {_DEADLINE_S} s for {what}"
            self.advance()
        return found

    @property
    def more(self) -> Plan:
        """One executor more than at home."""
        return self.scaled(self.home.pools[self.pool].size + 1)

    def scaled(self, executors: int, *leaving: int) -> Plan:
        """The home plan with another number of executors; standbys become executors, and executors standbys."""
        pool = self.home.pools[self.pool]
        standby = max(0, pool.size + pool.standby - executors)
        scale = Scale(pool=self.pool, executors=executors, leaving=leaving, standby=standby, reason="test")
        return self.newer(self.home.after(scale))

    def with_pool(self, pool: PoolPlan) -> Plan:
        """The home plan with another plan for the pool."""
        return self.newer(msgspec.structs.replace(self.home, pools={**self.home.pools, self.pool: pool}))

    def newer(self, plan: Plan) -> Plan:
        """`plan` with a revision of its own."""
        self._revision += 1
        return msgspec.structs.replace(plan, revision=self._revision)

    def reach(self, plan: Plan, watch: SnapshotWatch | None = None) -> None:
        """Apply `plan` until all of it is reached, and see all snapshots on the way."""

        def look() -> bool | None:
            self.plant.apply(plan)
            self.see(watch)
            return self.plant.reached(plan) == plan.pools.keys() or None

        self.until(look, f"{plan} to be reached")

    def process(self, watch: SnapshotWatch) -> None:
        """See snapshots until every operator that is measured has completed more rows, in a known time."""
        before = self.see(watch).operators

        def look() -> bool | None:
            states = self.see(watch).operators
            measured = [name for name in states if states[name].completed is not None]
            grown = [(states[name].completed or 0) > (before[name].completed or 0) for name in measured]
            return (all(grown) and all(states[name].busy_s is not None for name in measured)) or None

        self.until(look, "completed rows")

    def see(self, watch: SnapshotWatch | None = None) -> Snapshot:
        snapshot = self.plant.observe()
        if watch is not None:
            watch.see(snapshot)
        return snapshot

    def go_home(self) -> None:
        """Reach the home plan, with nothing in its way, its standbys warm and nobody else there."""
        home = self.newer(self.home)
        self.reach(home)
        self.until(lambda: (not self.plant.apply(home) and self._is_complete()) or None, "home without obstacles")

    def executors(self) -> dict[tuple[object, ...], tuple[object, ...]]:
        """What each executor is, without what it has done."""
        states = self.plant.observe().executors
        return {(e.pool, e.id): (e.phase, e.node, e.process, e.instance) for e in states}

    def _is_complete(self) -> bool:
        pools = self.home.pools.values()
        serving, standbys = sum(pool.size for pool in pools), sum(pool.standby for pool in pools)
        phases = Counter(executor.phase for executor in self.plant.observe().executors)
        return phases == Counter({ExecutorPhase.ACTIVE: serving, ExecutorPhase.WARM: standbys})

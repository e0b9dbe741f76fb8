"""Harness: one kind of plant, with what the contract's tests need to drive it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, TypeVar

import msgspec
from snapshot_watch import SnapshotWatch

from rheostat.decision import Scale
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.plant import Plant
from rheostat.snapshot import Snapshot

T = TypeVar("T")


class PlantHarness(ABC):
    """A plant that runs. `home` is the plan that it starts with and returns to, `pool` the pool that tests change.

    `knows_everything`: nothing can be unknown in its snapshots. `standby` is how many standbys its pools have at home.
    """

    plant: Plant
    home: Plan
    pool: PoolName
    knows_everything: ClassVar[bool] = False
    standby: ClassVar[int] = 0

    @abstractmethod
    def advance(self) -> None:
        """Let some time pass and records flow."""

    @abstractmethod
    def until(self, look: Callable[[], T | None], what: str) -> T:
        """What `look` finds, asked again and again while time passes; fails after a deadline."""

    @abstractmethod
    @contextmanager
    def impossible(self) -> Iterator[Plan]:
        """A plan that cannot be met in the block; only `pool` differs from home."""

    @contextmanager
    def unknown(self) -> Iterator[None]:
        """Something cannot be measured in the block."""
        yield

    def names(self, problem: str, thing: str) -> bool:
        """Whether `problem` is about this operator or pool."""
        return repr(thing) in problem

    @property
    def more(self) -> Plan:
        """One executor more than at home; a standby, if there is one, becomes that."""
        size = self.home.pools[self.pool].size + 1
        return self.after(Scale(pool=self.pool, executors=size, standby=0, reason="test"))

    def after(self, scale: Scale) -> Plan:
        return self.newer(self.home.after(scale))

    def newer(self, plan: Plan) -> Plan:
        """`plan` with a revision of its own: plans that differ never share one."""
        self._revision = getattr(self, "_revision", 0) + 1
        return msgspec.structs.replace(plan, revision=self._revision)

    def reach(self, plan: Plan, watch: SnapshotWatch | None = None) -> None:
        """Apply `plan` until all of it is reached, and see all snapshots on the way."""

        def look() -> bool | None:
            self.plant.apply(plan)
            self.see(watch)
            return self.plant.reached(plan) == plan.pools.keys() or None

        self.until(look, f"{plan} to be reached")

    def see(self, watch: SnapshotWatch | None = None) -> Snapshot:
        snapshot = self.plant.observe()
        if watch is not None:
            watch.see(snapshot)
        return snapshot

    def go_home(self) -> None:
        """Reach the home plan, with nothing in its way and its standbys warm."""
        home = self.newer(self.home)
        self.reach(home)
        self.until(lambda: (not self.plant.apply(home) and self._is_complete()) or None, "home without obstacles")

    def executors(self) -> dict[tuple[object, ...], tuple[object, ...]]:
        """What each executor is, without what it has done."""
        states = self.plant.observe().executors
        return {(e.pool, e.id): (e.phase, e.node, e.process, e.instance) for e in states}

    def _is_complete(self) -> bool:
        pools = self.home.pools.values()
        return len(self.executors()) == sum(pool.size + pool.standby for pool in pools)

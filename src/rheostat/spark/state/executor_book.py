"""Executor book: which Spark executor has which number in its pool, and in which phase.

The reconciler writes a new book each time it has looked at the cluster; the meter reads the newest one. A book that is
published is never changed. The numbers are Rheostat's own: when an executor dies, its replacement gets the number, and
with it the substreams.
"""

import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from itertools import chain, count
from typing import NamedTuple, Self

import msgspec

from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan, PoolPlan
from rheostat.snapshot import ExecutorPhase

_PORT = re.compile(r":\d+$")
_SERVING = (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)


class SparkExecutor(msgspec.Struct, frozen=True, rename="camel"):
    """One executor as Spark's driver sees it now; `slots` is how many tasks it runs at once."""

    id: str
    host_port: str
    profile: int = msgspec.field(name="resourceProfileId")
    slots: int = msgspec.field(name="maxTasks")

    @property
    def host(self) -> str:
        """Known from the start; the port only once the executor is ready."""
        return _PORT.sub("", self.host_port)

    @property
    def location(self) -> str:
        """The executor in the form of a preferred location of Spark's scheduler."""
        return f"executor_{self.host}_{self.id}"


class PoolSite(NamedTuple):
    """Executors of one pool on one node (None: on any). Each site has a resource profile of its own."""

    pool: PoolName
    node: str | None = None


class PoolMember(NamedTuple):
    """An executor of a pool in a snapshot; `executor` is None for one that is requested, or on a local master."""

    pool: PoolName
    number: int
    phase: ExecutorPhase
    executor: SparkExecutor | None


@dataclass(slots=True)
class Member:
    """One Spark executor at a site. Standbys have negative numbers; one that has just registered has none.

    `unrouted_s` is the time since which it gets no new work, `awaited` are the jobs and batches from before that may
    still need what it has computed. A decommissioned executor gets no more tasks for good. `ending` is set while Spark
    is asked to end it.
    """

    executor: SparkExecutor
    phase: ExecutorPhase = ExecutorPhase.STARTING
    number: int | None = None
    warming_up: bool = False
    decommissioned: bool = False
    ending: bool = False
    unrouted_s: float | None = None
    awaited: frozenset[str] | None = None

    @property
    def id(self) -> str:
        return self.executor.id

    def enter(self, phase: ExecutorPhase) -> None:
        if self.phase is not phase:
            self.phase, self.unrouted_s, self.awaited = phase, None, None


@dataclass(slots=True)
class SiteBook:
    """The executors of one site, and how many are wanted there.

    `short_since_s` is the time since which executors are missing. `lost_member` is true from the unexpected death of a
    serving executor until its replacement serves. With `may_serve_cold` the first executor serves before it is warm:
    nothing else serves then.
    """

    wanted: PoolPlan
    members: dict[str, Member] = field(default_factory=dict)
    may_serve_cold: bool = True
    short_since_s: float | None = None
    lost_member: bool = False

    def copy(self) -> Self:
        return type(self)(
            self.wanted, {id_: copy(member) for id_, member in self.members.items()}, self.may_serve_cold,
            self.short_since_s, self.lost_member,
        )  # fmt: skip

    def having(self, *phases: ExecutorPhase) -> list[Member]:
        return [member for member in self.members.values() if member.phase in phases]

    @property
    def serving(self) -> list[SparkExecutor]:
        """Executors that take work which belongs to no one in particular, by number."""
        active = self.having(ExecutorPhase.ACTIVE) or self.having(ExecutorPhase.LEAVING)
        usable = [member for member in active if not member.decommissioned]
        return [member.executor for member in sorted(usable, key=lambda member: member.number or 0)]

    @property
    def free_numbers(self) -> list[int]:
        """Numbers that the plan wants and no executor has."""
        taken = {member.number for member in self.members.values()}
        return [number for number in self.wanted.executors if number not in taken]

    def free_standby_numbers(self) -> Iterator[int]:
        taken = {member.number for member in self.members.values()}
        return (number for number in count(-1, -1) if number not in taken)

    @property
    def serves_as_wanted(self) -> bool:
        """Whether the wanted executors serve, and no others; standbys may still be starting."""
        numbers = {member.number for member in self.having(ExecutorPhase.ACTIVE)}
        return numbers == set(self.wanted.executors) and not self.having(ExecutorPhase.LEAVING)

    @property
    def is_settled(self) -> bool:
        """Whether exactly the wanted executors and standbys are there."""
        standbys = len(self.having(ExecutorPhase.WARM))
        complete = len(self.members) == len(self.wanted.executors) + self.wanted.standby
        return complete and self.serves_as_wanted and standbys == self.wanted.standby

    def listed(self) -> list[tuple[int, ExecutorPhase, SparkExecutor | None]]:
        """Number, phase and executor of every member, and of those that are wanted and have not registered yet."""
        numbered = [(m.number, m.phase, m.executor) for m in self.members.values() if m.number is not None]
        starting = [member for member in self.members.values() if member.number is None]
        expected = chain(self.free_numbers, self.free_standby_numbers())
        coming = [(number, m.phase, m.executor) for m, number in zip(starting, expected, strict=False)]
        requested = [(n, ExecutorPhase.REQUESTED, None) for n in self.free_numbers[len(starting) :]]
        return sorted([*numbered, *coming, *requested], key=lambda entry: entry[0])


@dataclass(slots=True)
class PoolSites:
    """The sites of one pool: the one that serves, the one it is moving to, and those it has left.

    `planned` is the last plan there was for the pool.
    """

    planned: PoolPlan
    serving: PoolSite
    coming: PoolSite | None = None
    left: list[PoolSite] = field(default_factory=list)

    def __iter__(self) -> Iterator[PoolSite]:
        return iter([self.serving, *([self.coming] if self.coming else []), *self.left])

    def copy(self) -> Self:
        return type(self)(self.planned, self.serving, self.coming, list(self.left))


@dataclass(slots=True)
class ExecutorBook:
    """All pools of an application: their executors, the operators that each serves, and who has which substream.

    `owners` are Spark's ids, by operator and substream. `pool_of` is the pool that serves an operator now, which is not
    always the plan's. `groupings` are those in force, where rows are not spread in the usual way. `room` is how many
    executors the cluster can give to all pools together, None when that is not known. `short` are the pools that have
    all that they can get and less than is planned. `granted` is how many executors there were since a pool has had none
    for long; `sources_wait_since_s` is the time since which sources have had none. In a `virtual` book, that of a local
    master, there are no executors: every number of the plan serves at once.
    """

    pools: dict[PoolName, PoolSites]
    sites: dict[PoolSite, SiteBook]
    pool_of: dict[OperatorName, PoolName]
    owners: dict[OperatorName, tuple[str, ...]] = field(default_factory=dict)
    groupings: dict[OperatorName, str] = field(default_factory=dict)
    virtual: bool = False
    room: int | None = None
    short: frozenset[PoolName] = frozenset()
    granted: int | None = None
    sources_wait_since_s: float | None = None

    def copy(self) -> Self:
        """A book that can be changed without changing this one."""
        return type(self)(
            {name: pool.copy() for name, pool in self.pools.items()},
            {site: book.copy() for site, book in self.sites.items()},
            dict(self.pool_of), dict(self.owners), dict(self.groupings), self.virtual, self.room, self.short,
            self.granted, self.sources_wait_since_s,
        )  # fmt: skip

    @classmethod
    def of_local_master(cls, plan: Plan) -> Self:
        """Every executor of `plan` as a number that serves."""
        pools = {name: PoolSites(pool, PoolSite(name)) for name, pool in plan.pools.items()}
        sites = {pool.serving: SiteBook(pool.planned) for pool in pools.values()}
        owners = {operator: tuple(map(str, numbers)) for operator, numbers in plan.assignment.items()}
        return cls(pools, sites, dict(plan.pool_of), owners, virtual=True)

    def serving_site(self, pool: PoolName) -> SiteBook:
        return self.sites[self.pools[pool].serving]

    def operators_of(self, pool: PoolName) -> list[OperatorName]:
        """The operators that `pool` serves now."""
        return [operator for operator, serving in self.pool_of.items() if serving == pool]

    def members(self) -> list[PoolMember]:
        """The executors of all pools. Those at a site that does not serve have negative numbers."""
        return [member for name, pool in self.pools.items() for member in self._members_of(name, pool)]

    def owner_numbers(self, operator: OperatorName) -> tuple[int | None, ...]:
        """The number of the executor that has each substream; None if it has none any more."""
        if self.virtual:
            return tuple(map(int, self.owners.get(operator, ())))
        members = self.serving_site(self.pool_of[operator]).members
        return tuple(
            members[id_].number if id_ in members and members[id_].phase in _SERVING else None
            for id_ in self.owners.get(operator, ())
        )

    @property
    def slots(self) -> dict[PoolName, int]:
        """Task slots of the active executors, by pool."""
        return self._slots_of(ExecutorPhase.ACTIVE)

    @property
    def planned_slots(self) -> dict[PoolName, int]:
        """The same with those of executors that will serve, as far as the cluster has room for them."""
        started = self._slots_of(ExecutorPhase.ACTIVE, ExecutorPhase.STARTING)
        requested = self._slots_of(ExecutorPhase.REQUESTED)
        return {name: slots + (0 if name in self.short else requested[name]) for name, slots in started.items()}

    def _slots_of(self, *phases: ExecutorPhase) -> dict[PoolName, int]:
        slots = dict.fromkeys(self.pools, 0)
        for member in self.members():
            if member.phase in phases and member.number >= 0:
                slots[member.pool] += 1 if member.executor is None else member.executor.slots
        return slots

    @property
    def is_settled(self) -> bool:
        """Whether every pool has the executors and standbys that are wanted, and no others."""
        moved = all(pool.coming is None and not pool.left for pool in self.pools.values())
        return self.virtual or (moved and all(self.serving_site(name).is_settled for name in self.pools))

    def _members_of(self, name: PoolName, pool: PoolSites) -> Iterator[PoolMember]:
        book = self.sites[pool.serving]
        if self.virtual:
            yield from (PoolMember(name, n, ExecutorPhase.ACTIVE, None) for n in book.wanted.executors)
            return
        serving = book.listed()
        yield from (PoolMember(name, *entry) for entry in serving)
        taken = {number for number, _, _ in serving}
        free = (number for number in count(-1, -1) if number not in taken)
        for site in (site for site in pool if site != pool.serving):
            phase = ExecutorPhase.STARTING if site == pool.coming else ExecutorPhase.LEAVING
            present = [executor for _, _, executor in self.sites[site].listed() if executor is not None]
            yield from (PoolMember(name, number, phase, each) for number, each in zip(free, present, strict=False))

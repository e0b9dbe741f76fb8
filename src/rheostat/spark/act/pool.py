"""A pool of executors: who serves under which number, who stands by, who comes and who goes.

Nothing here talks to Spark. A pool is told which executors there are and what is wanted, and says what is to be
done; whoever asks carries it out and tells the outcome. The numbers are Rheostat's own: when an executor dies,
another one gets its number, and with it its substreams.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

from rheostat.duration import human
from rheostat.names import PoolName
from rheostat.plan import PoolPlan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.act.allocation import SparkExecutor

_PATIENCE_S = 60.0
"""How long a leaving executor waits for jobs that may need what it has computed. Spark would compute it again."""


@dataclass(slots=True)
class Member:
    """One Spark executor in the pool. A standby has a negative number, one that just came has none."""

    executor: SparkExecutor
    phase: ExecutorPhase
    number: int | None = None
    unseated_s: float | None = None
    jobs: frozenset[int] | None = None

    @property
    def id(self) -> str:
        return self.executor.id


class Pool:
    """The executors of one resource profile. Start with `want`, then `see`, and follow what it says."""

    def __init__(self, name: PoolName, wanted: PoolPlan, *, may_begin_cold: bool = True) -> None:
        self.name = name
        self._may_begin_cold = may_begin_cold
        self._wanted = wanted
        self._members: dict[str, Member] = {}
        self._dismissed: set[str] = set()
        self._short_since_s: float | None = None
        self._is_bereft = False

    def want(self, wanted: PoolPlan) -> None:
        self._wanted = wanted

    def see(self, executors: Iterable[SparkExecutor]) -> None:
        """These are all that Spark has for the pool now; numbers of those that are gone become free."""
        present = {executor.id: executor for executor in executors}
        self._dismissed &= present.keys()
        for lost in self._members.keys() - present.keys():
            self._is_bereft |= self._members.pop(lost).phase in (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)
        for executor in present.values():
            if executor.id in self._members:
                self._members[executor.id].executor = executor
            elif executor.id not in self._dismissed:
                self._members[executor.id] = Member(executor, ExecutorPhase.STARTING)

    def bind(self) -> None:
        """Give numbers that are wanted and free to executors that can serve, and take away those not wanted.

        An executor that just came is warmed up first, unless nobody serves and it may begin cold: then it does.
        """
        for member in self._with(ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING):
            self._enter(member, self._phase_of_number(member.number))
        for number in self._free_numbers():
            candidates = self._with(ExecutorPhase.WARM) or self._with(ExecutorPhase.LEAVING)
            if not candidates and self._may_begin_cold and not self._with(ExecutorPhase.ACTIVE):
                candidates = self._with(ExecutorPhase.STARTING)
            if not candidates:
                return
            candidates[0].number = number
            self._enter(candidates[0], ExecutorPhase.ACTIVE)

    def to_warm_up(self) -> list[SparkExecutor]:
        """Those that came and have not been warmed up yet."""
        return [member.executor for member in self._with(ExecutorPhase.STARTING)]

    def warmed_up(self, executor_ids: Collection[str]) -> None:
        """These are ready to serve, or to stand by until they are called."""
        for member in self._with(ExecutorPhase.STARTING):
            if member.id in executor_ids:
                self._stand_by(member)

    def open(self) -> list[SparkExecutor]:
        """Who takes work that is nobody's in particular: those that serve, by number."""
        serving = self._with(ExecutorPhase.ACTIVE) or self._with(ExecutorPhase.LEAVING)
        return [member.executor for member in sorted(serving, key=lambda member: member.number or 0)]

    def leaving(self) -> list[SparkExecutor]:
        """Who is to go, empty or not."""
        return [member.executor for member in self._with(ExecutorPhase.LEAVING)]

    def owners(self, wanted: Sequence[int], present: Sequence[str]) -> list[SparkExecutor]:
        """The executor of each substream: the wanted one, or until that one serves the `present` one.

        The substreams of an executor that died are shared out among the others until it is replaced. Empty
        while nobody serves.
        """
        serving = {member.number: member.id for member in self._with(ExecutorPhase.ACTIVE)}
        usable = {member.id for member in self._with(ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)}
        if not usable:
            return []
        before = [*present, *[""] * (len(wanted) - len(present))]
        kept = [
            serving.get(number) or (owner if owner in usable else None)
            for number, owner in zip(wanted, before, strict=True)
        ]
        burden = Counter({executor.id: 0 for executor in self.open()})
        burden.update(owner for owner in kept if owner is not None and owner in burden)
        return [self._members[owner or _least_burdened(burden)].executor for owner in kept]

    def to_dismiss(self, seated: Collection[str], jobs: frozenset[int], now_s: float) -> list[str]:
        """Who may be killed now: leaving ones that are empty and not wanted as a standby, and who is too many.

        `seated` are those that still get work, `jobs` the jobs under way. Others may need what an executor
        computed until the jobs that ran when it lost its seat are over.
        """
        leaving = [m for m in self._with(ExecutorPhase.LEAVING) if self._is_empty(m, seated, jobs, now_s)]
        while leaving and len(self._standbys) < self._wanted.standby:
            self._stand_by(leaving.pop())
        spare = [*self._standbys, *self._with(ExecutorPhase.STARTING)]
        needed = self._wanted.standby + len(self._free_numbers())
        return [member.id for member in (*leaving, *spare[needed:])]

    def dismissed(self, executor_ids: Iterable[str]) -> None:
        """These were killed; Spark may go on listing them for a while."""
        for executor_id in executor_ids:
            del self._members[executor_id]
            self._dismissed.add(executor_id)

    def total(self, doomed: Collection[str] = ()) -> int:
        """How many executors to ask Spark for, when `doomed` are about to be killed and not to be replaced."""
        leaving = [member for member in self._with(ExecutorPhase.LEAVING) if member.id not in doomed]
        surplus = max(0, len(leaving) - self._vacant_standbys)
        return len(self._wanted.executors) + self._wanted.standby + surplus

    @property
    def is_empty(self) -> bool:
        """Whether nobody is there."""
        return not self._members

    @property
    def is_bereft(self) -> bool:
        """Whether one that served has died and nobody came in its place yet, though somebody still may."""
        return self._is_bereft

    @property
    def is_settled(self) -> bool:
        """Whether exactly those serve and stand by that are wanted."""
        numbers = {member.number for member in self._with(ExecutorPhase.ACTIVE)}
        settled = len(numbers) + len(self._standbys) == len(self._members)
        return settled and numbers == set(self._wanted.executors) and len(self._standbys) == self._wanted.standby

    @property
    def serves_as_wanted(self) -> bool:
        """Whether those and only those serve that are wanted; standbys may still be on their way."""
        numbers = {member.number for member in self._with(ExecutorPhase.ACTIVE)}
        return numbers == set(self._wanted.executors) and not self._with(ExecutorPhase.LEAVING)

    def shortage(self, now_s: float, patience_s: float) -> str | None:
        """In words, how many executors have been asked for and have not come for longer than `patience_s`."""
        missing = self.total() - len(self._members)
        if missing <= 0:
            self._short_since_s = None
            self._is_bereft &= bool(self._with(ExecutorPhase.STARTING))
            return None
        if self._short_since_s is None:
            self._short_since_s = now_s
        waited_s = now_s - self._short_since_s
        if waited_s < patience_s:
            return None
        self._is_bereft = False
        return (
            f"pool {self.name!r} waits for more than {human(patience_s)} "
            f"for {missing} of its {self.total()} executors: the cluster may have no free cores or memory for them"
        )

    def members(self) -> list[tuple[int, ExecutorPhase, SparkExecutor | None]]:
        """Number, phase and executor of everyone, wanted ones that have not come included."""
        numbered = [(m.number, m.phase, m.executor) for m in self._members.values() if m.number is not None]
        starting = self._with(ExecutorPhase.STARTING)
        expected = chain(self._free_numbers(), self._free_standby_numbers())
        coming = [(number, m.phase, m.executor) for m, number in zip(starting, expected, strict=False)]
        requested = [(n, ExecutorPhase.REQUESTED, None) for n in self._free_numbers()[len(starting) :]]
        return sorted([*numbered, *coming, *requested], key=lambda entry: entry[0])

    @property
    def _standbys(self) -> list[Member]:
        return self._with(ExecutorPhase.WARM)

    @property
    def _vacant_standbys(self) -> int:
        """How many of those that leave will be standbys, since nobody else is or is about to be."""
        coming = len(self._with(ExecutorPhase.STARTING)) - len(self._free_numbers())
        return max(0, self._wanted.standby - len(self._standbys) - max(0, coming))

    def _with(self, *phases: ExecutorPhase) -> list[Member]:
        return [member for member in self._members.values() if member.phase in phases]

    def _free_numbers(self) -> list[int]:
        taken = {member.number for member in self._members.values()}
        return [number for number in self._wanted.executors if number not in taken]

    def _free_standby_numbers(self) -> Iterator[int]:
        taken = {member.number for member in self._members.values()}
        return (number for number in count(-1, -1) if number not in taken)

    def _phase_of_number(self, number: int | None) -> ExecutorPhase:
        return ExecutorPhase.ACTIVE if number in self._wanted.executors else ExecutorPhase.LEAVING

    def _enter(self, member: Member, phase: ExecutorPhase) -> None:
        if member.phase is not phase:
            member.phase, member.unseated_s, member.jobs = phase, None, None

    def _stand_by(self, member: Member) -> None:
        member.number = next(self._free_standby_numbers())
        self._enter(member, ExecutorPhase.WARM)

    def _is_empty(self, member: Member, seated: Collection[str], jobs: frozenset[int], now_s: float) -> bool:
        """Never at the first look: a job that was submitted just before is listed some milliseconds later."""
        if member.id in seated:
            member.unseated_s, member.jobs = None, None
        elif member.unseated_s is None:
            member.unseated_s = now_s
        else:
            member.jobs = jobs if member.jobs is None else member.jobs & jobs
            return not member.jobs or now_s - member.unseated_s > _PATIENCE_S
        return False


def _least_burdened(burden: Counter[str]) -> str:
    chosen = min(burden, key=lambda owner: burden[owner])
    burden[chosen] += 1
    return chosen

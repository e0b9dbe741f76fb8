"""Executor numbers: which executor of a site serves under which number of the plan. Pure functions on a site's book.

An executor that has just registered is warmed up before it serves, unless nothing else can serve. Where work cannot be
routed every registered executor gets tasks at once: those that the plan has a number for serve, the others drain.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from rheostat.snapshot import ExecutorPhase
from rheostat.spark.state.executor_book import Member, SiteBook, SparkExecutor

STARTING, WARM = ExecutorPhase.STARTING, ExecutorPhase.WARM
ACTIVE, LEAVING = ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING


def note_registered(book: SiteBook, executors: Iterable[SparkExecutor], warmed_up: Collection[str]) -> None:
    """Add executors that have registered, remove those that are gone, and let those that are warm stand by."""
    present = {executor.id: executor for executor in executors}
    for lost in book.members.keys() - present.keys():
        member = book.members.pop(lost)
        book.lost_member |= member.phase in (ACTIVE, LEAVING) and not member.ending
    for executor in present.values():
        if executor.id in book.members:
            book.members[executor.id].executor = executor
        else:
            book.members[executor.id] = Member(executor)
    for member in book.having(STARTING):
        if member.id in warmed_up:
            stand_by(book, member)


def bind(book: SiteBook, *, can_route: bool) -> None:
    """Give free numbers of the plan to executors that can serve, and take away numbers that it does not have."""
    for member in book.having(ACTIVE, LEAVING):
        if member.decommissioned and member.number in book.wanted.executors:
            member.number = next(book.free_standby_numbers())
        member.enter(ACTIVE if member.number in book.wanted.executors else LEAVING)
    for number in book.free_numbers:
        candidate = _candidate(book, can_route=can_route)
        if candidate is None:
            break
        candidate.number = number
        candidate.enter(ACTIVE)
    if not can_route:
        for surplus in book.having(STARTING):
            surplus.number = next(book.free_standby_numbers())
            surplus.enter(LEAVING)


def owners(book: SiteBook, wanted: Sequence[int], present: Sequence[str]) -> tuple[SparkExecutor, ...]:
    """The executor of each substream: the wanted one, or until that one serves the `present` one.

    The substreams of an executor that died, or that the cluster has no room for, are shared out among the others until
    it is there. Empty while no executor serves.
    """
    active = {member.number: member.id for member in book.having(ACTIVE)}
    usable = {member.id for member in book.having(ACTIVE, LEAVING) if not member.decommissioned}
    if not usable:
        return ()
    before = [*present, *[""] * (len(wanted) - len(present))]
    may_keep = {number: usable if number in book.wanted.executors else set(active.values()) for number in wanted}
    kept = [
        active.get(number) or (owner if owner in may_keep[number] else None)
        for number, owner in zip(wanted, before, strict=True)
    ]
    load = Counter({executor.id: 0 for executor in book.serving})
    load.update(owner for owner in kept if owner is not None and owner in load)
    return tuple(book.members[owner or _least_loaded(load)].executor for owner in kept)


def stand_by(book: SiteBook, member: Member) -> None:
    member.number = next(book.free_standby_numbers())
    member.warming_up = False
    member.enter(WARM)


def _candidate(book: SiteBook, *, can_route: bool) -> Member | None:
    draining = [member for member in book.having(LEAVING) if not member.decommissioned]
    if candidates := book.having(WARM) or draining:
        return candidates[0]
    if not can_route or (book.may_serve_cold and not book.having(ACTIVE)):
        return next(iter(book.having(STARTING)), None)
    return None


def _least_loaded(load: Counter[str]) -> str:
    chosen = min(load, key=lambda owner: load[owner])
    load[chosen] += 1
    return chosen

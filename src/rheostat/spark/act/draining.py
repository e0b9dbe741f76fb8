"""Draining: when an executor that leaves may be ended, and how many to ask Spark for meanwhile.

A batch that was under way when an executor lost its work may still read what the executor computed for it, also in a
job that follows. Ended at once, Spark would have to compute that again, and the batch would wait.
"""

from collections.abc import Collection, Iterable

from rheostat.snapshot import ExecutorPhase
from rheostat.spark.act.executor_numbers import stand_by
from rheostat.spark.state.executor_book import Member, SiteBook

DRAIN_TIMEOUT_S = 60.0
"""Some batches never end. After this time Spark may compute again what it misses."""

STARVED_DRAIN_TIMEOUT_S = 5.0
"""The same while a pool has no executor. Its batches cannot end before it gets one, perhaps in the place of one that
drains: to wait for them would be to wait for each other."""

_THERE = (ExecutorPhase.ACTIVE, ExecutorPhase.STARTING, ExecutorPhase.WARM)


def drain_timeout_s(sites: Iterable[SiteBook]) -> float:
    """How long the executors of all sites may drain."""
    is_one_starved = any(site.wanted.executors and not site.having(*_THERE) for site in sites)
    return STARVED_DRAIN_TIMEOUT_S if is_one_starved else DRAIN_TIMEOUT_S


def drained(
    book: SiteBook,
    routed: Collection[str],
    work: frozenset[str],
    now_s: float,
    timeout_s: float = DRAIN_TIMEOUT_S,
) -> tuple[str, ...]:
    """The executors to end now: leaving ones that have drained and are not wanted as standbys, and surplus ones.

    `routed` are the ids of those that still get work, `work` the jobs and batches under way.
    """
    leaving = [m for m in book.having(ExecutorPhase.LEAVING) if _has_drained(m, routed, work, now_s, timeout_s)]
    while leaving and len(book.having(ExecutorPhase.WARM)) < book.wanted.standby:
        stand_by(book, leaving.pop())
    spare = [*book.having(ExecutorPhase.WARM), *book.having(ExecutorPhase.STARTING)]
    needed = book.wanted.standby + len(book.free_numbers)
    ending = [*leaving, *spare[needed:]]
    for member in book.members.values():
        member.ending = member in ending
    return tuple(member.id for member in ending)


def total(book: SiteBook) -> int:
    """How many executors to ask Spark for: as long as the total counts one that ends, Spark replaces it at once."""
    leaving = [member for member in book.having(ExecutorPhase.LEAVING) if not member.ending]
    return len(book.wanted.executors) + book.wanted.standby + max(0, len(leaving) - _future_standbys(book))


def _future_standbys(book: SiteBook) -> int:
    """How many of the leaving executors will stand by, since no others do or will."""
    starting = len(book.having(ExecutorPhase.STARTING)) - len(book.free_numbers)
    return max(0, book.wanted.standby - len(book.having(ExecutorPhase.WARM)) - max(0, starting))


def _has_drained(member: Member, routed: Collection[str], work: frozenset[str], now_s: float, timeout_s: float) -> bool:
    """Never at the first look: a job that was submitted just before is listed some milliseconds later."""
    if member.id in routed:
        member.unrouted_s, member.awaited = None, None
    elif member.unrouted_s is None:
        member.unrouted_s = now_s
    else:
        member.awaited = work if member.awaited is None else member.awaited & work
        return not member.awaited or now_s - member.unrouted_s > timeout_s
    return False

"""Allotment: the executors that each site may have when the cluster cannot give all that the plan wants.

Every site gets one before any gets its minimum, every site its minimum before any gets more, and the rest goes to the
site that has the smallest share of what it wants. It is dealt anew in each step. Pure functions.
"""

from collections.abc import Mapping

import msgspec

from rheostat.plan import PoolPlan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.act.cluster_view import DEFAULT_PROFILE, ClusterView, ReconcileRules
from rheostat.spark.state.executor_book import ExecutorBook, PoolSite

STARVING_AFTER_S = 60.0
"""Where it is not known what the cluster can give: how long a site waits for its first executor before another site
gives one up. On some clusters an executor takes most of a minute to start."""


def allot(
    wanted: Mapping[PoolSite, PoolPlan], least: Mapping[PoolSite, int], room: int | None, book: ExecutorBook
) -> dict[PoolSite, PoolPlan]:
    """What each site may have of what it wants, when all together have `room` executors (None: as many as they want).

    A site gives up first what does not serve yet.
    """
    if room is None or room >= sum(plan.size + plan.standby for plan in wanted.values()):
        return dict(wanted)
    sizes = {site: plan.size for site, plan in wanted.items()}
    served = sorted(sizes, key=lambda site: not (site in book.sites and book.sites[site].members))
    given = deal({site: sizes[site] for site in served}, least, room)
    standbys = deal({site: plan.standby for site, plan in wanted.items()}, {}, room - sum(given.values()))
    return {site: _reduced(plan, given[site], standbys[site], book, site) for site, plan in wanted.items()}


def deal(wanted: Mapping[PoolSite, int], least: Mapping[PoolSite, int], room: int) -> dict[PoolSite, int]:
    """At most `room` in all and at most `wanted` each: one for each, then the least for each, then equal shares."""
    given = dict.fromkeys(wanted, 0)
    for level in (dict.fromkeys(wanted, 1), least, wanted):
        while room > 0:
            below = [site for site in wanted if given[site] < min(level.get(site, 0), wanted[site])]
            if not below:
                break
            given[min(below, key=lambda site: given[site] / wanted[site])] += 1
            room -= 1
    return given


def room_for_pools(book: ExecutorBook, view: ClusterView, rules: ReconcileRules, now_s: float) -> int | None:
    """How many executors all pools together can have; None while nothing says that there is a limit.

    Known where the cluster tells. Elsewhere, when a site or the sources have had no executor for long, it is what there
    was since then, so that others give up one. Notes in `book` since when that is so.
    """
    reserved = rules.reserved or 0
    missing = max(0, reserved - sum(each.profile == DEFAULT_PROFILE for each in view.executors))
    if not missing:
        book.sources_wait_since_s = None
    elif book.sources_wait_since_s is None:
        book.sources_wait_since_s = now_s
    waiting = [site.short_since_s for site in book.sites.values() if site.wanted.size and not site.members]
    waiting += [book.sources_wait_since_s]
    starving = any(since_s is not None and now_s - since_s > STARVING_AFTER_S for since_s in waiting)
    book.granted = max(book.granted or 0, present(book)) if starving else None
    known = None if view.room is None else max(0, view.room - reserved)
    limits = [known, None if book.granted is None else book.granted - missing]
    return min((limit for limit in limits if limit is not None), default=None)


def present(book: ExecutorBook) -> int:
    """The executors of all sites that are not being ended."""
    return sum(not member.ending for site in book.sites.values() for member in site.members.values())


def _reduced(plan: PoolPlan, size: int, standby: int, book: ExecutorBook, site: PoolSite) -> PoolPlan:
    """`plan` with fewer executors; those that serve stay."""
    if size == plan.size and standby == plan.standby:
        return plan
    members = book.sites[site].having(ExecutorPhase.ACTIVE) if site in book.sites else []
    serving = {member.number for member in members}
    kept = set(sorted(plan.executors, key=lambda number: number not in serving)[:size])
    numbers = tuple(number for number in plan.executors if number in kept)
    locations = {number: location for number, location in plan.locations.items() if number in kept}
    return msgspec.structs.replace(plan, executors=numbers, standby=standby, locations=locations)

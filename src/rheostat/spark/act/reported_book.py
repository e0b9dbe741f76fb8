"""Reported book: the last report on the pools as the executor book that the meter reads."""

from typing import TYPE_CHECKING

from rheostat.plan import PoolPlan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.state.executor_book import ExecutorBook, Member, PoolSite, PoolSites, SiteBook, SparkExecutor

if TYPE_CHECKING:
    from rheostat.spark.act.pools import PoolsReport

_WANTED = (ExecutorPhase.REQUESTED, ExecutorPhase.STARTING, ExecutorPhase.ACTIVE)


def reported_book(report: "PoolsReport") -> ExecutorBook:
    """Before the first step of the pools: the plan's executors, as requested."""
    plan = report.plan
    names = dict.fromkeys([*plan.pools, *(member.pool for member in report.members)])
    pools = {name: PoolSites(plan.pools.get(name, PoolPlan.of(0)), PoolSite(name)) for name in names}
    sites = {pool.serving: _site(report, name) for name, pool in pools.items()}
    book = ExecutorBook(pools, sites, report.homes or dict(plan.pool_of), groupings=dict(plan.grouping))
    for operator, numbers in report.owners.items():
        members = book.serving_site(book.pool_of[operator]).members.values()
        ids = {member.number: member.id for member in members}
        book.owners[operator] = tuple(ids.get(number, "") for number in numbers)
    return book


def _site(report: "PoolsReport", pool: str) -> SiteBook:
    ours = [member for member in report.members if member.pool == pool]
    wanted = tuple(m.number for m in ours if m.number >= 0 and m.phase in _WANTED)
    if not report.members:
        wanted = report.plan.pools[pool].executors
    members = {
        e.id: Member(SparkExecutor(e.id, e.host_port, e.profile, e.slots), m.phase, m.number)
        for m in ours
        if (e := m.spark) is not None
    }
    return SiteBook(PoolPlan(wanted, len(wanted)), members)

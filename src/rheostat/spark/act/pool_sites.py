"""Pool sites: which sites a pool has, which of them serves, and which operators it serves. Pure functions on a book.

A pool that is to serve on another node gets a second site. Executors start there and are warmed up while the old ones
serve; when all of them are ready the pool serves there, from the next batch on, and the old ones drain.
"""

from collections.abc import Mapping

import msgspec

from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan, PoolPlan
from rheostat.spark.act import executor_numbers
from rheostat.spark.act.allotment import allot
from rheostat.spark.act.cluster_view import ClusterView, ReconcileRules
from rheostat.spark.state.executor_book import ExecutorBook, PoolSite, PoolSites, SiteBook
from rheostat.spark.state.query_groups import Groups

_NO_EXECUTORS = PoolPlan((), 0)
"""The plan of a site that is given up."""


def first_book(plan: Plan, groups: Groups, nodes: Mapping[PoolName, str]) -> ExecutorBook:
    """The book before anything is known: each pool at its site, each operator in its pool, no executors."""
    pools = {name: PoolSites(pool, _first_site(name, pool, nodes)) for name, pool in plan.pools.items()}
    pool_of = {name: plan.pool_of[group[-1]] for group in _query_groups(plan, groups) for name in group}
    return ExecutorBook(pools, {pool.serving: SiteBook(pool.planned) for pool in pools.values()}, pool_of)


def update_sites(
    book: ExecutorBook, view: ClusterView, plan: Plan, rules: ReconcileRules, room: int | None = None
) -> None:
    """Bring pools, sites, executor numbers and the pools of operators up to date with the cluster and the plan.

    All pools together get at most `room` executors; None is as many as they want.
    """
    _open_and_close_pools(book, plan, rules)
    for name, pool in book.pools.items():
        _choose_site(name, pool, rules)
    wanted = {site: _wanted(book, site, pool, plan, rules) for pool in book.pools.values() for site in pool}
    least = {site: max(map(rules.minimum, plan.sharing(site.pool)), default=0) for site in wanted}
    for site, given in allot(wanted, least, room, book).items():
        _update_members(book, site, given, view, rules)
    for pool in book.pools.values():
        _take_over(book, pool)
    if rules.can_route:
        _move_operators(book, plan, view.groups)


def planned_node(pool: PoolPlan) -> str | None:
    """The node that the plan has the whole pool on; None where it leaves it open or names several."""
    planned = {location.node for location in pool.locations.values()}
    return planned.pop() if len(planned) == 1 and pool.locations.keys() >= set(pool.executors) else None


def _open_and_close_pools(book: ExecutorBook, plan: Plan, rules: ReconcileRules) -> None:
    """Add the pools that are new in the plan; remove those that it does not have and that are empty."""
    for name, pool in plan.pools.items():
        if name in book.pools:
            book.pools[name].planned = pool
        elif rules.can_route:
            book.pools[name] = PoolSites(pool, _first_site(name, pool, rules.nodes))
    for name in book.pools.keys() - plan.pools.keys():
        sites = list(book.pools[name])
        if not book.operators_of(name) and not any(_has_members(book, site) for site in sites):
            del book.pools[name]
            for site in sites:
                book.sites.pop(site, None)


def _choose_site(name: PoolName, pool: PoolSites, rules: ReconcileRules) -> None:
    """Start to move the pool to the node that the plan has all of it on, or stop moving it elsewhere."""
    node = planned_node(pool.planned)
    if pool.coming is not None and pool.coming.node != node:
        pool.left.append(pool.coming)
        pool.coming = None
    if node is None or node == pool.serving.node or pool.coming is not None or not rules.can_route:
        return
    pool.coming = PoolSite(name, node)
    if pool.coming in pool.left:
        pool.left.remove(pool.coming)


def _wanted(book: ExecutorBook, site: PoolSite, pool: PoolSites, plan: Plan, rules: ReconcileRules) -> PoolPlan:
    """A pool that is not in the plan any more keeps its executors while it still serves an operator."""
    is_needed = site.pool in plan.pools or bool(book.operators_of(site.pool))
    wanted = pool.planned if is_needed and site not in pool.left else _NO_EXECUTORS
    return wanted if rules.can_route else msgspec.structs.replace(wanted, standby=0)


def _update_members(
    book: ExecutorBook, site: PoolSite, wanted: PoolPlan, view: ClusterView, rules: ReconcileRules
) -> None:
    members = book.sites.setdefault(site, SiteBook(wanted, may_serve_cold=False))
    members.wanted = wanted
    profile = view.profiles.get(site)
    registered = [executor for executor in view.executors if executor.profile == profile]
    executor_numbers.note_registered(members, registered, view.warmed_up)
    executor_numbers.bind(members, can_route=rules.can_route)


def _take_over(book: ExecutorBook, pool: PoolSites) -> None:
    """Serve at the new site from now on, once all its executors are ready; forget sites that are empty."""
    for site in [site for site in pool.left if not _has_members(book, site)]:
        pool.left.remove(site)
        book.sites.pop(site, None)
    if pool.coming is not None and book.sites[pool.coming].serves_as_wanted:
        pool.left.append(pool.serving)
        pool.serving, pool.coming = pool.coming, None


def _move_operators(book: ExecutorBook, plan: Plan, groups: Groups) -> None:
    """Serve operators in the pools that the plan has for them, once an executor serves there.

    A query runs in one pool: operators that share one change pools together, or not at all.
    """
    for group in _query_groups(plan, groups):
        target = plan.pool_of[group[-1]]
        agreed = all(plan.pool_of[name] == target for name in group)
        if agreed and book.serving_site(target).serving:
            book.pool_of |= dict.fromkeys(group, target)


def _has_members(book: ExecutorBook, site: PoolSite) -> bool:
    return site in book.sites and bool(book.sites[site].members)


def _first_site(name: PoolName, pool: PoolPlan, nodes: Mapping[PoolName, str]) -> PoolSite:
    return PoolSite(name, nodes.get(name) or planned_node(pool))


def _query_groups(plan: Plan, groups: Groups) -> list[list[OperatorName]]:
    """Every operator in one group, those that share a query together."""
    shared = [[name for name in map(OperatorName, group) if name in plan.pool_of] for group in groups]
    grouped = {name for group in shared for name in group}
    return [*(group for group in shared if group), *([name] for name in plan.pool_of if name not in grouped)]

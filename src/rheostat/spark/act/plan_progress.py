"""Plan progress: how much of a plan is real, and what stands in the way of the rest. Pure functions on a book."""

from collections.abc import Iterator

from rheostat.describe import executors
from rheostat.duration import human
from rheostat.grouping.check import KEY
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan, PoolPlan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.act import draining
from rheostat.spark.act.allotment import present
from rheostat.spark.act.cluster_view import ClusterView, ReconcileRules
from rheostat.spark.act.pool_sites import planned_node
from rheostat.spark.state.executor_book import ExecutorBook, PoolSite, SiteBook
from rheostat.spark.state.query_groups import Groups, differing

SHORT_AFTER_S = 60.0
"""Where it is not known what the cluster can give: how long executors may take to start before they are missing."""


def reached(plan: Plan, book: ExecutorBook, groups: Groups) -> frozenset[PoolName]:
    """The pools of `plan` for which what runs is what it wants."""
    rearranging = differing(groups, plan.fused)
    return plan.pools_within([n for n in plan.pool_of if n not in rearranging and _is_real(plan, n, book)])


def is_settled(plan: Plan, book: ExecutorBook, groups: Groups) -> bool:
    """Whether nothing is left to be done: standbys are warm, and what is not in `plan` is gone."""
    return book.is_settled and book.pools.keys() == plan.pools.keys() and not differing(groups, plan.fused)


def short_pools(plan: Plan, book: ExecutorBook, view: ClusterView, now_s: float) -> frozenset[PoolName]:
    """The pools that have all that they can get now, and less than `plan` wants.

    Where it is not known what the cluster can give, those that have waited long and have none that starts.
    """
    return frozenset(name for name in plan.pools if name in book.pools and _is_short(book, name, view, now_s))


def known_room(book: ExecutorBook, view: ClusterView, rules: ReconcileRules, now_s: float) -> int | None:
    """How many executors all pools together can have: as the cluster says, or what there is when no more come."""
    if view.room is not None:
        return max(0, view.room - (rules.reserved or 0))
    waits = any(_waits_long(site, now_s) for site in book.sites.values())
    return present(book) if waits else None


def obstacles(plan: Plan, book: ExecutorBook, view: ClusterView, now_s: float, rules: ReconcileRules) -> list[str]:
    """What stands in the way of `plan`. Notes in `book` since when executors are missing."""
    shortages = [_shortage(book, site, view, now_s, rules) for site in book.sites]
    return [
        *(each for each in shortages if each is not None),
        *obstacles_without_executors(plan, book, rules),
        *_stuck(plan, book, rules),
    ]


def obstacles_without_executors(plan: Plan, book: ExecutorBook, rules: ReconcileRules) -> list[str]:
    """What stands in the way of `plan` whatever executors there are."""
    return [*_misplaced(plan, book, rules), *_without_standbys(plan, rules)]


def _is_real(plan: Plan, operator: OperatorName, book: ExecutorBook) -> bool:
    name = plan.pool_of[operator]
    if book.pool_of.get(operator) != name:
        return False
    pool, wanted = book.pools[name], plan.pools[name]
    site = book.sites[pool.serving]
    if set(site.wanted.executors) != set(wanted.executors):
        return False
    if _planned_nodes(wanted) not in ([], [pool.serving.node]) or not (book.virtual or site.serves_as_wanted):
        return False
    if operator in plan.assignment and book.owner_numbers(operator) != plan.assignment[operator]:
        return False
    grouping = plan.grouping.get(operator)
    return grouping in (None, KEY) if operator in plan.assignment else grouping == book.groupings.get(operator)


def _is_short(book: ExecutorBook, name: PoolName, view: ClusterView, now_s: float) -> bool:
    pool, site = book.pools[name], book.serving_site(name)
    if site.wanted.size < pool.planned.size and site.serves_as_wanted:
        return True
    return view.room is None and _waits_long(site, now_s)


def _waits_long(site: SiteBook, now_s: float) -> bool:
    since_s = site.short_since_s
    return since_s is not None and now_s - since_s > SHORT_AFTER_S and not site.having(ExecutorPhase.STARTING)


def _shortage(book: ExecutorBook, site: PoolSite, view: ClusterView, now_s: float, rules: ReconcileRules) -> str | None:
    """Executors that the cluster has no room for, or that have not registered for longer than `shortage_after_s`."""
    members, after_s = book.sites[site], rules.shortage_after_s
    wanted = draining.total(members)
    missing = wanted - sum(not member.ending for member in members.members.values())
    if missing <= 0:
        members.short_since_s = None
        members.lost_member &= bool(members.having(ExecutorPhase.STARTING))
    elif members.short_since_s is None:
        members.short_since_s = now_s
    planned = book.pools[site.pool].planned
    if site == book.pools[site.pool].serving and members.wanted.size < planned.size:
        return f"pool {site.pool!r} gets {members.wanted.size} of its {executors(planned.size)}: {_room(view, rules)}"
    if members.short_since_s is None or now_s - members.short_since_s < after_s:
        return None
    members.lost_member = False
    cause = "" if view.room is not None else ", or the cluster has no free cores or memory for them"
    return (
        f"pool {site.pool!r} has waited longer than {human(after_s)} for {missing} of its {wanted} executors: "
        f"they are still starting{cause}"
    )


def _room(view: ClusterView, rules: ReconcileRules) -> str:
    if view.room is None:
        return "no more have come, and every pool gets one before any gets more"
    besides = f", {rules.reserved} of them for sources" if rules.reserved else ""
    return f"the cluster has room for {executors(view.room)}{besides}"


def _misplaced(plan: Plan, book: ExecutorBook, rules: ReconcileRules) -> Iterator[str]:
    for name, wanted in plan.pools.items():
        nodes = _planned_nodes(wanted)
        if name not in book.pools or not nodes or nodes == [book.pools[name].serving.node]:
            continue
        if planned_node(wanted) is None:
            where = f"on {nodes[0]} in part" if len(nodes) == 1 else f"on {' and '.join(nodes)} at once"
            yield f"pool {name!r} cannot be {where}: on Spark a pool is placed as a whole"
        elif not rules.can_route:
            yield f"pool {name!r} cannot move to {nodes[0]!r} while it runs: {rules.why_fixed}"


def _planned_nodes(pool: PoolPlan) -> list[str]:
    return sorted({location.node for location in pool.locations.values()})


def _without_standbys(plan: Plan, rules: ReconcileRules) -> Iterator[str]:
    for name, pool in plan.pools.items():
        if pool.standby and not rules.can_route:
            yield f"pool {name!r} has none of its {pool.standby} standbys: {rules.why_fixed}"


def _stuck(plan: Plan, book: ExecutorBook, rules: ReconcileRules) -> Iterator[str]:
    for operator, pool in plan.pool_of.items():
        serving = book.pool_of[operator]
        if serving != pool and not rules.can_route:
            yield f"operator {operator!r} stays in pool {serving!r}: a change while it runs needs the JVM helpers"

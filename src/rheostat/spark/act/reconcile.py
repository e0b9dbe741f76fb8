"""Reconcile: from what the cluster shows, the plan, the executor book and the time to a list of instructions.

A pure function: it asks nothing and waits for nothing. Each call does all that is possible now; the next one continues
from the book that this one returns.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rheostat.grouping.check import KEY, ROUND_ROBIN
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.act import draining, executor_numbers
from rheostat.spark.act.allotment import room_for_pools
from rheostat.spark.act.cluster_view import DEFAULT_PROFILE, ClusterView, ReconcileRules
from rheostat.spark.act.instructions import (
    CreateProfile,
    Decommission,
    GroupRows,
    Instruction,
    Kill,
    RearrangeQueries,
    RequestTotals,
    RouteTasks,
    WaitForLocality,
    WarmUp,
)
from rheostat.spark.act.plan_progress import known_room, obstacles, obstacles_without_executors, short_pools
from rheostat.spark.act.pool_sites import update_sites
from rheostat.spark.state.executor_book import ExecutorBook
from rheostat.spark.state.query_groups import Groups, differing, group_of
from rheostat.topology import Topology


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The book after a call, what is to be done, and what stands in the way of the plan, in words."""

    book: ExecutorBook
    instructions: tuple[Instruction, ...]
    obstacles: tuple[str, ...] = ()


def reconcile(view: ClusterView, plan: Plan, book: ExecutorBook, now_s: float, rules: ReconcileRules) -> Reconciled:
    """What is to be done now so that what runs becomes what `plan` wants."""
    if book.virtual:
        book = ExecutorBook.of_local_master(plan)
        changes = tuple(_query_instructions(rules.topology, plan, book, view.groups))
        return Reconciled(book, changes, tuple(obstacles_without_executors(plan, book, rules)))
    book = book.copy()
    update_sites(book, view, plan, rules, room_for_pools(book, view, rules, now_s))
    routes = [route for name in book.pools for route in _routes(book, name, plan)]
    routed = {executor.id for route in routes for executor in (*route.serving, *route.by_substream)}
    refused = () if rules.can_route else _decommissioned(book, routed)
    timeout_s = draining.drain_timeout_s(book.sites.values())
    ending = [
        id_ for site in book.sites.values() for id_ in draining.drained(site, routed, view.work, now_s, timeout_s)
    ]
    ending += _strangers(book, view, rules)
    warm_ups = [each for name in book.pools for each in _warm_ups(book, name, plan)] if rules.can_route else []
    problems = obstacles(plan, book, view, now_s, rules)
    book.room, book.short = known_room(book, view, rules, now_s), short_pools(plan, book, view, now_s)
    lost = any(book.serving_site(name).lost_member for name in book.pools)
    refusing = any(
        member.decommissioned for site in book.sites.values() for member in site.having(ExecutorPhase.LEAVING)
    )
    instructions: list[Instruction] = [CreateProfile(site) for site in book.sites if site not in view.profiles]
    instructions += routes
    # Before any is decommissioned: then Spark reads it for the stages under way, whose tasks may prefer that executor.
    instructions += [WaitForLocality(not lost and not refusing)]
    instructions += [Decommission(refused)] if refused else []
    instructions += warm_ups
    # Before any is ended: as long as the total counts it, Spark would replace it at once.
    instructions += [RequestTotals(_totals(book, view, rules))]
    instructions += [Kill(tuple(ending))] if ending else []
    instructions += _query_instructions(rules.topology, plan, book, view.groups)
    return Reconciled(book, tuple(instructions), tuple(problems))


def _routes(book: ExecutorBook, pool: PoolName, plan: Plan) -> Iterator[RouteTasks]:
    site, members = book.pools[pool].serving, book.serving_site(pool)
    serving = tuple(members.serving)
    for operator in book.operators_of(pool):
        present = book.owners.get(operator, ())
        owners = executor_numbers.owners(members, plan.assignment.get(operator, ()), present)
        book.owners[operator] = tuple(executor.id for executor in owners)
        yield RouteTasks(operator, site, serving, owners)


def _decommissioned(book: ExecutorBook, routed: set[str]) -> tuple[str, ...]:
    """Leaving executors that have no substream any more, and that Spark would give tasks to."""
    leaving = [
        member
        for site in book.sites.values()
        for member in site.having(ExecutorPhase.LEAVING)
        if member.id not in routed and not member.decommissioned
    ]
    for member in leaving:
        member.decommissioned = True
    return tuple(member.id for member in leaving)


def _warm_ups(book: ExecutorBook, pool: PoolName, plan: Plan) -> Iterator[WarmUp]:
    """One at a time for each site."""
    operators = frozenset((*plan.sharing(pool), *book.operators_of(pool)))
    for site in book.pools[pool]:
        starting = [member for member in book.sites[site].having(ExecutorPhase.STARTING) if not member.ending]
        if starting and not any(member.warming_up for member in starting):
            for member in starting:
                member.warming_up = True
            yield WarmUp(site, tuple(member.executor for member in starting), operators)


def _totals(book: ExecutorBook, view: ClusterView, rules: ReconcileRules) -> dict[int, int]:
    reserved = {} if rules.reserved is None else {DEFAULT_PROFILE: rules.reserved}
    ours = {view.profiles[site]: draining.total(book.sites[site]) for site in book.sites if site in view.profiles}
    return {**rules.others, **reserved, **ours}


def _strangers(book: ExecutorBook, view: ClusterView, rules: ReconcileRules) -> list[str]:
    """Executors that were requested earlier: of the default profile beyond the reserved ones, and of former pools."""
    if rules.reserved is None:
        return []
    ours = {view.profiles[site] for site in book.sites if site in view.profiles}
    default = [each.id for each in view.executors if each.profile == DEFAULT_PROFILE]
    former = [each.id for each in view.executors if each.profile not in {DEFAULT_PROFILE, *ours}]
    return [*default[rules.reserved :], *former]


def _query_instructions(topology: Topology, plan: Plan, book: ExecutorBook, groups: Groups) -> Iterator[Instruction]:
    """How the rows of each operator are spread, except where substreams decide; and which queries to fuse.

    Operators that are to share a query must share a pool first.
    """
    slots, planned = book.slots, book.planned_slots
    for name, operator in topology.operators.items():
        grouping, pool = plan.grouping.get(name), book.pool_of[name]
        if slots[pool] and not (operator.keyed and grouping in (None, KEY)):
            # Other groupings make several tasks for each slot themselves, or assign rows to executors.
            is_even = grouping in (None, ROUND_ROBIN)
            tasks = _tasks(slots[pool], planned[pool]) if is_even else slots[pool]
            yield GroupRows(name, grouping, tasks, group_of(name, groups))
    pools = [{book.pool_of[name] for name in map(OperatorName, group) if name in book.pool_of} for group in plan.fused]
    in_one_pool = all(len(each) == 1 for each in pools)
    if in_one_pool and differing(groups, plan.fused):
        yield RearrangeQueries(plan.fused)


def _tasks(slots: int, planned: int) -> int:
    """One for each slot that serves; several if more are to serve, since these take them when they come."""
    return slots * max(1, (2 * planned + slots) // (2 * slots))

"""Guards: policies suggest, guards refuse what must not be done now, each for one reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from rheostat.capabilities import Capabilities
from rheostat.chain import why_no_chain
from rheostat.decision import Decision, Fuse, Hold, OperatorDecision, Regroup, Scale, Split
from rheostat.describe import executors
from rheostat.duration import human
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Ruling, Verdict
from rheostat.measure.measures import Measures
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Loads, Plan, StaleDecisionError
from rheostat.sla import Goal
from rheostat.snapshot import ExecutorPhase, Snapshot


@dataclass(frozen=True, slots=True)
class Context:
    """What guards look at. `measured` is unsmoothed; `settling` are the pools whose last action is not finished."""

    goal: Goal
    options: LoopOptions
    time_s: float
    snapshot: Snapshot
    measured: Measures
    plan: Plan
    capabilities: Capabilities
    settling: frozenset[PoolName] = frozenset()
    last_action_s: float | None = None
    paused: bool = False
    dry_run: bool = False

    def concerned(self, decision: Decision) -> list[OperatorName]:
        """The operators in the pools that `decision` is about."""
        return [operator for pool in self.plan.pools_of(decision) for operator in self.plan.sharing(pool)]


Guard = Callable[[Decision, Context, Plan], str | None]
"""Why a decision that would lead to the given plan is refused, or None."""


def while_paused(decision: Decision, context: Context, proposed: Plan) -> str | None:
    """What somebody asked for is done even then: a pause stops the policy."""
    return "the controller is paused" if context.paused and decision.by is None else None


def on_a_stale_snapshot(decision: Decision, context: Context, proposed: Plan) -> str | None:
    age_s = context.time_s - context.snapshot.time_s
    if age_s <= context.options.max_age_s:
        return None
    return f"the snapshot is {human(age_s)} old, more than the {human(context.options.max_age_s)} allowed"


def on_missing_measurements(decision: Decision, context: Context, proposed: Plan) -> str | None:
    """Neither more nor fewer executors are right when the load is not known (StreamSwitch 4.3).

    Of operators that are fused only the first is measured.
    """
    for operator in (each for each in context.concerned(decision) if each not in context.plan.unseen):
        measures = context.measured.operators[operator]
        for what, rate in (("arrival", measures.arrival_rate), ("completion", measures.completion_rate)):
            if rate is None:
                return f"the {what} rate of {operator!r} was not measured"
    return None


def while_settling(decision: Decision, context: Context, proposed: Plan) -> str | None:
    """While executors start, or are replaced, still more may be added: to wait for them would make a backlog longer."""
    if isinstance(decision, Scale) and _only_adds_executors(decision, context.plan) and _is_starting(decision, context):
        return None
    settling = sorted(context.settling.intersection(context.plan.pools_of(decision)))
    return f"pool {', '.join(settling)} is still settling after the last action" if settling else None


def within_the_cooldown(decision: Decision, context: Context, proposed: Plan) -> str | None:
    """T_ra of DRS. Decisions of the same turn are one action in this respect."""
    if context.last_action_s is None or context.dry_run:
        return None
    wait_s = context.last_action_s + context.options.cooldown_s - context.time_s
    return f"cooldown of {human(context.options.cooldown_s)}: {human(wait_s)} left" if wait_s > 1e-9 else None


def against_the_key(decision: Decision, context: Context, proposed: Plan) -> str | None:
    """Records of one key may be spread over executors only where an operator merges the partial results."""
    if not isinstance(decision, Regroup):
        return None
    operator = context.goal.topology.operators[decision.operator]
    if not operator.keyed or operator.merge is not None:
        return None
    return (
        f"{operator.name!r} is keyed by {operator.key!r} and no operator merges its partial results: "
        f"grouping {decision.grouping!r} would split them"
    )


def across_no_chain(decision: Decision, context: Context, proposed: Plan) -> str | None:
    """Only a chain of operators can be fused, or split, while it runs."""
    if not isinstance(decision, Fuse | Split):
        return None
    return why_no_chain(context.goal.topology, decision.operators)


def beyond_the_plant(decision: Decision, context: Context, proposed: Plan) -> str | None:
    return context.capabilities.why_not(decision)


def without_a_change(decision: Decision, context: Context, proposed: Plan) -> str | None:
    unchanged = msgspec.structs.replace(proposed, revision=context.plan.revision) == context.plan
    return "nothing would change" if unchanged else None


def beyond_the_bounds(decision: Decision, context: Context, proposed: Plan) -> str | None:
    """Outside the bounds only steps towards them are allowed: they may be newer than the plan."""
    for operator in context.concerned(decision):
        pool = proposed.pool_of[operator]
        before, after = context.plan.size(operator), proposed.size(operator)
        least, most = context.goal.budget.bounds(proposed.sharing(pool))
        if after > most and after > before:
            return f"{executors(after)} for pool {pool!r}, which may have {most} at most"
        if after < least and after < before:
            return f"{executors(after)} for pool {pool!r}, which needs {least} at least"
    return None


def beyond_the_budget(decision: Decision, context: Context, proposed: Plan) -> str | None:
    budget, reserved = context.goal.budget.total, context.capabilities.reserved
    if budget is None or proposed.total <= max(budget - reserved, context.plan.total):
        return None
    besides = f" and {reserved} for sources" if reserved else ""
    return f"{executors(proposed.total)} in all{besides}, more than the budget of {budget}"


def beyond_the_room(decision: Decision, context: Context, proposed: Plan) -> str | None:
    room, wanted = context.capabilities.room, proposed.total_with_standbys
    if room is None or wanted <= max(room, context.plan.total_with_standbys):
        return None
    return f"{executors(wanted)} in all, but the cluster has room for {room}"


GUARDS: tuple[Guard, ...] = (
    while_paused,
    on_a_stale_snapshot,
    on_missing_measurements,
    while_settling,
    within_the_cooldown,
    against_the_key,
    across_no_chain,
    beyond_the_plant,
    without_a_change,
    beyond_the_bounds,
    beyond_the_budget,
    beyond_the_room,
)


def arbitrate(
    decisions: Sequence[Decision],
    context: Context,
    loads: Callable[[], Loads] = dict,
    guards: Sequence[Guard] = GUARDS,
) -> tuple[tuple[Verdict, ...], Plan]:
    """A verdict on each decision, and the plan that the accepted ones lead to.

    What somebody asked for comes first, before what the policy decided. Among the others those that free executors come
    first, so that others may use them within the budget. `loads` weighs the
    substreams where a decision leaves their assignment to the plan. In a dry run the plan stays as it is.
    """
    start, verdicts = context.plan, []
    decided: set[OperatorName] = set()
    for decision in sorted(decisions, key=lambda d: (d.by is None, not _frees_executors(d, start))):
        verdict, plan = _judge(decision, context, loads, guards, decided, start)
        context = replace(context, plan=plan)
        verdicts.append(verdict)
    return tuple(verdicts), start if context.dry_run else context.plan


def _judge(
    decision: Decision,
    context: Context,
    loads: Callable[[], Loads],
    guards: Sequence[Guard],
    decided: set[OperatorName],
    start: Plan,
) -> tuple[Verdict, Plan]:
    try:
        touched = _touched(decision, start)
        if again := decided & touched:
            twice = f"a second decision in the same turn about {', '.join(sorted(again))}"
            return Verdict(decision, Ruling.REFUSED, twice), context.plan
        decided |= touched
        if isinstance(decision, Hold):
            return Verdict(decision, Ruling.HELD), context.plan
        proposed = context.plan.after(decision, loads() if isinstance(decision, Scale) else None)
    except StaleDecisionError as error:
        return Verdict(decision, Ruling.REFUSED, str(error)), context.plan
    for guard in guards:
        if (why := guard(decision, context, proposed)) is not None:
            return Verdict(decision, Ruling.REFUSED, why), context.plan
    if context.dry_run:
        return Verdict(decision, Ruling.DRY_RUN, "dry run"), proposed
    return Verdict(decision, Ruling.ACCEPTED, revision=proposed.revision), proposed


def _touched(decision: Decision, plan: Plan) -> set[OperatorName]:
    """The operators that are decided on: what is decided about a pool is about all that it serves."""
    pools = plan.pools_of(decision)
    if isinstance(decision, OperatorDecision):
        return {decision.operator}
    return {operator for pool in pools for operator in plan.sharing(pool)}


def _only_adds_executors(decision: Scale, plan: Plan) -> bool:
    return not decision.leaving and not decision.transfers and decision.executors > plan.pools[decision.pool].size


def _is_starting(decision: Scale, context: Context) -> bool:
    phases = (ExecutorPhase.REQUESTED, ExecutorPhase.STARTING, ExecutorPhase.FAILED)
    return any(executor.phase in phases for executor in context.snapshot.executors_of(decision.pool))


def _frees_executors(decision: Decision, plan: Plan) -> bool:
    return (
        isinstance(decision, Scale)
        and decision.pool in plan.pools
        and decision.executors < plan.pools[decision.pool].size
    )

"""Out of reach: why the SLA cannot be kept with what a pool may have, and what would help."""

from rheostat.describe import executors
from rheostat.duration import human
from rheostat.names import OperatorName
from rheostat.policies.observation import Observation, PoolView
from rheostat.policies.rheostat.operator_cost import FULL, LATENCY_IN_BATCHES
from rheostat.policies.rheostat.sizing import Sizing
from rheostat.snapshot import BatchUnderWay, OperatorState

_HEAVIER = 1.5
"""Times the mean load from which on a substream counts as heavier than others."""


def why_out_of_reach(observation: Observation, sizing: Sizing, pool: PoolView, wanted: int) -> str | None:
    """In one sentence; None if more executors are all that it takes, and they can be had."""
    if sizing.outside_s > sizing.sla_s:
        return (
            f"records take {human(sizing.outside_s)} in sources and between operators, where executors of a pool do "
            "not help: smaller batches at the source, or an SLA above that, would help"
        )
    for name in pool.measured:
        if (why := _why_more_would_not_help(observation, sizing, pool, name)) is not None:
            return why
    return _what_binds(observation, sizing, pool, wanted)


def _why_more_would_not_help(
    observation: Observation, sizing: Sizing, pool: PoolView, name: OperatorName
) -> str | None:
    cost, state = sizing.costs[name], observation.snapshot.operators.get(name)
    heaviest = cost.heaviest_substream(sizing.rates[name])
    if heaviest >= FULL:
        return (
            f"one substream of {name!r} is work for {heaviest:.1f} executors and cannot be divided: finer keys, or an "
            "operator that merges partial results, would help"
        )
    batch = None if state is None else state.under_way
    if state is None or batch is None:
        return _why_batches_are_too_long(sizing, pool, name)
    is_late, has_none_waiting = batch.elapsed_s > sizing.sla_s, batch.finished + batch.running == batch.tasks
    if is_late and has_none_waiting and 0 < batch.running < len(pool.active) <= batch.tasks:
        return (
            f"{batch.running} of {batch.tasks} tasks of a batch of {name!r} still run after {human(batch.elapsed_s)}, "
            "and the other executors wait for them: more and smaller tasks would help"
        )
    if cost.is_limited and batch.rows and _has_left_some(state, batch, sizing.present_rates[name]):
        return (
            f"each batch of {name!r} takes {batch.rows:,} of the {state.queued or 0:,} records that wait: a higher "
            "limit of records for each batch at the source would help"
        )
    return _why_batches_are_too_long(sizing, pool, name)


def _has_left_some(state: OperatorState, batch: BatchUnderWay, rate: float) -> bool:
    """Whether the batch under way has not taken all records that waited when it began."""
    rows, arrived_since = batch.rows or 0, rate * batch.elapsed_s
    return (state.queued or 0) > 1.5 * (rows + arrived_since)


def _why_batches_are_too_long(sizing: Sizing, pool: PoolView, name: OperatorName) -> str | None:
    cost = sizing.costs[name]
    batch_cost_s = min(cost.batch_cost_s(1), cost.batch_cost_s(sizing.most(pool.name)))
    least_s = LATENCY_IN_BATCHES * batch_cost_s if cost.batched else 0.0
    waiting_s = cost.trigger_s / 2 + batch_cost_s
    if cost.trigger_s and waiting_s > max(least_s, sizing.sla_s):
        return (
            f"batches of {name!r} begin every {human(cost.trigger_s)}, which alone is a latency of {human(waiting_s)}: "
            "a shorter trigger interval, or an SLA above that, would help"
        )
    if least_s <= sizing.sla_s:
        return _why_with_its_heaviest_substream(sizing, name, batch_cost_s)
    return (
        f"a batch of {name!r} costs {human(batch_cost_s)} beside its work, which alone is a latency of "
        f"{human(least_s)}: fewer tasks in a batch, or an SLA above that, would help"
    )


def _why_with_its_heaviest_substream(sizing: Sizing, name: OperatorName, batch_cost_s: float) -> str | None:
    """An executor that has only one substream still works on it for so long, however many others there are."""
    cost, rate = sizing.costs[name], sizing.rates[name]
    heaviest = cost.heaviest_substream(rate)
    is_heavier = heaviest > _HEAVIER * cost.work(rate) / max(1, len(cost.shares.loads))
    least_s = LATENCY_IN_BATCHES * batch_cost_s / (1 - heaviest) if cost.batched else 0.0
    if not is_heavier or least_s <= sizing.sla_s:
        return None
    return (
        f"a batch of {name!r} costs {human(batch_cost_s)} beside its work, and one substream is work for "
        f"{heaviest:.2f} executors and cannot be divided, which together are a latency of {human(least_s)}: fewer "
        "substreams with finer keys, or an SLA above that, would help"
    )


def _what_binds(observation: Observation, sizing: Sizing, pool: PoolView, wanted: int) -> str | None:
    most = sizing.most(pool.name)
    limit = min((sizing.costs[name].task_limit or most for name in pool.measured), default=most)
    total, room = observation.budget.total, observation.capabilities.room
    if wanted > most:
        if most == limit < min(pool.useful, pool.bounds.most):
            return (
                f"a batch has {limit} tasks, and {executors(limit)} at most can have work: more partitions would help"
            )
        if most == pool.useful < pool.bounds.most:
            parts = "substreams" if any(observation.plan.assignment.get(name) for name in pool.operators) else "tasks"
            return f"there are {most} {parts}, and {executors(most)} at most can have work: more {parts} would help"
        return f"{executors(pool.bounds.most)} are the most that the pool may have: a higher bound would help"
    if wanted <= pool.size + observation.spare:
        return None
    if room is not None and room - observation.plan.total_with_standbys <= observation.spare:
        return f"the cluster has room for {executors(room)}: more nodes would help"
    return f"the budget is {executors(total)}: a higher one would help" if total is not None else None

"""Batch overhead: the executor-seconds that micro-batches cost at least, beside their work, if the SLA is met.

Let a batch last B and begin with an overhead o, in which its executors have nothing to do. An executor works for it for
B - o at most, so that w seconds of work take w / (B - o) executors or more, and they are paid for
w + o · w / (B - o) = w · B / (B - o). A record is done when its batch is, so that its latency is B or more. If the mean
latency is at most L in windows that lie end to end, it is at most L for all of them together, and so is the mean of B
over all records. w · B / (B - o) is convex in B: by Jensen's inequality the whole work W costs W · L / (L - o) or more.

Along a chain a record is in one batch of each operator, and their mean lengths b add up to L at most. The sum of
W · b / (b - o) is then least where W · o / (b - o)² is the same for all operators: it is
ΣW + (Σ√(W · o))² / (L - Σo).

Here W is the work of what arrived so early that it is done in the last of those windows at the latest (see
`lower_bound`). Overhead is only counted where each record leads to the same number of records, all of the same mean
cost at any time; elsewhere o = 0.
"""

import math

import numpy as np

from rheostat.duration import seconds
from rheostat.experiments.feasibility import OperatorLoads
from rheostat.experiments.scenario import Scenario
from rheostat.names import OperatorName
from rheostat.sla import SLA


def batch_bound_s(scenario: Scenario, loads: OperatorLoads) -> float:
    """The fewest executor-seconds of all operators together with which the end-to-end SLA is met in all windows.

    Zero where the SLA, or the kind of topology, says nothing; infinite where overheads alone take longer than the SLA.
    """
    sla, names = scenario.goal.end_to_end, _chain(scenario)
    if sla is None or not names:
        return 0.0
    works_s = [_work_s(loads, name, _counted_until_s(sla, scenario.duration_s)) for name in names]
    overheads_s = [_overhead_s(scenario, name) for name in names]
    if sum(overheads_s) >= sla.latency_s:
        return math.inf
    roots = sum(math.sqrt(work * overhead) for work, overhead in zip(works_s, overheads_s, strict=True))
    return sum(works_s) + roots**2 / (sla.latency_s - sum(overheads_s))


def _chain(scenario: Scenario) -> list[OperatorName]:
    """The operators, if each has one input and one output at most and writes a fixed number of records for each; no
    operators otherwise, or where records may be lost."""
    model, topology = scenario.model, scenario.model.topology
    names = list(topology.operators)
    is_chain = len(topology.sources) == 1 and all(
        len(topology.into(name)) == 1
        and len(topology.out_of(name)) <= 1
        and all(stream.selectivity >= 1 and float(stream.selectivity).is_integer() for stream in topology.out_of(name))
        and (not topology.out_of(name) or model.operator(name).emission == "rounded")
        for name in names
    )
    loses = model.cluster.restart_loses or any(model.operator(name).capacity for name in names)
    return names if is_chain and len(topology.out_of(next(iter(topology.sources)))) == 1 and not loses else []


def _counted_until_s(sla: SLA, duration_s: float) -> float:
    """What arrives until then is done at the end of the last window, if those windows lie end to end from the start."""
    return duration_s // sla.window_s * sla.window_s - sla.latency_s - sla.window_s


def _work_s(loads: OperatorLoads, name: OperatorName, until_s: float) -> float:
    """Of all records but one, because they do not arrive as evenly as the load says."""
    inside = loads.times_s <= until_s
    work, times_s = loads.work(name)[inside], loads.times_s[inside]
    total_s = float(np.sum((work[1:] + work[:-1]) / 2 * np.diff(times_s)))
    return max(0.0, total_s - loads.record_s(name) * float(loads.cost(name).max()))


def _overhead_s(scenario: Scenario, name: OperatorName) -> float:
    """Of a batch: it has one task at least, or one for each substream."""
    serving, operator = scenario.model.operator(name), scenario.model.topology.operators[name]
    if serving.queues != "batches" or name in scenario.model.costs or serving.service.cost_by_value:
        return 0.0
    tasks = serving.batches.tasks or (operator.substream_count if operator.keyed and operator.merge is None else 1)
    return seconds(serving.batches.fixed, "fixed") + tasks * seconds(serving.batches.per_task, "per_task")

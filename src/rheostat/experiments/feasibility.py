"""Feasibility: what no policy can achieve in a scenario, found from its loads, service times, bounds and SLAs alone.

Executors are taken to be in the right place at the right time and as fast as any, and records to arrive evenly: what is
impossible even then is impossible under any policy. Where the load is above what can be served a backlog grows. It is
reported if its age exceeds the SLA for as long as a window, or, without an SLA, if it is left at the end of the run.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from rheostat.duration import human, seconds
from rheostat.experiments.needed_executors import operator_rates
from rheostat.experiments.scenario import Scenario
from rheostat.names import OperatorName
from rheostat.sim.model import SimModel
from rheostat.sla import MOST_EXECUTORS, SLA

Array = NDArray[np.float64]

_STEPS = 2000

_LEFT = 0.01
"""Share of the run: a backlog of so much work at the end is one that could not be served."""

_MANY_IN_A_BATCH = 10
"""Records in a batch from which on they arrive at any time of the batch before."""

_ROUNDS = 50
"""Passes along the streams, on top of one for each operator: for the values of records that go round in loops."""


def why_it_cannot_be_met(scenario: Scenario) -> tuple[str, ...]:
    """One sentence for each thing that no policy can achieve; none if nothing is known to be impossible."""
    loads = OperatorLoads(scenario.model, scenario.duration_s)
    return (*_too_few_slots(scenario), *_overloads(scenario, loads), *_too_strict_slas(scenario, loads))


class OperatorLoads:
    """What arrives at each operator over time, and what a record costs on the fastest executor."""

    def __init__(self, model: SimModel, duration_s: float) -> None:
        self.model = model
        self.times_s = _times_s(model, duration_s)
        self.rates = {name: self._rates_of(name) for name in model.topology.operators}
        self.speed = _best_speed(model)
        self._values = _values(model, duration_s)

    def work(self, name: OperatorName) -> Array:
        """How many executors the records of `name` keep busy, over time."""
        return self.rates[name] * self.cost(name) * self.record_s(name)

    def cost(self, name: OperatorName) -> Array:
        """How many times as long as usual the records of `name` take, over time."""
        cost = self.model.costs.get(name)
        return np.ones_like(self.times_s) if cost is None else cost.rates(self.times_s)

    def record_s(self, name: OperatorName) -> float:
        """The work of a record at its usual cost, on average."""
        return self.model.operator(name).service.mean_s * float(self._costs(name).sum()) / self.speed

    def hottest_substream(self, name: OperatorName) -> tuple[int, float, float]:
        """Its number, and its shares of the work and of the records."""
        substreams = self.model.topology.operators[name].substream_count
        work, records = (
            np.bincount(np.arange(len(each)) % substreams, each / each.sum(), substreams)
            for each in (self._costs(name), self._values[name])
        )
        hottest = int(np.argmax(work))
        return hottest, float(work[hottest]), float(records[hottest])

    def _costs(self, name: OperatorName) -> Array:
        """The share of each value among the records, times what it costs relative to others."""
        values, factors = self._values[name], np.asarray(self.model.operator(name).service.cost_by_value)
        return values * factors[: len(values)] if len(factors) else values

    def _rates_of(self, name: OperatorName) -> Array:
        """Records per second over time: they are linear in the rates of the sources."""
        rates = np.zeros_like(self.times_s)
        for source in self.model.topology.sources:
            only = {other: float(other == source) for other in self.model.topology.sources}
            rates += operator_rates(self.model, only)[name] * self.model.source(source).load.rates(self.times_s)
        return rates


def _too_few_slots(scenario: Scenario) -> Iterator[str]:
    nodes, operators = scenario.model.cluster.nodes, scenario.model.topology.operators
    slots, least = sum(node.slots for node in nodes), sum(map(scenario.goal.budget.minimum, operators))
    if nodes and slots < least:
        yield f"the nodes have {_slots(slots)}, and the operators need {least} executors at least"


def _overloads(scenario: Scenario, loads: OperatorLoads) -> Iterator[str]:
    """All operators together, then each of them, then the hottest substream of each that is not reported yet."""
    operators = scenario.model.topology.operators
    if (limit := _limit_of_all(scenario, loads.speed)) is not None:
        work = np.sum([loads.work(name) for name in operators], axis=0)
        if (told := _overload(loads.times_s, work, limit[0], _sla_of_all(scenario))) is not None:
            yield told.format(who="the topology", limit=limit[1])
    for name in operators:
        if scenario.model.operator(name).capacity is None:  # else records are lost, and none waits long
            yield from _overloads_of(scenario, loads, name)


def _overloads_of(scenario: Scenario, loads: OperatorLoads, name: OperatorName) -> Iterator[str]:
    work, sla = loads.work(name), _strictest(scenario, name)
    most, limit = _limit_of(scenario, name)
    if (told := _overload(loads.times_s, work, most, sla)) is not None:
        yield told.format(who=f"operator {name!r}", limit=limit)
    elif _has_fixed_substreams(scenario.model, name):
        index, share, records = loads.hottest_substream(name)
        if (told := _overload(loads.times_s, work * share, 1.0, sla, records)) is not None:
            yield told.format(who=f"substream {index} of {name!r}", limit="one can serve it at most")


def _overload(times_s: Array, work: Array, capacity: float, sla: SLA | None, share: float = 1.0) -> str | None:
    """A sentence with gaps for who is meant and what limits it; None if `capacity` is enough.

    `share` of the records that the SLA is about are concerned: the others may make up for their latency.
    """
    ages_s = _ages_s(times_s, work, capacity)
    top, left_s = int(np.argmax(work)), float(ages_s[-1])
    length_s = float(times_s[-1] - times_s[0])
    if sla is None:
        if left_s <= _LEFT * length_s:
            return None
        then = f"a backlog of {human(left_s)} is left at the end"
    else:
        age_s = _longest_mean(times_s, ages_s, min(sla.window_s, length_s))
        if age_s * share <= sla.latency_s and left_s <= max(sla.latency_s, _LEFT * length_s):
            return None
        then = f"its backlog gets {human(float(ages_s.max()))} old, SLA {sla}"
    mean = float(np.sum((work[1:] + work[:-1]) / 2 * np.diff(times_s))) / length_s
    needs = f"needs {work[top]:.3g} executors at {human(float(times_s[top]))} and {mean:.3g} on average"
    return f"{{who}} {needs}, {{limit}}: {then}"


def _ages_s(times_s: Array, work: Array, capacity: float) -> Array:
    """How long what arrives has to wait, over time: the work before it over the capacity."""
    lengths_s = np.diff(times_s)
    changes = ((work[1:] + work[:-1]) / 2 - capacity) * lengths_s
    waiting = np.zeros_like(times_s)
    for step, change in enumerate(changes):
        waiting[step + 1] = max(0.0, waiting[step] + change)
    return waiting / capacity


def _longest_mean(times_s: Array, values: Array, window_s: float) -> float:
    """The highest mean over a window."""
    integral = np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(times_s))])
    starts = times_s[times_s <= times_s[-1] - window_s]
    ends = np.interp(starts + window_s, times_s, integral)
    return float((ends - np.interp(starts, times_s, integral)).max() / window_s)


def _limit_of_all(scenario: Scenario, speed: float) -> tuple[float, str] | None:
    """The executors that there can be, as fast as any, and why there are no more; None without a limit."""
    total, nodes = scenario.largest_budget.total, scenario.model.cluster.nodes
    slots, on_nodes = sum(node.slots for node in nodes), _node_capacity(scenario.model) / speed
    if nodes and on_nodes < (total or math.inf):
        return on_nodes, f"the nodes have {_slots(slots)}, which serve as much as {on_nodes:.3g}"
    return None if total is None else (float(total), f"the budget is {total}")


def _limit_of(scenario: Scenario, name: OperatorName) -> tuple[float, str]:
    """The executors that can work for one operator, and why no more can."""
    budget, operator = scenario.largest_budget, scenario.model.topology.operators[name]
    most = budget.maximum(name)
    if budget.total is not None:
        others = sum(budget.minimum(other) for other in scenario.model.topology.operators if other != name)
        most = min(most, budget.total - others)
    if _has_fixed_substreams(scenario.model, name) and operator.substream_count < most:
        return float(operator.substream_count), f"{operator.substream_count} can serve its substreams at most"
    return float(most), f"the budget leaves {most} for it" if most < MOST_EXECUTORS else f"{most} are the most"


def _sla_of_all(scenario: Scenario) -> SLA | None:
    """What is promised for a record on its whole way: without an end-to-end SLA, all operators' SLAs together."""
    if (sla := scenario.goal.end_to_end) is not None:
        return sla
    limits = [_strictest(scenario, name) for name in scenario.model.topology.operators]
    known = [sla for sla in limits if sla is not None]
    if len(known) < len(limits):
        return None
    return SLA(sum(sla.latency_s for sla in known), max(sla.window_s for sla in known))


def _strictest(scenario: Scenario, name: OperatorName) -> SLA | None:
    """Of the SLAs that the records of an operator count for."""
    concerned = [sla for sla in scenario.goal.slas if name in (sla.operators or (name,))]
    return min(concerned, key=lambda sla: sla.latency_s, default=None)


def _has_fixed_substreams(model: SimModel, name: OperatorName) -> bool:
    """Whether the records of a substream must go to one executor, and always the same ones are in it."""
    operator = model.topology.operators[name]
    rotate = any(source.rotate_every_s for source in model.sources.values())
    return operator.keyed and operator.merge is None and model.operator(name).grouping in (None, "key") and not rotate


def _too_strict_slas(scenario: Scenario, loads: OperatorLoads) -> Iterator[str]:
    for sla in scenario.goal.slas:
        way = sla.operators
        least_s = sum(_least_s(loads, name) for name in way) if way else _least_end_to_end_s(loads)
        if least_s > sla.latency_s:
            yield f"the mean latency is {human(least_s)} at least, without any queue: SLA {sla}"


def _least_s(loads: OperatorLoads, name: OperatorName) -> float:
    """The least mean latency at an operator: the service, and with micro-batches their cost and the wait for the next.

    Records that arrive at any time wait for half a batch on average, or for half of the trigger's interval.
    """
    serving, service_s = loads.model.operator(name), loads.record_s(name) * float(loads.cost(name).min())
    if serving.queues != "batches":
        return service_s
    batches = serving.batches
    tasks = batches.tasks or max(1, loads.model.topology.operators[name].substream_count)
    batch_s = seconds(batches.fixed, "fixed") + tasks * seconds(batches.per_task, "per_task") + service_s
    apart_s = max(batch_s, seconds(batches.trigger, "trigger"))
    is_dense = float(loads.rates[name].mean()) * apart_s >= _MANY_IN_A_BATCH
    return batch_s + (apart_s / 2 if is_dense else 0.0)


def _least_end_to_end_s(loads: OperatorLoads) -> float:
    """A record is done when all that derives from it is. Of several sources the one with the shortest way counts."""
    topology = loads.model.topology
    ways = [[_least_from_s(loads, s.consumer, ()) for s in topology.out_of(name)] for name in topology.sources]
    return min(max(way, default=0.0) for way in ways)


def _least_from_s(loads: OperatorLoads, name: OperatorName, before: tuple[OperatorName, ...]) -> float:
    """From the arrival at an operator to the end. Operators on a loop count once."""
    if name in before:
        return 0.0
    onward = [
        _share_with_results(loads.model, name, stream.selectivity)
        * _least_from_s(loads, stream.consumer, (*before, name))
        for stream in loads.model.topology.out_of(name)
    ]
    return _least_s(loads, name) + max(onward, default=0.0)


def _share_with_results(model: SimModel, name: OperatorName, selectivity: float) -> float:
    """The share of an operator's records that lead to others on a stream."""
    serving = model.operator(name)
    if serving.emission == "poisson":
        return 1 - math.exp(-selectivity)
    return min(1.0, selectivity / (serving.bulk if serving.emission == "bulk" else 1))


def _times_s(model: SimModel, duration_s: float) -> Array:
    """Equal steps, and both sides of each point at which a load or the cost of a record jumps or bends."""
    shapes = [*(model.source(name).load for name in model.topology.sources), *model.costs.values()]
    edges = [shape.breakpoints(duration_s) for shape in shapes]
    times_s = np.concatenate([np.linspace(0, duration_s, _STEPS + 1), *edges])
    inside = times_s[(times_s >= 0) & (times_s <= duration_s)]
    return np.unique(np.concatenate([inside, np.nextafter(inside[inside > 0], 0.0)]))


def _best_speed(model: SimModel) -> float:
    """Of an executor on the fastest node, an odd one if those are faster."""
    cluster = model.cluster
    odd = max(1.0, cluster.odd_speed) if cluster.odd_share < 1 else cluster.odd_speed
    own = (odd if cluster.odd_share > 0 else 1.0) * max(1.0, max((each.speed for each in cluster.slow), default=1.0))
    return own * max((node.speed for node in cluster.nodes), default=1.0)


def _node_capacity(model: SimModel) -> float:
    """What all nodes can do, in executors of speed 1: more busy ones than cores slow each other down."""
    speed = max((node.speed for node in model.cluster.nodes), default=1.0)
    own = _best_speed(model) / speed
    return own * sum(min(node.slots, node.cores or math.inf) * node.speed for node in model.cluster.nodes)


def _values(model: SimModel, duration_s: float) -> Mapping[str, Array]:
    """The shares of the values among the records that arrive at each operator, over the whole run."""
    own = {name: source.weights for name, source in model.sources.items()} | dict(model.values)
    drawn = {name: np.asarray(weights, dtype=float) for name, weights in own.items() if weights is not None}
    count = max((len(weights) for weights in drawn.values()), default=1)
    without = np.eye(1, count)[0]
    written = dict.fromkeys(model.topology.sources, without)
    written |= {name: _shares(np.pad(weights, (0, count - len(weights)))) for name, weights in drawn.items()}
    sources = {name: model.source(name).load.mean(duration_s) for name in model.topology.sources}
    rates: Mapping[str, float] = {**sources, **{str(name): r for name, r in operator_rates(model, sources).items()}}
    arriving: dict[str, Array] = dict.fromkeys(model.topology.operators, without)
    for _ in range(len(arriving) + _ROUNDS):
        known = {**arriving, **written}
        arriving = {name: _mixture(model, name, rates, known) for name in arriving}
    return arriving


def _mixture(model: SimModel, name: str, rates: Mapping[str, float], written: Mapping[str, Array]) -> Array:
    parts = [rates[each.producer] * each.selectivity * written[each.producer] for each in model.topology.into(name)]
    total = np.sum(parts, axis=0)
    return _shares(total) if total.any() else written[name]


def _slots(count: int) -> str:
    return f"{count} slot" if count == 1 else f"{count} slots"


def _shares(weights: Array) -> Array:
    return weights / float(weights.sum())

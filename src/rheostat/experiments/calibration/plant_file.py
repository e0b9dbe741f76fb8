"""Plant file: a fitted plant as a scenario for `rheostat simulate`, with the load under which it was measured."""

import json
import math
from collections.abc import Iterator, Sequence

from rheostat.duration import human
from rheostat.experiments.calibration.batch_fit import Estimate
from rheostat.experiments.calibration.plant_fit import OperatorFit, PlantFit, SourceFit
from rheostat.names import OperatorName
from rheostat.topology import Operator, Topology

_FIXED_BELOW = 0.005
"""Service times that vary less count as constant."""

_SLA_IN_LATENCIES = 2.0


def plant_file(topology: Topology, fit: PlantFit) -> str:
    """The text of the scenario. Confidence intervals (95 %) are in comments."""
    return "\n".join(_lines(topology, fit)) + "\n"


def sla_latency_s(fit: PlantFit) -> float:
    """A latency that the application can meet: twice its mean while it was measured, in two digits."""
    latency_s = _SLA_IN_LATENCIES * (fit.latency_s or 1.0)
    return round(latency_s, 1 - math.floor(math.log10(latency_s)))


def _lines(topology: Topology, fit: PlantFit) -> Iterator[str]:
    counts = ", ".join(map(str, fit.executors))
    yield f"# Measured on Spark with {counts} executors for each operator."
    yield "# The load is the measured one. The SLA and the budget are examples: change them at will."
    yield f"name = {_text(topology.name)}"
    yield f"duration = {_seconds(max(1.0, fit.duration_s))}"
    for source, found in fit.sources.items():
        yield from ("", *_source(topology, fit, source, found))
    for name, operator in topology.operators.items():
        yield from ("", *_operator(topology, fit, name, operator))
    yield from ("", *_cluster(topology, fit))
    yield from ("", *_goal(topology, fit))


def _source(topology: Topology, fit: PlantFit, name: str, found: SourceFit) -> Iterator[str]:
    yield "[[source]]"
    yield f"name = {_text(name)}"
    steps = ", ".join(f"[{_number(time_s)}, {_number(rate)}]" for time_s, rate in found.rates)
    yield f'load = {{ shape = "step", steps = [{steps}] }}'
    yield 'arrivals = "regular"'
    if found.batch_s > 0:
        yield f"batch = {_seconds(found.batch_s)}"
    yield from _keys(topology, fit, name)


def _operator(topology: Topology, fit: PlantFit, name: OperatorName, operator: Operator) -> Iterator[str]:
    found = fit.operators[name]
    yield "[[operator]]"
    yield f"name = {_text(name)}"
    yield f"inputs = [{', '.join(map(_text, operator.inputs))}]"
    yield from _selectivity(operator, found)
    if operator.key is not None:
        yield f"key = {_text(operator.key)}"
        yield f"substreams = {operator.substream_count}"
    if operator.merge is not None:
        yield f"merge = {_text(operator.merge)}"
    batches = found.batches
    yield f"# {batches.used} batches, {batches.left_out} left out as too far off"
    costs = f"fixed {_interval(batches.fixed)}, per_task {_interval(batches.per_task)}"
    yield f"# service {_interval(batches.service)}, {costs}"
    service = f"mean = {_seconds(batches.service.value)}"
    if found.scv < _FIXED_BELOW:
        yield f'service = {{ {service}, distribution = "fixed" }}'
    else:
        yield f'service = {{ {service}, distribution = "lognormal", scv = {_number(found.scv)} }}'
    yield 'queues = "batches"'
    cost = f"fixed = {_seconds(batches.fixed.value)}, per_task = {_seconds(batches.per_task.value)}"
    yield f"batches = {{ {cost}, scv = {_number(batches.cost_scv)} }}"
    yield f"executors = {fit.executors[0]}"
    yield from _keys(topology, fit, name)


def _selectivity(operator: Operator, found: OperatorFit) -> Iterator[str]:
    if operator.outputs:
        shares = {stream.partition(".")[2]: value for stream, value in found.selectivities.items()}
        yield "outputs = { " + ", ".join(f"{_text(name)} = {_number(value)}" for name, value in shares.items()) + " }"
    else:
        yield f"selectivity = {_number(found.selectivities[operator.name])}"


def _keys(topology: Topology, fit: PlantFit, producer: str) -> Iterator[str]:
    """The weights of the values that `producer` writes, by the substreams of the keyed operator that reads them."""
    for stream in topology.out_of(producer):
        rows = fit.operators[stream.consumer].substream_rows
        if topology.operators[stream.consumer].keyed and sum(rows) > 0:
            yield f"keys = {{ table = [{', '.join(map(str, rows))}] }}"
            return


def _cluster(topology: Topology, fit: PlantFit) -> Iterator[str]:
    starts = fit.starts
    yield "[cluster]"
    yield f"# start {_interval(starts.start)}, warm_up {_interval(starts.warm_up)}"
    yield f"start = {_seconds(starts.start.value)}"
    yield f"warm_up = {_seconds(starts.warm_up.value)}"
    if starts.at_once is not None:
        yield f"starts_at_once = {starts.at_once}"
    if fit.cold_speed is not None:
        yield f"cold_speed = {_number(fit.cold_speed)}"
    for field, keyed in (("first_batch", False), ("move_delay", True)):
        extras = [
            found.first_batch
            for name, found in fit.operators.items()
            if found.first_batch is not None and topology.operators[name].keyed is keyed
        ]
        if extras:
            longest = max(extras, key=lambda each: each.value)
            yield f"# {field} {_interval(longest)}"
            yield f"{field} = {_seconds(longest.value)}"


def _goal(topology: Topology, fit: PlantFit) -> Sequence[str]:
    return [
        "[[sla]]",
        f"latency = {_seconds(sla_latency_s(fit))}",
        'window = "30s"',
        "",
        "[budget]",
        f"total = {max(fit.executors) * len(topology.operators)}",
    ]


def _interval(estimate: Estimate) -> str:
    if estimate.half_width is None:
        return human(estimate.value)
    return f"{human(estimate.value)} ± {human(estimate.half_width)}"


def _seconds(value_s: float) -> str:
    """A duration in a unit that keeps three digits."""
    for unit, size_s in (("s", 1.0), ("ms", 1e-3)):
        if value_s >= size_s:
            return f'"{_number(value_s / size_s)}{unit}"'
    return f'"{_number(value_s / 1e-6)}us"'


def _number(value: float) -> str:
    return f"{float(f'{value:.4g}'):f}".rstrip("0").rstrip(".") or "0"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

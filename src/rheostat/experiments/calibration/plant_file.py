"""Plant file: a fitted plant as a scenario for `rheostat simulate`, with the load under which it was measured.

Of an emulated scenario it is that scenario with the measured costs, times and service in place of its own.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from rheostat.duration import human
from rheostat.experiments.calibration.batch_fit import Estimate
from rheostat.experiments.calibration.plant_fit import OperatorFit, PlantFit
from rheostat.names import OperatorName
from rheostat.topology import Operator, Topology

Content = dict[str, Any]
"""A scenario file as TOML is read: tables by name."""

_FIXED_BELOW = 0.005
"""Service times that vary less count as constant."""

_SLA_IN_LATENCIES = 2.0


def plant_file(topology: Topology, fit: PlantFit, scenario: Content | None = None) -> str:
    """The text of the scenario file; `scenario` is the content of the emulated one, if there is one."""
    content = plant_content(topology, fit) if scenario is None else with_plant(scenario, topology, fit)
    return "\n".join([*(f"# {line}" for line in _remarks(fit)), "", *_toml(content)]) + "\n"


def plant_content(topology: Topology, fit: PlantFit) -> Content:
    """A whole scenario. Its SLA and its budget are examples."""
    return {
        "name": topology.name,
        "duration": _duration(max(1.0, fit.duration_s)),
        "source": [_source(topology, fit, name) for name in topology.sources],
        "operator": [
            {**_shape(operator, fit.operators[name]), **_keys(topology, fit, name), **_costs(fit, name)}
            for name, operator in topology.operators.items()
        ],
        "sla": [{"latency": _duration(example_latency_s(fit)), "window": "30s"}],
        "budget": {"total": max(fit.executors) * len(topology.operators)},
        "cluster": _cluster(topology, fit),
    }


def with_plant(scenario: Content, topology: Topology, fit: PlantFit) -> Content:
    """`scenario` with the measured plant; its load, SLAs, budget and policy stay."""
    sources = [{**table, **_source_batch(fit, table["name"])} for table in scenario["source"]]
    operators = [
        {**table, **_costs(fit, OperatorName(table["name"])), "executors": table.get("executors", 1)}
        for table in scenario["operator"]
    ]
    cluster = {**scenario.get("cluster", {}), **_cluster(topology, fit)}
    return {**scenario, "source": sources, "operator": operators, "cluster": cluster}


def example_latency_s(fit: PlantFit) -> float:
    """A latency that the application can meet: twice its mean while it was measured, in two digits."""
    latency_s = _SLA_IN_LATENCIES * (fit.latency_s or 1.0)
    return round(latency_s, 1 - math.floor(math.log10(latency_s)))


def _remarks(fit: PlantFit) -> Iterator[str]:
    yield f"Measured on Spark with {', '.join(map(str, fit.executors))} executors for each operator (± 95 %)."
    for name, found in fit.operators.items():
        batches = found.batches
        costs = f"fixed {_interval(batches.fixed)}, per_task {_interval(batches.per_task)}"
        yield f"{name}: service {_interval(batches.service)}, {costs}"
        yield f"{name}: {batches.used} batches, {batches.left_out} more left out as too far off"
        if found.first_batch is not None:
            yield f"{name}: the first batch after a change takes {_interval(found.first_batch)} longer"
    yield f"start {_interval(fit.starts.start)}, warm_up {_interval(fit.starts.warm_up)}"


def _source(topology: Topology, fit: PlantFit, name: str) -> Content:
    steps = [[_rounded(time_s), _rounded(rate)] for time_s, rate in fit.sources[name].rates]
    load = {"shape": "step", "steps": steps}
    return {"name": name, "load": load, "arrivals": "regular", **_source_batch(fit, name), **_keys(topology, fit, name)}


def _source_batch(fit: PlantFit, name: str) -> Content:
    return {"batch": _duration(fit.sources[name].batch_s)}


def _shape(operator: Operator, found: OperatorFit) -> Content:
    """Its place in the topology."""
    shape: Content = {"name": operator.name, "inputs": list(operator.inputs)}
    if operator.outputs:
        shape["outputs"] = {name.partition(".")[2]: _rounded(value) for name, value in found.selectivities.items()}
    else:
        shape["selectivity"] = _rounded(found.selectivities[operator.name])
    if operator.key is not None:
        shape |= {"key": operator.key, "substreams": operator.substream_count}
    return shape | ({} if operator.merge is None else {"merge": operator.merge})


def _costs(fit: PlantFit, name: OperatorName) -> Content:
    found = fit.operators[name]
    service: Content = {"mean": _duration(found.batches.service.value), "distribution": "fixed"}
    if found.scv >= _FIXED_BELOW:
        service |= {"distribution": "lognormal", "scv": _rounded(found.scv)}
    batches = {
        "fixed": _duration(found.batches.fixed.value),
        "per_task": _duration(found.batches.per_task.value),
        "scv": _rounded(found.batches.cost_scv),
    }
    return {"service": service, "queues": "batches", "batches": batches, "executors": fit.executors[0]}


def _keys(topology: Topology, fit: PlantFit, producer: str) -> Content:
    """The weights of the values that `producer` writes, by the substreams of the keyed operator that reads them."""
    for stream in topology.out_of(producer):
        rows = fit.operators[stream.consumer].substream_rows
        if topology.operators[stream.consumer].keyed and sum(rows) > 0:
            return {"keys": {"table": list(rows)}}
    return {}


def _cluster(topology: Topology, fit: PlantFit) -> Content:
    cluster: Content = {
        "start": _duration(fit.starts.start.value),
        "warm_up": _duration(fit.starts.warm_up.value),
        "starts_at_once": "all" if fit.starts.at_once is None else fit.starts.at_once,
    }
    if fit.cold_speed is not None:
        cluster["cold_speed"] = _rounded(fit.cold_speed)
    for field, keyed in (("first_batch", False), ("move_delay", True)):
        extra_s = [
            found.first_batch.value
            for name, found in fit.operators.items()
            if found.first_batch is not None and topology.operators[name].keyed is keyed
        ]
        if extra_s:
            cluster[field] = _duration(max(extra_s))
    factors = [found.cost_while_starting for found in fit.operators.values() if found.cost_while_starting is not None]
    if factors:
        cluster["cost_while_starting"] = _rounded(max(factors))
    return cluster


def _toml(content: Mapping[str, Any]) -> Iterator[str]:
    """Plain values first, then tables and lists of tables, whose own values are written in line."""
    tables = {name: value for name, value in content.items() if isinstance(value, dict) or _is_tables(value)}
    for name, value in content.items():
        if name not in tables:
            yield f"{name} = {_value(value)}"
    for name, value in tables.items():
        for table in [value] if isinstance(value, dict) else value:
            yield ""
            yield f"[{name}]" if isinstance(value, dict) else f"[[{name}]]"
            yield from (f"{key} = {_value(each)}" for key, each in table.items())


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(_value, value)) + "]"
        case str():
            return json.dumps(value, ensure_ascii=False)
    return str(value)


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else json.dumps(key)


def _interval(estimate: Estimate) -> str:
    if estimate.half_width is None:
        return human(estimate.value)
    return f"{human(estimate.value)} ± {human(estimate.half_width)}"


def _duration(value_s: float) -> str:
    """In a unit that leaves four digits."""
    for unit, size_s in (("s", 1.0), ("ms", 1e-3)):
        if value_s >= size_s:
            return f"{_rounded(value_s / size_s):.10g}{unit}"
    return f"{_rounded(value_s / 1e-6):.10g}us" if value_s >= 1e-7 else "0s"


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")

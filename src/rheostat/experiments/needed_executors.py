"""Needed executors: how many a given input rate needs, by PA-SPS eq. 2 with the true input."""

import math
from collections.abc import Mapping

import numpy as np

from rheostat.load import Constant
from rheostat.names import OperatorName
from rheostat.queueing import Route, arrival_rates
from rheostat.sim.model import SimModel

_ROUNDING = 1e-9

_COST_SAMPLES = 101


def operator_rates(model: SimModel, source_rates: Mapping[str, float]) -> dict[OperatorName, float]:
    """Records per second that arrive at each operator if nothing holds them up, for rates by source."""
    topology = model.topology
    external: dict[OperatorName, float] = {}
    for stream in topology.streams:
        if stream.producer in topology.sources:
            external[stream.consumer] = external.get(stream.consumer, 0.0) + source_rates[stream.producer]
    routes = [
        Route(s.producer, s.consumer, s.selectivity) for s in topology.streams if s.producer in topology.operators
    ]
    return arrival_rates(list(topology.operators), external, routes)


def needed_executors(
    model: SimModel, source_rates: Mapping[str, float], costs: Mapping[OperatorName, float] | None = None
) -> int:
    """The sum over operators of rate times service time, rounded up, at least one each.

    `source_rates` are records per second by source; `costs` how many times as long as usual records take.
    """
    rates, costs = operator_rates(model, source_rates), costs or {}
    return sum(_executors(model, name, rate * costs.get(name, 1.0)) for name, rate in rates.items())


def mean_costs(model: SimModel, start_s: float, end_s: float) -> dict[OperatorName, float]:
    """How many times as long as usual records take between two times, by operator whose cost changes."""
    times_s = np.linspace(start_s, end_s, _COST_SAMPLES)
    return {name: float(cost.rates(times_s).mean()) for name, cost in model.costs.items()}


def peak_executors(model: SimModel, duration_s: float) -> int:
    """The executors that the peaks of a run need (r_over in PA-SPS): of the rates times what a record costs then."""
    return sum(peak_sizes(model, duration_s).values())


def peak_sizes(model: SimModel, duration_s: float, utilisation: float = 1.0) -> dict[OperatorName, int]:
    """By operator, the executors that the peaks of a run keep busy for the share `utilisation` of their time."""
    sizes = {}
    for operator in model.topology.operators:
        cost = model.costs.get(operator, Constant(1.0))
        loads = {name: model.source(name).load * cost for name in model.topology.sources}
        rates = operator_rates(model, {name: load.peak(duration_s) for name, load in loads.items()})
        sizes[operator] = _executors(model, operator, rates[operator] / utilisation)
    return sizes


def _executors(model: SimModel, operator: OperatorName, rate: float) -> int:
    return max(1, math.ceil(rate * model.operator(operator).service.mean_s - _ROUNDING))

"""Needed executors: how many a given input rate needs, by PA-SPS eq. 2 with the true input."""

import math
from collections.abc import Mapping

from rheostat.names import OperatorName
from rheostat.queueing import Route, arrival_rates
from rheostat.sim.model import SimModel

_ROUNDING = 1e-9


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


def needed_executors(model: SimModel, source_rates: Mapping[str, float]) -> int:
    """The sum over operators of rate times service time, rounded up, at least one each.

    `source_rates` are records per second by source.
    """
    rates = operator_rates(model, source_rates)
    works = (rate * model.operator(name).service.mean_s for name, rate in rates.items())
    return sum(max(1, math.ceil(work - _ROUNDING)) for work in works)


def peak_executors(model: SimModel, duration_s: float) -> int:
    """The executors that the peak rates of a run need (r_over in PA-SPS)."""
    return needed_executors(model, {name: model.source(name).load.peak(duration_s) for name in model.topology.sources})

"""Planned sizes: the executors that should serve in each slot of a run, with headroom and as few starts as pay."""

from collections.abc import Sequence

import msgspec
import numpy as np

from rheostat.experiments.clairvoyant.cheapest_sizes import cheapest_sizes
from rheostat.experiments.clairvoyant.fluid import FluidModel
from rheostat.experiments.clairvoyant.lower_bound import fluid_model
from rheostat.experiments.clairvoyant.steady_size import SteadySizes
from rheostat.experiments.scenario import Scenario
from rheostat.names import OperatorName

FAMILIES = ("work", "latency")
"""By the work that arrives, or by the latency at the rate of each slot."""


def planned_sizes(
    scenario: Scenario, steady: SteadySizes, name: OperatorName, family: str, headroom: float, start: int
) -> Sequence[int]:
    """The sizes of one operator, for `headroom` times its load.

    In the first `start` slots there can be no more than at the beginning.
    """
    model = fluid_model(scenario, steady.loads, name, headroom=headroom, deadline_s=0.0)
    model = msgspec.structs.replace(model, start=start)
    if family == "work":
        return _smoothed(model, model.arrivals)
    latency_s = steady.latency_s(name)
    sizes = [steady.size(name, rate * headroom, latency_s, cost) for rate, cost in _slot_loads(scenario, steady, name)]
    return _smoothed(model, [size * model.per_executor for size in sizes])


def _smoothed(model: FluidModel, work: Sequence[int]) -> Sequence[int]:
    """The cheapest sizes that serve `work` in its slots, as far as the bounds allow that."""
    allowed = [model.initial] * model.start + [model.most] * len(work)
    possible = tuple(min(units, most * model.per_executor) for units, most in zip(work, allowed, strict=False))
    found = cheapest_sizes(msgspec.structs.replace(model, arrivals=possible))
    return [model.most] * len(work) if found is None else found.sizes


def _slot_loads(scenario: Scenario, steady: SteadySizes, name: OperatorName) -> list[tuple[float, float]]:
    """The highest of three rates in each slot, and the highest of what records cost at these times."""
    slots, slot_s = int(scenario.duration_s / scenario.loop.period_s + 1e-9), scenario.loop.period_s
    times_s = (np.arange(slots)[:, None] + np.array([0.001, 0.5, 0.999])) * slot_s
    known = (steady.loads.rates[name], steady.loads.cost(name))
    rates, costs = (np.interp(times_s, steady.loads.times_s, each).max(axis=1) for each in known)
    return [(float(rate), float(cost)) for rate, cost in zip(rates, costs, strict=True)]

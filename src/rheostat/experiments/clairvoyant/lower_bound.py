"""Lower bound: the fewest executor-seconds with which any policy could meet the SLA in all windows.

Everything that a real run may do is allowed here, and no more is asked of it:

- Deadlines. Let the mean latency of what completes in each window of length T be at most L, and let nothing overtake.
  A record of age y that waits at time t came after all that completed between t - T and t; those had ages of y - T at
  least when they completed. So y <= L + T. (Where nothing completed in the window, y <= L is asked directly.) Hence all
  work is served within L + T of its entry. Windows of an end-to-end SLA say so of the records that entered, and with
  that of their work at each operator: each gets the whole SLA, and its work is there as soon as the records enter.
- Work. Records arrive as evenly as the load says and need their mean service time on the fastest executor. Batches
  cost nothing beside it, moves are free, executors need no warm-up and start as many at a time as are wanted.
- Time. Policies act at the turns of the loop, so that sizes change between slots of that length. The work of a slot is
  there at its beginning; deadlines are rounded up, start-up times down. Work is counted in quarters of what an executor
  serves in a slot, the sum of all that arrived rounded down: if sizes serve the exact work in time they serve this in
  time, because what they serve between two slots is a whole number of those units.
- Operators are apart: the bound is the sum of theirs, and the budget of all together is not used.

On this model `cheapest_sizes` is exact, and `least_cost`, used where that would take too long, is below it. So their
sum is below what any policy pays that meets the SLA in all windows. `batch_overhead` has another bound, without
start-up times but with what micro-batches cost beside their work; the higher of the two counts. A policy that misses
some windows, or whose random arrivals happen to be fewer, may pay less.
"""

import math

import msgspec
import numpy as np

from rheostat.duration import seconds
from rheostat.experiments.clairvoyant.batch_overhead import batch_bound_s
from rheostat.experiments.clairvoyant.cheapest_sizes import cheapest_sizes, least_cost, states
from rheostat.experiments.clairvoyant.fluid import FluidModel
from rheostat.experiments.feasibility import OperatorLoads
from rheostat.experiments.scenario import Scenario
from rheostat.names import OperatorName

_UNITS = 4
"""Units of work that an executor serves in a slot."""

_MOST_STATES = 100_000_000
"""Of the dynamic program: ten seconds and 200 MB."""

_ROUNDING = 1e-9


class LowerBound(msgspec.Struct, frozen=True):
    """In executor-seconds; None if the SLA cannot be met whatever is paid.

    `by_operator` does not count what batches cost beside their work. `executor_seconds` does, in all.
    """

    executor_seconds: float | None
    by_operator: dict[OperatorName, float | None]


def lower_bound(scenario: Scenario) -> LowerBound:
    """The bound for `scenario`, whose loads are known from beginning to end."""
    loads = OperatorLoads(scenario.model, scenario.duration_s)
    costs: dict[OperatorName, float | None] = {}
    for name in scenario.model.topology.operators:
        cost = _cost(fluid_model(scenario, loads, name))
        costs[name] = None if cost is None else cost * scenario.loop.period_s
    known = [cost for cost in costs.values() if cost is not None]
    bound_s = max(math.fsum(known), batch_bound_s(scenario, loads)) if len(known) == len(costs) else math.inf
    return LowerBound(bound_s if bound_s < math.inf else None, costs)


def _cost(model: FluidModel) -> int | None:
    """Exact, unless that would take too long."""
    if states(model) > _MOST_STATES:
        return least_cost(model)
    found = cheapest_sizes(model)
    return None if found is None else found.cost


def fluid_model(
    scenario: Scenario,
    loads: OperatorLoads,
    name: OperatorName,
    *,
    headroom: float = 1.0,
    deadline_s: float | None = None,
    start_s: float | None = None,
) -> FluidModel:
    """The model of one operator: that of the bound, or with more work, another deadline and another start-up time."""
    period_s, operator = scenario.loop.period_s, scenario.model.operator(name)
    slots = math.floor(scenario.duration_s / period_s + _ROUNDING)
    due_s = _deadline_s(scenario, name) if deadline_s is None else deadline_s
    up_s = seconds(scenario.model.cluster.start, "start") if start_s is None else start_s
    least = scenario.goal.budget.minimum(name)
    return FluidModel(
        arrivals=_arrivals(loads, name, slots, period_s, headroom),
        per_executor=_UNITS,
        deadline=slots if math.isinf(due_s) else math.ceil(due_s / period_s - _ROUNDING),
        start=math.floor(up_s / period_s + _ROUNDING),
        initial=max(least, operator.executors + operator.standby),
        least=least,
        most=max(least, scenario.goal.budget.maximum(name)),
    )


def _arrivals(loads: OperatorLoads, name: OperatorName, slots: int, period_s: float, factor: float) -> tuple[int, ...]:
    """Units of work of each slot, so that their sum is that of all work so far, rounded down."""
    work, lengths_s = loads.work(name) * factor, np.diff(loads.times_s)
    total = np.concatenate([[0.0], np.cumsum((work[1:] + work[:-1]) / 2 * lengths_s)])
    until = np.interp(np.arange(slots + 1) * period_s, loads.times_s, total) * _UNITS / period_s
    return tuple(int(units) for units in np.diff(np.floor(until + _ROUNDING)))


def _deadline_s(scenario: Scenario, name: OperatorName) -> float:
    """After which all work of an operator is served; infinite where nothing is promised, or records may be lost."""
    model = scenario.model
    if model.cluster.restart_loses or any(model.operator(each).capacity for each in model.topology.operators):
        return math.inf
    concerned = [sla for sla in scenario.goal.slas if sla.path is None and sla.operator in (None, name)]
    return min((sla.latency_s + sla.window_s for sla in concerned), default=math.inf)

"""Present knower: a controller that knows the exact present load and the model, and nothing of the future.

It bounds what a policy can gain by better measurement: what is left to the clairvoyant is forecasting. At each turn an
operator gets the executors that would keep, by the queueing models, the latency of the SLA at `headroom` times the
present load, or as many as work off, within that latency, the backlog beyond what the latency allows. What it wants
falls only after a start-up time, so that an executor that is soon needed again is not started twice.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar

import msgspec

from rheostat.decision import Decision
from rheostat.describe import resize
from rheostat.duration import seconds
from rheostat.experiments.clairvoyant.schedule import TARGET, RecordedSizes, Sizes
from rheostat.experiments.clairvoyant.steady_size import SteadySizes
from rheostat.experiments.needed_executors import operator_rates
from rheostat.experiments.scenario import Scenario
from rheostat.experiments.simulate import simulate
from rheostat.names import OperatorName, PoolName
from rheostat.policies.observation import SETTLING, Observation, PoolView
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.policies.within_budget import within_budget
from rheostat.sla import Goal

HEADROOMS = (1.0, 1.15, 1.3, 1.5, 2.0, 3.0)


class PresentKnowerOptions(PolicyOptions, frozen=True, kw_only=True):
    """Options of a controller that knows the present."""

    headroom: Annotated[
        float,
        msgspec.Meta(
            ge=1,
            description="Load that is planned for over the present one. Raise it for a higher success rate at a higher "
            "price.",
        ),
    ] = 1.0


class PresentKnower(Policy[PresentKnowerOptions]):
    """Sizes pools for the true present load; made for one scenario by `present_knower`."""

    summary = "knows the present load and the model, not the future"
    scenario: ClassVar[Scenario]

    def __init__(self, goal: Goal, options: PresentKnowerOptions | None = None) -> None:
        super().__init__(goal, options)
        model = self.scenario.model
        self._steady = SteadySizes(self.scenario)
        self._keep_s = seconds(model.cluster.start, "start") + seconds(model.cluster.warm_up, "warm_up")
        self._latency_s = min((sla.latency_s for sla in goal.slas), default=1.0)
        self._wanted: dict[PoolName, deque[tuple[float, float]]] = {}

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool."""
        time_s = observation.snapshot.time_s
        rates = operator_rates(self.scenario.model, self._source_rates(observation))
        needs = {
            name: sum(self._need(observation, operator, rates[operator]) for operator in pool.operators)
            for name, pool in observation.pools.items()
        }
        wanted = {name: self._kept(name, math.ceil(need - 1e-9), time_s) for name, need in needs.items()}
        sizes = within_budget(observation, {n: w for n, w in wanted.items() if not observation.pools[n].settling})
        return [_decision(pool, needs[name], sizes.get(name)) for name, pool in observation.pools.items()]

    def _source_rates(self, observation: Observation) -> dict[str, float]:
        """Those of the load; where it comes in bursts, which the load does not show, those of the last turn."""
        model, time_s = self.scenario.model, observation.snapshot.time_s
        rates = {name: model.source(name).load.rate_at(time_s) for name in model.topology.sources}
        total, measured = sum(rates.values()), observation.measures.external_rate
        if measured is None or total <= 0 or not any(source.bursts for source in model.sources.values()):
            return rates
        return {name: rate * measured / total for name, rate in rates.items()}

    def _need(self, observation: Observation, name: OperatorName, rate: float) -> float:
        """Executors for the present input, and for the backlog that is too long."""
        cost = self.scenario.model.costs.get(name)
        times = 1.0 if cost is None else cost.rate_at(observation.snapshot.time_s)
        record_s, state = self._steady.loads.record_s(name) * times, observation.snapshot.operators.get(name)
        work, queued = rate * record_s, (state.queued or 0) if state is not None else 0
        late = max(0.0, queued * record_s - work * self._latency_s)
        headroom = self.options.headroom
        steady = self._steady.size(name, rate * headroom, self._steady.latency_s(name), times)
        return max(steady, headroom * (work + late / self._latency_s))

    def _kept(self, pool: PoolName, wanted: float, time_s: float) -> float:
        recent = self._wanted.setdefault(pool, deque())
        recent.append((time_s, wanted))
        while recent[0][0] < time_s - self._keep_s:
            recent.popleft()
        return max(number for _, number in recent)


def present_knower(scenario: Scenario) -> type[PresentKnower]:
    """The controller for one scenario, to be given to `simulate`."""
    return type("PresentKnowerOfScenario", (PresentKnower,), {"scenario": scenario, "name": "present-knower"})


class FrontierPoint(msgspec.Struct, frozen=True):
    """What one headroom paid and achieved, and the sizes that it wanted over time."""

    headroom: float
    executor_seconds: float
    success_rate: float
    sizes: Sizes = {}

    @property
    def is_met(self) -> bool:
        return self.success_rate >= TARGET


def causal_frontier(scenario: Scenario, seed: int = 0, headrooms: Iterable[float] = HEADROOMS) -> list[FrontierPoint]:
    """One run for each headroom: success against cost without knowledge of the future."""
    policy, points = present_knower(scenario), []
    for headroom in headrooms:
        recorded = RecordedSizes()
        result = simulate(scenario, policy, {"headroom": headroom}, seed=seed, listeners=[recorded])
        points.append(FrontierPoint(headroom, result.executor_seconds, result.success_rate or 0.0, recorded.sizes))
    return points


def _decision(pool: PoolView, need: float, size: int | None) -> Decision:
    if size is None:
        return pool.hold(SETTLING)
    return pool.scale(size, f"{need:.2f} executors are needed now: {resize(pool.size, size)}")

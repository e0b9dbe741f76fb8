"""The network as it is measured: a station for each pool, and the executors it has now."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from rheostat.policies.batch_cost import BatchCosts
from rheostat.policies.drs.demand import Demand
from rheostat.policies.drs.newest import NewestRate
from rheostat.policies.drs.options import DrsOptions
from rheostat.policies.drs.routes import Routes
from rheostat.policies.drs.variants import with_margin
from rheostat.policies.policy import Observation
from rheostat.queueing import ExecutorAllocation, Network, QueueModel, Station
from rheostat.sla import Goal


class NotKnownError(Exception):
    """What has to be known before anything can be decided, in words."""


class Measured(msgspec.Struct, frozen=True):
    """`operators` holds those of each station: what is decided for a pool is decided in the name of the first.

    `running` has a network whose executors are trusted with a margin; `plain` is the one without.
    `idle` says that nothing arrives and nothing is queued anywhere; `held_s` is how long records are in the network by
    Little's law, from how many there are now, and `growth` what the newest rate is of the smoothed one.
    """

    running: ExecutorAllocation
    plain: Network
    operators: tuple[tuple[str, ...], ...]
    latency_s: float | None
    idle: bool
    held_s: float = 0.0
    growth: float = 1.0

    @property
    def network(self) -> Network:
        return self.running.network


class NetworkMeasurer:
    """Builds the queueing network from observations. Remembers service rates and batch costs, which outlast a period
    in which nothing completes."""

    def __init__(self, goal: Goal, options: DrsOptions) -> None:
        self._goal, self._options = goal, options
        self._service_rates: dict[str, float] = {}
        self._batches = {name: BatchCosts() for name in goal.topology.operators}
        self._routes = Routes(goal.topology)
        self._newest = NewestRate(goal.topology)

    def learn(self, observation: Observation) -> None:
        """Remember what `observation` says about streams, services and batches."""
        self._routes.see(observation.snapshot)
        self._newest.see(observation.snapshot)
        for name, measures in observation.measures.operators.items():
            if measures.service_rate is not None:
                self._service_rates[name] = measures.service_rate
            state = observation.snapshot.operator.get(name)
            if state is not None and name not in observation.settling:
                executors = observation.snapshot.executors_of(observation.plan.pool_of[name])
                self._batches[name].see(state.batch, observation.plan.size(name), executors)

    def network(self, observation: Observation) -> Measured:
        """The network under `observation`, or an error that says what is not known."""
        plan = observation.plan
        pools = [(pool, tuple(plan.sharing(pool))) for pool in plan.pools]
        served = [(pool, operators) for pool, operators in pools if operators]
        rates = self._arrival_rates(observation)
        visits = self._routes.visits(rates) if self._options.sum_over == "results" else None
        bundles = _scaled(visits, observation.measures.external_rate)
        stations = tuple(self._station(observation, pool, operators, rates, bundles) for pool, operators in served)
        sizes = tuple(len(plan.pools[pool].executors) for pool, _ in served)
        network = Network(stations, self._external_rate(observation, stations))
        operators = tuple(each for _, each in served)
        running = ExecutorAllocation(with_margin(network, self._options.margin), sizes)
        held_s = _held_s(observation, rates, network, operators)
        growth = (self._newest.rate or network.external_rate) / network.external_rate
        return Measured(running, network, operators, observation.measures.latency_s, _idle(observation), held_s, growth)

    def _external_rate(self, observation: Observation, stations: Iterable[Station]) -> float:
        rate = observation.measures.external_rate
        if rate is None:
            raise NotKnownError("the rate from outside could not be measured")
        if rate > 0:
            return rate
        if any(station.model.arrival_rate > 0 for station in stations):
            raise NotKnownError("nothing enters, and what is on its way says nothing about the load to come")
        return 1.0  # nothing arrives anywhere: every expected latency is 0, at any rate

    def _arrival_rates(self, observation: Observation) -> dict[str, float]:
        """λ of each operator: as measured, or as it would be without bottlenecks and batches on the way."""
        measured: dict[str, float] = {}
        for name, measures in observation.measures.operators.items():
            if measures.arrival_rate is None:
                raise NotKnownError(f"the arrivals at {name!r} could not be measured")
            measured[name] = measures.arrival_rate
        external_rate = observation.measures.external_rate
        if self._options.arrivals == "measured" or not external_rate:
            return measured
        return self._routes.arrival_rates(external_rate) or measured

    def _station(
        self,
        observation: Observation,
        pool: str,
        operators: Sequence[str],
        rates: Mapping[str, float],
        bundles: Mapping[str, float],
    ) -> Station:
        demands = [self._demand(observation, name, rates[name]) for name in operators]
        if self._runs_batches(observation, operators):
            demands = [demand.bundled(bundles.get(name, 0.0)) for name, demand in zip(operators, demands, strict=True)]
        demand = demands[0] if len(demands) == 1 else Demand.together(demands)
        least = max(self._goal.budget.minimum(name) for name in operators)
        most = min(self._most(name, operators) for name in operators)
        return Station(pool, self._model(observation, operators, demand), least, max(least, most))

    def _most(self, name: str, operators: Sequence[str]) -> float:
        """An executor without a substream has nothing to do, unless it also serves an operator without a key."""
        bound = self._goal.budget.maximum(name)
        counts = [self._goal.topology.operators[each].substream_count for each in operators]
        return min(bound, max(counts)) if all(counts) else bound

    def _demand(self, observation: Observation, name: str, arrival_rate: float) -> Demand:
        measures = observation.measures.operators[name]
        return Demand(
            arrival_rate=arrival_rate,
            service_rate=self._service_rate(name, arrival_rate),
            arrival_scv=measures.arrival_scv,
            service_scv=measures.service_scv,
            batch_cost_s=self._batches[name].fitted(),
        )

    def _service_rate(self, name: str, arrival_rate: float) -> float:
        rate = self._service_rates.get(name)
        if rate is None and arrival_rate:
            raise NotKnownError(f"the service rate of {name!r} could not be measured yet")
        return rate or 1.0  # without arrivals it does not matter

    def _model(self, observation: Observation, operators: Sequence[str], demand: Demand) -> QueueModel:
        if self._runs_batches(observation, operators):
            batches = demand.batches()
            if batches is None:
                raise NotKnownError(f"what a batch of {' and '.join(operators)} costs could not be measured yet")
            return batches
        return demand.queue(variation=self._options.model != "mmk")

    def _runs_batches(self, observation: Observation, operators: Sequence[str]) -> bool:
        wanted = self._options.model
        return wanted == "microbatch" or (wanted == "auto" and _in_batches(observation, operators))


def _scaled(visits: Mapping[str, float] | None, external_rate: float | None) -> dict[str, float]:
    """Visits a second; none where either is not known."""
    return {name: each * (external_rate or 0.0) for name, each in (visits or {}).items()}


def _held_s(
    observation: Observation, rates: Mapping[str, float], network: Network, operators: Sequence[Sequence[str]]
) -> float:
    """N/λ0, the records of each station counted as its model counts arrivals; what is not known waits nowhere."""
    held = 0.0
    for station, names in zip(network.stations, operators, strict=True):
        rate = sum(rates[name] for name in names)
        queued = sum(observation.measures.operators[name].queued or 0.0 for name in names)
        held += queued * station.model.arrival_rate / rate if rate else 0.0
    return held / network.external_rate


def _in_batches(observation: Observation, operators: Iterable[str]) -> bool:
    states = (observation.snapshot.operator.get(name) for name in operators)
    return any(state is not None and state.batch is not None for state in states)


def _idle(observation: Observation) -> bool:
    return all(m.arrival_rate == 0 and m.queued == 0 for m in observation.measures.operators.values())

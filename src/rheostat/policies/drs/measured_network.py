"""Measured network: a queueing station for each pool, with its load, its service rate and its executors."""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from rheostat.measure.counters import Counter
from rheostat.measure.unknown import total
from rheostat.names import OperatorName, PoolName
from rheostat.policies.batch_cost import BatchCosts
from rheostat.policies.drs.demand import Demand
from rheostat.policies.drs.network_variants import with_margin
from rheostat.policies.drs.options import DrsOptions
from rheostat.policies.observation import NotMeasuredError, Observation, PoolView
from rheostat.policies.routes import Routes
from rheostat.queueing import ExecutorAllocation, Network, QueueModel, Station
from rheostat.sla import MOST_EXECUTORS, Goal
from rheostat.snapshot import Snapshot
from rheostat.topology import Topology

_TURNS = 5

_DEVIATIONS = 2.0
"""Standard deviations of the arrivals of one turn from which on a difference counts as growth."""


class NewestRate:
    """The rate at which records entered in the last turn, before any smoothing.

    Of a source that several operators read, what the first of them reads counts. Some plants count records only when a
    batch reads them: where one of the last turns shows none, the last turn alone says nothing, and the rate is None.
    """

    def __init__(self, topology: Topology) -> None:
        self._counters: dict[tuple[str, OperatorName], Counter] = {}
        for name in topology.sources:
            read = [stream for stream in topology.streams if stream.producer == name]
            self._counters.update({(stream.name, stream.consumer): Counter() for stream in read[:1]})
        self._rates: deque[float | None] = deque(maxlen=_TURNS)

    @property
    def rate(self) -> float | None:
        return self._rates[-1] if self._rates and 0 not in self._rates else None

    def update(self, snapshot: Snapshot) -> None:
        rows = {(stream.name, stream.consumer): stream.rows for stream in snapshot.streams}
        rates = [counter.rate(rows.get(stream), snapshot.time_s) for stream, counter in self._counters.items()]
        self._rates.append(total(rates))


class MeasuredNetwork(msgspec.Struct, frozen=True):
    """`pools` holds the pool of each station.

    `running` has a network whose executors are trusted with a margin; `plain` is the one without.
    `idle` says that nothing arrives and nothing is queued anywhere; `held_s` is how long records are in the network by
    Little's law, from how many there are now; `growth` is the newest rate over the smoothed one; `most` is how many
    executors budget and cluster allow these pools in all; `unmeasured` are the other pools, with what is not known;
    `latencies_s` are those of the slowest operator of each pool.
    """

    running: ExecutorAllocation
    plain: Network
    pools: tuple[PoolView, ...]
    latency_s: float | None
    idle: bool
    held_s: float = 0.0
    growth: float = 1.0
    most: float = math.inf
    unmeasured: Mapping[PoolName, str] = {}
    latencies_s: Mapping[PoolName, float] = {}

    @property
    def network(self) -> Network:
        return self.running.network


class NetworkMeasurer:
    """Builds the queueing network from observations. Keeps service rates and batch costs over periods in which nothing
    completes."""

    def __init__(self, goal: Goal, options: DrsOptions) -> None:
        self._goal, self._options = goal, options
        self._service_rates: dict[OperatorName, float] = {}
        self._batches = {name: BatchCosts() for name in goal.topology.operators}
        self._routes = Routes(goal.topology)
        self._newest = NewestRate(goal.topology)

    def learn(self, observation: Observation) -> None:
        """Update streams, service rates and batch costs from `observation`."""
        self._routes.update(observation.snapshot)
        self._newest.update(observation.snapshot)
        for name, measures in observation.measures.operators.items():
            if measures.service_rate is not None:
                self._service_rates[name] = measures.service_rate
            state = observation.snapshot.operators.get(name)
            pool = observation.pools[observation.plan.pool_of[name]]
            if state is not None and not pool.settling:
                self._batches[name].update(state.batch, pool.size, pool.executors)

    def network(self, observation: Observation) -> MeasuredNetwork:
        """The network under `observation`, or an error that says what is not known."""
        rates = self._arrival_rates(observation)
        complete = rates.keys() == observation.measures.operators.keys()
        visits = self._routes.visits(rates) if complete and self._options.sum_over == "results" else None
        bundles = _scaled(visits, observation.measures.external_rate)
        stations, unmeasured = self._stations(observation, rates, bundles)
        pools = tuple(pool for name, pool in observation.pools.items() if name not in unmeasured)
        network = Network(stations, self._external_rate(observation, stations))
        running = ExecutorAllocation(with_margin(network, self._options.margin), tuple(pool.size for pool in pools))
        held_s = _held_s(observation, pools, rates, network)
        growth = _growth(self._newest.rate, network.external_rate, observation.measures.interval_s)
        return MeasuredNetwork(
            running=running,
            plain=network,
            pools=pools,
            latency_s=observation.measures.latency_s,
            idle=_idle(observation),
            held_s=held_s,
            growth=growth,
            most=observation.most_executors - sum(observation.pools[name].size for name in unmeasured),
            unmeasured=unmeasured,
            latencies_s=_latencies_s(observation),
        )

    def _external_rate(self, observation: Observation, stations: Iterable[Station]) -> float:
        rate = observation.measures.external_rate
        if rate is None:
            raise NotMeasuredError("the rate at the sources was not measured: hold")
        if rate > 0:
            return rate
        if any(station.model.arrival_rate > 0 for station in stations):
            raise NotMeasuredError("nothing enters, and records on their way do not tell the load to come: hold")
        return 1.0  # nothing arrives anywhere: every expected latency is 0, at any rate

    def _arrival_rates(self, observation: Observation) -> dict[OperatorName, float]:
        """λ of each operator: as measured, or as it would be without bottlenecks and batches on the way."""
        operators = observation.measures.operators
        measured = {name: m.arrival_rate for name, m in operators.items() if m.arrival_rate is not None}
        external_rate = observation.measures.external_rate
        if self._options.arrivals == "measured" or not external_rate:
            return measured
        return self._routes.arrival_rates(external_rate) or measured

    def _stations(
        self, observation: Observation, rates: Mapping[OperatorName, float], bundles: Mapping[OperatorName, float]
    ) -> tuple[tuple[Station, ...], dict[PoolName, str]]:
        """The stations of the pools that were measured, and what is not known of the others. All is never unknown."""
        stations: list[Station] = []
        unmeasured: dict[PoolName, str] = {}
        for name, pool in observation.pools.items():
            try:
                stations.append(self._station(observation, pool, rates, bundles))
            except NotMeasuredError as missing:
                unmeasured[name] = str(missing)
        if not stations:
            raise NotMeasuredError(next(iter(unmeasured.values())))
        return tuple(stations), unmeasured

    def _station(
        self,
        observation: Observation,
        pool: PoolView,
        rates: Mapping[OperatorName, float],
        bundles: Mapping[OperatorName, float],
    ) -> Station:
        if unknown := [name for name in pool.operators if name not in rates]:
            raise NotMeasuredError(f"the arrival rate of {unknown[0]!r} was not measured: hold")
        demands = [self._demand(observation, name, rates[name]) for name in pool.operators]
        if self._runs_batches(observation, pool.operators):
            named = zip(pool.operators, demands, strict=True)
            demands = [demand.bundled(bundles.get(name, 0.0)) for name, demand in named]
        demand = demands[0] if len(demands) == 1 else Demand.together(demands)
        most = pool.useful if pool.useful < MOST_EXECUTORS else math.inf  # models are much faster without a bound
        return Station(pool.name, self._model(observation, pool.operators, demand), pool.bounds.least, most)

    def _demand(self, observation: Observation, name: OperatorName, arrival_rate: float) -> Demand:
        measures = observation.measures.operators[name]
        return Demand(
            arrival_rate=arrival_rate,
            service_rate=self._service_rate(name, arrival_rate),
            arrival_scv=measures.arrival_scv,
            service_scv=measures.service_scv,
            batch_cost=self._batches[name].fitted(),
        )

    def _service_rate(self, name: OperatorName, arrival_rate: float) -> float:
        rate = self._service_rates.get(name)
        if rate is None and arrival_rate:
            raise NotMeasuredError(f"the service rate of {name!r} was not measured yet: hold")
        return rate or 1.0  # without arrivals it does not matter

    def _model(self, observation: Observation, operators: Sequence[OperatorName], demand: Demand) -> QueueModel:
        if self._runs_batches(observation, operators):
            batches = demand.batches()
            if batches is None:
                raise NotMeasuredError(f"the cost of a batch of {' and '.join(operators)} was not measured yet: hold")
            return batches
        return demand.queue(variation=self._options.model != "mmk")

    def _runs_batches(self, observation: Observation, operators: Sequence[OperatorName]) -> bool:
        wanted = self._options.model
        return wanted == "microbatch" or (wanted == "auto" and _in_batches(observation, operators))


def _scaled(visits: Mapping[OperatorName, float] | None, external_rate: float | None) -> dict[OperatorName, float]:
    """Visits a second; none where either is not known."""
    return {name: each * (external_rate or 0.0) for name, each in (visits or {}).items()}


def _held_s(
    observation: Observation, pools: Sequence[PoolView], rates: Mapping[OperatorName, float], network: Network
) -> float:
    """N/λ0, the records of each station counted as its model counts arrivals; what is not known waits nowhere."""
    held = 0.0
    for station, pool in zip(network.stations, pools, strict=True):
        rate = sum(rates[name] for name in pool.operators)
        queued = sum(observation.measures.operators[name].queued or 0.0 for name in pool.operators)
        held += queued * station.model.arrival_rate / rate if rate else 0.0
    return held / network.external_rate


def _latencies_s(observation: Observation) -> dict[PoolName, float]:
    operators = observation.measures.operators
    known = {
        name: [latency_s for each in pool.operators if (latency_s := operators[each].latency_s) is not None]
        for name, pool in observation.pools.items()
    }
    return {name: max(each) for name, each in known.items() if each}


def _growth(newest: float | None, smoothed: float, interval_s: float) -> float:
    """The newest rate over the smoothed one; 1 where the difference may be chance, by the number of arrivals."""
    growth = (newest or smoothed) / smoothed
    deviation = 1 / math.sqrt(smoothed * interval_s) if interval_s > 0 else 0.0
    return growth if abs(growth - 1) > _DEVIATIONS * deviation else 1.0


def _in_batches(observation: Observation, operators: Iterable[OperatorName]) -> bool:
    states = (observation.snapshot.operators.get(name) for name in operators)
    return any(state is not None and state.batch is not None for state in states)


def _idle(observation: Observation) -> bool:
    return all(m.arrival_rate == 0 and m.queued == 0 for m in observation.measures.operators.values())

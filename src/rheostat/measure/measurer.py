"""Measurer: rates, service rates, utilisation and latency of every operator from successive snapshots (DRS)."""

from collections import Counter as Tally

from rheostat.measure.counters import Counter, ServiceRate
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.measure.pool_rates import PoolMeasures, PoolRates
from rheostat.measure.smoothed_measures import SmoothedMeasures
from rheostat.measure.smoothing import Unsmoothed, parse_smoothing
from rheostat.measure.unknown import either, growth, total
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.snapshot import Latency, OperatorState, Snapshot
from rheostat.topology import Source, Topology

_SILENT_S = 10.0
"""From a source without a new record for so long none comes any more."""


class Measurer:
    """Turns snapshots, in the order of their times, into measures smoothed as `smoothing` says.

    What cannot be measured is None: rates at the first snapshot, and whatever depends on a counter that is missing
    or fell. The same snapshots and plans give the same measures. `raw` holds the last ones unsmoothed.
    """

    def __init__(self, topology: Topology, smoothing: str = "none") -> None:
        self._operators = {name: _OperatorRates() for name in topology.operators}
        self._pools: dict[PoolName, PoolRates] = {}
        self._sources = [_SourceRate(topology, source) for source in topology.sources.values()]
        self._time_s: float | None = None
        self.raw: Measures | None = None
        smoother = parse_smoothing(smoothing)
        self._smoothed = None if smoother is Unsmoothed else SmoothedMeasures(topology, smoother)

    def update(self, snapshot: Snapshot, plan: Plan) -> Measures:
        """The measures of the time between the snapshot before and `snapshot`, under `plan`."""
        self.raw = self._measure(snapshot, plan)
        return self.raw if self._smoothed is None else self._smoothed.update(self.raw, snapshot)

    def _measure(self, snapshot: Snapshot, plan: Plan) -> Measures:
        interval_s = 0.0 if self._time_s is None else snapshot.time_s - self._time_s
        self._time_s = snapshot.time_s
        pools = {name: self._pools.setdefault(name, PoolRates(name)).update(snapshot, plan) for name in plan.pools}
        sharers = Tally(plan.pool_of.values())
        operators = {
            name: rates.update(snapshot, name, pools[plan.pool_of[name]], alone=sharers[plan.pool_of[name]] == 1)
            for name, rates in self._operators.items()
        }
        return Measures(
            interval_s,
            operators,
            latency_s=_mean(snapshot.latency) if interval_s > 0 else None,
            external_rate=total([source.update(snapshot, operators) for source in self._sources]),
            external_until_s=min((s.until_s for s in self._sources if s.until_s is not None), default=snapshot.time_s),
        )


def substream_loads(before: Snapshot, now: Snapshot) -> dict[OperatorName, list[float]]:
    """Arrivals of each substream between two snapshots, by operator; operators with an unknown one are left out."""
    earlier = {(state.operator, state.index): state.arrived for state in before.substreams}
    loads: dict[OperatorName, list[float]] = {}
    for operator in dict.fromkeys(state.operator for state in now.substreams):
        states = sorted(now.substreams_of(operator), key=lambda state: state.index)
        grown = [growth(state.arrived, earlier.get((operator, state.index))) for state in states]
        known = [float(amount) for amount in grown if amount is not None]
        if len(known) == len(grown):
            loads[operator] = known
    return loads


class _OperatorRates:
    """Follows one operator. Utilisation is its pool's: operators that share a pool share its utilisation."""

    def __init__(self) -> None:
        self._arrived, self._completed, self._busy = Counter(), Counter(), Counter()
        self._service = ServiceRate()
        self._seen = False

    def update(self, snapshot: Snapshot, name: OperatorName, pool: PoolMeasures, *, alone: bool) -> OperatorMeasures:
        """`alone` says that no other operator uses the pool, so that its executors' counters are the operator's."""
        state, time_s = snapshot.operators.get(name) or OperatorState(name), snapshot.time_s
        first, self._seen = not self._seen, True
        service_rate = self._service.update(state.completed, state.busy_s)
        if state.busy_s is None:
            self._busy = Counter()  # while it was unknown it may have worked uncounted
        useful = self._busy.rate(state.busy_s, time_s)
        arrival_rate = self._arrived.rate(state.arrived, time_s)
        completion_rate = self._completed.rate(state.completed, time_s)
        utilisation = pool.utilisation
        if alone:
            arrival_rate = pool.arrival_rate() if arrival_rate is None else arrival_rate
            completion_rate = pool.completion_rate() if completion_rate is None else completion_rate
            service_rate = _preferred(state, service_rate, pool.service_rate)
            utilisation = either(utilisation, useful / pool.serving if useful is not None and pool.serving else None)
        return OperatorMeasures(
            arrival_rate=arrival_rate,
            completion_rate=completion_rate,
            service_rate=service_rate,
            utilisation=utilisation,
            queued=_queued(state),
            latency_s=None if first else _mean(state.latency),
            arrival_scv=state.arrival_scv,
            service_scv=state.service_scv,
        )


class _SourceRate:
    """Records per second from one source: by its stream, or else by an operator that reads nothing but it.

    `until_s` is when the last of them came, if the source is read in batches.
    """

    def __init__(self, topology: Topology, source: Source) -> None:
        self._stream = source.name
        self._rows = Counter()
        self._rate: float | None = None
        self.until_s: float | None = None
        self._readers = [name for name, it in topology.operators.items() if tuple(it.inputs) == (source.name,)]

    def update(self, snapshot: Snapshot, operators: dict[OperatorName, OperatorMeasures]) -> float | None:
        by_reader = (operators[reader].arrival_rate for reader in self._readers)
        return either(self._by_stream(snapshot), next((known for known in by_reader if known is not None), None))

    def _by_stream(self, snapshot: Snapshot) -> float | None:
        """Of a source that is read in batches: the rate at which those came that were read since, however long the
        batches took; as before until there are new ones, or until they fail to come."""
        known = [(s.rows, s.until_s) for s in snapshot.streams if s.name == self._stream and s.rows is not None]
        rows, until_s = max(known, key=lambda each: each[0], default=(None, None))
        if rows is None or until_s is None:
            self.until_s = None
            return self._rows.rate(rows, snapshot.time_s)
        if snapshot.time_s - until_s > _SILENT_S:
            until_s = snapshot.time_s
        if self.until_s is None or until_s > self.until_s:
            self.until_s = until_s
            self._rate = self._rows.rate(rows, until_s)
        return self._rate


def _preferred(state: OperatorState, own: float | None, executors: float | None) -> float | None:
    """The mean over executors, so that each counts as one whatever its speed. But the records of a micro-batch complete
    together when its longest task ends, and their number per executor is known less well than their sum."""
    return either(executors, own) if state.batch is None else either(own, executors)


def _mean(latency: Latency | None) -> float | None:
    return latency.mean_s if latency is not None and latency.count > 0 else None


def _queued(state: OperatorState) -> float | None:
    if state.queued is not None:
        return float(state.queued)
    if state.arrived is None or state.completed is None or state.lost is None:
        return None
    return float(max(0, state.arrived - state.completed - state.lost))

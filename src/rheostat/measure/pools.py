"""What a pool's executors did between two snapshots, also while some of them come and go."""

from collections.abc import Iterable
from typing import NamedTuple

from rheostat.measure.counter import Counter, Growth
from rheostat.measure.service import ServiceRate
from rheostat.measure.unknown import either, total
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase, ExecutorState, Snapshot

_NOT_YET_SERVING = (ExecutorPhase.REQUESTED, ExecutorPhase.STARTING, ExecutorPhase.WARM)


class PoolMeasures(NamedTuple):
    """All executors of a pool over one period; `serving` is how many of them served, on average."""

    utilisation: float | None
    service_rate: float | None
    arrival_rate: float | None
    completion_rate: float | None
    serving: float


class PoolRates:
    """Follows the executors of one pool from snapshot to snapshot."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._executors: dict[int, _ExecutorRates] = {}
        self._time_s: float | None = None

    def update(self, snapshot: Snapshot, plan: Plan) -> PoolMeasures:
        """The period that ends with `snapshot`. Where it lists no executors, as many serve as `plan` wants."""
        states = snapshot.executors_of(self._name)
        known, since_s = self._executors, self._time_s
        self._executors = {state.id: known.get(state.id) or _ExecutorRates(since_s) for state in states}
        self._time_s = snapshot.time_s
        grown = [self._executors[state.id].update(state, snapshot.time_s) for state in states]
        return _summed(grown, unlisted=0 if states else len(plan.pools[self._name].executors))


class _ExecutorGrowth(NamedTuple):
    """One executor over a period. `serving` is the share of it in which it served: half, if it began within it."""

    phase: ExecutorPhase
    serving: float
    arrived: Growth | None
    completed: Growth | None
    busy: Growth | None
    service_rate: float | None


class _ExecutorRates:
    """`since_s` is when the pool was seen without this executor: it had done nothing then."""

    def __init__(self, since_s: float | None) -> None:
        start = None if since_s is None else 0
        self._arrived, self._completed, self._busy = (Counter(start, since_s or 0.0) for _ in range(3))
        self._service = ServiceRate(start)
        self._served_before = since_s is None

    def update(self, state: ExecutorState, time_s: float) -> _ExecutorGrowth:
        idle = 0 if state.phase in _NOT_YET_SERVING else None
        arrived, completed = either(state.arrived, idle), either(state.completed, idle)
        busy_s = either(state.busy_s, idle)
        served_before, self._served_before = self._served_before, state.phase is ExecutorPhase.ACTIVE
        return _ExecutorGrowth(
            state.phase,
            1.0 if served_before else 0.5,
            self._arrived.grown(arrived, time_s),
            self._completed.grown(completed, time_s),
            self._busy.grown(busy_s, time_s),
            self._service.update(completed, busy_s),
        )


def _summed(grown: list[_ExecutorGrowth], unlisted: int) -> PoolMeasures:
    active = [each for each in grown if each.phase is ExecutorPhase.ACTIVE]
    working = [*active, *(each for each in grown if each.phase is ExecutorPhase.LEAVING)]
    serving = sum(each.serving for each in active) + unlisted
    useful = _total_rate(each.busy for each in active)
    service_rates = [each.service_rate for each in active if each.service_rate is not None]
    return PoolMeasures(
        utilisation=None if useful is None else useful / serving,
        service_rate=sum(service_rates) / len(service_rates) if service_rates else None,
        arrival_rate=_total_rate(each.arrived for each in working),
        completion_rate=_total_rate(each.completed for each in working),
        serving=serving,
    )


def _total_rate(growths: Iterable[Growth | None]) -> float | None:
    return total(None if growth is None else growth.rate for growth in growths)

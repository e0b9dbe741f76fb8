"""What a pool's executors did between two snapshots, also while some of them come and go."""

from typing import NamedTuple

from rheostat.measure.counter import Counter
from rheostat.measure.service import ServiceRate
from rheostat.measure.unknown import total
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
        for state in states:
            self._executors[state.id].update(state, snapshot.time_s)
        return _summed(list(self._executors.values()), 0 if states else len(plan.pools[self._name].executors))


class _ExecutorRates:
    """One executor over the last period. `since_s` is when the pool was seen without it: it had done nothing then.

    `serving` is the share of the period in which it served: half, if it began within it.
    """

    __slots__ = ("_arrived", "_busy", "_completed", "_service", "arrivals", "completions", "phase", "service_rate",
                 "serving", "useful")  # fmt: skip

    def __init__(self, since_s: float | None) -> None:
        start, start_s = (None, 0.0) if since_s is None else (0, since_s)
        self._arrived, self._completed = Counter(start, start_s), Counter(start, start_s)
        self._busy, self._service = Counter(start, start_s), ServiceRate(start)
        self.phase = ExecutorPhase.ACTIVE if since_s is None else ExecutorPhase.REQUESTED
        self.serving = 1.0
        self.arrivals: float | None = None
        self.completions: float | None = None
        self.useful: float | None = None
        self.service_rate: float | None = None

    def update(self, state: ExecutorState, time_s: float) -> None:
        arrived, completed, busy_s = state.arrived, state.completed, state.busy_s
        if state.phase in _NOT_YET_SERVING:
            arrived, completed, busy_s = arrived or 0, completed or 0, busy_s or 0.0
        self.serving = 1.0 if self.phase is ExecutorPhase.ACTIVE else 0.5
        self.phase = state.phase
        self.arrivals = self._arrived.rate(arrived, time_s)
        self.completions = self._completed.rate(completed, time_s)
        self.useful = self._busy.rate(busy_s, time_s)
        self.service_rate = self._service.update(completed, busy_s)


def _summed(executors: list[_ExecutorRates], unlisted: int) -> PoolMeasures:
    active = [each for each in executors if each.phase is ExecutorPhase.ACTIVE]
    working = [each for each in executors if each.phase in (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)]
    serving = sum([each.serving for each in active]) + unlisted
    useful = total([each.useful for each in active])
    service_rates = [each.service_rate for each in active if each.service_rate is not None]
    return PoolMeasures(
        utilisation=None if useful is None else useful / serving,
        service_rate=sum(service_rates) / len(service_rates) if service_rates else None,
        arrival_rate=total([each.arrivals for each in working]),
        completion_rate=total([each.completions for each in working]),
        serving=serving,
    )

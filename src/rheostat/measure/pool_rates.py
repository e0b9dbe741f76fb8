"""Pool rates: rates of a pool's executors between two snapshots, also while executors join or leave."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from rheostat.measure.counters import Counter, ServiceRate
from rheostat.measure.unknown import growth, total
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase, ExecutorState, Snapshot

_NOT_YET_SERVING = (ExecutorPhase.REQUESTED, ExecutorPhase.STARTING, ExecutorPhase.WARM)
_WORKING = (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)


@dataclass(slots=True)
class PoolMeasures:
    """All executors of a pool over one period; `serving` is how many of them served, on average."""

    utilisation: float | None
    service_rate: float | None
    serving: float
    _now: tuple[ExecutorState, ...]
    _before: Mapping[int, ExecutorState] | None
    _interval_s: float

    def arrival_rate(self) -> float | None:
        """Arrivals at all executors together, where all of them are known."""
        return self._rate(attrgetter("arrived"))

    def completion_rate(self) -> float | None:
        """Completions at all executors together, where all of them are known."""
        return self._rate(attrgetter("completed"))

    def _rate(self, counter: Callable[[ExecutorState], int | None]) -> float | None:
        before = self._before
        if before is None or self._interval_s <= 0:
            return None
        working = [state for state in self._now if state.phase in _WORKING]
        grown = total([growth(counter(state), _reading(before.get(state.id), counter)) for state in working])
        return None if grown is None else grown / self._interval_s


class PoolRates:
    """Follows the executors of one pool from snapshot to snapshot."""

    def __init__(self, name: PoolName) -> None:
        self._name = name
        self._executors: dict[int, _ExecutorRates] = {}
        self._states: dict[int, ExecutorState] | None = None
        self._time_s = 0.0

    def update(self, snapshot: Snapshot, plan: Plan) -> PoolMeasures:
        """The period that ends with `snapshot`. Where it lists no executors, as many serve as in `plan`."""
        states, time_s = snapshot.executors_of(self._name), snapshot.time_s
        before, since_s = self._states, self._time_s
        known, start_s = self._executors, None if before is None else since_s
        self._executors = {state.id: known.get(state.id) or _ExecutorRates(start_s) for state in states}
        self._states, self._time_s = {state.id: state for state in states}, time_s
        for state in states:
            self._executors[state.id].update(state, time_s)
        active = [each for each in self._executors.values() if each.phase is ExecutorPhase.ACTIVE]
        serving = sum([each.serving for each in active]) if states else len(plan.pools[self._name].executors)
        useful = total([each.useful for each in active])
        service_rates = [each.service_rate for each in active if each.service_rate is not None]
        return PoolMeasures(
            None if useful is None else useful / serving,
            sum(service_rates) / len(service_rates) if service_rates else None,
            serving,
            states,
            before,
            time_s - since_s,
        )


class _ExecutorRates:
    """One executor over the last period. `since_s` is when the pool was observed without it: it had done nothing then.

    `serving` is the share of the period in which it served: half, if it began within it.
    """

    __slots__ = ("_busy", "_service", "phase", "service_rate", "serving", "useful")

    def __init__(self, since_s: float | None) -> None:
        start = None if since_s is None else 0
        self._busy, self._service = Counter(start, since_s or 0.0), ServiceRate(start)
        self.phase = ExecutorPhase.ACTIVE if since_s is None else ExecutorPhase.REQUESTED
        self.serving = 1.0
        self.useful: float | None = None
        self.service_rate: float | None = None

    def update(self, state: ExecutorState, time_s: float) -> None:
        completed, busy_s = state.completed, state.busy_s
        if state.phase in _NOT_YET_SERVING:
            completed, busy_s = completed or 0, busy_s or 0.0
        self.serving = 1.0 if self.phase is ExecutorPhase.ACTIVE else 0.5
        self.phase = state.phase
        if busy_s is None:
            self._busy = Counter()  # while it was unknown it may have worked uncounted
        self.useful = self._busy.rate(busy_s, time_s)
        self.service_rate = self._service.update(completed, busy_s)


def _reading(state: ExecutorState | None, counter: Callable[[ExecutorState], int | None]) -> int | None:
    """The earlier value of the counter: 0 for an executor that did not serve yet."""
    if state is None:
        return 0
    value = counter(state)
    return 0 if value is None and state.phase in _NOT_YET_SERVING else value

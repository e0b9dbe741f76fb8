"""Actions: accepted decisions on their way to becoming real, and what each brought, beside what was predicted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rheostat.decision import Effect
from rheostat.duration import human
from rheostat.loop.turn import Outcome
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.snapshot import Snapshot


@dataclass(slots=True)
class Action:
    """One action on a pool: when it was accepted, when it was finished, and what was measured since."""

    revision: int
    pool: PoolName
    accepted_s: float
    finished_s: float | None = None
    latencies_s: list[float] = field(default_factory=list)
    utilisations: list[float] = field(default_factory=list)

    def effect(self, executors: int | None) -> Effect:
        """The mean of what was measured since it was finished."""
        return Effect(_mean(self.latencies_s), _mean(self.utilisations), executors)

    def replaced(self, time_s: float) -> Outcome:
        """What is known of it when another action takes its place."""
        measured = self.latencies_s or self.utilisations
        note = f"replaced by another action after {human(time_s - self.accepted_s)}"
        return Outcome(self.revision, self.effect(None) if measured else None, note)

    def measure(self, operators: Sequence[OperatorMeasures]) -> None:
        """Add one more period of the pool's `operators`."""
        latency_s = _latency_s(operators)
        utilisation = next((each.utilisation for each in operators if each.utilisation is not None), None)
        self.latencies_s += [] if latency_s is None else [latency_s]
        self.utilisations += [] if utilisation is None else [utilisation]


class ActionTracker:
    """Follows actions until their effect has been measured for `effect_window_s`.

    One that is not finished after `timeout_s` is given up: otherwise a cluster that cannot give the last executor would
    block its pool for good.
    """

    def __init__(self, effect_window_s: float, timeout_s: float, pending: Iterable[Action] = ()) -> None:
        self._effect_window_s = effect_window_s
        self._timeout_s = timeout_s
        self._pending = list(pending)

    def begin(self, accepted: Iterable[tuple[int, PoolName]], time_s: float) -> list[Outcome]:
        """Follow the actions of one turn, given by revision and pool; returns what is known of those they replace."""
        begun = [Action(revision, pool, time_s) for revision, pool in accepted]
        pools = {action.pool for action in begun}
        replaced = [action.replaced(time_s) for action in self._pending if action.pool in pools]
        self._pending = [action for action in self._pending if action.pool not in pools] + begun
        return replaced

    def observe(
        self, snapshot: Snapshot, measures: Measures, settling: frozenset[PoolName], plan: Plan
    ) -> list[Outcome]:
        """The outcomes that are known now. Only whole periods after an action was finished count."""
        outcomes: list[Outcome] = []
        for action in list(self._pending):
            if action.pool in settling:
                outcome = self._waited(action, snapshot.time_s)
            else:
                outcome = self._measured(action, snapshot, measures, plan)
            if outcome is not None:
                outcomes.append(outcome)
                self._pending.remove(action)
        return outcomes

    def _waited(self, action: Action, time_s: float) -> Outcome | None:
        action.finished_s = None
        waited_s = time_s - action.accepted_s
        if waited_s < self._timeout_s:
            return None
        return Outcome(action.revision, note=f"not finished after {human(waited_s)}")

    def _measured(self, action: Action, snapshot: Snapshot, measures: Measures, plan: Plan) -> Outcome | None:
        if action.pool not in plan.pools:
            return action.replaced(snapshot.time_s)
        if action.finished_s is None:
            action.finished_s = snapshot.time_s
            return None
        action.measure([measures.operators[operator] for operator in plan.sharing(action.pool)])
        if snapshot.time_s - action.finished_s < self._effect_window_s:
            return None
        return Outcome(action.revision, action.effect(_serving(snapshot, action.pool, plan)))


def _serving(snapshot: Snapshot, pool: PoolName, plan: Plan) -> int:
    return sum(1 for _ in snapshot.active(pool)) if snapshot.executors_of(pool) else plan.pools[pool].size


def _latency_s(operators: Sequence[OperatorMeasures]) -> float | None:
    """The mean over the records that a pool completed, whatever their operator."""
    known = [(each.latency_s, each.completion_rate or 0.0) for each in operators if each.latency_s is not None]
    total = sum(rate for _, rate in known)
    if total > 0:
        return sum(latency_s * rate for latency_s, rate in known) / total
    return _mean([latency_s for latency_s, _ in known])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None

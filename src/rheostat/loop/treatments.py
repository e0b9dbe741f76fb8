"""Treatments under way, and what each brought once it was real: prediction and outcome side by side."""

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
class Treatment:
    """One accepted decision on its way: since when it is wanted, since when it is real, what was seen since."""

    revision: int
    pool: PoolName
    since_s: float
    real_since_s: float | None = None
    latencies_s: list[float] = field(default_factory=list)
    utilisations: list[float] = field(default_factory=list)

    def effect(self, executors: int | None) -> Effect:
        """The mean of what was seen since it is real."""
        return Effect(_mean(self.latencies_s), _mean(self.utilisations), executors)

    def cut_short(self, time_s: float) -> Outcome:
        """What is known of it when the next treatment takes its place."""
        seen = self.latencies_s or self.utilisations
        note = f"replaced after {human(time_s - self.since_s)}"
        return Outcome(self.revision, self.effect(None) if seen else None, note)

    def see(self, operators: Sequence[OperatorMeasures]) -> None:
        """One more period of the pool's `operators`."""
        latency_s = _latency_s(operators)
        utilisation = next((each.utilisation for each in operators if each.utilisation is not None), None)
        self.latencies_s += [] if latency_s is None else [latency_s]
        self.utilisations += [] if utilisation is None else [utilisation]


class Treatments:
    """Follows each pool's treatments from the decision until their effect was observed for `settle_s`."""

    def __init__(self, settle_s: float, patience_s: float, under_way: Iterable[Treatment] = ()) -> None:
        self._settle_s = settle_s
        self._patience_s = patience_s
        self._under_way = list(under_way)
        self._settling_since_s: dict[PoolName, float] = {}

    def blocking(self, settling: frozenset[PoolName], time_s: float) -> frozenset[PoolName]:
        """The pools that must be left alone. Patience with a plan that does not become real has an end:
        otherwise a cluster that cannot give the last executor would freeze the pool for good."""
        since = {pool: self._settling_since_s.get(pool, time_s) for pool in settling}
        self._settling_since_s = since
        return frozenset(pool for pool, since_s in since.items() if time_s - since_s < self._patience_s)

    def begin(self, accepted: Iterable[tuple[int, PoolName]], time_s: float) -> list[Outcome]:
        """Follow the decisions of one turn, given by revision and pool. What is known of the treatments that they
        replace is returned."""
        begun = [Treatment(revision, pool, time_s) for revision, pool in accepted]
        pools = {treatment.pool for treatment in begun}
        replaced = [old.cut_short(time_s) for old in self._under_way if old.pool in pools]
        self._under_way = [old for old in self._under_way if old.pool not in pools] + begun
        self._settling_since_s.update(dict.fromkeys(pools, time_s))
        return replaced

    def observe(
        self, snapshot: Snapshot, measures: Measures, settling: frozenset[PoolName], plan: Plan
    ) -> list[Outcome]:
        """The outcomes that are known now. Only whole periods after the treatment became real are looked at."""
        outcomes: list[Outcome] = []
        for treatment in list(self._under_way):
            if treatment.pool in settling:
                outcome = self._wait(treatment, snapshot.time_s)
            else:
                outcome = self._look(treatment, snapshot, measures, plan)
            if outcome is not None:
                outcomes.append(outcome)
                self._under_way.remove(treatment)
        return outcomes

    def _wait(self, treatment: Treatment, time_s: float) -> Outcome | None:
        treatment.real_since_s = None
        waited_s = time_s - treatment.since_s
        if waited_s < self._patience_s:
            return None
        return Outcome(treatment.revision, note=f"not real after {human(waited_s)}")

    def _look(self, treatment: Treatment, snapshot: Snapshot, measures: Measures, plan: Plan) -> Outcome | None:
        if treatment.pool not in plan.pools:
            return treatment.cut_short(snapshot.time_s)
        if treatment.real_since_s is None:
            treatment.real_since_s = snapshot.time_s
            return None
        treatment.see([measures.operators[operator] for operator in plan.sharing(treatment.pool)])
        if snapshot.time_s - treatment.real_since_s < self._settle_s:
            return None
        return Outcome(treatment.revision, treatment.effect(_serving(snapshot, treatment.pool, plan)))


def _serving(snapshot: Snapshot, pool: PoolName, plan: Plan) -> int:
    return sum(1 for _ in snapshot.active(pool)) if snapshot.executors_of(pool) else plan.pools[pool].size


def _latency_s(operators: Sequence[OperatorMeasures]) -> float | None:
    """Of the records that a pool completed, whatever their operator."""
    known = [(each.latency_s, each.completion_rate or 0.0) for each in operators if each.latency_s is not None]
    total = sum(rate for _, rate in known)
    if total > 0:
        return sum(latency_s * rate for latency_s, rate in known) / total
    return _mean([latency_s for latency_s, _ in known])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None

"""Treatments under way, and what each brought once it was real: prediction and outcome side by side."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from rheostat.decision import Effect
from rheostat.duration import human
from rheostat.loop.turn import Outcome, Verdict
from rheostat.measure.measures import Measures
from rheostat.plan import Plan
from rheostat.snapshot import Snapshot


@dataclass(slots=True)
class Treatment:
    """One accepted decision on its way: since when it is wanted, since when it is real, what was seen since."""

    revision: int
    operator: str
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

    def see(self, measures: Measures) -> None:
        seen = measures.operators[self.operator]
        self.latencies_s += [] if seen.latency_s is None else [seen.latency_s]
        self.utilisations += [] if seen.utilisation is None else [seen.utilisation]


class Treatments:
    """Follows each operator's treatment from the decision until its effect was observed for `settle_s`."""

    def __init__(self, settle_s: float, patience_s: float, under_way: Iterable[Treatment] = ()) -> None:
        self._settle_s = settle_s
        self._patience_s = patience_s
        self._under_way = {treatment.operator: treatment for treatment in under_way}
        self._settling_since_s: dict[str, float] = {}

    def blocking(self, settling: frozenset[str], time_s: float) -> frozenset[str]:
        """The operators that must be left alone. Patience with a plan that does not become real has an end:
        otherwise a cluster that cannot give the last executor would freeze the operator for good."""
        since = {operator: self._settling_since_s.get(operator, time_s) for operator in settling}
        self._settling_since_s = since
        return frozenset(o for o, since_s in since.items() if time_s - since_s < self._patience_s)

    def begin(self, verdicts: Iterable[Verdict], time_s: float) -> list[Outcome]:
        """Follow the accepted ones. What is known of the treatments that they replace is returned."""
        replaced: list[Outcome] = []
        for verdict in verdicts:
            operator = verdict.decision.operator
            if old := self._under_way.get(operator):
                replaced.append(old.cut_short(time_s))
            assert verdict.revision is not None
            self._under_way[operator] = Treatment(verdict.revision, operator, time_s)
            self._settling_since_s[operator] = time_s
        return replaced

    def observe(self, snapshot: Snapshot, measures: Measures, settling: frozenset[str], plan: Plan) -> list[Outcome]:
        """The outcomes that are known now. Only whole periods after the treatment became real are looked at."""
        outcomes: list[Outcome] = []
        for operator, treatment in list(self._under_way.items()):
            if operator in settling:
                outcome = self._wait(treatment, snapshot.time_s)
            else:
                outcome = self._look(treatment, snapshot, measures, plan)
            if outcome is not None:
                outcomes.append(outcome)
                del self._under_way[operator]
        return outcomes

    def _wait(self, treatment: Treatment, time_s: float) -> Outcome | None:
        treatment.real_since_s = None
        waited_s = time_s - treatment.since_s
        if waited_s < self._patience_s:
            return None
        return Outcome(treatment.revision, note=f"not real after {human(waited_s)}")

    def _look(self, treatment: Treatment, snapshot: Snapshot, measures: Measures, plan: Plan) -> Outcome | None:
        if treatment.real_since_s is None:
            treatment.real_since_s = snapshot.time_s
            return None
        treatment.see(measures)
        if snapshot.time_s - treatment.real_since_s < self._settle_s:
            return None
        return Outcome(treatment.revision, treatment.effect(_serving(snapshot, treatment.operator, plan)))


def _serving(snapshot: Snapshot, operator: str, plan: Plan) -> int:
    pool = plan.pool_of[operator]
    return sum(1 for _ in snapshot.active(pool)) if snapshot.executors_of(pool) else plan.size(operator)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None

"""What a run showed, turn by turn, in few numbers: for live views, summaries and pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rheostat.loop.turn import Ruling, Turn, Verdict
from rheostat.measure.sla_windows import WindowedSuccess
from rheostat.names import OperatorName
from rheostat.sla import SLA


@dataclass(frozen=True)
class Moment:
    """One turn of the loop. `completed` records had `latency_s` on average since the turn before; the oldest that
    waits has waited `oldest_s`. What stands for operators is by name; `paid` counts all executors there are."""

    time_s: float
    completed: int
    latency_s: float | None
    oldest_s: float
    external_rate: float | None
    arrival_rate: dict[str, float | None]
    queued: dict[str, float | None]
    utilisation: dict[str, float | None]
    executors: dict[str, int]
    paid: int
    verdicts: tuple[Verdict, ...] = ()


@dataclass
class History:
    """Listens to a controller and keeps its moments."""

    moments: list[Moment] = field(default_factory=list)

    def __call__(self, period: Turn) -> None:
        if period.snapshot is None or period.measures is None:
            return
        snapshot, measured = period.snapshot, period.measures.operators
        self.moments.append(
            Moment(
                time_s=period.time_s,
                completed=snapshot.latency.count if snapshot.latency else 0,
                latency_s=snapshot.latency.mean_s if snapshot.latency else None,
                oldest_s=max((state.oldest_s or 0.0 for state in snapshot.operator_states), default=0.0),
                external_rate=period.measures.external_rate,
                arrival_rate={name: each.arrival_rate for name, each in measured.items()},
                queued={name: each.queued for name, each in measured.items()},
                utilisation={name: each.utilisation for name, each in measured.items()},
                executors={name: _serving(period, name) for name in period.plan.pool_of},
                paid=len(snapshot.executors),
                verdicts=tuple(v for v in period.verdicts if v.ruling is not Ruling.HELD),
            )
        )

    def decisions(self) -> Sequence[tuple[float, Verdict]]:
        """Everything decided so far that was not a hold, with its time."""
        return [(moment.time_s, verdict) for moment in self.moments for verdict in moment.verdicts]

    def executor_seconds(self) -> float:
        """What was paid for from the first moment to the last, each executor counted from turn to turn."""
        pairs = zip(self.moments, self.moments[1:], strict=False)
        return sum(earlier.paid * (later.time_s - earlier.time_s) for earlier, later in pairs)

    def duration_s(self) -> float:
        return self.moments[-1].time_s - self.moments[0].time_s if self.moments else 0.0

    def success_rate(self, sla: SLA, period_s: float) -> float | None:
        """The share of windows that met `sla`, windows ending with each turn."""
        slots = max(1, round(sla.window_s / period_s))
        success = WindowedSuccess(sla.latency_s, slots * period_s, period_s, 1)
        for moment in self.moments:
            success.add_slot([moment.completed * (moment.latency_s or 0.0)], [moment.completed], [moment.oldest_s])
        return success.mean()


def _serving(period: Turn, operator: OperatorName) -> int:
    assert period.snapshot is not None
    return sum(1 for _ in period.snapshot.active(period.plan.pool_of[operator]))

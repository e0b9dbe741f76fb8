"""What a run showed, turn by turn, in few numbers: for live views, summaries and pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rheostat.loop.period import Period, Ruling, Verdict


@dataclass(frozen=True)
class Moment:
    """One turn of the loop. `arrival_rate`, `queued` and `executors` are by operator."""

    time_s: float
    latency_s: float | None
    external_rate: float | None
    arrival_rate: dict[str, float | None]
    queued: dict[str, float | None]
    utilisation: dict[str, float | None]
    executors: dict[str, int]
    verdicts: tuple[Verdict, ...] = ()


@dataclass
class History:
    """Listens to a controller and keeps its moments."""

    moments: list[Moment] = field(default_factory=list)

    def __call__(self, period: Period) -> None:
        if period.snapshot is None or period.measures is None:
            return
        measured = period.measures.operators
        self.moments.append(
            Moment(
                time_s=period.time_s,
                latency_s=period.measures.latency_s,
                external_rate=period.measures.external_rate,
                arrival_rate={name: each.arrival_rate for name, each in measured.items()},
                queued={name: each.queued for name, each in measured.items()},
                utilisation={name: each.utilisation for name, each in measured.items()},
                executors={name: _serving(period, name) for name in period.plan.pool_of},
                verdicts=tuple(v for v in period.verdicts if v.ruling is not Ruling.HELD),
            )
        )

    def decisions(self) -> Sequence[tuple[float, Verdict]]:
        """Everything decided so far that was not a hold, with its time."""
        return [(moment.time_s, verdict) for moment in self.moments for verdict in moment.verdicts]


def _serving(period: Period, operator: str) -> int:
    assert period.snapshot is not None
    return sum(1 for _ in period.snapshot.active(period.plan.pool_of[operator]))

"""Run history: a few numbers for every turn of a run, for live views, summaries and pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rheostat.loop.turn import Ruling, Turn, Verdict
from rheostat.measure.sla_windows import WindowedSuccess
from rheostat.names import OperatorName
from rheostat.sla import SLA
from rheostat.snapshot import Snapshot


@dataclass(frozen=True)
class TurnSummary:
    """One turn of the loop. Since the turn before, `completed` records left with a mean latency of `latency_s`; the
    oldest record in the backlog has waited `oldest_s`. Mappings are by operator. Of the executors, `serving` work in
    pools, `reserved` for sources; `paid` counts all there are."""

    time_s: float
    completed: int
    latency_s: float | None
    oldest_s: float
    external_rate: float | None
    arrival_rate: dict[str, float | None]
    queued: dict[str, float | None]
    utilisation: dict[str, float | None]
    executors: dict[str, int]
    serving: int
    reserved: int
    paid: int
    verdicts: tuple[Verdict, ...] = ()


@dataclass
class RunHistory:
    """Listens to a controller and keeps a summary of every turn, and the last `snapshot`."""

    turns: list[TurnSummary] = field(default_factory=list)
    snapshot: Snapshot | None = None

    def __call__(self, turn: Turn) -> None:
        if turn.snapshot is None or turn.measures is None:
            return
        snapshot, measured = turn.snapshot, turn.measures.operators
        self.snapshot = snapshot
        self.turns.append(
            TurnSummary(
                time_s=turn.time_s,
                completed=snapshot.latency.count if snapshot.latency else 0,
                latency_s=snapshot.latency.mean_s if snapshot.latency else None,
                oldest_s=max((state.oldest_s or 0.0 for state in snapshot.operator_states), default=0.0),
                external_rate=turn.measures.external_rate,
                arrival_rate={name: each.arrival_rate for name, each in measured.items()},
                queued={name: each.queued for name, each in measured.items()},
                utilisation={name: each.utilisation for name, each in measured.items()},
                executors={name: _serving(turn, name) for name in turn.plan.pool_of},
                serving=sum(1 for pool in turn.plan.pools for _ in snapshot.active(pool)),
                reserved=turn.capabilities.reserved,
                paid=len(snapshot.executors) + turn.capabilities.reserved,
                verdicts=tuple(v for v in turn.verdicts if v.ruling is not Ruling.HELD),
            )
        )

    def decisions(self) -> Sequence[tuple[float, Verdict]]:
        """All decisions so far except holds, with their times."""
        return [(turn.time_s, verdict) for turn in self.turns for verdict in turn.verdicts]

    def executor_seconds(self) -> float:
        """The cost from the first turn to the last: all executors that exist, summed over time."""
        pairs = zip(self.turns, self.turns[1:], strict=False)
        return sum(earlier.paid * (later.time_s - earlier.time_s) for earlier, later in pairs)

    def duration_s(self) -> float:
        return self.turns[-1].time_s - self.turns[0].time_s if self.turns else 0.0

    def success_rate(self, sla: SLA, period_s: float) -> float | None:
        """The share of windows that met `sla`; one window ends with each turn."""
        slots = max(1, round(sla.window_s / period_s))
        success = WindowedSuccess(sla.latency_s, slots * period_s, period_s, 1)
        for turn in self.turns:
            success.add_slot([turn.completed * (turn.latency_s or 0.0)], [turn.completed], [turn.oldest_s])
        return success.mean()


def _serving(turn: Turn, operator: OperatorName) -> int:
    assert turn.snapshot is not None
    return sum(1 for _ in turn.snapshot.active(turn.plan.pool_of[operator]))

"""Time series: load, latency, backlog and executors of a simulated run, turn by turn."""

import msgspec

from rheostat.loop.turn import Turn
from rheostat.sim.cluster.cluster import Cluster
from rheostat.sim.observe.scoreboard import Scoreboard
from rheostat.sla import Goal
from rheostat.snapshot import ExecutorPhase

_SERVING = (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)


class SeriesPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of the loop, and what happened since the turn before.

    `input_rate` is in records per second, `latency_s` the mean of the records that completed (None without any),
    `backlog` what is in the system, `executors` those that serve, by pool. `sla_met` says whether all windows that
    ended since the turn before met the end-to-end SLA, or all others where there is none; None without a window.
    """

    time_s: float
    input_rate: float | None
    latency_s: float | None
    backlog: int
    executors: dict[str, int]
    sla_met: bool | None


class SeriesRecorder:
    """Listens to the loop of one run."""

    def __init__(self, cluster: Cluster, board: Scoreboard, goal: Goal) -> None:
        self.points: list[SeriesPoint] = []
        self._cluster = cluster
        self._windows = [board.success[sla] for sla in ([goal.end_to_end] if goal.end_to_end else board.success)]
        self._last = self._totals()
        self._last_windows = self._judged()

    def __call__(self, turn: Turn) -> None:
        last, self._last = self._last, self._totals()
        passed_s, entered, left, latency_s = (now - before for now, before in zip(self._last, last, strict=True))
        world = self._cluster.state.world[0]
        self.points.append(
            SeriesPoint(
                time_s=turn.time_s,
                input_rate=entered / passed_s if passed_s > 0 else None,
                latency_s=latency_s / left if left else None,
                backlog=int(world.entered - world.left - world.lost),
                executors=self._executors(turn),
                sla_met=self._sla_met(),
            )
        )

    def _totals(self) -> tuple[float, int, int, float]:
        world = self._cluster.state.world[0]
        return self._cluster.now_s, int(world.entered), int(world.left), float(world.latency_sum)

    def _executors(self, turn: Turn) -> dict[str, int]:
        registry = self._cluster.registry
        return {pool: sum(each.phase in _SERVING for each in registry.serving(pool)) for pool in turn.plan.pools}

    def _judged(self) -> tuple[int, int]:
        met = sum(int(windows.met().sum()) for windows in self._windows)
        return met, sum(int(windows.missed().sum()) for windows in self._windows)

    def _sla_met(self) -> bool | None:
        last, self._last_windows = self._last_windows, self._judged()
        if self._last_windows == last:
            return None
        return self._last_windows[1] == last[1]

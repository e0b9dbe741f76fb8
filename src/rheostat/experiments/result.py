"""Result: the figures of one simulated run, by which policies are compared."""

import math

import msgspec
import numpy as np

from rheostat.experiments.needed_executors import peak_executors
from rheostat.experiments.prediction_errors import PredictionErrors
from rheostat.experiments.time_series import SeriesPoint
from rheostat.names import OperatorName
from rheostat.sim.cluster.cluster import Cluster
from rheostat.sim.engine.latency_histogram import BINS, quantile
from rheostat.sim.observe.scoreboard import Scoreboard
from rheostat.sla import SLA, Goal
from rheostat.snapshot import ExecutorPhase


class OperatorResult(msgspec.Struct, frozen=True, kw_only=True):
    """One operator over the whole run; latencies are sojourn times at the operator."""

    success_rate: float | None
    success_rate_by_substream: list[float | None]
    mean_executors: float
    executor_seconds: float
    mean_latency_s: float | None
    p99_latency_s: float | None
    arrived: int
    completed: int
    queued: int
    lost: int
    utilisation: float | None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run. Latency is the time from the entry of a record until everything derived from it is completed.

    `success_rate` is that of the end-to-end SLA, or the mean over the operators' SLAs without one. `mean_executors`
    counts active executors, `executor_seconds` all that are paid for, including starting and standby ones.
    `saved_resources` is 1 − mean executors / executors that the peak rate needs (PA-SPS); `saved_executor_seconds` is
    the same with all paid executors. `processed_share` is the share of the arrived records that were completed.
    `failures` hit an executor, `failures_missed` none that served. `cannot_be_met` says what no policy could have
    achieved. `series` has a point for each turn, if it was asked for.
    """

    scenario: str
    policy: str
    seed: int
    duration_s: float
    success_rate: float | None
    success_rate_by_substream: dict[str, list[float | None]]
    mean_executors: float
    executor_seconds: float
    mean_latency_s: float | None
    p99_latency_s: float | None
    arrived: int
    completed: int
    queued: int
    lost: int
    late: int
    decisions: dict[str, int]
    refused: int
    failures: int
    failures_missed: int
    switching_events: int
    switching_time_s: float
    switching_share: float
    saved_resources: float
    saved_executor_seconds: float
    throughput_degradation: float | None
    processed_share: float | None
    prediction_errors: PredictionErrors
    operators: dict[str, OperatorResult]
    cannot_be_met: tuple[str, ...] = ()
    series: tuple[SeriesPoint, ...] | msgspec.UnsetType = msgspec.UNSET


def figures(cluster: Cluster, board: Scoreboard, goal: Goal, duration_s: float) -> dict[str, object]:
    """The fields of a `Result` that come from the cluster and its scoreboard."""
    world = cluster.state.world[0]
    paid = _executor_seconds(cluster)
    served = _executor_seconds(cluster, serving_only=True)
    peak = peak_executors(cluster.model, duration_s)
    operators = {name: _operator(cluster, board, goal, name, duration_s) for name in cluster.position}
    return {
        "duration_s": duration_s,
        "success_rate": _success(board, goal),
        "success_rate_by_substream": {
            name: result.success_rate_by_substream
            for name, result in operators.items()
            if result.success_rate_by_substream
        },
        "mean_executors": served / duration_s,
        "executor_seconds": paid,
        "mean_latency_s": float(world.latency_sum / world.left) if world.left else None,
        "p99_latency_s": quantile(cluster.state.histogram["count"][:BINS], 0.99),
        "arrived": int(world.entered),
        "completed": int(world.left),
        "queued": int(world.entered - world.left - world.lost),
        "lost": int(world.lost),
        "late": int(world.late),
        "failures": cluster.failures.hit,
        "failures_missed": cluster.failures.missed,
        "switching_events": cluster.switching_events,
        "switching_time_s": cluster.switching_s,
        "switching_share": cluster.switching_executor_s / served if served else 0.0,
        "saved_resources": 1.0 - served / (duration_s * peak),
        "saved_executor_seconds": 1.0 - paid / (duration_s * peak),
        "throughput_degradation": board.throughput_degradation,
        "processed_share": float(world.left / world.entered) if world.entered else None,
        "operators": operators,
    }


def _operator(cluster: Cluster, board: Scoreboard, goal: Goal, name: OperatorName, duration_s: float) -> OperatorResult:
    position = cluster.position[name]
    row = cluster.state.operators[position]
    bins = slice((1 + position) * BINS, (2 + position) * BINS)
    served = _executor_seconds(cluster, name, serving_only=True)
    sla = goal.sla_of(name)
    return OperatorResult(
        success_rate=board.success[sla].mean() if sla else None,
        success_rate_by_substream=_by_substream(board, sla) if sla else [],
        mean_executors=served / duration_s,
        executor_seconds=_executor_seconds(cluster, name),
        mean_latency_s=float(row.latency_sum / row.completed) if row.completed else None,
        p99_latency_s=quantile(cluster.state.histogram["count"][bins], 0.99),
        arrived=int(row.arrived),
        completed=int(row.completed),
        queued=int(row.arrived - row.completed - row.lost),
        lost=int(row.lost),
        utilisation=float(row.service_sum) / served if served else None,
    )


def _by_substream(board: Scoreboard, sla: SLA) -> list[float | None]:
    return [None if math.isnan(rate) else float(rate) for rate in board.success[sla].by_substream()]


def _success(board: Scoreboard, goal: Goal) -> float | None:
    slas = [goal.end_to_end] if goal.end_to_end else list(board.success)
    rates = [rate for sla in slas if (rate := board.success[sla].mean()) is not None]
    return float(np.mean(rates)) if rates else None


_SERVING = (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)


def _executor_seconds(cluster: Cluster, pool: str | None = None, *, serving_only: bool = False) -> float:
    total_s = math.fsum(
        spent_s
        for (owner, phase), spent_s in cluster.registry.seconds.items()
        if (pool is None or owner == pool) and (not serving_only or phase in _SERVING)
    )
    return round(total_s, 6)

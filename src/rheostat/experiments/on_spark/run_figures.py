"""Run figures: what a comparison says about a run on Spark, from its records, its turns and what it paid."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from rheostat.duration import seconds
from rheostat.experiments.comparison.action_counts import ActionCounter, longest_out_of_sla_s
from rheostat.experiments.needed_executors import peak_executors
from rheostat.experiments.on_spark.record_figures import RecordFigures
from rheostat.experiments.scenario import Scenario
from rheostat.experiments.time_series import SeriesPoint
from rheostat.loop.turn import Turn


def run_figures(
    scenario: Scenario, records: RecordFigures, turns: Sequence[Turn], start_s: float, paid_s: float
) -> dict[str, Any]:
    """The fields of a `ComparedRun` that were measured. `turns` have the time of the clock, as `start_s` has."""
    turns = [_since(turn, start_s) for turn in turns if turn.snapshot is not None]
    turns = [turn for turn in turns if 0 <= turn.time_s <= scenario.duration_s]
    points, counter = series(records, turns), ActionCounter()
    for turn in turns:
        counter(turn)
    actions, serving = counter.counts(points), mean_executors(points, scenario.duration_s)
    timeout = scenario.model.cluster.timeout
    return {
        "duration_s": scenario.duration_s,
        "success_rate": records.success_rate,
        "mean_executors": serving,
        "executor_seconds": paid_s,
        "mean_latency_s": records.mean_latency_s,
        "p99_latency_s": records.p99_latency_s,
        "out_of_sla_s": longest_out_of_sla_s(points),
        "late": records.late(None if timeout is None else seconds(timeout)),
        "scalings": actions.scalings,
        "moves": actions.moves,
        "reversals": actions.reversals,
        "scale_ins_late": actions.scale_ins_late,
        "saved_resources": 1.0 - serving / peak_executors(scenario.model, scenario.duration_s),
        "throughput_degradation": records.throughput_degradation,
        "series": tuple(points),
    }


def series(records: RecordFigures, turns: Sequence[Turn]) -> list[SeriesPoint]:
    """A point for each turn, whose times count from the start of the load."""
    points, before_s = [], 0.0
    for turn in turns:
        assert turn.snapshot is not None
        points.append(
            SeriesPoint(
                time_s=turn.time_s,
                input_rate=records.input_rate(before_s, turn.time_s),
                latency_s=records.mean_latency_between(before_s, turn.time_s),
                backlog=records.backlog(turn.time_s),
                executors={pool: sum(1 for _ in turn.snapshot.active(pool)) for pool in turn.plan.pools},
                sla_met=records.met_between(before_s, turn.time_s),
            )
        )
        before_s = turn.time_s
    return points


def mean_executors(points: Sequence[SeriesPoint], duration_s: float) -> float:
    """Executors that serve, on average over a run of `duration_s`: each point holds until the next one."""
    if not points:
        return 0.0
    sizes = [sum(point.executors.values()) for point in points]
    times_s = [0.0, *(point.time_s for point in points[1:]), duration_s]
    spent_s = sum(size * (end_s - start_s) for size, (start_s, end_s) in zip(sizes, pairwise(times_s), strict=True))
    return spent_s / duration_s


def _since(turn: Turn, start_s: float) -> Turn:
    return msgspec.structs.replace(turn, time_s=turn.time_s - start_s)

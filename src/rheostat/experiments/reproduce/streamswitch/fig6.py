"""Figures 6 to 9: a run over time, and one treatment of each kind from close by."""

from typing import Any

import numpy as np

from rheostat.decision import Decision, Move, Scale
from rheostat.experiments.reproduce.course import Course, follow
from rheostat.experiments.reproduce.reproduction import Cell, Claim, Effort, Outcome, Progress, Reproduction
from rheostat.experiments.reproduce.streamswitch.rivals import Rival
from rheostat.experiments.result import Result
from rheostat.loop.turn import Ruling, Turn

_RIVAL = Rival("Switch", 0.2)
_PAPER_MOVED = {"scale-out": 6, "load balance": 3, "scale-in": 5}
_AFTER_S = 5.0


def run(effort: Effort, progress: Progress) -> Outcome:
    result, course = follow(_RIVAL.case(effort.choose(100, 60)), seed=0)
    progress(1.0)
    return Outcome(
        columns=("treatment", "substreams, paper", "here, on average", "how often", "the first: when", "why"),
        rows=tuple(_row(kind, course) for kind in _PAPER_MOVED),
        claims=_claims(result, course),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, course),
    )


def kind_of(decision: Decision, period: Turn) -> str:
    if isinstance(decision, Scale):
        return "scale-out" if decision.executors > period.before.pools[decision.pool].size else "scale-in"
    return "load balance"


def treatments(course: Course, kind: str) -> list[tuple[float, Scale | Move]]:
    """Those of one kind with their times."""
    return [
        (period.time_s, verdict.decision)
        for period in course.periods
        for verdict in period.ruled(Ruling.ACCEPTED)
        if isinstance(verdict.decision, Scale | Move) and kind_of(verdict.decision, period) == kind
    ]


def moved(decision: Scale | Move) -> int:
    return sum(len(moves.substreams) for moves in decision.transfers)


def _row(kind: str, course: Course) -> tuple[Cell, ...]:
    done = treatments(course, kind)
    if not done:
        return kind, _PAPER_MOVED[kind], None, 0, None, None
    time_s, first = done[0]
    return (
        kind,
        _PAPER_MOVED[kind],
        float(np.mean([moved(d) for _, d in done])),
        len(done),
        f"{time_s:.1f} s",
        first.reason,
    )


def _claims(result: Result, course: Course) -> tuple[Claim, ...]:
    counts = {kind: len(treatments(course, kind)) for kind in _PAPER_MOVED}
    calm = [latency_s for latency_s in course.latencies_s() if not np.isnan(latency_s)]
    return (
        Claim(
            "load balance is the treatment most often used",
            counts["load balance"] == max(counts.values()),
            ", ".join(f"{number} {kind}s" for kind, number in counts.items()),
        ),
        Claim(
            "latency is mostly tens to hundreds of milliseconds",
            float(np.median(calm)) < 0.5,
            f"median {1e3 * np.median(calm):.0f} ms, {np.mean(np.array(calm) < 1.0):.0%} of looks below a second",
        ),
        Claim(
            "executors follow the load up and down",
            counts["scale-out"] > 0 and counts["scale-in"] > 0,
            f"{min(map(sum, course.sizes()))} to {max(map(sum, course.sizes()))} executors",
        ),
    )


_NOTE = (
    "The treatments are those of the run with seed 0; the table has the first of each kind with the reason that the "
    "journal keeps. The picture has the whole run, and ten seconds around the last treatment of each kind: the rates "
    "of the two executors between which substreams move."
)


def _draw(figure: Any, course: Course) -> None:
    upper, lower = figure.subfigures(2, 1)
    load, latency = upper.subplots(1, 2)
    times_s = course.times_s()
    load.step(times_s, [sum(sizes) for sizes in course.sizes()], where="post")
    for time_s, _ in treatments(course, "load balance"):
        load.plot(time_s, 4, "o", color="tab:orange", markersize=3)
    load.set_ylabel("executors (dots: load balance)")
    latency.semilogy(times_s, course.latencies_s(), linewidth=0.7)
    latency.axhline(1.0, color="tab:red", linestyle="--")
    latency.set_ylabel("mean latency, s")
    for axes, kind in zip(lower.subplots(1, 3), _PAPER_MOVED, strict=True):
        done = treatments(course, kind)
        if done:
            _draw_treatment(axes, course, kind, *done[-1])


def _draw_treatment(axes: Any, course: Course, kind: str, time_s: float, decision: Scale | Move) -> None:
    near = [p for p in course.periods if abs(p.time_s - time_s) <= _AFTER_S and p.snapshot is not None]
    for number in (decision.transfers[0].source, decision.transfers[0].target):
        points = []
        for before, after in zip(near, near[10:], strict=False):
            counts = [_arrived(each, number) for each in (before, after)]
            if None not in counts:
                points.append((after.time_s, (counts[1] - counts[0]) / (after.time_s - before.time_s)))  # type: ignore[operator]
        if points:
            axes.plot(*zip(*points, strict=True), label=f"executor {number}")
    axes.axvline(time_s, color="black", linewidth=0.5)
    axes.set_title(f"{kind}: {moved(decision)} substreams", fontsize=9)
    axes.set_xlabel("s")
    axes.legend(fontsize=7)


def _arrived(period: Turn, number: int) -> int | None:
    assert period.snapshot is not None
    return next((each.arrived for each in period.snapshot.executors if each.id == number), None)


REPRODUCTIONS = (
    Reproduction(
        name="streamswitch-fig6",
        figure="Figures 6 to 9",
        title="a run over time, and one treatment of each kind",
        run=run,
        setting="Switch(0.2) on the limit orders of figure 5.",
        also=("streamswitch-fig7", "streamswitch-fig8", "streamswitch-fig9"),
    ),
)

"""Figures 6 to 9: a run over time, and one action of each kind in detail."""

from typing import Any

import numpy as np

from rheostat.decision import Decision, Move, Scale
from rheostat.experiments.reproduce.reproduction import Cell, Claim, Effort, Progress, Reproduction, ReproductionResult
from rheostat.experiments.reproduce.streamswitch.solutions import SESSION_S, Solution
from rheostat.experiments.reproduce.streamswitch.substream_latency import SubstreamLatency
from rheostat.experiments.reproduce.turn_log import TurnLog, simulate_with_log
from rheostat.loop.turn import Ruling, Turn

_SOLUTION = Solution("Switch", 0.2)
_PAPER_MOVED = {"scale-out": 6, "load balance": 3, "scale-in": 5}
_AROUND_S = 5.0
_AFTER_S = 3.0
"""After an action, the time in which the latency of what it moves is highest."""


def run(effort: Effort, progress: Progress) -> ReproductionResult:
    latency = SubstreamLatency("work")
    _, log = simulate_with_log(_SOLUTION.case(effort.choose(SESSION_S, 60)), seed=0, watchers=[latency])
    progress(1.0)
    return ReproductionResult(
        columns=(
            "action",
            "substreams: paper",
            "substreams: here, mean",
            "highest latency of moved substreams (s), median",
            "count",
            "first at",
            "reason",
        ),
        rows=tuple(_row(kind, log, latency) for kind in _PAPER_MOVED),
        claims=_claims(log, latency),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, log),
    )


def kind_of(decision: Decision, turn: Turn) -> str:
    if isinstance(decision, Scale):
        return "scale-out" if decision.executors > turn.before.pools[decision.pool].size else "scale-in"
    return "load balance"


def actions_of_kind(log: TurnLog, kind: str) -> list[tuple[float, Scale | Move]]:
    """The accepted decisions of one kind, with their times."""
    return [
        (turn.time_s, verdict.decision)
        for turn in log.turns
        for verdict in turn.ruled(Ruling.ACCEPTED)
        if isinstance(verdict.decision, Scale | Move) and kind_of(verdict.decision, turn) == kind
    ]


def moved(decision: Scale | Move) -> int:
    """The number of substreams that `decision` moves."""
    return sum(len(transfer.substreams) for transfer in decision.transfers)


def _mean_moved(log: TurnLog, kind: str) -> float:
    return float(np.mean([moved(decision) for _, decision in actions_of_kind(log, kind)] or [0]))


def overshoot_s(log: TurnLog, latency: SubstreamLatency, kind: str) -> float:
    """The highest latency of the substreams that an action moves, in the seconds after it: the median."""
    highest_s = [
        latency.highest_s(_substreams(decision), time_s, time_s + _AFTER_S)
        for time_s, decision in actions_of_kind(log, kind)
    ]
    return float(np.nanmedian(highest_s)) if highest_s else float("nan")


def _substreams(decision: Scale | Move) -> list[int]:
    return [substream for transfer in decision.transfers for substream in transfer.substreams]


def _row(kind: str, log: TurnLog, latency: SubstreamLatency) -> tuple[Cell, ...]:
    done = actions_of_kind(log, kind)
    if not done:
        return kind, _PAPER_MOVED[kind], None, None, 0, None, None
    time_s, first = done[0]
    return (
        kind,
        _PAPER_MOVED[kind],
        _mean_moved(log, kind),
        overshoot_s(log, latency, kind),
        len(done),
        f"{time_s:.1f} s",
        first.reason,
    )


def _claims(log: TurnLog, latency: SubstreamLatency) -> tuple[Claim, ...]:
    counts = {kind: len(actions_of_kind(log, kind)) for kind in _PAPER_MOVED}
    known = [latency_s for latency_s in log.latencies_s() if not np.isnan(latency_s)]
    return (
        Claim(
            "load balance is the most frequent action",
            counts["load balance"] == max(counts.values()),
            ", ".join(f"{number} {kind}s" for kind, number in counts.items()),
        ),
        Claim(
            "latency is mostly tens to hundreds of milliseconds",
            float(np.median(known)) < 0.5,
            f"median {1e3 * np.median(known):.0f} ms, {np.mean(np.array(known) < 1.0):.0%} of turns below a second",
        ),
        Claim(
            "a scale-out moves more substreams than a load balance (6 and 3 in the paper)",
            _mean_moved(log, "scale-out") > _mean_moved(log, "load balance"),
            f"{_mean_moved(log, 'scale-out'):.1f} and {_mean_moved(log, 'load balance'):.1f} on average",
        ),
        Claim(
            "the latency of substreams that move overshoots a second slightly",
            all(1.0 < overshoot_s(log, latency, kind) < 2.0 for kind in _PAPER_MOVED),
            ", ".join(f"{kind} {overshoot_s(log, latency, kind):.2f} s" for kind in _PAPER_MOVED),
            given="The time that a switch takes was chosen so.",
        ),
    )


_NOTE = (
    "The actions are those of the run with seed 0; the table has the first of each kind with the reason that is kept "
    "in the journal. The picture shows the whole run, and ten seconds around the last action of each kind: the rates "
    "of the two executors between which substreams move."
)


def _draw(figure: Any, log: TurnLog) -> None:
    upper, lower = figure.subfigures(2, 1)
    load, latency = upper.subplots(1, 2)
    times_s = log.times_s()
    load.step(times_s, [sum(sizes) for sizes in log.sizes()], where="post")
    for time_s, _ in actions_of_kind(log, "load balance"):
        load.plot(time_s, 4, "o", color="tab:orange", markersize=3)
    load.set_ylabel("executors (dots: load balance)")
    latency.semilogy(times_s, log.latencies_s(), linewidth=0.7)
    latency.axhline(1.0, color="tab:red", linestyle="--")
    latency.set_ylabel("mean latency, s")
    for axes, kind in zip(lower.subplots(1, 3), _PAPER_MOVED, strict=True):
        done = actions_of_kind(log, kind)
        if done:
            _draw_action(axes, log, kind, *done[-1])


def _draw_action(axes: Any, log: TurnLog, kind: str, time_s: float, decision: Scale | Move) -> None:
    near = [p for p in log.turns if abs(p.time_s - time_s) <= _AROUND_S and p.snapshot is not None]
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


def _arrived(turn: Turn, number: int) -> int | None:
    assert turn.snapshot is not None
    return next((each.arrived for each in turn.snapshot.executors if each.id == number), None)


REPRODUCTIONS = (
    Reproduction(
        name="streamswitch-fig6",
        figure="Figures 6 to 9",
        title="a run over time, and one action of each kind",
        run=run,
        setting="Switch(0.2) on the limit orders of figure 5.",
        also=("streamswitch-fig7", "streamswitch-fig8", "streamswitch-fig9"),
    ),
)

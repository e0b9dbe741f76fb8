"""Figure 9: executors follow the frame rate, faster with a short window, with fewer actions with a long one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.experiments.reproduce.drs.applications import AS_PUBLISHED, FEW_LOGOS, logo_detection
from rheostat.experiments.reproduce.drs.passive_runs import sizes_text
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Progress, Reproduction, ReproductionResult
from rheostat.experiments.reproduce.sweep import Case
from rheostat.experiments.reproduce.turn_log import Sizes, TurnLog, simulate_with_log

_T_MAX_S, _T_MIN_S = 1.0, 0.45
_START: Sizes = (3, 5, 1)
_WINDOWS = (6, 3)
_CLUSTER = {"pause_on_add": "10s"}
Steps = tuple[tuple[int, float], ...]
"""Start minutes, and the frames per second from there on."""


@dataclass(frozen=True)
class RatePattern:
    """One of the two patterns: rate changes, duration, and the minutes of the actions in the paper by w."""

    name: str
    steps: Steps
    minutes: int
    paper: dict[int, tuple[int, ...]]

    def load(self) -> dict[str, Any]:
        return {"shape": "step", "steps": [[f"{minute}m", fps] for minute, fps in self.steps]}


LONG = RatePattern("long-term (a)", ((0, 6), (6, 12), (21, 6), (34, 18)), 45, {6: (12, 26, 35), 3: (9, 24, 35)})
SHORT = RatePattern("short-term (b)", ((0, 6), (6, 12), (9, 6)), 25, {6: (), 3: (9, 15)})

Logs = dict[tuple[str, int], list[TurnLog]]


def run(effort: Effort, progress: Progress) -> ReproductionResult:
    found: Logs = {}
    wanted = [(change, window) for change in (LONG, SHORT) for window in _WINDOWS]
    for done, (change, window) in enumerate(wanted, start=1):
        case = _case(change, window)
        found[change.name, window] = [simulate_with_log(case, seed)[1] for seed in range(effort.seeds)]
        progress(done / len(wanted))
    return ReproductionResult(
        columns=(
            "change",
            "w = T_ra (min)",
            "actions: paper (min)",
            "actions here, seed 0",
            "actions per run here",
            "within T_max",
        ),
        rows=tuple(_row(change, window, found[change.name, window]) for change, window in wanted),
        claims=_claims(found),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, found),
    )


def _case(change: RatePattern, window: int) -> Case:
    scenario = logo_detection(
        _START, fps=change.load(), detection=FEW_LOGOS, duration=f"{change.minutes}m", cluster=_CLUSTER
    )
    limits = {"problem": "t_max", "t_max": _T_MAX_S, "t_min": _T_MIN_S}
    return Case(scenario, "drs", AS_PUBLISHED | limits | {"smoothing": f"window:{window}", "t_ra": f"{window}m"})


def _row(change: RatePattern, window: int, logs: list[TurnLog]) -> tuple[str | int | float, ...]:
    return (
        change.name,
        window,
        ", ".join(map(str, change.paper[window])) or "none",
        ", ".join(f"{minute}: {sizes_text(sizes)}" for minute, sizes in minutes_of(logs[0])) or "none",
        float(np.mean([len(minutes_of(log)) for log in logs])),
        f"{np.mean([within(log) for log in logs]):.0%} of minutes",
    )


def minutes_of(log: TurnLog) -> list[tuple[int, Sizes]]:
    return [(round(time_s / 60), sizes) for time_s, sizes in log.actions()]


def within(log: TurnLog) -> float:
    """The share of minutes whose mean sojourn time is at most T_max."""
    return float(np.mean(np.array(log.latencies_s()[1:]) <= _T_MAX_S))


def first_after(log: TurnLog, minute: int, until: int) -> float:
    """Minutes from a change of the rate to the next action, or to the next change if there is no action."""
    return min((m - minute for m, _ in minutes_of(log) if minute < m <= until), default=until - minute)


def delay(logs: Sequence[TurnLog], minute: int, until: int) -> float:
    return float(np.mean([first_after(log, minute, until) for log in logs]))


def cost_s(logs: Sequence[TurnLog], *, adds: bool) -> float:
    """The median increase of the mean sojourn time in the minute after an action, against three minutes later."""
    jumps = []
    for log in logs:
        latencies_s, totals = log.latencies_s(), [sum(sizes) for sizes in log.sizes()]
        for minute in range(1, len(totals) - 4):
            grown = totals[minute] - totals[minute - 1]
            if grown and (grown > 0) == adds:
                jumps.append(latencies_s[minute + 1] - latencies_s[minute + 4])
    return float(np.median(jumps)) if jumps else float("nan")


def _claims(found: Logs) -> tuple[Claim, ...]:
    slow, quick = found[LONG.name, 6], found[LONG.name, 3]
    delays = {w: (delay(found[LONG.name, w], 6, 21), delay(found[LONG.name, w], 21, 34)) for w in _WINDOWS}
    follows = [[sum(log.sizes()[minute]) for minute in (6, 20, 33, 44)] for log in (*slow, *quick)]
    short = {w: [minutes_of(log) for log in found[SHORT.name, w]] for w in _WINDOWS}
    calm_s = np.array([log.latencies_s()[1:4] for logs in found.values() for log in logs])
    everything = [log for logs in found.values() for log in logs]
    adding_s, removing_s = cost_s(everything, adds=True), cost_s(everything, adds=False)
    return (
        Claim(
            "in most runs executors are added, removed and added again as the rate rises, falls and rises",
            2 * sum(a < b > c < d for a, b, c, d in follows) > len(follows),
            f"{sum(a < b > c < d for a, b, c, d in follows)} of {len(follows)} runs",
        ),
        Claim(
            "a short window reacts faster: after 3 and 3 minutes instead of 7 and 6",
            sum(delays[3]) < sum(delays[6]),
            f"{delays[3][0]:.1f} and {delays[3][1]:.1f} instead of {delays[6][0]:.1f} and {delays[6][1]:.1f}",
        ),
        Claim(
            "a rate that doubles for three minutes leads to two actions with the short window and none with the long "
            "one",
            all(not actions for actions in short[6]) and all(len(actions) >= 2 for actions in short[3]),
            f"{np.mean([len(a) for a in short[3]]):.1f} actions with w = 3, {np.mean([len(a) for a in short[6]]):.1f} "
            "with w = 6, on average",
            why=f"Minutes with {sizes_text(_START)} at 6 frames a second take {calm_s.mean():.2f} s on average, with a "
            f"standard deviation of {calm_s.std():.2f} s: some means are below T_min, and executors are removed before "
            "the rate changes.",
        ),
        Claim(
            "adding executors costs more (over 3000 ms in that minute) than removing them (about 600 ms)",
            adding_s > removing_s,
            f"{1e3 * adding_s:.0f} and {1e3 * removing_s:.0f} ms",
            given="adding stops the topology for the 10 s that were chosen, removing does not",
        ),
    )


_NOTE = (
    "The paper's DRS scales to 4:6:1 at 12 frames a second, this one to the result of MinProcessors, which can be "
    "smaller; back at 6 frames it removes more than it added, because it takes the fewest executors whose corrected "
    "estimate is within T_max. The correction is a single ratio of measured to estimated latency. With records hashed "
    "to queues this ratio grows with utilisation, so that estimates for fewer executors are too low and those for more "
    "are too high: the step to 18 frames a second adds more executors at once than needed. At 6 frames a second the "
    "latency with 3:5:1 is about 470 ms, close to T_min, and some runs remove executors without a change of the rate: "
    "those are the actions with w = 6 in (b)."
)


def _draw(figure: Any, found: Logs) -> None:
    grid = figure.subplots(3, 2, sharex="col", height_ratios=(1, 2, 2))
    for column, change in enumerate((LONG, SHORT)):
        minutes, fps = zip(*change.steps, (change.minutes, change.steps[-1][1]), strict=True)
        grid[0][column].step(minutes, fps, where="post", color="tab:gray")
        grid[0][column].set_title(change.name)
        for axes, window in zip(grid[1:, column], _WINDOWS, strict=True):
            log = found[change.name, window][0]
            latencies_s = log.latencies_s()
            axes.plot(range(1, len(latencies_s)), latencies_s[1:], marker=".")
            for minute, sizes in minutes_of(log):
                axes.axvline(minute, color="black", linewidth=0.7)
                axes.annotate(sizes_text(sizes), (minute, axes.get_ylim()[1]), fontsize=6, rotation=90, va="top")
            axes.axhline(_T_MAX_S, color="tab:red", linestyle="--")
            axes.axhline(_T_MIN_S, color="tab:green", linestyle="--")
            axes.set_ylabel(f"w = {window}: s")
        grid[2][column].set_xlabel("minute")
    grid[0][0].set_ylabel("frames/s")


REPRODUCTIONS = (
    Reproduction(
        name="drs-fig9",
        figure="Figure 9",
        title="executors follow the frame rate",
        run=run,
        setting="VLD at 6, 12 and 18 frames a second, T_max = 1000 ms, T_min = 450 ms, w = T_ra, starting with 3:5:1. "
        "Adding executors stops the topology for 10 s, as the paper starts new machines; removing them does not.",
    ),
)

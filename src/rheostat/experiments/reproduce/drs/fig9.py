"""Figure 9: executors follow the frame rate, sooner with a short window, more calmly with a long one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.experiments.reproduce.course import Course, Sizes, follow
from rheostat.experiments.reproduce.drs.applications import AS_PRINTED, FEW_LOGOS_S, logo_detection
from rheostat.experiments.reproduce.drs.passive import written_sizes
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Outcome, Progress, Reproduction
from rheostat.experiments.reproduce.sweep import Case

_T_MAX_S, _T_MIN_S = 1.0, 0.45
_START: Sizes = (3, 5, 1)
_WINDOWS = (6, 3)
_CLUSTER = {"pause_on_add": "10s"}
Steps = tuple[tuple[int, float], ...]
"""Minutes and the frames a second from then on."""


@dataclass(frozen=True)
class Change:
    """One of the two patterns: how the rate changes, until when, and in which minutes the paper's DRS acts by w."""

    name: str
    steps: Steps
    minutes: int
    paper: dict[int, tuple[int, ...]]

    def load(self) -> dict[str, Any]:
        return {"shape": "step", "steps": [[f"{minute}m", fps] for minute, fps in self.steps]}


LONG = Change("long-term (a)", ((0, 6), (6, 12), (21, 6), (34, 18)), 45, {6: (12, 26, 35), 3: (9, 24, 35)})
SHORT = Change("short-term (b)", ((0, 6), (6, 12), (9, 6)), 25, {6: (), 3: (9, 15)})

Courses = dict[tuple[str, int], list[Course]]


def run(effort: Effort, progress: Progress) -> Outcome:
    found: Courses = {}
    wanted = [(change, window) for change in (LONG, SHORT) for window in _WINDOWS]
    for done, (change, window) in enumerate(wanted, start=1):
        case = _case(change, window)
        found[change.name, window] = [follow(case, seed)[1] for seed in range(effort.seeds)]
        progress(done / len(wanted))
    return Outcome(
        columns=(
            "change",
            "w = T_ra (min)",
            "acts: paper (min)",
            "acts here, seed 0",
            "acts a run here",
            "within T_max",
        ),
        rows=tuple(_row(change, window, found[change.name, window]) for change, window in wanted),
        claims=_claims(found),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, found),
    )


def _case(change: Change, window: int) -> Case:
    scenario = logo_detection(
        _START, fps=change.load(), services_s=FEW_LOGOS_S, duration=f"{change.minutes}m", cluster=_CLUSTER
    )
    limits = {"problem": "t_max", "t_max": _T_MAX_S, "t_min": _T_MIN_S}
    return Case(scenario, "drs", AS_PRINTED | limits | {"smoothing": f"window:{window}", "t_ra": f"{window}m"})


def _row(change: Change, window: int, courses: list[Course]) -> tuple[str | int | float, ...]:
    return (
        change.name,
        window,
        ", ".join(map(str, change.paper[window])) or "none",
        ", ".join(f"{minute}: {written_sizes(sizes)}" for minute, sizes in minutes_of(courses[0])) or "none",
        float(np.mean([len(minutes_of(course)) for course in courses])),
        f"{np.mean([within(course) for course in courses]):.0%} of minutes",
    )


def minutes_of(course: Course) -> list[tuple[int, Sizes]]:
    return [(round(time_s / 60), sizes) for time_s, sizes in course.acts()]


def within(course: Course) -> float:
    """The share of minutes whose mean sojourn time is at most T_max."""
    return float(np.mean(np.array(course.latencies_s()[1:]) <= _T_MAX_S))


def first_after(course: Course, minute: int, until: int) -> float:
    """Minutes from a change of the rate until the next act, or until the next change when there is none."""
    return min((m - minute for m, _ in minutes_of(course) if minute < m <= until), default=until - minute)


def delay(courses: Sequence[Course], minute: int, until: int) -> float:
    return float(np.mean([first_after(course, minute, until) for course in courses]))


def cost_s(courses: Sequence[Course], *, adds: bool) -> float:
    """By how much the mean sojourn time of the minute after an act exceeds that of three minutes later: the median."""
    jumps = []
    for course in courses:
        latencies_s, totals = course.latencies_s(), [sum(sizes) for sizes in course.sizes()]
        for minute in range(1, len(totals) - 4):
            grown = totals[minute] - totals[minute - 1]
            if grown and (grown > 0) == adds:
                jumps.append(latencies_s[minute + 1] - latencies_s[minute + 4])
    return float(np.median(jumps)) if jumps else float("nan")


def _claims(found: Courses) -> tuple[Claim, ...]:
    slow, quick = found[LONG.name, 6], found[LONG.name, 3]
    delays = {w: (delay(found[LONG.name, w], 6, 21), delay(found[LONG.name, w], 21, 34)) for w in _WINDOWS}
    follows = [[sum(course.sizes()[minute]) for minute in (6, 20, 33, 44)] for course in (*slow, *quick)]
    short = {w: [minutes_of(course) for course in found[SHORT.name, w]] for w in _WINDOWS}
    everything = [course for courses in found.values() for course in courses]
    adding_s, removing_s = cost_s(everything, adds=True), cost_s(everything, adds=False)
    return (
        Claim(
            "executors are added, removed and added as the rate rises, falls and rises, in most runs",
            2 * sum(a < b > c < d for a, b, c, d in follows) > len(follows),
            f"{sum(a < b > c < d for a, b, c, d in follows)} of {len(follows)} runs",
        ),
        Claim(
            "a short window answers sooner: after 3 and 3 minutes instead of 7 and 6",
            sum(delays[3]) < sum(delays[6]),
            f"{delays[3][0]:.1f} and {delays[3][1]:.1f} instead of {delays[6][0]:.1f} and {delays[6][1]:.1f}",
        ),
        Claim(
            "a rate that doubles for three minutes makes the short window act twice, the long one not at all",
            all(not acts for acts in short[6]) and all(len(acts) >= 2 for acts in short[3]),
            f"{np.mean([len(a) for a in short[3]]):.1f} acts with w = 3, {np.mean([len(a) for a in short[6]]):.1f} "
            "with w = 6, on average",
        ),
        Claim(
            "adding executors costs more (over 3000 ms in that minute) than removing them (about 600 ms)",
            adding_s > removing_s,
            f"{1e3 * adding_s:.0f} and {1e3 * removing_s:.0f} ms",
        ),
    )


_NOTE = (
    "The paper's DRS goes to 4:6:1 at 12 frames a second, this one to what MinProcessors finds, which may be fewer; "
    "at 6 frames it then removes more than it added, because it takes the fewest executors that the corrected "
    "estimate keeps within T_max. The correction is one ratio of measured to estimated. With records hashed to "
    "queues that ratio grows with utilisation, so that estimates for fewer executors are too good and those for more "
    "too bad: the step to 18 frames a second takes more executors at once than are needed. At 6 frames a second "
    "3:5:1 brings about 470 ms, close to T_min, and in some runs executors are removed when no rate has changed: "
    "those are the acts with w = 6 in (b)."
)


def _draw(figure: Any, found: Courses) -> None:
    grid = figure.subplots(3, 2, sharex="col", height_ratios=(1, 2, 2))
    for column, change in enumerate((LONG, SHORT)):
        minutes, fps = zip(*change.steps, (change.minutes, change.steps[-1][1]), strict=True)
        grid[0][column].step(minutes, fps, where="post", color="tab:gray")
        grid[0][column].set_title(change.name)
        for axes, window in zip(grid[1:, column], _WINDOWS, strict=True):
            course = found[change.name, window][0]
            latencies_s = course.latencies_s()
            axes.plot(range(1, len(latencies_s)), latencies_s[1:], marker=".")
            for minute, sizes in minutes_of(course):
                axes.axvline(minute, color="black", linewidth=0.7)
                axes.annotate(written_sizes(sizes), (minute, axes.get_ylim()[1]), fontsize=6, rotation=90, va="top")
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
        setting="VLD at 6, 12 and 18 frames a second, T_max = 1000 ms, T_min = 450 ms, w = T_ra, from 3:5:1. Adding "
        "executors stops the topology for 10 s, as new machines are started there; removing them does not.",
    ),
)

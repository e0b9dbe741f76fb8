"""Figure 13: the highest rate, in steps of 500/s, that each scheduler's placement can process."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, NamedTuple

from rheostat.experiments.reproduce.rastream.applications import (
    APPLICATIONS,
    DEBS,
    IO_MS,
    LIGHT_IO_MS,
    WORD_COUNT,
    RaStreamApplication,
)
from rheostat.experiments.reproduce.rastream.schedulers import (
    COLOURS,
    EVEN,
    FRAME_S,
    RA_STREAM,
    SP_ANT,
    STRATEGIES,
    case,
)
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Progress, Reproduction, ReproductionResult
from rheostat.experiments.reproduce.turn_log import TurnLog, simulate_with_log
from rheostat.names import OperatorName
from rheostat.snapshot import Snapshot

STEP, HIGHEST = 500, 20_000
PAPER = {
    WORD_COUNT.name: {RA_STREAM: 14_500, SP_ANT: 11_500, EVEN: 9_000},
    DEBS.name: {RA_STREAM: 12_000, SP_ANT: 9_500, EVEN: 7_500},
}
MORE_TASKS = {
    WORD_COUNT.name: ("word count, 8 tasks that count", WORD_COUNT.with_tasks("count", 8)),
    DEBS.name: (
        "DEBS 2024, 8 tasks that detect and 8 that aggregate",
        DEBS.with_tasks("detect", 8).with_tasks("aggregate", 8),
    ),
}
"""More tasks where their threads are the limit: by name of the application, a name and the changed application."""

_JUDGED_S = 30.0
"""The end of a run, in which the backlog must not grow."""


def run(effort: Effort, progress: Progress) -> ReproductionResult:
    apps = {app.name: app for app in APPLICATIONS} | dict(MORE_TASKS.values())
    found: dict[str, dict[str, int]] = {}
    limits: dict[str, dict[str, Limit]] = {}
    for done, (name, app) in enumerate(apps.items()):
        found[name], limits[name] = {}, {}
        for part, strategy in enumerate(STRATEGIES):
            found[name][strategy] = rate = highest(app, strategy, effort)
            limits[name][strategy] = limit_at(app, strategy, float(rate + STEP), effort)
            progress((3 * done + part + 1) / (3 * len(apps)))
    as_there = {app.name: found[app.name] for app in APPLICATIONS}
    return ReproductionResult(
        columns=("application", "scheduler", "paper (1/s)", "here (1/s)", "limit at the next step", "its tasks, busy"),
        rows=tuple(
            (
                app,
                strategy,
                PAPER.get(app, {}).get(strategy),
                rate,
                limit.operator,
                f"{limit.busy:.1f} of {limit.tasks}",
            )
            for app, by in found.items()
            for strategy, rate in by.items()
            for limit in [limits[app][strategy]]
        ),
        claims=tuple(
            claim for app, by in as_there.items() for claim in _claims(app, by, limits[app], found[MORE_TASKS[app][0]])
        ),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, as_there),
    )


def highest(app: RaStreamApplication, strategy: str, effort: Effort) -> int:
    """The highest step that it keeps up with, found by bisection."""
    steps = range(STEP, HIGHEST + STEP, STEP)
    first_too_many = bisect_left(steps, True, key=lambda rate: not keeps_up(app, strategy, float(rate), effort))
    return steps[first_too_many] - STEP if first_too_many < len(steps) else HIGHEST


class Limit(NamedTuple):
    """The operator whose backlog grows most at a rate, how many tasks it has and how many of them are busy."""

    operator: str
    busy: float
    tasks: int


def limit_at(app: RaStreamApplication, strategy: str, rate: float, effort: Effort) -> Limit:
    duration_s, log = next(_runs(app, strategy, rate, effort))
    first, last = _ends(log, duration_s)
    operator = max(last.operators, key=lambda name: _queued(last, name) - _queued(first, name))
    busy_s = [snapshot.operators[operator].busy_s or 0.0 for snapshot in (first, last)]
    tasks = next(each["executors"] for each in app.operators if each["name"] == operator)
    return Limit(operator, (busy_s[1] - busy_s[0]) / (last.time_s - first.time_s), tasks)


def keeps_up(app: RaStreamApplication, strategy: str, rate: float, effort: Effort) -> bool:
    """Whether in every run the backlog grows by less than the input of half a second at its end.

    What has gathered before the tasks are placed for the rate may still wait then.
    """
    return all(_growth(*_ends(log, duration_s)) < rate / 2 for duration_s, log in _runs(app, strategy, rate, effort))


def _runs(app: RaStreamApplication, strategy: str, rate: float, effort: Effort) -> Iterator[tuple[float, TurnLog]]:
    duration_s = 2 * FRAME_S + effort.choose(30.0, 0.0) + _JUDGED_S
    wanted = case(app.scenario(rate, duration_s, io_ms=LIGHT_IO_MS), strategy)
    return ((duration_s, simulate_with_log(wanted, seed)[1]) for seed in range(effort.seeds))


def _ends(log: TurnLog, duration_s: float) -> tuple[Snapshot, Snapshot]:
    """Of the time that is judged."""
    late = [turn.snapshot for turn in log.turns if turn.snapshot is not None and turn.time_s >= duration_s - _JUDGED_S]
    return late[0], late[-1]


def _growth(first: Snapshot, last: Snapshot) -> int:
    """By how many records the backlog has grown."""
    return sum(_queued(last, name) - _queued(first, name) for name in last.operators)


def _queued(snapshot: Snapshot, operator: OperatorName) -> int:
    return snapshot.operators[operator].queued or 0


def _claims(app: str, rates: dict[str, int], limits: dict[str, Limit], wider: dict[str, int]) -> list[Claim]:
    more = _more(rates)
    operators = ", ".join(f"{strategy} {limit.operator}" for strategy, limit in limits.items())
    why = (
        f"The threads of an operator's tasks are the limit, whatever their nodes have left ({operators}; last columns)"
        ". Records that go by key come from all nodes wherever their task is. With "
        f"{MORE_TASKS[app][0].partition(', ')[2]} (last rows) Ra-Stream has {wider[RA_STREAM]:,}/s, "
        f"{_compared(_more(wider))}."
    )
    return [
        Claim(
            f"{app}: Ra-Stream has the highest throughput, the even scheduler the lowest",
            rates[RA_STREAM] > rates[SP_ANT] > rates[EVEN],
            ", ".join(f"{strategy} {rate:,}/s" for strategy, rate in rates.items()),
            why=why,
        ),
        Claim(
            f"{app}: Ra-Stream's throughput is at least a quarter higher than that of both others (paper: 26 to 61 %)",
            min(more.values()) >= 0.25,
            _compared(more),
            why=why,
        ),
    ]


def _more(rates: dict[str, int]) -> dict[str, float]:
    return {other: rates[RA_STREAM] / rates[other] - 1 for other in (SP_ANT, EVEN)}


def _compared(more: dict[str, float]) -> str:
    return ", ".join(f"{share:+.0%} compared with {other}" for other, share in more.items())


_NOTE = (
    "A record from another node costs its receiver more; without that, placement could not change the highest rate, "
    "because the thread of a single task is the bottleneck. The paper's own numbers contradict its limits: word count "
    "needs 10 of the 14 nodes at 4,500/s, and within T_over it could not grow to 14,500/s. A record therefore needs "
    f"{LIGHT_IO_MS:g} ms of I/O here instead of {IO_MS:g} ms."
)


def _draw(figure: Any, found: dict[str, dict[str, int]]) -> None:
    axes = figure.subplots()
    for offset, strategy in enumerate(STRATEGIES):
        positions = [index + 0.25 * (offset - 1) for index in range(len(found))]
        axes.bar(positions, [by[strategy] for by in found.values()], 0.22, color=COLOURS[strategy], label=strategy)
        paper = [PAPER[app][strategy] for app in found]
        axes.plot(positions, paper, "k_", markersize=20, label="paper" if offset == 0 else None)
    axes.set_xticks(range(len(found)), list(found))
    axes.set_ylabel("highest rate, records per second")
    axes.legend()


REPRODUCTIONS = (
    Reproduction(
        "rastream-fig13",
        "Figure 13",
        "highest throughput",
        run,
        setting="Steps of 500/s. Tasks are placed twice, after 30 s and after 60 s at the rate. A scheduler keeps up "
        "with it if in the last 30 s of a run the backlog grows by less than the input of half a second (the paper "
        "waits ten minutes at each step).",
    ),
)

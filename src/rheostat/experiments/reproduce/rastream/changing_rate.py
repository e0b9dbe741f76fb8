"""Figures 15 to 18: nodes in use and their utilisation while the rate changes."""

from functools import partial
from typing import Any

from rheostat.experiments.replicate import mean_of
from rheostat.experiments.reproduce.rastream.applications import DEBS, NODES, WORD_COUNT, RaStreamApplication
from rheostat.experiments.reproduce.rastream.node_usage import nodes_used, utilisations
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

STEPS = ((0, 1800), (60, 3000), (210, 4500), (270, 2700), (330, 2000))
ENDS_S = (60, 210, 270, 330, 420)
PAPER_NODES = {WORD_COUNT.name: (5, 7, 10, 7, None), DEBS.name: (7, 8, 11, 8, None)}


def simulate_all(app: RaStreamApplication, effort: Effort, progress: Progress) -> dict[str, list[TurnLog]]:
    """The turn logs of each scheduler, one for each seed."""
    load = {"shape": "step", "steps": [list(step) for step in STEPS]}
    found: dict[str, list[TurnLog]] = {}
    for done, strategy in enumerate(STRATEGIES, start=1):
        wanted = case(app.scenario(load, float(ENDS_S[-1])), strategy)
        found[strategy] = [simulate_with_log(wanted, seed)[1] for seed in range(effort.seeds)]
        progress(done / len(STRATEGIES))
    return found


def nodes(app: RaStreamApplication, effort: Effort, progress: Progress) -> ReproductionResult:
    """Figures 15 and 16."""
    found = simulate_all(app, effort, progress)
    at_end = {
        strategy: [mean_of([float(_nodes_at(run, end_s)) for run in runs]) for end_s in ENDS_S]
        for strategy, runs in found.items()
    }
    saved = sum(map(_saved, found[RA_STREAM])) / effort.seeds
    rows = zip(STEPS, PAPER_NODES[app.name], *at_end.values(), strict=True)
    return ReproductionResult(
        columns=("from (s)", "rate (1/s)", "Ra-Stream: paper", *(f"{strategy} here" for strategy in STRATEGIES)),
        rows=tuple((start_s, rate, paper, *numbers) for (start_s, rate), paper, *numbers in rows),
        claims=(
            _follows([number.mean for number in at_end[RA_STREAM]]),
            _near([number.mean for number in at_end[RA_STREAM]], PAPER_NODES[app.name]),
            Claim(
                "Ra-Stream saves at least 40 % of the nodes over the whole run (paper: 40 to 46 %)",
                saved >= 0.4,
                f"{saved:.0%} of {NODES} nodes",
                given=_FITTED,
                why="Until the first plan, at 30 s, all nodes are in use, and a new rate is served by the old plan for "
                f"a frame. The paper's own numbers of nodes save {saved_in_paper(app):.0%}.",
            ),
        ),
        notes=(_NODES_NOTE,),
        draw=lambda figure: _draw_nodes(figure, {strategy: runs[0] for strategy, runs in found.items()}),
    )


def utilisation(app: RaStreamApplication, effort: Effort, progress: Progress) -> ReproductionResult:
    """Figures 17 and 18."""
    runs = simulate_all(app, effort, progress)
    means = {strategy: _mean_rows([_means(utilisations(run)) for run in by]) for strategy, by in runs.items()}
    spread = {strategy: max(by) - min(by) for strategy, by in means.items()}
    return ReproductionResult(
        columns=("from (s)", "rate (1/s)", *(f"{strategy} here" for strategy in STRATEGIES)),
        rows=tuple((start_s, rate, *by) for (start_s, rate), *by in zip(STEPS, *means.values(), strict=True)),
        claims=(
            Claim(
                "Ra-Stream's nodes have the highest utilisation at every rate",
                all(ra > max(ant, even) for ra, ant, even in zip(*(means[s] for s in STRATEGIES), strict=True)),
                ", ".join(f"{strategy} {min(by):.0%} to {max(by):.0%}" for strategy, by in means.items()),
            ),
            Claim(
                "their utilisation varies least with the rate",
                spread[RA_STREAM] < min(spread[SP_ANT], spread[EVEN]),
                ", ".join(f"{strategy} by {share:.0%}" for strategy, share in spread.items()),
            ),
        ),
        notes=(_USE_NOTE,),
        draw=lambda figure: _draw_use(figure, {strategy: utilisations(by[0]) for strategy, by in runs.items()}),
    )


def _nodes_at(log: TurnLog, time_s: float) -> int:
    """Nodes in use just before `time_s`, when the rate changes again."""
    return nodes_used([turn for turn in log.turns if turn.time_s < time_s][-1])


def _saved(log: TurnLog) -> float:
    """The share of nodes without tasks, over the whole run."""
    return 1 - sum(map(nodes_used, log.turns)) / (NODES * len(log.turns))


def saved_in_paper(app: RaStreamApplication) -> float:
    """The same with the printed numbers from the first plan on; the last one, which is not printed, as the first."""
    first, *others = PAPER_NODES[app.name]
    planned = zip((first, *others[:-1], first), STEPS, ENDS_S, strict=True)
    used = sum((number or 0) * (end_s - max(start_s, FRAME_S)) for number, (start_s, _), end_s in planned)
    return 1 - (NODES * FRAME_S + used) / (NODES * ENDS_S[-1])


_FITTED = "I/O and memory of a record and a task were chosen by these numbers"


def _follows(numbers: list[float]) -> Claim:
    rates = [rate for _, rate in STEPS]
    order = [numbers[index] for index in sorted(range(len(rates)), key=lambda index: rates[index])]
    return Claim(
        "more nodes are used at higher rates",
        order == sorted(order) and len(set(order)) > 1,
        ", ".join(f"{number:.3g} at {rate:,}/s" for rate, number in zip(rates, numbers, strict=True)),
        given=_FITTED,
    )


def _near(numbers: list[float], paper: tuple[int | None, ...]) -> Claim:
    apart = [abs(number - printed) for number, printed in zip(numbers, paper, strict=True) if printed is not None]
    return Claim(
        "the number of nodes differs from the paper's by at most one at every rate that it states",
        max(apart) <= 1,
        f"by at most {max(apart):.2g}",
        given=_FITTED,
    )


def _means(series: list[tuple[float, float]]) -> list[float]:
    """The mean in the last third of each phase, when placements have settled."""
    found = []
    for (start_s, _), end_s in zip(STEPS, ENDS_S, strict=True):
        late = [share for time_s, share in series if end_s - (end_s - start_s) / 3 <= time_s < end_s]
        found.append(sum(late) / len(late))
    return found


def _mean_rows(rows: list[list[float]]) -> list[float]:
    return [sum(column) / len(column) for column in zip(*rows, strict=True)]


_NODES_NOTE = (
    "The numbers are taken at the end of each phase: a new plan is made after a whole frame of 30 s at the new rate. "
    "I/O is the bottleneck of nodes here, and a saturated node hides the demand beyond its capacity; that demand is "
    "estimated from the arriving records and from the cost of a record before the node was saturated. A plan has a "
    "reserve of 5 %. The picture shows the first run."
)
_USE_NOTE = (
    "Utilisation is R of eq. 6 (50 % processor, 35 % memory, 15 % I/O), averaged over the nodes in use. The paper "
    "prints no numbers for these figures. R stays below T_under for two reasons: a node holds 4 tasks, which use 60 % "
    "of its memory, and its I/O, with a weight of 15 %, is saturated before the processor. The picture shows the first "
    "run."
)


def _draw_nodes(figure: Any, found: dict[str, TurnLog]) -> None:
    axes = figure.subplots()
    for strategy, log in found.items():
        numbers = [nodes_used(turn) for turn in log.turns]
        axes.step(log.times_s(), numbers, where="post", color=COLOURS[strategy], label=strategy)
    _phases(axes)
    axes.set_ylim(0, NODES + 1)
    axes.set_ylabel("nodes in use")
    axes.legend()


def _draw_use(figure: Any, found: dict[str, list[tuple[float, float]]]) -> None:
    axes = figure.subplots()
    for strategy, series in found.items():
        axes.plot(*zip(*series, strict=True), color=COLOURS[strategy], linewidth=0.9, label=strategy)
    _phases(axes)
    axes.set_ylim(0, 1)
    axes.set_ylabel("mean utilisation R of the nodes in use")
    axes.legend()


def _phases(axes: Any) -> None:
    for start_s, rate in STEPS:
        axes.axvline(start_s, color="black", linewidth=0.5)
        axes.annotate(f"{rate:,}/s", (start_s + 3, 0.02), xycoords=("data", "axes fraction"), fontsize=8)
    axes.set_xlabel("time, s")
    axes.grid(alpha=0.3)


_SETTING = "1,800/s at first, 3,000/s from 60 s, 4,500/s from 210 s, 2,700/s from 270 s, 2,000/s from 330 s."
REPRODUCTIONS = tuple(
    Reproduction(
        f"rastream-fig{number}", f"Figure {number}", f"{what} of {app.name} under changing rates", run, _SETTING
    )
    for number, what, app, run in (
        (15, "nodes in use", WORD_COUNT, partial(nodes, WORD_COUNT)),
        (16, "nodes in use", DEBS, partial(nodes, DEBS)),
        (17, "utilisation", WORD_COUNT, partial(utilisation, WORD_COUNT)),
        (18, "utilisation", DEBS, partial(utilisation, DEBS)),
    )
)

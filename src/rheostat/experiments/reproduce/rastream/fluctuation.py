"""Figures 15 to 18: nodes in use and how full they are, while the rate changes."""

from functools import partial
from typing import Any

from rheostat.experiments.replicate import mean_of
from rheostat.experiments.reproduce.course import Course, follow
from rheostat.experiments.reproduce.rastream.applications import DEBS, NODES, WORD_COUNT, Application
from rheostat.experiments.reproduce.rastream.strategies import COLOURS, EVEN, RA_STREAM, SP_ANT, STRATEGIES, case
from rheostat.experiments.reproduce.rastream.usage import nodes_used, utilisations
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Outcome, Progress, Reproduction

STEPS = ((0, 1800), (60, 3000), (210, 4500), (270, 2700), (330, 2000))
ENDS_S = (60, 210, 270, 330, 420)
PAPER_NODES = {WORD_COUNT.name: (5, 7, 10, 7, None), DEBS.name: (7, 8, 11, 8, None)}


def courses(app: Application, effort: Effort, progress: Progress) -> dict[str, list[Course]]:
    """The runs of each scheduler, one for each seed."""
    load = {"shape": "step", "steps": [list(step) for step in STEPS]}
    found: dict[str, list[Course]] = {}
    for done, strategy in enumerate(STRATEGIES, start=1):
        wanted = case(app.scenario(load, float(ENDS_S[-1])), strategy)
        found[strategy] = [follow(wanted, seed)[1] for seed in range(effort.seeds)]
        progress(done / len(STRATEGIES))
    return found


def nodes(app: Application, effort: Effort, progress: Progress) -> Outcome:
    """Figures 15 and 16."""
    found = courses(app, effort, progress)
    at_end = {
        strategy: [mean_of([float(_nodes_at(run, end_s)) for run in runs]) for end_s in ENDS_S]
        for strategy, runs in found.items()
    }
    saved = sum(map(_saved, found[RA_STREAM])) / effort.seeds
    rows = zip(STEPS, PAPER_NODES[app.name], *at_end.values(), strict=True)
    return Outcome(
        columns=("from (s)", "rate (1/s)", "Ra-Stream: paper", *(f"{strategy} here" for strategy in STRATEGIES)),
        rows=tuple((start_s, rate, paper, *numbers) for (start_s, rate), paper, *numbers in rows),
        claims=(
            _follows([number.mean for number in at_end[RA_STREAM]]),
            _near([number.mean for number in at_end[RA_STREAM]], PAPER_NODES[app.name]),
            Claim(
                "it saves at least 40 % of the nodes over the whole run (paper: 40 to 46 %)",
                saved >= 0.4,
                f"{saved:.0%} of {NODES} nodes",
            ),
        ),
        notes=(_NODES_NOTE, _CHOSEN_NOTES[app.name]),
        draw=lambda figure: _draw_nodes(figure, {strategy: runs[0] for strategy, runs in found.items()}),
    )


def utilisation(app: Application, effort: Effort, progress: Progress) -> Outcome:
    """Figures 17 and 18."""
    runs = courses(app, effort, progress)
    means = {strategy: _mean_rows([_means(utilisations(run)) for run in by]) for strategy, by in runs.items()}
    spread = {strategy: max(by) - min(by) for strategy, by in means.items()}
    return Outcome(
        columns=("from (s)", "rate (1/s)", *(f"{strategy} here" for strategy in STRATEGIES)),
        rows=tuple((start_s, rate, *by) for (start_s, rate), *by in zip(STEPS, *means.values(), strict=True)),
        claims=(
            Claim(
                "Ra-Stream's nodes are fuller than those of both others at every rate",
                all(ra > max(ant, even) for ra, ant, even in zip(*(means[s] for s in STRATEGIES), strict=True)),
                ", ".join(f"{strategy} {min(by):.0%} to {max(by):.0%}" for strategy, by in means.items()),
            ),
            Claim(
                "their utilisation varies least with the rate",
                spread[RA_STREAM] < min(spread[SP_ANT], spread[EVEN]),
                ", ".join(f"{strategy} by {share:.0%}" for strategy, share in spread.items()),
            ),
        ),
        notes=(_USE_NOTE, _ALL_IN_USE_NOTE) if app is DEBS else (_USE_NOTE,),
        draw=lambda figure: _draw_use(figure, {strategy: utilisations(by[0]) for strategy, by in runs.items()}),
    )


def _nodes_at(course: Course, time_s: float) -> int:
    """Just before the rate changes again."""
    return nodes_used([period for period in course.periods if period.time_s < time_s][-1])


def _saved(course: Course) -> float:
    """The share of the nodes, over the whole run, that had no task."""
    return 1 - sum(map(nodes_used, course.periods)) / (NODES * len(course.periods))


def _follows(numbers: list[float]) -> Claim:
    rates = [rate for _, rate in STEPS]
    order = [numbers[index] for index in sorted(range(len(rates)), key=lambda index: rates[index])]
    return Claim(
        "more nodes at higher rates, fewer at lower ones",
        order == sorted(order) and len(set(order)) > 1,
        ", ".join(f"{number:.3g} at {rate:,}/s" for rate, number in zip(rates, numbers, strict=True)),
    )


def _near(numbers: list[float], paper: tuple[int | None, ...]) -> Claim:
    apart = [abs(number - told) for number, told in zip(numbers, paper, strict=True) if told is not None]
    return Claim(
        "at every rate for which the paper tells their number, it is that or one more or less",
        max(apart) <= 1,
        f"at most {max(apart):.2g} apart",
    )


def _means(series: list[tuple[float, float]]) -> list[float]:
    """The mean in the last third of each phase, when everything has settled."""
    found = []
    for (start_s, _), end_s in zip(STEPS, ENDS_S, strict=True):
        late = [share for time_s, share in series if end_s - (end_s - start_s) / 3 <= time_s < end_s]
        found.append(sum(late) / len(late))
    return found


def _mean_rows(rows: list[list[float]]) -> list[float]:
    return [sum(column) / len(column) for column in zip(*rows, strict=True)]


_NODES_NOTE = (
    "The numbers are those at the end of each phase: a new plan comes when a whole frame of 30 s has been measured at "
    "the new rate. I/O fills nodes first here, and a full node hides how much more is asked of it; that is estimated "
    "from the records that arrive and from what a record cost while the node was not full. A plan has 5 % in reserve. "
    "The picture shows the first run."
)
_CHOSEN_NOTES = {
    WORD_COUNT.name: "What a record costs in I/O was chosen so that 3,000/s need 7 nodes without the reserve; the "
    "numbers at the other rates follow from that.",
    DEBS.name: "At 4,500/s, the reserve included, each of 14 tasks needs 53 to 59 % of a node's I/O, so that no two of "
    "them share a node. This comes from the numbers of tasks and the selectivities, which the paper does not tell: "
    "the I/O of all tasks together is that of 11 nodes, the paper's number.",
}
_USE_NOTE = (
    "Utilisation is R of eq. 6: half processor, 35 % memory, 15 % I/O, as the mean over the nodes in use. The paper "
    "prints no numbers for these figures. That R stays below T_under has two reasons: a node holds 4 tasks with 60 % "
    "of its memory, and its I/O, with a weight of 15 %, is full before the processor is. The picture shows the first "
    "run."
)
_ALL_IN_USE_NOTE = (
    "At 4,500/s all nodes are in use (figure 16). Those of the even scheduler are a little fuller then because more "
    "records come from other nodes there, which costs processor time."
)


def _draw_nodes(figure: Any, found: dict[str, Course]) -> None:
    axes = figure.subplots()
    for strategy, course in found.items():
        numbers = [nodes_used(period) for period in course.periods]
        axes.step(course.times_s(), numbers, where="post", color=COLOURS[strategy], label=strategy)
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


_SETTING = "1,800/s, from 60 s on 3,000, from 210 s 4,500, from 270 s 2,700, from 330 s 2,000."
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

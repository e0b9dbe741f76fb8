"""Figures 12 to 17: each topology under each input stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rheostat.experiments.replicate import Mean
from rheostat.experiments.reproduce.dabs import presentation
from rheostat.experiments.reproduce.dabs.comparison import Comparison, StrategyRuns, compare
from rheostat.experiments.reproduce.dabs.loads import ERRATIC, PROGRESSIVE
from rheostat.experiments.reproduce.dabs.strategies import AUTOSCALE, FOLLOWING, INCREMENTAL, LEARNED, USUAL
from rheostat.experiments.reproduce.dabs.topologies import INSENSITIVE, OPINION, SENSITIVE, DabsTopology
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Progress, Reproduction, ReproductionResult

_COMPARED = (AUTOSCALE, INCREMENTAL, LEARNED)
"""The strategies in the paper's figures; its AUTOSCALE+ has β 0.8."""


@dataclass(frozen=True)
class DabsFigure:
    """One experiment, with the losses by strategy that the paper prints and the claims it makes."""

    number: int
    title: str
    application: DabsTopology
    load: dict[str, Any]
    paper: dict[str, str]
    claims: Callable[[dict[str, StrategyRuns]], tuple[Claim, ...]]

    def run(self, effort: Effort, progress: Progress) -> ReproductionResult:
        found = compare(self.application, f"figure {self.number}", self.load, effort, progress)
        return ReproductionResult(
            columns=presentation.COLUMNS,
            rows=presentation.rows(found, self.paper),
            claims=self.claims(_as_in_the_paper(found)),
            draw=lambda figure: presentation.draw(figure, found, self.application, self.load),
        )

    def reproduction(self) -> Reproduction:
        return Reproduction(f"dabs-fig{self.number}", f"Figure {self.number}", self.title, self.run)


def _as_in_the_paper(found: Comparison) -> dict[str, StrategyRuns]:
    """The results with restarts, by strategy."""
    return {strategy: runs for (strategy, setting), runs in found.items() if setting == "restart"}


def _lowest(
    what: str, figure: Callable[[StrategyRuns], Mean], runs: dict[str, StrategyRuns], who: str, why: str = ""
) -> Claim:
    return _extreme(f"{who} has the lowest {what}", figure, runs, who, min, why)


def _highest(
    what: str, figure: Callable[[StrategyRuns], Mean], runs: dict[str, StrategyRuns], who: str, why: str = ""
) -> Claim:
    return _extreme(f"{who} has the highest {what}", figure, runs, who, max, why)


def _extreme(
    text: str, figure: Callable[[StrategyRuns], Mean], runs: dict[str, StrategyRuns], who: str, choose: Any, why: str
) -> Claim:
    values = {name: figure(runs[name]).mean for name in _COMPARED}
    evidence = ", ".join(f"{name} {value:.3g}" for name, value in values.items())
    return Claim(text, choose(values, key=lambda name: values[name]) == who, evidence, why=why)


def _few_restarts(runs: dict[str, StrategyRuns], figure: Callable[[StrategyRuns], Mean]) -> str:
    """Why reinforcement learning wins on a stream that it knows."""
    best, following = runs[LEARNED], runs[FOLLOWING]
    return (
        f"Reinforcement learning was trained on this very stream; at its best it tells {best.setup} of the rate apart "
        f"and changes degrees at {best.moments()} moments of the first run, AUTOSCALE+ at {runs[AUTOSCALE].moments()}, "
        "and each of them is a restart. With 24 levels it follows the rate, as the paper describes it: "
        f"{figure(following).mean:.3g}, with {following.moments()}."
    )


def _thresholds(runs: dict[str, StrategyRuns]) -> str:
    """What the incremental strategy's best thresholds cost."""
    best, usual = runs[INCREMENTAL], runs[USUAL]
    return (
        f"The incremental strategy is shown with the thresholds with which it loses least, {best.setup}: they keep "
        f"{best.units().mean:.3g} units, AUTOSCALE+ has {runs[AUTOSCALE].units().mean:.3g}. With {usual.setup} it has "
        f"{usual.units().mean:.3g} and loses {usual.loss().mean:.3g} %."
    )


def _more_units(runs: dict[str, StrategyRuns], than: str, paper: str) -> Claim:
    more = 100 * (runs[INCREMENTAL].units().mean / runs[than].units().mean - 1)
    return Claim(f"{INCREMENTAL} uses more units than {than} ({paper} in the paper)", more > 0, f"{more:+.0f} %")


_UNSEEN_BACKLOG = (
    "AUTOSCALE+ counts the records that a sudden peak leaves waiting and adds what they need in one step; "
    "reinforcement learning knows only rates. The rows without restarts show the same."
)


_BUSY_AFTER_RESTARTS = (
    "The backlog that a restart leaves keeps its executors busy, and it adds more; the rows without restarts show what "
    "it needs otherwise."
)


def _insensitive_progressive(runs: dict[str, StrategyRuns]) -> tuple[Claim, ...]:
    return (
        _lowest("loss", StrategyRuns.loss, runs, AUTOSCALE, _few_restarts(runs, StrategyRuns.loss)),
        _lowest("latency", StrategyRuns.latency_s, runs, AUTOSCALE, _few_restarts(runs, StrategyRuns.latency_s)),
        _more_units(runs, LEARNED, "64 %"),
        _more_units(runs, AUTOSCALE, "18 %"),
    )


def _insensitive_erratic(runs: dict[str, StrategyRuns]) -> tuple[Claim, ...]:
    return (
        _lowest("loss", StrategyRuns.loss, runs, LEARNED, _UNSEEN_BACKLOG),
        _highest("loss", StrategyRuns.loss, runs, INCREMENTAL),
    )


def _sensitive_progressive(runs: dict[str, StrategyRuns]) -> tuple[Claim, ...]:
    return (_lowest("loss", StrategyRuns.loss, runs, LEARNED),)


def _sensitive_erratic(runs: dict[str, StrategyRuns]) -> tuple[Claim, ...]:
    return (
        _highest("loss", StrategyRuns.loss, runs, INCREMENTAL),
        _highest("number of units", StrategyRuns.units, runs, INCREMENTAL),
    )


def _opinion_progressive(runs: dict[str, StrategyRuns]) -> tuple[Claim, ...]:
    thresholds = _thresholds(runs)
    return (
        _lowest("loss", StrategyRuns.loss, runs, AUTOSCALE, f"{_few_restarts(runs, StrategyRuns.loss)} {thresholds}"),
        _lowest("latency", StrategyRuns.latency_s, runs, AUTOSCALE, _few_restarts(runs, StrategyRuns.latency_s)),
        _highest("number of units", StrategyRuns.units, runs, AUTOSCALE, f"{thresholds} {_BUSY_AFTER_RESTARTS}"),
    )


def _opinion_erratic(runs: dict[str, StrategyRuns]) -> tuple[Claim, ...]:
    return (
        _lowest("loss", StrategyRuns.loss, runs, AUTOSCALE, _few_restarts(runs, StrategyRuns.loss)),
        _lowest("latency", StrategyRuns.latency_s, runs, AUTOSCALE, _few_restarts(runs, StrategyRuns.latency_s)),
    )


FIGURES = (
    DabsFigure(
        12,
        "insensitive topology, progressive stream",
        INSENSITIVE,
        PROGRESSIVE,
        {AUTOSCALE: "7 %", INCREMENTAL: "29 %"},
        _insensitive_progressive,
    ),
    DabsFigure(
        13,
        "insensitive topology, erratic stream",
        INSENSITIVE,
        ERRATIC,
        {LEARNED: "13 %", AUTOSCALE: "18 %", INCREMENTAL: "19 %"},
        _insensitive_erratic,
    ),
    DabsFigure(
        14,
        "sensitive topology, progressive stream",
        SENSITIVE,
        PROGRESSIVE,
        {LEARNED: "lowest"},
        _sensitive_progressive,
    ),
    DabsFigure(
        15,
        "sensitive topology, erratic stream",
        SENSITIVE,
        ERRATIC,
        {AUTOSCALE: "4.8 %", INCREMENTAL: "highest"},
        _sensitive_erratic,
    ),
    DabsFigure(
        16,
        "opinion topology, progressive stream",
        OPINION,
        PROGRESSIVE,
        {AUTOSCALE: "10 %, lowest"},
        _opinion_progressive,
    ),
    DabsFigure(17, "opinion topology, erratic stream", OPINION, ERRATIC, {AUTOSCALE: "lowest"}, _opinion_erratic),
)
REPRODUCTIONS = tuple(figure.reproduction() for figure in FIGURES)

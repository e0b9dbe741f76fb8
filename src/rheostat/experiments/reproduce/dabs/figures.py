"""Figures 12 to 17: each topology under each stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rheostat.experiments.replicate import Mean
from rheostat.experiments.reproduce.dabs import table
from rheostat.experiments.reproduce.dabs.comparison import Comparison, Runs, compare
from rheostat.experiments.reproduce.dabs.notes import NOTES
from rheostat.experiments.reproduce.dabs.strategies import AUTOSCALE, INCREMENTAL, LEARNED
from rheostat.experiments.reproduce.dabs.streams import ERRATIC, PROGRESSIVE
from rheostat.experiments.reproduce.dabs.topologies import INSENSITIVE, OPINION, SENSITIVE, Application
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Outcome, Progress, Reproduction

_RIVALS = (AUTOSCALE, INCREMENTAL, LEARNED)
"""Those that the paper draws; its AUTOSCALE+ has β 0.8."""


@dataclass(frozen=True)
class Figure:
    """One experiment, what the paper prints of losses by strategy, and what it claims of the strategies."""

    number: int
    title: str
    application: Application
    load: dict[str, Any]
    paper: dict[str, str]
    claims: Callable[[dict[str, Runs]], tuple[Claim, ...]]

    def run(self, effort: Effort, progress: Progress) -> Outcome:
        found = compare(self.application, f"figure {self.number}", self.load, effort, progress)
        return Outcome(
            columns=table.COLUMNS,
            rows=table.rows(found, self.paper),
            claims=self.claims(_as_in_the_paper(found)),
            notes=NOTES.get(self.number, ()),
            draw=lambda figure: table.draw(figure, found, self.application, self.load),
        )

    def reproduction(self) -> Reproduction:
        return Reproduction(f"dabs-fig{self.number}", f"Figure {self.number}", self.title, self.run)


def _as_in_the_paper(found: Comparison) -> dict[str, Runs]:
    """With restarts, by strategy."""
    return {strategy: runs for (strategy, setting), runs in found.items() if setting == "restart"}


def _least(what: str, figure: Callable[[Runs], Mean], runs: dict[str, Runs], who: str) -> Claim:
    return _extreme(f"{who} has the least {what}", figure, runs, who, min)


def _most(what: str, figure: Callable[[Runs], Mean], runs: dict[str, Runs], who: str) -> Claim:
    return _extreme(f"{who} has the most {what}", figure, runs, who, max)


def _extreme(text: str, figure: Callable[[Runs], Mean], runs: dict[str, Runs], who: str, choose: Any) -> Claim:
    values = {name: figure(runs[name]).mean for name in _RIVALS}
    evidence = ", ".join(f"{name} {value:.3g}" for name, value in values.items())
    return Claim(text, choose(values, key=lambda name: values[name]) == who, evidence)


def _more_units(runs: dict[str, Runs], than: str, paper: str) -> Claim:
    more = 100 * (runs[INCREMENTAL].units().mean / runs[than].units().mean - 1)
    return Claim(f"{INCREMENTAL} uses more units than {than} ({paper} there)", more > 0, f"{more:+.0f} %")


def _insensitive_progressive(runs: dict[str, Runs]) -> tuple[Claim, ...]:
    return (
        _least("losses", Runs.late, runs, AUTOSCALE),
        _least("latency", Runs.latency_s, runs, AUTOSCALE),
        _more_units(runs, LEARNED, "64 %"),
        _more_units(runs, AUTOSCALE, "18 %"),
    )


def _insensitive_erratic(runs: dict[str, Runs]) -> tuple[Claim, ...]:
    return (_least("losses", Runs.late, runs, LEARNED), _most("losses", Runs.late, runs, INCREMENTAL))


def _sensitive_progressive(runs: dict[str, Runs]) -> tuple[Claim, ...]:
    return (_least("losses", Runs.late, runs, LEARNED),)


def _sensitive_erratic(runs: dict[str, Runs]) -> tuple[Claim, ...]:
    return (
        _most("losses", Runs.late, runs, INCREMENTAL),
        _most("units", Runs.units, runs, INCREMENTAL),
    )


def _opinion_progressive(runs: dict[str, Runs]) -> tuple[Claim, ...]:
    return (
        _least("losses", Runs.late, runs, AUTOSCALE),
        _least("latency", Runs.latency_s, runs, AUTOSCALE),
        _most("units", Runs.units, runs, AUTOSCALE),
    )


def _opinion_erratic(runs: dict[str, Runs]) -> tuple[Claim, ...]:
    return (_least("losses", Runs.late, runs, AUTOSCALE), _least("latency", Runs.latency_s, runs, AUTOSCALE))


FIGURES = (
    Figure(
        12,
        "insensitive topology, progressive stream",
        INSENSITIVE,
        PROGRESSIVE,
        {AUTOSCALE: "7 %", INCREMENTAL: "29 %"},
        _insensitive_progressive,
    ),
    Figure(
        13,
        "insensitive topology, erratic stream",
        INSENSITIVE,
        ERRATIC,
        {LEARNED: "13 %", AUTOSCALE: "18 %", INCREMENTAL: "19 %"},
        _insensitive_erratic,
    ),
    Figure(
        14,
        "sensitive topology, progressive stream",
        SENSITIVE,
        PROGRESSIVE,
        {LEARNED: "the least"},
        _sensitive_progressive,
    ),
    Figure(
        15,
        "sensitive topology, erratic stream",
        SENSITIVE,
        ERRATIC,
        {AUTOSCALE: "4.8 %", INCREMENTAL: "the most"},
        _sensitive_erratic,
    ),
    Figure(
        16,
        "opinion topology, progressive stream",
        OPINION,
        PROGRESSIVE,
        {AUTOSCALE: "10 %, the least"},
        _opinion_progressive,
    ),
    Figure(17, "opinion topology, erratic stream", OPINION, ERRATIC, {AUTOSCALE: "the least"}, _opinion_erratic),
)
REPRODUCTIONS = tuple(figure.reproduction() for figure in FIGURES)

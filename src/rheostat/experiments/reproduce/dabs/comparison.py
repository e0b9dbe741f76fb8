"""Comparison: all strategies on one topology under one stream, with and without restarts at changes of degree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.reproduce.dabs.strategies import FOLLOWING, INCREMENTAL, LEARNED, USUAL, Setup, strategies
from rheostat.experiments.reproduce.dabs.topologies import DabsTopology
from rheostat.experiments.reproduce.reproduction import Effort, Progress
from rheostat.experiments.reproduce.sweep import Case
from rheostat.experiments.reproduce.turn_log import TurnLog, simulate_with_log
from rheostat.experiments.result import Result
from rheostat.experiments.scenario import Scenario

RESTARTS = {"restart": "30s", "no restart": None}


@dataclass(frozen=True)
class StrategyRuns:
    """The runs of one strategy, with or without restarts, and the turn log of the first. `setup` names the settings
    of the strategy, if it has several."""

    observed: str
    results: tuple[Result, ...]
    log: TurnLog
    setup: str = ""

    def mean(self, figure: Callable[[Result], float]) -> Mean:
        return mean_of([figure(result) for result in self.results])

    def loss(self) -> Mean:
        """Percentage of the records that took too long, were lost, or were still in the backlog at the end."""
        return self.mean(lambda result: 100.0 * (result.late + result.lost + result.queued) / result.arrived)

    def latency_s(self) -> Mean:
        return self.mean(lambda result: result.mean_latency_s or 0.0)

    def degree(self) -> Mean:
        """Executors of the observed operator, averaged over time."""
        return self.mean(lambda result: result.operators[self.observed].mean_executors)

    def units(self) -> Mean:
        """Processing units of the whole topology, averaged over time."""
        return self.mean(lambda result: result.mean_executors)

    def changes(self) -> Mean:
        return self.mean(lambda result: float(result.decisions.get("scale", 0)))

    def moments(self) -> int:
        """At how many moments of the first run degrees change: changes at the same moment share a restart."""
        return sum(1 for _ in self.log.actions())


Comparison = dict[tuple[str, str], StrategyRuns]
"""By strategy and setting."""


def compare(
    application: DabsTopology, name: str, load: dict[str, object], effort: Effort, progress: Progress
) -> Comparison:
    """Simulate all strategies with the same seeds, so that all see the same records."""
    found: Comparison = {}
    share = effort.choose(1.0, 0.25)
    scenarios = {setting: application.scenario(name, load, restart, share) for setting, restart in RESTARTS.items()}
    cases = [
        (strategy, setting, scenario, setups)
        for setting, scenario in scenarios.items()
        for strategy, setups in strategies(scenario).items()
    ]
    for done, (strategy, setting, scenario, setups) in enumerate(cases, start=1):
        runs = [_runs(application.observed, scenario, setup, range(effort.seeds)) for setup in setups]
        found[strategy, setting] = min(runs, key=lambda each: each.loss().mean)
        if strategy == LEARNED:
            found[FOLLOWING, setting] = runs[-1]
        if strategy == INCREMENTAL:
            found[USUAL, setting] = runs[0]
        progress(done / len(cases))
    return found


def _runs(observed: str, scenario: Scenario, setup: Setup, seeds: Sequence[int]) -> StrategyRuns:
    case = Case(scenario, setup.policy, setup.options)
    simulated = [simulate_with_log(case, seed) for seed in seeds]
    return StrategyRuns(observed, tuple(result for result, _ in simulated), simulated[0][1], setup.name)

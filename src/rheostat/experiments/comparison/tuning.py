"""Tuning: the best setting of a policy for a scenario, from a documented grid, on seeds that are used for nothing else.

The best is the cheapest of those that meet the SLA in 99 % of the windows; if none does, that with the most windows.
The default setting takes part. Settings are tried on the simulator, also for runs on Spark, where each takes minutes.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from rheostat.experiments.clairvoyant.schedule import TARGET
from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.comparison.jobs import PolicyJob
from rheostat.experiments.comparison.policy_choice import is_usable
from rheostat.experiments.comparison.scenario_choice import ChosenScenario
from rheostat.experiments.comparison.simulated_run import SIM
from rheostat.experiments.comparison.tuning_grids import GRIDS, TUNING_SEEDS
from rheostat.sla import Goal

Options = dict[str, Any]


def candidates(goal: Goal, policy: str) -> list[Options]:
    """The default setting, and those of the grid that can be used for the goal."""
    found: list[Options] = [{}]
    for options in map(dict, GRIDS.get(policy, ())):
        if options not in found and is_usable(goal, policy, options):
            found.append(options)
    return found


def tuning_jobs(chosen: ChosenScenario, policy: str) -> list[tuple[Options, list[PolicyJob]]]:
    """The runs of each candidate; none if there is no choice."""
    tried = candidates(chosen.scenario.goal, policy)
    return [(options, _jobs(chosen, policy, options)) for options in tried] if len(tried) > 1 else []


def _jobs(chosen: ChosenScenario, policy: str, options: Options) -> list[PolicyJob]:
    return [
        PolicyJob(chosen=chosen, policy=policy, setting="tuning", seed=seed, plant=SIM, options=options)
        for seed in TUNING_SEEDS
    ]


def best_options(tried: Sequence[tuple[Mapping[str, Any], Sequence[ComparedRun]]]) -> Options:
    """Of settings and their runs; the first of equals."""
    return dict(min(tried, key=lambda each: _worth(each[1]))[0])


def _worth(runs: Sequence[ComparedRun]) -> tuple[bool, float, float]:
    success = fmean(run.success_rate or 0.0 for run in runs)
    cost = fmean(run.executor_seconds for run in runs)
    is_met = success >= TARGET
    return not is_met, cost if is_met else -success, cost

"""Plants: where a policy can be compared, each with the function that makes one run there."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rheostat.errors import ConfigError, nearest
from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.comparison.simulated_run import SIM, run_on_simulator
from rheostat.experiments.scenario import Scenario
from rheostat.policies.registry import make_policy

Runner = Callable[..., ComparedRun]
"""Called as `run(scenario, policy, options, setting=..., seed=...)`."""

SPARK = "spark"


def _check_policy(scenario: Scenario, policy: str, options: Mapping[str, Any]) -> None:
    make_policy(policy, scenario.goal, options)


@dataclass(frozen=True)
class ComparedPlant:
    """`parallel`: its runs do not disturb each other, so that each can have a process of its own. `references`: what
    is possible with knowledge of the future can be found by running many schedules there. `check` is called as
    `check(scenario, policy, options)` and refuses what cannot run there; `opened` is entered around all runs."""

    run: Runner
    parallel: bool
    references: bool
    check: Callable[[Scenario, str, Mapping[str, Any]], None] = _check_policy
    opened: Callable[[], AbstractContextManager[object]] = nullcontext


def _run_on_spark(*arguments: Any, **settings: Any) -> ComparedRun:
    """Imported only when it is used: it needs PySpark."""
    runner: Runner = import_module("rheostat.experiments.on_spark.run").run_on_spark
    return runner(*arguments, **settings)


def _check_run_on_spark(scenario: Scenario, policy: str, options: Mapping[str, Any]) -> None:
    import_module("rheostat.experiments.on_spark.run").check_run(scenario, policy, options)


def _shared_cluster() -> AbstractContextManager[object]:
    opened: AbstractContextManager[object] = import_module(
        "rheostat.experiments.on_spark.shared_cluster"
    ).shared_cluster()
    return opened


PLANTS: Mapping[str, ComparedPlant] = {
    SIM: ComparedPlant(run_on_simulator, parallel=True, references=True),
    SPARK: ComparedPlant(
        _run_on_spark, parallel=False, references=False, check=_check_run_on_spark, opened=_shared_cluster
    ),
}


def plant_called(name: str) -> ComparedPlant:
    """The plant, or an error that names the near ones."""
    if name not in PLANTS:
        raise ConfigError(f"plant {name!r} is unknown: {nearest(name, PLANTS)}")
    return PLANTS[name]

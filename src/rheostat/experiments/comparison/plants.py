"""Plants: where a policy can be compared, each with the function that makes one run there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rheostat.errors import ConfigError, nearest
from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.comparison.simulated_run import SIM, run_on_simulator

Runner = Callable[..., ComparedRun]
"""Called as `run(scenario, policy, options, setting=..., seed=...)`."""

SPARK = "spark"


@dataclass(frozen=True)
class ComparedPlant:
    """`parallel`: its runs do not disturb each other, so that each can have a process of its own. `references`: what
    is possible with knowledge of the future can be found by running many schedules there."""

    run: Runner
    parallel: bool
    references: bool


def _run_on_spark(*arguments: Any, **settings: Any) -> ComparedRun:
    """Imported only when it is used: it needs PySpark."""
    runner: Runner = import_module("rheostat.experiments.on_spark.run").run_on_spark
    return runner(*arguments, **settings)


PLANTS: Mapping[str, ComparedPlant] = {
    SIM: ComparedPlant(run_on_simulator, parallel=True, references=True),
    SPARK: ComparedPlant(_run_on_spark, parallel=False, references=False),
}


def plant_called(name: str) -> ComparedPlant:
    """The plant, or an error that names the near ones."""
    if name not in PLANTS:
        raise ConfigError(f"plant {name!r} is unknown: {nearest(name, PLANTS)}")
    return PLANTS[name]

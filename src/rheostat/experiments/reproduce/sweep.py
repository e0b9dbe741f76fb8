"""Sweep: many cases, each simulated with several seeds."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rheostat.experiments.replicate import replicate
from rheostat.experiments.reproduce.reproduction import Effort, Progress
from rheostat.experiments.result import Result
from rheostat.experiments.scenario import Scenario, ScenarioFile, make_scenario

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Case:
    """A scenario under a policy."""

    scenario: Scenario
    policy: str
    options: Mapping[str, Any] = field(default_factory=dict)


def sweep(cases: Mapping[Key, Case], effort: Effort, progress: Progress) -> dict[Key, list[Result]]:
    """The results of every case, one for each seed. All cases use the same seeds and so see the same arrivals."""
    found: dict[Key, list[Result]] = {}
    for done, (key, case) in enumerate(cases.items()):
        found[key] = replicate(
            case.scenario,
            case.policy,
            case.options,
            seeds=range(effort.seeds),
            progress=lambda runs, done=done: progress((done + runs / effort.seeds) / len(cases)),  # type: ignore[misc]
        )
    return found


def scenario_of(**fields: Any) -> Scenario:
    """The scenario of a file with these fields (see `docs/scenarios.md`)."""
    return make_scenario(msgspec.convert(fields, ScenarioFile), Path())

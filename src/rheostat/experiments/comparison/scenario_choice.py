"""Scenario choice: the scenarios of a comparison, from files and folders, each with a digest of all that it says."""

import hashlib
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rheostat.errors import ConfigError, MissingTraceError
from rheostat.experiments.comparison.near_names import near_names
from rheostat.experiments.scenario import Scenario, read_scenario


@dataclass(frozen=True)
class ChosenScenario:
    """A scenario and the file it is from. `digest` changes with the file and with the files that it refers to."""

    path: Path
    scenario: Scenario
    digest: str

    @property
    def name(self) -> str:
        return self.scenario.name


@dataclass(frozen=True)
class ScenarioChoice:
    """Scenarios to compare, and why others of the same folders are left out, by path."""

    scenarios: tuple[ChosenScenario, ...]
    left_out: dict[str, str]


def choose_scenarios(paths: Sequence[Path], traces: Path | None = None) -> ScenarioChoice:
    """All scenarios at `paths`; of a folder, all TOML files in it, without those whose trace is missing."""
    chosen: dict[Path, ChosenScenario] = {}
    left_out: dict[str, str] = {}
    for given in paths:
        for path in _files(given):
            try:
                chosen.setdefault(path.resolve(), _choose(path, traces))
            except MissingTraceError as error:
                if not given.is_dir():
                    raise
                left_out[str(path)] = str(error)
    found = tuple(chosen.values())
    if not found:
        raise ConfigError(f"no scenario is left to compare: {'; '.join(left_out.values())}")
    _check_names(found)
    return ScenarioChoice(found, left_out)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(path.glob("*.toml"))
        if not found:
            raise ConfigError(f"folder {str(path)!r} has no scenario: give a folder with TOML files, or a file")
        return found
    if not path.exists():
        raise ConfigError(f"scenario {str(path)!r} does not exist; {_near(path)}")
    return [path]


def _near(path: Path) -> str:
    """Files with a similar name in the same folder, or else below `scenarios`."""
    folders = [path.parent.glob("*.toml"), Path("scenarios").rglob("*.toml")]
    return near_names(path.stem, *({each.stem: str(each) for each in there} for there in folders))


def _choose(path: Path, traces: Path | None) -> ChosenScenario:
    scenario = read_scenario(path, traces)
    if not scenario.goal.slas:
        raise ConfigError(f"scenario {path} has no SLA to compare policies by: add an [[sla]]")
    return ChosenScenario(path, scenario, _digest(path, traces))


def _digest(path: Path, traces: Path | None) -> str:
    digest = hashlib.sha256(path.read_bytes())
    for name in sorted(set(_texts(tomllib.loads(path.read_text(encoding="utf-8"))))):
        folders = [path.parent, *([] if traces is None else [traces])]
        for file in [folder / name for folder in folders if name.endswith(".csv") and (folder / name).is_file()][:1]:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _check_names(scenarios: Sequence[ChosenScenario]) -> None:
    first: dict[str, Path] = {}
    for each in scenarios:
        if each.name in first:
            raise ConfigError(
                f"{first[each.name]} and {each.path} are both called {each.name!r}: give scenarios different names"
            )
        first[each.name] = each.path

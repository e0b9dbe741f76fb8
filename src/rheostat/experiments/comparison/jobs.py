"""Jobs: the runs and searches that a comparison consists of. Each has a key, by which its result is found again."""

import hashlib
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

import rheostat
from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.comparison.plants import PLANTS, SPARK
from rheostat.experiments.comparison.policy_choice import with_training
from rheostat.experiments.comparison.references import Reference, find_references
from rheostat.experiments.comparison.scenario_choice import ChosenScenario
from rheostat.experiments.comparison.thinned_series import thinned

_WITHOUT_EFFECT = ("cli", "web", "serve", "experiments/reproduce", "experiments/comparison")
_MAKE_RUNS = ("action_counts", "jobs", "policy_choice", "references", "simulated_run", "thinned_series")
"""Modules of this folder on which the result of a job depends; the others only present it."""

_ONLY_ON_SPARK = ("spark", "workloads", "experiments/on_spark")


References = dict[str, Reference]
"""By kind."""


@dataclass(frozen=True, kw_only=True)
class PolicyJob:
    """One run of a policy. With `keeps_series` its time series is kept, thinned."""

    chosen: ChosenScenario
    policy: str
    setting: str
    seed: int
    plant: str
    options: dict[str, Any] = field(default_factory=dict)
    keeps_series: bool = False

    @property
    def key(self) -> str:
        return _key(self.chosen.digest, self.plant, self.policy, self.options, self.seed, self.keeps_series)

    @property
    def name(self) -> str:
        return f"{self.chosen.name}: {self.policy} ({self.setting}), seed {self.seed}"

    def run(self) -> ComparedRun:
        scenario = self.chosen.scenario
        options = with_training(scenario, self.policy, self.options)
        run = PLANTS[self.plant].run(scenario, self.policy, options, setting=self.setting, seed=self.seed)
        return msgspec.structs.replace(run, series=thinned(run.series) if self.keeps_series else ())


@dataclass(frozen=True, kw_only=True)
class ReferenceJob:
    """The search for all references of a scenario; `runs` limits it."""

    chosen: ChosenScenario
    seed: int
    runs: int

    @property
    def key(self) -> str:
        return _key(self.chosen.digest, "references", self.seed, self.runs)

    @property
    def name(self) -> str:
        return f"{self.chosen.name}: references"

    def run(self) -> References:
        found = find_references(self.chosen.scenario, self.seed, self.runs)
        return {kind: _with_thin_series(reference) for kind, reference in found.items()}


Job = PolicyJob | ReferenceJob
JobResult = ComparedRun | References


def _with_thin_series(reference: Reference) -> Reference:
    if reference.run is None:
        return reference
    run = msgspec.structs.replace(reference.run, series=thinned(reference.run.series))
    return msgspec.structs.replace(reference, run=run)


def _key(*parts: Any) -> str:
    """With the version and the source of the package: another version may give other results."""
    known = [*parts, version("rheostat"), _source_digest(on_spark=SPARK in parts)]
    return hashlib.sha256(msgspec.json.encode(known, order="deterministic")).hexdigest()[:32]


@cache
def _source_digest(*, on_spark: bool) -> str:
    package, digest = Path(rheostat.__file__).parent, hashlib.sha256()
    ignored = tuple(f"{folder}/" for folder in (*_WITHOUT_EFFECT, *(() if on_spark else _ONLY_ON_SPARK)))
    used = {f"experiments/comparison/{module}.py" for module in _MAKE_RUNS}
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name in used or not name.startswith(ignored):
            digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()

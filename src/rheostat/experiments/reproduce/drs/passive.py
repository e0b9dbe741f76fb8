"""DRS in its passive mode over many allocations: what is measured, what the model estimates, what it recommends."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rheostat.decision import Scale
from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.reproduce.course import Course, Sizes, follow
from rheostat.experiments.reproduce.drs.applications import (
    AS_PRINTED,
    K_MAX,
    MANY_LOGOS_S,
    logo_detection,
    pattern_detection,
    varying_fps,
)
from rheostat.experiments.reproduce.reproduction import Effort, Progress
from rheostat.experiments.reproduce.sweep import Case
from rheostat.experiments.scenario import Scenario
from rheostat.policies.drs.measured_network import NetworkMeasurer
from rheostat.policies.drs.options import DrsOptions
from rheostat.policies.observation import Observation

OPTIONS = AS_PRINTED | {"problem": "k_max", "k_max": K_MAX, "smoothing": "window:9"}


@dataclass(frozen=True)
class Application:
    """One of the two: the allocation that the paper recommends, those that figure 8 starts from, and how long to run
    for means that do not depend much on the seed."""

    name: str
    recommended: Sizes
    starts: tuple[Sizes, ...]
    scenario: Callable[..., Scenario]
    minutes: int

    def neighbours(self) -> tuple[Sizes, ...]:
        """The recommended allocation, all that differ by one executor, and the starts."""
        moved = (_moved(self.recommended, giver, taker) for giver, taker in _pairs(len(self.recommended)))
        near = [sizes for sizes in moved if min(sizes) >= 1]
        return tuple(dict.fromkeys([self.recommended, *near, *self.starts]))


@dataclass(frozen=True)
class Run:
    """One run: mean and deviation of the sojourn time as measured, its estimate, and what DRS recommends at its end."""

    mean_s: float
    deviation_s: float
    estimate_s: float
    recommended: Sizes


def _vld(allocation: Sizes, **told: Any) -> Scenario:
    return logo_detection(allocation, fps=varying_fps(1, 25), services_s=MANY_LOGOS_S, **told)


VLD = Application("VLD", (10, 11, 1), ((8, 12, 2), (11, 9, 2)), _vld, minutes=40)
FPD = Application("FPD", (6, 13, 3), ((8, 12, 2), (7, 13, 2)), pattern_detection, minutes=10)


def passive_runs(effort: Effort, progress: Progress) -> dict[str, dict[Sizes, list[Run]]]:
    """Runs of both applications by allocation; all allocations meet the same arrivals."""
    wanted = [(app, sizes) for app in (VLD, FPD) for sizes in app.neighbours()]
    found: dict[str, dict[Sizes, list[Run]]] = {VLD.name: {}, FPD.name: {}}
    for done, (app, sizes) in enumerate(wanted, start=1):
        found[app.name][sizes] = [_run(app, sizes, seed, effort) for seed in range(effort.seeds)]
        progress(done / len(wanted))
    return found


def _run(app: Application, sizes: Sizes, seed: int, effort: Effort) -> Run:
    scenario = app.scenario(sizes, duration=f"{effort.choose(app.minutes, 10)}m", cooldown="forever")
    _, course = follow(Case(scenario, "drs", OPTIONS), seed)
    return Run(*course.sojourn(), estimate_s(scenario, course, OPTIONS), _recommended(course, sizes))


def estimate_s(scenario: Scenario, course: Course, options: Mapping[str, Any]) -> float:
    """E[T] by the model of `options` from the last measures (DRS eq. 4)."""
    last = course.periods[-1]
    assert last.snapshot is not None
    assert last.measures is not None
    observation = Observation(last.snapshot, last.measures, last.plan)
    measurer = NetworkMeasurer(scenario.goal, msgspec.convert(options, DrsOptions))
    measurer.learn(observation)
    return measurer.network(observation).running.expected_latency_s()


def _recommended(course: Course, sizes: Sizes) -> Sizes:
    """What the last decisions would change; passive mode only writes them down."""
    last = course.periods[-1]
    wanted = {v.decision.pool: v.decision.executors for v in last.verdicts if isinstance(v.decision, Scale)}
    return tuple(wanted.get(pool, size) for pool, size in zip(last.plan.pools, sizes, strict=True))


def mean_s(runs: list[Run]) -> Mean:
    return mean_of([run.mean_s for run in runs])


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((giver, taker) for giver in range(count) for taker in range(count) if giver != taker)


def _moved(sizes: Sizes, giver: int, taker: int) -> Sizes:
    return tuple(size - (position == giver) + (position == taker) for position, size in enumerate(sizes))


def written_sizes(sizes: Sizes) -> str:
    """As the paper writes them: 10:11:1."""
    return ":".join(map(str, sizes))

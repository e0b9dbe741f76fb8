"""Passive runs: DRS without actions over many allocations, with measured latency, estimate and recommendation."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rheostat.decision import Scale
from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.reproduce.drs.applications import (
    AS_PUBLISHED,
    K_MAX,
    MANY_LOGOS,
    logo_detection,
    pattern_detection,
    varying_fps,
)
from rheostat.experiments.reproduce.reproduction import Effort, Progress
from rheostat.experiments.reproduce.sweep import Case
from rheostat.experiments.reproduce.turn_log import Sizes, TurnLog, simulate_with_log
from rheostat.experiments.scenario import Scenario
from rheostat.policies.drs.measured_network import NetworkMeasurer
from rheostat.policies.drs.options import DrsOptions
from rheostat.policies.observation import Observation

BY_CHOICE = "the rates were chosen so that the model recommends it"
"""Why a claim about the recommended allocation shows nothing."""

OPTIONS = AS_PUBLISHED | {"problem": "k_max", "k_max": K_MAX, "smoothing": "window:9"}


@dataclass(frozen=True)
class DrsApplication:
    """One of the two applications: the allocation that the paper recommends, those that figure 8 starts from, and a
    run time that is long enough for means to depend little on the seed."""

    name: str
    recommended: Sizes
    starts: tuple[Sizes, ...]
    scenario: Callable[..., Scenario]
    minutes: int

    def neighbours(self) -> tuple[Sizes, ...]:
        """The recommended allocation, all that differ from it by one executor, and the starts."""
        moved = (_moved(self.recommended, giver, taker) for giver, taker in _pairs(len(self.recommended)))
        near = [sizes for sizes in moved if min(sizes) >= 1]
        return tuple(dict.fromkeys([self.recommended, *near, *self.starts]))


@dataclass(frozen=True)
class PassiveRun:
    """One run: mean and deviation of the measured sojourn time, its estimate, and the recommendation at the end."""

    mean_s: float
    deviation_s: float
    estimate_s: float
    recommended: Sizes


def _vld(allocation: Sizes, **fields: Any) -> Scenario:
    usual: dict[str, Any] = {"fps": varying_fps(1, 25)}
    return logo_detection(allocation, detection=MANY_LOGOS, **(usual | fields))


VLD = DrsApplication("VLD", (10, 11, 1), ((8, 12, 2), (11, 9, 2)), _vld, minutes=40)
FPD = DrsApplication("FPD", (6, 13, 3), ((8, 12, 2), (7, 13, 2)), pattern_detection, minutes=10)


def passive_runs(effort: Effort, progress: Progress) -> dict[str, dict[Sizes, list[PassiveRun]]]:
    """Runs of both applications by allocation; all allocations see the same arrivals."""
    wanted = [(app, sizes) for app in (VLD, FPD) for sizes in app.neighbours()]
    found: dict[str, dict[Sizes, list[PassiveRun]]] = {VLD.name: {}, FPD.name: {}}
    for done, (app, sizes) in enumerate(wanted, start=1):
        found[app.name][sizes] = [passive_run(app, sizes, seed, effort) for seed in range(effort.seeds)]
        progress(done / len(wanted))
    return found


def passive_run(app: DrsApplication, sizes: Sizes, seed: int, effort: Effort, **fields: Any) -> PassiveRun:
    """A run with `sizes`; `fields` go to the application's scenario."""
    scenario = app.scenario(sizes, duration=f"{effort.choose(app.minutes, 10)}m", cooldown="forever", **fields)
    _, log = simulate_with_log(Case(scenario, "drs", OPTIONS), seed)
    return PassiveRun(*log.sojourn(), estimate_s(scenario, log, OPTIONS), _recommended(log, sizes))


def estimate_s(scenario: Scenario, log: TurnLog, options: Mapping[str, Any]) -> float:
    """E[T] by the model in `options` from the last measures (DRS eq. 4)."""
    last = log.turns[-1]
    assert last.snapshot is not None
    assert last.measures is not None
    observation = Observation(last.snapshot, last.measures, last.plan)
    measurer = NetworkMeasurer(scenario.goal, msgspec.convert(options, DrsOptions))
    measurer.learn(observation)
    return measurer.network(observation).running.expected_latency_s()


def _recommended(log: TurnLog, sizes: Sizes) -> Sizes:
    """The sizes in the last decisions; passive mode records decisions without carrying them out."""
    last = log.turns[-1]
    wanted = {v.decision.pool: v.decision.executors for v in last.verdicts if isinstance(v.decision, Scale)}
    return tuple(wanted.get(pool, size) for pool, size in zip(last.plan.pools, sizes, strict=True))


def mean_s(runs: list[PassiveRun]) -> Mean:
    return mean_of([run.mean_s for run in runs])


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((giver, taker) for giver in range(count) for taker in range(count) if giver != taker)


def _moved(sizes: Sizes, giver: int, taker: int) -> Sizes:
    return tuple(size - (position == giver) + (position == taker) for position, size in enumerate(sizes))


def sizes_text(sizes: Sizes) -> str:
    """Sizes as the paper writes them: 10:11:1."""
    return ":".join(map(str, sizes))

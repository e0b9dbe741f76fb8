"""Best schedule: the cheapest one found, with the future known, that meets the SLA when it is run on the simulator.

The search starts from the cheapest fixed sizes, from what a controller wanted that knows the present, and from two
families of schedules, for which the least headroom that is enough is found by bisection. "work" serves so much more
work than there is, "latency" keeps the latency by the queueing models at so much more load, both as cheaply as start-up
times allow. The cheapest schedule of all is then improved step by step (`cheaper_schedules`). A change stays if the SLA
is still met and less is paid. The number of runs is limited; nothing else is random. Substreams of keyed operators are
moved where that helps.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from rheostat.duration import seconds
from rheostat.experiments.clairvoyant.cheaper_schedules import Change, Cut, cheaper
from rheostat.experiments.clairvoyant.fixed_sizes import FixedSizes, cheapest_fixed
from rheostat.experiments.clairvoyant.planned_sizes import FAMILIES, planned_sizes
from rheostat.experiments.clairvoyant.present_knower import FrontierPoint, causal_frontier
from rheostat.experiments.clairvoyant.schedule import TARGET, Schedule, Sizes, requested_steps
from rheostat.experiments.clairvoyant.steady_size import SteadySizes
from rheostat.experiments.scenario import Scenario
from rheostat.experiments.simulate import simulate

RUNS = 40
"""Of schedules; those of the search for fixed sizes and of the controller that knows the present come on top."""

_HEADROOMS = (1.0, 4.0)
_BISECTIONS = 4


class FoundSchedule(msgspec.Struct, frozen=True):
    """A schedule that was run: its steps by operator, what it paid, and in what share of windows it met the SLA."""

    executor_seconds: float
    success_rate: float
    sizes: dict[str, tuple[tuple[float, int], ...]]
    rebalance: bool = False
    runs: int = 0

    @property
    def is_met(self) -> bool:
        return self.success_rate >= TARGET

    @property
    def options(self) -> dict[str, Any]:
        """Those of `Schedule` that run it again."""
        return {"sizes": self.sizes, "rebalance": self.rebalance}


def best_schedule(
    scenario: Scenario,
    seed: int = 0,
    *,
    runs: int = RUNS,
    fixed: FixedSizes | None = None,
    frontier: Iterable[FrontierPoint] | None = None,
    progress: Callable[[int], None] | None = None,
) -> FoundSchedule:
    """The cheapest schedule found with so many runs; that with the highest success if none meets the SLA.

    `fixed` and `frontier` are those of the same scenario and seed, if they are known already. `progress` is called with
    the number of runs so far.
    """
    search = _Search(scenario, seed, runs, progress)
    search.keep_fixed(cheapest_fixed(scenario, (seed,)) if fixed is None else fixed)
    for point in causal_frontier(scenario, seed) if frontier is None else frontier:
        search.repeat(point)
    for family in FAMILIES:
        search.bisect(family)
    search.improve()
    return msgspec.structs.replace(search.best, runs=search.runs)


class _Search:
    """Runs schedules and remembers the best of them."""

    def __init__(self, scenario: Scenario, seed: int, limit: int, progress: Callable[[int], None] | None) -> None:
        self._scenario, self._seed, self._limit, self._progress = scenario, seed, max(1, limit), progress
        self._steady = SteadySizes(scenario)
        self._tried: dict[str, FoundSchedule] = {}
        self._rebalance = False
        self.runs = 0

    @property
    def best(self) -> FoundSchedule:
        met = [found for found in self._tried.values() if found.is_met]
        if met:
            return min(met, key=lambda found: found.executor_seconds)
        return max(self._tried.values(), key=lambda found: (found.success_rate, -found.executor_seconds))

    def keep_fixed(self, fixed: FixedSizes) -> None:
        """Try fixed sizes, and for keyed operators whether it helps to move substreams."""
        flat: Sizes = {str(name): ((0.0, size),) for name, size in fixed.sizes.items()}
        found = self._run(flat)
        if any(operator.keyed for operator in self._scenario.model.topology.operators.values()):
            self._rebalance = True
            moving = self._run(flat)
            self._rebalance = moving is not None and found is not None and moving.success_rate > found.success_rate

    def repeat(self, point: FrontierPoint) -> None:
        """Try what another controller wanted, if it met the SLA."""
        if point.is_met:
            self._run(point.sizes)

    def bisect(self, family: str) -> None:
        """Find the least headroom that is enough for the schedules of one family."""
        low, high = _HEADROOMS
        if self._is_enough(family, low) or not self._is_enough(family, high):
            return
        for _ in range(_BISECTIONS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self._is_enough(family, middle) else (middle, high)

    def improve(self) -> None:
        """Try cheaper neighbours of the best schedule, those that save most first; a change that failed is not tried
        again, because with less elsewhere it would fail all the more."""
        failed: set[Change | Cut] = set()
        while self.best.is_met:
            before = self.best
            changes = cheaper(before.sizes, self._scenario, failed)
            if not changes or self._run(changes[0].applied(before.sizes)) is None:
                return
            if self.best is before:
                failed.add(changes[0])

    def _is_enough(self, family: str, headroom: float) -> bool:
        found = self._run(self._planned(family, headroom))
        return found is not None and found.is_met

    def _planned(self, family: str, headroom: float) -> Sizes:
        cluster, slot_s = self._scenario.model.cluster, self._scenario.loop.period_s
        start_s = seconds(cluster.start, "start") + seconds(cluster.warm_up, "warm_up")
        start = math.ceil(start_s / slot_s - 1e-9) + 1
        return {
            str(name): requested_steps(
                planned_sizes(self._scenario, self._steady, name, family, headroom, start), start, slot_s
            )
            for name in self._scenario.model.topology.operators
        }

    def _run(self, sizes: Sizes) -> FoundSchedule | None:
        """None if there are no runs left."""
        key = repr((sizes, self._rebalance))
        if key in self._tried:
            return self._tried[key]
        if self.runs >= self._limit:
            return None
        options = {"sizes": sizes, "rebalance": self._rebalance}
        result = simulate(self._scenario, Schedule, options, seed=self._seed)
        self._tried[key] = FoundSchedule(
            result.executor_seconds, result.success_rate or 0.0, dict(sizes), self._rebalance
        )
        self.runs += 1
        if self._progress is not None:
            self._progress(self.runs)
        return self._tried[key]

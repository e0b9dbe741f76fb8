"""Cheapest fixed sizes: as few executors as meet the SLA when their number never changes, found by search.

All operators get the same headroom over the work at the peak of the load, as little as is enough. Then each loses
executors, or one loses two and another gets one, as long as the SLA is met.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

import msgspec
import numpy as np

from rheostat.experiments.clairvoyant.schedule import TARGET
from rheostat.experiments.feasibility import OperatorLoads
from rheostat.experiments.scenario import Scenario
from rheostat.experiments.simulate import simulate
from rheostat.names import OperatorName
from rheostat.policies.static import Static

_LEAST_HEADROOM = 0.25
_HEADROOMS = (4.0, 2.0, 1.4)
"""From which on fewer are tried. With micro-batches more executors can be worse, because each task costs time."""

_BISECTIONS = 6

_FAILURES = 4
"""Sizes in a row that are not enough, after which no smaller one is tried. A smaller one may be better than a larger
one, because it divides the substreams."""


class FixedSizes(msgspec.Struct, frozen=True):
    """Sizes by operator, with means over the seeds."""

    executor_seconds: float
    success_rate: float
    sizes: dict[OperatorName, int]
    runs: int = 0

    @property
    def is_met(self) -> bool:
        return self.success_rate >= TARGET


def cheapest_fixed(
    scenario: Scenario, seeds: Sequence[int] = (0,), *, progress: Callable[[int], None] | None = None
) -> FixedSizes:
    """The cheapest sizes found, from the beginning on; the largest ones tried if none meets the SLA."""
    search = _FixedSearch(scenario, seeds, progress)
    enough = next((headroom for headroom in _HEADROOMS if search.run(search.sizes(headroom)).is_met), None)
    if enough is None:
        return msgspec.structs.replace(search.run(search.sizes(_HEADROOMS[0])), runs=search.runs)
    best = search.with_least_headroom(_LEAST_HEADROOM, enough)
    before = None
    while best is not before:
        before, best = best, search.exchanged(search.reduced(best))
    return msgspec.structs.replace(best, runs=search.runs)


class _FixedSearch:
    def __init__(self, scenario: Scenario, seeds: Sequence[int], progress: Callable[[int], None] | None) -> None:
        self._scenario, self._seeds, self._progress = scenario, seeds, progress
        loads = OperatorLoads(scenario.model, scenario.duration_s)
        self._peaks = {name: float(loads.work(name).max()) for name in scenario.model.topology.operators}
        self._found: dict[tuple[int, ...], FixedSizes] = {}
        self.runs = 0

    def sizes(self, headroom: float) -> dict[OperatorName, int]:
        """So much more than the peak needs, within bounds and budget: what is too much is taken from the largest."""
        budget = self._scenario.goal.budget
        sizes = {n: budget.bounds([n]).clamp(math.ceil(headroom * peak)) for n, peak in self._peaks.items()}
        while budget.total is not None and sum(sizes.values()) > budget.total:
            most = max(
                (n for n in sizes if sizes[n] > budget.minimum(n)), key=lambda n: sizes[n] / (self._peaks[n] or 1)
            )
            sizes[most] -= 1
        return sizes

    def run(self, sizes: Mapping[OperatorName, int]) -> FixedSizes:
        key = tuple(sizes.values())
        if key not in self._found:
            model = self._scenario.model
            operators = {str(n): msgspec.structs.replace(model.operator(n), executors=k) for n, k in sizes.items()}
            fixed = replace(self._scenario, model=replace(model, operators=operators))
            results = [simulate(fixed, Static, {}, seed=seed) for seed in self._seeds]
            paid, met = ([getattr(r, f) or 0.0 for r in results] for f in ("executor_seconds", "success_rate"))
            self._found[key] = FixedSizes(float(np.mean(paid)), float(np.mean(met)), dict(sizes))
            self.runs += len(results)
            if self._progress is not None:
                self._progress(self.runs)
        return self._found[key]

    def with_least_headroom(self, low: float, high: float) -> FixedSizes:
        """By bisection between a headroom that is too little and one that is enough."""
        best = self.run(self.sizes(high))
        for _ in range(_BISECTIONS):
            middle = math.sqrt(low * high)
            found = self.run(self.sizes(middle))
            low, high = (low, middle) if found.is_met else (middle, high)
            best = found if found.is_met else best
        return best

    def reduced(self, best: FixedSizes) -> FixedSizes:
        """With one executor fewer at a time, at the largest operator first."""
        for name in sorted(best.sizes, key=lambda name: -best.sizes[name]):
            size = best.sizes[name] - 1
            while size >= self._scenario.goal.budget.minimum(name) and size > best.sizes[name] - _FAILURES:
                found = self.run({**best.sizes, name: size})
                best, size = (found if found.is_met else best), size - 1
        return best

    def exchanged(self, best: FixedSizes) -> FixedSizes:
        """With two fewer at one operator and one more at another, if that is enough; else the same."""
        budget = self._scenario.goal.budget
        for fewer, more in permutations(best.sizes, 2):
            sizes = {**best.sizes, fewer: best.sizes[fewer] - 2, more: best.sizes[more] + 1}
            is_allowed = sizes[fewer] >= budget.minimum(fewer) and sizes[more] <= budget.maximum(more)
            if is_allowed and (found := self.run(sizes)).is_met:
                return found
        return best

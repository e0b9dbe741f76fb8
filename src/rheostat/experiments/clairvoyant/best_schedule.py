"""Best schedule: the cheapest one found, with the future known, that meets the SLA when it is run on the simulator.

The fluid model with more work than there is (headroom) and a short deadline gives schedules that differ by their
headroom only. The smallest headroom that is enough is found by bisection, for several deadlines. The cheapest schedule
is then improved step by step: a block of constant size loses an executor, or comes later or ends earlier by a turn, and
the change stays if the SLA is still met and less is paid. The number of runs is fixed, so that the result depends on
nothing else.
"""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from rheostat.duration import seconds
from rheostat.experiments.clairvoyant.cheapest_sizes import cheapest_sizes
from rheostat.experiments.clairvoyant.lower_bound import fluid_model
from rheostat.experiments.clairvoyant.schedule import Schedule, Steps, requested_steps, total_s
from rheostat.experiments.feasibility import OperatorLoads
from rheostat.experiments.scenario import Scenario
from rheostat.experiments.simulate import simulate
from rheostat.names import OperatorName

TARGET = 0.99
"""The share of windows in which the SLA has to be met."""

RUNS = 40

_HEADROOMS = (1.0, 4.0)
_BISECTIONS = 5
_DEADLINES = (0.0, 0.5)
"""As shares of the strictest latency."""

Sizes = Mapping[str, Steps]


class FoundSchedule(msgspec.Struct, frozen=True):
    """A schedule that was run: its steps by operator, what it paid, and in what share of windows it met the SLA."""

    executor_seconds: float
    success_rate: float
    sizes: dict[str, tuple[tuple[float, int], ...]]
    runs: int = 0

    @property
    def is_met(self) -> bool:
        return self.success_rate >= TARGET


def best_schedule(
    scenario: Scenario, seed: int = 0, *, runs: int = RUNS, progress: Callable[[int], None] | None = None
) -> FoundSchedule:
    """The cheapest schedule found with so many runs; that with the highest success if none meets the SLA.

    `progress` is called with the number of runs so far.
    """
    search = _Search(scenario, seed, runs, progress)
    for share in _DEADLINES:
        search.bisect(share)
    search.improve()
    best = search.best
    return msgspec.structs.replace(best, runs=search.runs)


class _Search:
    """Runs schedules and remembers the best of them."""

    def __init__(self, scenario: Scenario, seed: int, limit: int, progress: Callable[[int], None] | None) -> None:
        self._scenario, self._seed, self._limit, self._progress = scenario, seed, max(1, limit), progress
        self._loads = OperatorLoads(scenario.model, scenario.duration_s)
        self._tried: dict[str, FoundSchedule] = {}
        self.runs = 0

    @property
    def best(self) -> FoundSchedule:
        met = [found for found in self._tried.values() if found.is_met]
        if met:
            return min(met, key=lambda found: found.executor_seconds)
        return max(self._tried.values(), key=lambda found: (found.success_rate, -found.executor_seconds))

    @property
    def _is_over(self) -> bool:
        return self.runs >= self._limit

    def bisect(self, deadline_share: float) -> None:
        """Find the least headroom that is enough for schedules of one deadline."""
        low, high = _HEADROOMS
        if self._is_enough(low, deadline_share) or not self._is_enough(high, deadline_share):
            return
        for _ in range(_BISECTIONS):
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self._is_enough(middle, deadline_share) else (middle, high)

    def improve(self) -> None:
        """Change one block of the best schedule at a time, as long as runs are left and changes help."""
        while self.best.is_met and self._is_improved():
            pass

    def _is_improved(self) -> bool:
        """Whether one of the changes, tried in turn, is better."""
        before = self.best
        for sizes in _changes(before.sizes, self._scenario):
            if self._run(sizes) is None or self.best is not before:
                break
        return self.best is not before

    def _is_enough(self, headroom: float, deadline_share: float) -> bool:
        found = self._run(self._planned(headroom, deadline_share))
        return found is not None and found.is_met

    def _planned(self, headroom: float, deadline_share: float) -> Sizes:
        """The schedule that is cheapest on the fluid model, or the largest sizes allowed if none is enough there."""
        cluster, slot_s = self._scenario.model.cluster, self._scenario.loop.period_s
        start_s = seconds(cluster.start, "start") + seconds(cluster.warm_up, "warm_up")
        slas = self._scenario.goal.slas
        deadline_s = deadline_share * min((sla.latency_s for sla in slas), default=0.0)
        planned: dict[str, Steps] = {}
        for name in self._scenario.model.topology.operators:
            planned[name] = self._steps(name, headroom, deadline_s, start_s, slot_s)
        return planned

    def _steps(self, name: OperatorName, headroom: float, deadline_s: float, start_s: float, slot_s: float) -> Steps:
        """For the first slots, in which no new executor can serve yet, later deadlines are tried."""
        late_s = deadline_s
        while late_s <= self._scenario.duration_s:
            model = fluid_model(
                self._scenario, self._loads, name, headroom=headroom, deadline_s=late_s, start_s=start_s + slot_s
            )
            found = cheapest_sizes(model)
            if found is not None:
                return requested_steps(found.sizes, model.start, slot_s)
            late_s = 2 * late_s + slot_s
        return ((0.0, self._scenario.goal.budget.maximum(name)),)

    def _run(self, sizes: Sizes) -> FoundSchedule | None:
        """None if there are no runs left."""
        key = repr(sizes)
        if key in self._tried:
            return self._tried[key]
        if self._is_over:
            return None
        result = simulate(self._scenario, Schedule, {"sizes": sizes}, seed=self._seed)
        steps = {name: tuple(each) for name, each in sizes.items()}
        self._tried[key] = FoundSchedule(result.executor_seconds, result.success_rate or 0.0, steps)
        self.runs += 1
        if self._progress is not None:
            self._progress(self.runs)
        return self._tried[key]


def _changes(sizes: Sizes, scenario: Scenario) -> Iterator[Sizes]:
    """Cheaper neighbours of a schedule, those that save most first."""
    until_s = scenario.duration_s
    before_s = total_s(sizes, until_s)
    neighbours = [
        {**sizes, name: changed}
        for name, steps in sizes.items()
        for changed in _cheaper(steps, scenario.goal.budget.minimum(OperatorName(name)), scenario.loop.period_s)
    ]
    savings = sorted(((total_s(each, until_s) - before_s, index) for index, each in enumerate(neighbours)))
    return (neighbours[index] for saving, index in savings if saving < 0)


def _cheaper(steps: Steps, least: int, slot_s: float) -> Iterator[Steps]:
    for index, (time_s, size) in enumerate(steps):
        if size > least:
            yield _merged([*steps[:index], (time_s, size - 1), *steps[index + 1 :]])
        if index and size > steps[index - 1][1]:  # comes later
            yield _merged([*steps[:index], (time_s + slot_s, size), *steps[index + 1 :]])
        if index and size < steps[index - 1][1]:  # leaves earlier
            yield _merged([*steps[:index], (time_s - slot_s, size), *steps[index + 1 :]])


def _merged(steps: Steps) -> Steps:
    """Without steps that change nothing, or that the next one replaces at once."""
    kept: list[tuple[float, int]] = []
    for time_s, size in steps:
        while kept and kept[-1][0] >= time_s - 1e-9 and len(kept) > 1:
            kept.pop()
        if kept and kept[-1][0] >= time_s - 1e-9:
            kept.pop()
        if not kept or kept[-1][1] != size:
            kept.append((time_s if kept else 0.0, size))
    return kept

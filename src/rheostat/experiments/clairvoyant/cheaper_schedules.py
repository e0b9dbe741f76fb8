"""Cheaper schedules: neighbours of a schedule in which blocks of constant size are smaller or shorter.

One block loses an executor, comes later or ends earlier; or all blocks of the same size do, or those of any size; or
half of a block loses an executor.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from rheostat.experiments.clairvoyant.schedule import Sizes, Steps, size_at, total_s
from rheostat.experiments.scenario import Scenario
from rheostat.names import OperatorName

_ROUNDING = 1e-9

_FEW = 3
"""Steps, up to which changing one at a time is as quick as changing several."""

_LONG = 8
"""Slots, from which on a block is worth halving."""


class Change(NamedTuple):
    """Steps of one operator that are moved by `later_s` if they go up, brought forward by `earlier_s` if they go down,
    and get `by` executors more: the step at `time_s`, all to `size`, or all."""

    operator: str
    later_s: float = 0.0
    earlier_s: float = 0.0
    by: int = 0
    time_s: float | None = None
    size: int | None = None

    def applied(self, sizes: Sizes) -> Sizes:
        """`sizes` with this change."""
        steps = sizes[self.operator]
        before = (steps[0][1], *(size for _, size in steps))
        changed = [self._changed(step, last) for step, last in zip(steps, before, strict=False)]
        return {**sizes, self.operator: merged(changed)}

    def _changed(self, step: tuple[float, int], last: int) -> tuple[float, int]:
        time_s, size = step
        if self.time_s not in (None, time_s) or self.size not in (None, size):
            return step
        by_s = self.later_s if size > last else -self.earlier_s if size < last else 0.0
        return time_s + by_s, size + self.by


class Cut(NamedTuple):
    """One operator has one executor fewer from one time to another."""

    operator: str
    from_s: float
    until_s: float

    def applied(self, sizes: Sizes) -> Sizes:
        """`sizes` with this change."""
        steps = sizes[self.operator]
        times_s = sorted({time_s for time_s, _ in steps} | {self.from_s, self.until_s})
        cut = [(time_s, size_at(steps, time_s) - (self.from_s <= time_s < self.until_s)) for time_s in times_s]
        return {**sizes, self.operator: merged(cut)}


def cheaper(sizes: Sizes, scenario: Scenario, without: Collection[Change | Cut] = ()) -> list[Change | Cut]:
    """The changes that save executor-seconds, those that save most first."""
    until_s = scenario.duration_s
    before_s = total_s(sizes, until_s)
    savings = [
        (before_s - total_s(change.applied(sizes), until_s), change)
        for name in sizes
        for change in _neighbours(name, sizes[name], scenario)
        if change not in without
    ]
    saving = [(saved_s, change) for saved_s, change in savings if saved_s > _ROUNDING]
    return [change for _, change in sorted(saving, key=lambda each: -each[0])]


def _neighbours(name: str, steps: Steps, scenario: Scenario) -> Iterator[Change | Cut]:
    least, slot_s = scenario.goal.budget.minimum(OperatorName(name)), scenario.loop.period_s
    yield from _changes(name, steps, least, slot_s)
    yield from _cuts(name, steps, least, slot_s, scenario.duration_s)


def _changes(name: str, steps: Steps, least: int, slot_s: float) -> Iterator[Change]:
    if len(steps) > _FEW:
        yield Change(name, later_s=slot_s)
        yield Change(name, earlier_s=slot_s)
        for size in {size for _, size in steps if size > least}:
            yield Change(name, by=-1, size=size)
    for index, (time_s, size) in enumerate(steps):
        if size > least:
            yield Change(name, by=-1, time_s=time_s)
        if index:
            yield Change(name, later_s=slot_s, earlier_s=slot_s, time_s=time_s)


def _cuts(name: str, steps: Steps, least: int, slot_s: float, until_s: float) -> Iterator[Cut]:
    """Both halves of each block that is long enough."""
    ends_s = [*(time_s for time_s, _ in steps[1:]), until_s]
    for (time_s, size), end_s in zip(steps, ends_s, strict=True):
        middle_s = time_s + round((end_s - time_s) / 2 / slot_s) * slot_s
        if size > least and end_s - time_s >= _LONG * slot_s:
            yield Cut(name, time_s, middle_s)
            yield Cut(name, middle_s, end_s)


def merged(steps: Sequence[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
    """Without steps that the next one replaces at once, and without those that change nothing."""
    kept: list[tuple[float, int]] = []
    for time_s, size in steps:
        while kept and kept[-1][0] >= time_s - _ROUNDING:
            kept.pop()
        if not kept or kept[-1][1] != size:
            kept.append((time_s if kept else 0.0, size))
    return tuple(kept)

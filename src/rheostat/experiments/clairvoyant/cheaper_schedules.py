"""Cheaper schedules: neighbours of a schedule in which one block of constant size is smaller or shorter."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from rheostat.experiments.clairvoyant.schedule import Sizes, Steps, total_s
from rheostat.experiments.scenario import Scenario
from rheostat.names import OperatorName

_ROUNDING = 1e-9


class Change(NamedTuple):
    """The steps of one operator that take the place of those it has from `time_s` on, for one block."""

    operator: str
    time_s: float
    by_s: float
    by: int

    def applied(self, sizes: Sizes) -> Sizes:
        """`sizes` with this change."""
        steps = [
            (time_s + self.by_s, size + self.by) if time_s == self.time_s else (time_s, size)
            for time_s, size in sizes[self.operator]
        ]
        return {**sizes, self.operator: merged(steps)}


def cheaper(sizes: Sizes, scenario: Scenario, without: Collection[Change] = ()) -> list[Change]:
    """The changes that save executor-seconds, those that save most first."""
    until_s, slot_s = scenario.duration_s, scenario.loop.period_s
    before_s = total_s(sizes, until_s)
    savings = [
        (before_s - total_s(change.applied(sizes), until_s), change)
        for name, steps in sizes.items()
        for change in _changes(name, steps, scenario.goal.budget.minimum(OperatorName(name)), slot_s)
        if change not in without
    ]
    return [change for saved_s, change in sorted(savings, reverse=True) if saved_s > _ROUNDING]


def _changes(name: str, steps: Steps, least: int, slot_s: float) -> Iterator[Change]:
    for index, (time_s, size) in enumerate(steps):
        if size > least:
            yield Change(name, time_s, 0.0, -1)
        if index:
            later = size > steps[index - 1][1]
            yield Change(name, time_s, slot_s if later else -slot_s, 0)


def merged(steps: Sequence[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
    """Without steps that the next one replaces at once, and without those that change nothing."""
    kept: list[tuple[float, int]] = []
    for time_s, size in steps:
        while kept and kept[-1][0] >= time_s - _ROUNDING:
            kept.pop()
        if not kept or kept[-1][1] != size:
            kept.append((time_s if kept else 0.0, size))
    return tuple(kept)

"""Schedule: a policy that follows a table of sizes by time, for runs whose future is known."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from rheostat.decision import Decision
from rheostat.describe import resize
from rheostat.duration import human
from rheostat.loop.turn import Turn
from rheostat.policies.observation import SETTLING, Observation
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.policies.within_budget import within_budget

TARGET = 0.99
"""The share of windows in which a schedule has to meet the SLA."""

_EARLY_S = 1e-6
"""Turns may be a hair before the time in the table."""

Steps = tuple[tuple[float, int], ...]
"""Times in seconds, ascending from 0, and the executors that are wanted from then on."""

Sizes = Mapping[str, Steps]
"""By operator."""


class ScheduleOptions(PolicyOptions, frozen=True, kw_only=True):
    """Options of a schedule."""

    sizes: Annotated[
        dict[str, Steps],
        msgspec.Meta(
            description="Steps of each operator: the time in seconds and the executors that are wanted from then on. "
            "Set the time of a step to the start-up time before they are needed."
        ),
    ]


class Schedule(Policy[ScheduleOptions]):
    """Wants the executors that a table says, whatever is measured."""

    summary = "follows a table of sizes by time"

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool: the largest size that the table has for one of its operators."""
        time_s = observation.snapshot.time_s
        wanted = {
            name: max(size_at(self.options.sizes[operator], time_s) for operator in pool.operators)
            for name, pool in observation.pools.items()
            if not pool.settling
        }
        sizes = within_budget(observation, wanted)
        return [
            pool.scale(sizes[name], f"{wanted[name]} planned for {human(time_s)}: {resize(pool.size, sizes[name])}")
            if name in sizes
            else pool.hold(SETTLING)
            for name, pool in observation.pools.items()
        ]


class RecordedSizes:
    """Listens to the loop of a run under any policy: `sizes` is the schedule with which it runs the same again."""

    def __init__(self) -> None:
        self.sizes: dict[str, Steps] = {}

    def __call__(self, turn: Turn) -> None:
        for operator, pool in turn.plan.pool_of.items():
            size, steps = turn.plan.pools[pool].size, self.sizes.get(operator, ())
            if not steps or steps[-1][1] != size:
                self.sizes[operator] = (*steps, (turn.time_s, size))


def size_at(steps: Steps, time_s: float) -> int:
    """The size that a table says for a time; before its first step that of the first."""
    return steps[max(0, bisect_right(steps, time_s + _EARLY_S, key=lambda step: step[0]) - 1)][1]


def requested_steps(sizes: Sequence[int], start: int, slot_s: float) -> Steps:
    """When to ask for how many so that so many serve in each slot: `start` slots ahead, and none leaves too early."""
    wanted = [max(sizes[slot : slot + start + 1]) for slot in range(len(sizes))]
    return tuple((slot * slot_s, size) for slot, size in enumerate(wanted) if slot == 0 or size != wanted[slot - 1])


def total_s(sizes: Sizes, until_s: float) -> float:
    """The executor-seconds of a table up to a time."""
    total = 0.0
    for steps in sizes.values():
        ends = [*(time_s for time_s, _ in steps[1:]), until_s]
        total += sum(size * (end_s - time_s) for (time_s, size), end_s in zip(steps, ends, strict=True))
    return total

"""Schedule: a policy that follows a table of sizes by time, for runs whose future is known.

It can also move substreams wherever the executors of a keyed operator become unequally loaded: hot keys that change
need that, whatever the sizes are.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from rheostat.decision import Decision, Hold, Move, Transfer
from rheostat.describe import resize
from rheostat.duration import human
from rheostat.loop.turn import Turn
from rheostat.measure.measurer import substream_loads
from rheostat.names import OperatorName
from rheostat.policies.observation import SETTLING, Observation, PoolView
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.policies.within_budget import within_budget
from rheostat.sla import Goal
from rheostat.snapshot import Snapshot
from rheostat.substream_assignment import spread_evenly

TARGET = 0.99
"""The share of windows in which a schedule has to meet the SLA."""

_MEASURED_S = 10.0
"""How long the loads of substreams are measured, at most."""

_WORTH_IT = 0.85
"""Moves are worth their pause if they lower the highest load of an executor to this share."""

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
    rebalance: Annotated[
        bool,
        msgspec.Meta(
            description="Whether substreams are moved when the load of executors becomes unequal. Set it if hot keys "
            "change and moves cost little."
        ),
    ] = False


class Schedule(Policy[ScheduleOptions]):
    """Wants the executors that a table says, whatever is measured."""

    summary = "follows a table of sizes by time"

    def __init__(self, goal: Goal, options: ScheduleOptions) -> None:
        super().__init__(goal, options)
        self._recent: deque[Snapshot] = deque()

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool: the largest size that the table has for one of its operators."""
        time_s = observation.snapshot.time_s
        wanted = {
            name: max(size_at(self.options.sizes[operator], time_s) for operator in pool.operators)
            for name, pool in observation.pools.items()
            if not pool.settling
        }
        sizes = within_budget(observation, wanted)
        decisions = [
            pool.scale(sizes[name], f"{wanted[name]} planned for {human(time_s)}: {resize(pool.size, sizes[name])}")
            if name in sizes
            else pool.hold(SETTLING)
            for name, pool in observation.pools.items()
        ]
        return self._with_moves(observation, decisions) if self.options.rebalance else decisions

    def _with_moves(self, observation: Observation, decisions: Sequence[Decision]) -> list[Decision]:
        """The same, with moves where a pool holds that has been measured for long enough since the last change."""
        if not all(isinstance(each, Hold) for each in decisions) or observation.settling:
            self._recent.clear()
            return list(decisions)
        self._recent.append(observation.snapshot)
        while observation.snapshot.time_s - self._recent[0].time_s > _MEASURED_S:
            self._recent.popleft()
        if observation.snapshot.time_s - self._recent[0].time_s < _MEASURED_S / 2:
            return list(decisions)
        loads = substream_loads(self._recent[0], observation.snapshot)
        moves = [
            _evened_out(observation, pool, loads) or decision
            for pool, decision in zip(observation.pools.values(), decisions, strict=True)
        ]
        if any(isinstance(each, Move) for each in moves):
            self._recent.clear()
        return moves


def _evened_out(observation: Observation, pool: PoolView, loads: Mapping[OperatorName, Sequence[float]]) -> Move | None:
    """The moves that lower the highest load of an executor of a pool with one keyed operator, if they do so by much."""
    name = pool.operators[0]
    if len(pool.operators) > 1 or name not in observation.plan.assignment or name not in loads:
        return None
    before = observation.plan.assignment[name]
    after = spread_evenly(before, observation.plan.pools[pool.name].executors, loads[name])
    highest, lower = (_highest(owners, loads[name]) for owners in (before, after))
    if lower > _WORTH_IT * highest:
        return None
    moved: dict[tuple[int, int], list[int]] = {}
    for index, (source, target) in enumerate(zip(before, after, strict=True)):
        if source != target:
            moved.setdefault((source, target), []).append(index)
    return Move(
        operator=name,
        transfers=tuple(Transfer(tuple(indices), source, target) for (source, target), indices in moved.items()),
        reason=f"{highest:.0f} records at the busiest executor of {name!r}: move substreams, {lower:.0f} expected",
    )


def _highest(owners: Sequence[int], loads: Sequence[float]) -> float:
    by_executor: dict[int, float] = {}
    for owner, load in zip(owners, loads, strict=True):
        by_executor[owner] = by_executor.get(owner, 0.0) + load
    return max(by_executor.values())


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

"""Spark's dynamic allocation: executors for tasks that wait, requested in doubling steps, removed when they are idle.

Tasks that wait longer than `backlog_timeout` lead to one more executor, then to 2, 4, 8, ... more with every
`sustained_timeout` for which they still wait, up to as many as all tasks can use. When no task waits any more the next
request is for one again. An executor that has had no task for `idle_timeout` is removed, unless tasks need it.

Spark sees tasks and no backlog. What an observation offers for them:

- With micro-batches the tasks are those of a batch, as the plant counts them (`partitions` replaces that number). With
  n tasks and s slots n - s of them wait at first, and the last of them for 1 - s/n of the batch's duration: so long a
  wait is assumed of each finished batch, and of the running one for as long as it has lasted. Between two batches
  nothing waits, so each batch starts with a request for one. Where a plant cuts a batch into as many tasks as there are
  slots, no task ever waits, and neither Spark nor this policy adds executors, however long the backlog.
- Without batches each record is a task: those in the backlog beyond the slots wait.

On real Spark use Spark's own: this policy is for comparisons on the simulator.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from rheostat.decision import Decision
from rheostat.describe import resize
from rheostat.duration import Duration, human, positive_seconds, seconds
from rheostat.names import OperatorName, PoolName
from rheostat.policies.observation import SETTLING, Observation, PoolView
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.policies.within_budget import within_budget
from rheostat.sla import Goal
from rheostat.snapshot import Batch, ExecutorPhase

_MOST_ROUNDS = 20
"""Doubling steps: more would be more executors than any pool has."""

_ROUNDING = 1e-9

Count = Annotated[int, msgspec.Meta(ge=1)]


class SparkDraOptions(PolicyOptions, frozen=True, kw_only=True):
    """Options of Spark's dynamic allocation; the defaults are Spark's."""

    backlog_timeout: Annotated[
        Duration,
        msgspec.Meta(
            description="Time for which tasks must wait before the first executor is added, as a duration. Lower it "
            "to react earlier, for example if batches are short."
        ),
    ] = "1s"
    sustained_timeout: Annotated[
        Duration | None,
        msgspec.Meta(
            description="Time for which tasks must wait before the next, doubled request, as a duration. Left out, as "
            "long as before the first one. Raise it if too many executors are added."
        ),
    ] = None
    idle_timeout: Annotated[
        Duration,
        msgspec.Meta(
            description="Time without a task after which an executor is removed, as a duration. Lower it to save "
            "executors; with batches that follow each other none is idle for long."
        ),
    ] = "60s"
    ratio: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            le=1,
            description="Share of the executors that would run all tasks at once, from 0 to 1: the most that are "
            "requested. Lower it if tasks are short.",
        ),
    ] = 1.0
    slots: Annotated[
        Count,
        msgspec.Meta(description="Tasks that an executor runs at the same time. Set it to the cores of an executor."),
    ] = 1
    partitions: Annotated[
        Count | None,
        msgspec.Meta(
            description="Tasks of each batch. Left out, as measured. Set it to the partitions of your source if the "
            "number of tasks there does not follow the number of executors."
        ),
    ] = None


@dataclass(slots=True)
class _Waiting:
    """What is known of one operator's tasks. `rounds` counts the requests for the tasks that wait now."""

    batch: Batch | None = None
    since_s: float | None = None
    tasks: float = 0.0
    waited_s: float = 0.0
    rounds: int = 0


@dataclass(slots=True)
class _Pool:
    """One pool: its operators' tasks, requested executors that are not in the plan yet, and when executors last
    worked, with their useful time then."""

    waiting: dict[OperatorName, _Waiting] = field(default_factory=dict)
    requested: int = 0
    worked: dict[int, tuple[float, float]] = field(default_factory=dict)


class SparkDra(Policy[SparkDraOptions]):
    """Adds executors while tasks wait, and removes idle ones."""

    summary = "more executors while tasks wait, fewer when they are idle (Spark's dynamic allocation)"

    def __init__(self, goal: Goal, options: SparkDraOptions | None = None) -> None:
        super().__init__(goal, options)
        self._first_s = positive_seconds(self.options.backlog_timeout, "backlog_timeout")
        sustained = self.options.sustained_timeout
        self._next_s = self._first_s if sustained is None else positive_seconds(sustained, "sustained_timeout")
        self._idle_s = seconds(self.options.idle_timeout, "idle_timeout")
        self._pools: dict[PoolName, _Pool] = {}

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool."""
        for name, pool in observation.pools.items():
            self._follow(observation, pool, self._pools.setdefault(name, _Pool()))
        free = [pool for pool in observation.pools.values() if not pool.settling]
        idle = {pool.name: self._idle(observation, pool) for pool in free}
        wanted = {pool.name: self._wanted(pool, idle[pool.name]) for pool in free}
        sizes = within_budget(observation, wanted)
        return [
            pool.hold(SETTLING) if pool.settling else self._decision(pool, idle[name], sizes[name])
            for name, pool in observation.pools.items()
        ]

    def _follow(self, observation: Observation, pool: PoolView, state: _Pool) -> None:
        """Count the requests since the last turn, and when each executor last had work."""
        time_s = observation.snapshot.time_s
        slots = len(pool.active or pool.plan.executors) * self.options.slots
        for operator in pool.measured:
            waiting = state.waiting.setdefault(operator, _Waiting())
            state.requested += self._requests(observation, operator, waiting, slots)
        if not any(waiting.tasks for waiting in state.waiting.values()):
            state.requested = 0
        before, state.worked = state.worked, {}
        for executor in pool.executors:
            busy_s = -1.0 if executor.busy_s is None else executor.busy_s
            worked_s, last_busy_s = before.get(executor.id, (time_s, busy_s))
            is_idle = busy_s == last_busy_s >= 0 and executor.phase is ExecutorPhase.ACTIVE and worked_s <= time_s
            state.worked[executor.id] = (worked_s if is_idle else time_s, busy_s)

    def _requests(self, observation: Observation, operator: OperatorName, waiting: _Waiting, slots: int) -> int:
        """How many executors were asked for since the last turn because of one operator's tasks."""
        snapshot = observation.snapshot
        queued, state = observation.measures.operators[operator].queued, snapshot.operators.get(operator)
        if queued is None or (waiting.since_s is not None and snapshot.time_s < waiting.since_s):
            waiting.since_s, waiting.rounds, waiting.tasks = None, 0, 0.0
            return 0
        if state is not None and state.batch is not None:
            return self._batch_requests(state.batch, waiting, queued, slots, snapshot.time_s)
        waiting.tasks = queued
        return self._running_requests(waiting, slots, snapshot.time_s)

    def _batch_requests(self, batch: Batch, waiting: _Waiting, queued: float, slots: int, time_s: float) -> int:
        last, waiting.batch = waiting.batch, batch
        requests = 0
        finished = 0 if last is None else batch.count - last.count
        if last is not None and finished > 0:
            tasks = self.options.partitions or _tasks(batch, last)
            waited_s = (batch.duration_s - last.duration_s) / finished * _late_share(tasks, slots)
            rounds = self._rounds(waited_s)
            requests = finished * (2**rounds - 1) - (2 ** min(rounds, waiting.rounds) - 1)
            waiting.tasks, waiting.since_s, waiting.rounds = tasks, None, 0
            waiting.waited_s = waited_s
        if not queued:
            waiting.tasks, waiting.since_s = 0.0, None
            return 0
        waiting.tasks = self.options.partitions or waiting.tasks
        return requests + self._running_requests(waiting, slots, time_s, _late_share(waiting.tasks, slots))

    def _running_requests(self, waiting: _Waiting, slots: int, time_s: float, share: float = 1.0) -> int:
        """The requests for tasks that wait now; `share` is how much of the time they do."""
        if waiting.tasks <= slots:
            waiting.since_s, waiting.rounds = None, 0
            return 0
        if waiting.since_s is None:
            waiting.since_s = time_s
        waited_s = (time_s - waiting.since_s) * share
        waiting.waited_s = max(waited_s, waiting.waited_s if share < 1 else 0.0)
        rounds = max(waiting.rounds, self._rounds(waited_s))
        before, waiting.rounds = waiting.rounds, rounds
        return int(2**rounds - 2**before)

    def _rounds(self, waited_s: float) -> int:
        if waited_s < self._first_s:
            return 0
        return min(_MOST_ROUNDS, 1 + math.floor((waited_s - self._first_s) / self._next_s + _ROUNDING))

    def _needed(self, pool: PoolView) -> int:
        """Executors that all tasks can use, those that run included."""
        tasks = sum(waiting.tasks for waiting in self._pools[pool.name].waiting.values())
        return math.ceil(min(tasks * self.options.ratio / self.options.slots, pool.bounds.most) - _ROUNDING)

    def _idle(self, observation: Observation, pool: PoolView) -> tuple[int, ...]:
        """Executors that had no task for long, without those that tasks need."""
        time_s, worked = observation.snapshot.time_s, self._pools[pool.name].worked
        planned = set(pool.plan.executors)
        idle = [e for e, (worked_s, _) in worked.items() if e in planned and time_s - worked_s >= self._idle_s > 0]
        most = pool.size - max(pool.bounds.least, min(self._needed(pool), pool.size))
        return tuple(sorted(idle, reverse=True)[: max(0, most)])

    def _wanted(self, pool: PoolView, idle: tuple[int, ...]) -> int:
        state = self._pools[pool.name]
        requested, state.requested = state.requested, 0
        if requested > 0:
            return max(pool.size, min(pool.size + requested, self._needed(pool)))
        return pool.size - len(idle)

    def _decision(self, pool: PoolView, idle: tuple[int, ...], size: int) -> Decision:
        state = self._pools[pool.name]
        if size < pool.size and idle:
            leaving = idle[: pool.size - size]
            reason = f"{len(idle)} without a task for {human(self._idle_s)}: {resize(pool.size, size)}"
            return pool.scale(size, reason, leaving=leaving)
        tasks = sum(waiting.tasks for waiting in state.waiting.values())
        waited_s = max((waiting.waited_s for waiting in state.waiting.values()), default=0.0)
        compared = f"{tasks:,.0f} tasks, which {self._needed(pool)} executors can run at once"
        waits = f"the last one waits {human(waited_s)}, limit {human(self._first_s)}"
        return pool.scale(size, f"{compared}, {waits}: {resize(pool.size, size)}")


def _tasks(batch: Batch, last: Batch) -> float:
    """Tasks of each batch that finished since `last`; 0 where they are not counted."""
    if batch.tasks is None or last.tasks is None:
        return 0.0
    return max(0.0, (batch.tasks - last.tasks) / (batch.count - last.count))


def _late_share(tasks: float, slots: int) -> float:
    """The share of a batch's duration for which the last of its tasks waits for a slot."""
    return max(0.0, 1 - slots / tasks) if tasks else 0.0

"""Snapshot: the counters and states of a plant at one moment.

Counters are cumulative since the plant started and never fall. An executor that is new in a snapshot had done nothing
before; one that has gone is forgotten, and its number starts at nothing again. `None` means that the value is not
known, which is not the same as zero: nothing may be scaled in on a `None`.
"""

from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property

import msgspec

from rheostat.names import OperatorName, PoolName


class ExecutorPhase(StrEnum):
    """The phases of an executor, in this order."""

    REQUESTED = "requested"
    STARTING = "starting"
    WARM = "warm"
    ACTIVE = "active"
    LEAVING = "leaving"
    FAILED = "failed"


class Latency(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Latencies of the `count` records that completed since the snapshot before, or of a sample of them."""

    count: int
    mean_s: float
    p50_s: float | None = None
    p99_s: float | None = None
    max_s: float | None = None
    scv: float | None = None


class Batch(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Micro-batches finished so far: their number, and the seconds and tasks they took (cumulative).

    `fixed_s` is what they cost beside the work itself. `overhead_s` is the time of executors that their tasks took
    beside their work: the part of `fixed_s` that more executors share, if there are no more tasks for them.
    """

    count: int
    duration_s: float
    fixed_s: float | None = None
    tasks: int | None = None
    overhead_s: float | None = None


class BatchUnderWay(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The micro-batch that is computed now: how long it has run, and how far its `tasks` are.

    `worked_s` is the time that its tasks have worked so far, those that still run included, in the unit of `busy_s`.
    `rows` is how many records it has, where that is known or can be estimated.
    """

    elapsed_s: float
    tasks: int
    finished: int
    running: int
    worked_s: float
    rows: int | None = None

    @property
    def likely_work_s(self) -> float:
        """The work of the whole batch if tasks that wait take as long as those before them.

        Where tasks wait and most of those that have begun are finished, those that run are half done, in the mean. Else
        what they have done is taken for all of it, so that the work is more.
        """
        begun = self.finished + self.running
        is_half_done = self.finished >= self.running and begun < self.tasks
        known = self.finished + self.running / 2 if is_half_done else begun
        return self.worked_s * max(1.0, self.tasks / known) if known else 0.0


class OperatorState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One operator. `queued` is the backlog: what arrived and is neither completed nor lost, running work included.

    `grouping` is how its records are spread now; `under_way` is None between batches, and where it is not known.
    `trigger_s` is the least time between the starts of two batches, 0 if they follow each other at once. `width` is
    the most executors that can work on its records at once, None if it has no such limit.
    """

    name: OperatorName
    arrived: int | None = None
    completed: int | None = None
    lost: int | None = None
    queued: int | None = None
    busy_s: float | None = None
    latency: Latency | None = None
    oldest_s: float | None = None
    arrival_scv: float | None = None
    service_scv: float | None = None
    batch: Batch | None = None
    grouping: str | None = None
    under_way: BatchUnderWay | None = None
    trigger_s: float = 0.0
    width: int | None = None


class ExecutorState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One executor of a pool. `id` is Rheostat's own and survives a restart; `instance` is the plant's name for it.

    `busy_s` is useful time: processing and (de)serialisation. `cpu_s` is processor time.
    """

    pool: PoolName
    id: int
    phase: ExecutorPhase
    arrived: int | None = None
    completed: int | None = None
    queued: int | None = None
    busy_s: float | None = None
    cpu_s: float | None = None
    speed: float | None = None
    node: str | None = None
    process: int | None = None
    instance: str | None = None


class SubstreamState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One substream of a keyed operator; `executor` serves it now, None while it moves."""

    operator: OperatorName
    index: int
    executor: int | None = None
    arrived: int | None = None
    completed: int | None = None
    queued: int | None = None
    state_bytes: int | None = None


class PartitionState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One partition of a topic that is read: the offset at which it ends, and how many records wait in it."""

    topic: str
    number: int
    end: int
    queued: int


class StreamState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Rows and bytes on one stream so far; `partitions` if it is a topic.

    `until_s` is for a source that is read in batches: its rows are those that came until then, others are not counted
    yet. None if that is the time of the snapshot, or not known.
    """

    name: str
    consumer: OperatorName
    rows: int | None = None
    bytes: int | None = None
    partitions: tuple[PartitionState, ...] = ()
    until_s: float | None = None


class NodeState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One machine: what it has, and how much of it is in use now (shares from 0 to 1)."""

    name: str
    slots: int | None = None
    cores: float | None = None
    memory_bytes: int | None = None
    cpu: float | None = None
    memory: float | None = None
    io: float | None = None
    up: bool = True


class Snapshot(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """Everything measured at `time_s`. `problems` says what could not be measured."""

    time_s: float
    operator_states: tuple[OperatorState, ...]
    executors: tuple[ExecutorState, ...] = ()
    substreams: tuple[SubstreamState, ...] = ()
    streams: tuple[StreamState, ...] = ()
    nodes: tuple[NodeState, ...] = ()
    latency: Latency | None = None
    problems: tuple[str, ...] = ()

    @cached_property
    def operators(self) -> dict[OperatorName, OperatorState]:
        """The operators by name."""
        return {state.name: state for state in self.operator_states}

    @cached_property
    def _by_pool(self) -> dict[PoolName, tuple[ExecutorState, ...]]:
        pools: dict[PoolName, list[ExecutorState]] = {}
        for executor in self.executors:
            pools.setdefault(executor.pool, []).append(executor)
        return {pool: tuple(members) for pool, members in pools.items()}

    @cached_property
    def _by_operator(self) -> dict[OperatorName, tuple[SubstreamState, ...]]:
        operators: dict[OperatorName, list[SubstreamState]] = {}
        for substream in self.substreams:
            operators.setdefault(substream.operator, []).append(substream)
        return {name: tuple(members) for name, members in operators.items()}

    def executors_of(self, pool: PoolName) -> tuple[ExecutorState, ...]:
        """Every executor of `pool`, whatever its phase."""
        return self._by_pool.get(pool, ())

    def active(self, pool: PoolName) -> Iterator[ExecutorState]:
        """The executors of `pool` that serve now."""
        return (e for e in self.executors_of(pool) if e.phase is ExecutorPhase.ACTIVE)

    def substreams_of(self, operator: OperatorName) -> tuple[SubstreamState, ...]:
        return self._by_operator.get(operator, ())

    def partitions_of(self, operator: OperatorName) -> list[PartitionState]:
        """The partitions of all topics that `operator` reads, in order."""
        read = [each for stream in self.streams if stream.consumer == operator for each in stream.partitions]
        return sorted(read, key=lambda each: (each.topic, each.number))

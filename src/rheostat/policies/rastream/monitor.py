"""Frame monitor: the rates of every executor, stream and node over a frame (Ra-Stream's data monitor)."""

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from rheostat.measure.counters import Counter
from rheostat.measure.unknown import total
from rheostat.names import PoolName
from rheostat.placement.model.measured import trimmed_mean
from rheostat.policies.observation import Observation
from rheostat.snapshot import ExecutorPhase, ExecutorState, NodeState, StreamState

Key = TypeVar("Key", bound=Hashable)

_NEWEST = 3
"""Turns over which a change of the rate is noticed."""


class ExecutorKey(NamedTuple):
    """An executor, by its pool and its number there."""

    pool: PoolName
    number: int

    def __str__(self) -> str:
        return f"{self.pool}/{self.number}"


class StreamKey(NamedTuple):
    """A stream and the operator that reads it."""

    stream: str
    consumer: str


@dataclass
class RateSeries:
    """Rates of one counter, at most as many as fit into the frame."""

    samples: deque[float]
    _counter: Counter = field(default_factory=Counter)

    def update(self, value: float | None, time_s: float) -> None:
        rate = self._counter.rate(value, time_s)
        if rate is not None:
            self.samples.append(rate)

    def mean(self) -> float | None:
        return trimmed_mean(self.samples)


class FrameMonitor:
    """Collects a frame of samples; `full` as soon as it spans the frame."""

    def __init__(self, frame_s: float) -> None:
        self._frame_s = frame_s
        self.restart()

    def restart(self) -> None:
        """Drop everything: measurements from before a change are not valid after it."""
        self._times_s: deque[float] = deque()
        self._arrived: dict[ExecutorKey | str, RateSeries] = {}
        self._completed: dict[ExecutorKey | str, RateSeries] = {}
        self._busy: dict[ExecutorKey, RateSeries] = {}
        self._rows: dict[StreamKey, RateSeries] = {}
        self._nodes: dict[str, dict[str, deque[float]]] = {}
        self._external: deque[float] = deque()

    @property
    def full(self) -> bool:
        return bool(self._times_s) and self._times_s[-1] - self._times_s[0] >= self._frame_s - 1e-9

    @property
    def external_rate(self) -> float | None:
        """Records per second that enter, over the frame."""
        return trimmed_mean(self._external)

    @property
    def newest_rate(self) -> float | None:
        """The same over the last few turns only, to notice a change."""
        return trimmed_mean(list(self._external)[-_NEWEST:]) if len(self._external) >= _NEWEST else None

    def update(self, observation: Observation) -> None:
        """Add one turn; where executors were added or removed, the frame starts again."""
        snapshot = observation.snapshot
        serving = [state for state in snapshot.executors if state.id >= 0 and state.phase is ExecutorPhase.ACTIVE]
        if self._busy.keys() != {ExecutorKey(state.pool, state.id) for state in serving}:
            self.restart()
        self._times_s.append(snapshot.time_s)
        for executor in serving:
            self._update_executor(executor, snapshot.time_s)
        for pool in observation.plan.pools:
            self._update_pool(pool, observation)
        for stream in snapshot.streams:
            self._update_stream(stream, snapshot.time_s)
        for node in snapshot.nodes:
            self._update_node(node)
        if observation.measures.external_rate is not None:
            self._external.append(observation.measures.external_rate)
        self._forget()

    def arriving(self, member: ExecutorKey) -> float:
        """Records per second that reach the executor, or that it completes if those are more; 0 where unknown."""
        arrived, completed = self._rate_of(self._arrived, member), self._rate_of(self._completed, member)
        return max(arrived or 0.0, completed or 0.0)

    def completing(self, member: ExecutorKey) -> float | None:
        """Records per second that it completes."""
        return self._rate_of(self._completed, member)

    def working(self, member: ExecutorKey) -> float | None:
        """Seconds of work per second: processor time where it is measured, else busy time."""
        return _mean(self._busy, member)

    def rate(self, stream: str, consumer: str) -> float | None:
        """Records per second on a stream."""
        return _mean(self._rows, StreamKey(stream, consumer))

    def use(self, node: str, resource: str) -> float | None:
        """The share of a node's resource in use; None where it was not measured."""
        return trimmed_mean(self._nodes.get(node, {}).get(resource, ()))

    def _update_executor(self, executor: ExecutorState, time_s: float) -> None:
        member = ExecutorKey(executor.pool, executor.id)
        worked_s = executor.busy_s if executor.cpu_s is None else executor.cpu_s
        for table, value in (
            (self._arrived, executor.arrived),
            (self._completed, executor.completed),
            (self._busy, worked_s),
        ):
            table.setdefault(member, RateSeries(deque())).update(value, time_s)

    def _update_pool(self, pool: PoolName, observation: Observation) -> None:
        """The sum over the operators of the pool, for executors that have no counters of their own."""
        states = [observation.snapshot.operators.get(name) for name in observation.plan.sharing(pool)]
        for table, values in (
            (self._arrived, [None if state is None else state.arrived for state in states]),
            (self._completed, [None if state is None else state.completed for state in states]),
        ):
            table.setdefault(pool, RateSeries(deque())).update(total(values), observation.snapshot.time_s)

    def _update_stream(self, stream: StreamState, time_s: float) -> None:
        self._rows.setdefault(StreamKey(stream.name, stream.consumer), RateSeries(deque())).update(stream.rows, time_s)

    def _update_node(self, node: NodeState) -> None:
        uses = self._nodes.setdefault(node.name, {"cpu": deque(), "memory": deque(), "io": deque()})
        for resource, value in (("cpu", node.cpu), ("memory", node.memory), ("io", node.io)):
            if value is not None:
                uses[resource].append(value)

    def _rate_of(self, table: Mapping[ExecutorKey | str, RateSeries], member: ExecutorKey) -> float | None:
        """The executor's own rate; where it is not measured, its share of the pool's rate by its share of the work."""
        own, pools = _mean(table, member), _mean(table, member.pool)
        return pools * self._part(member) if own is None and pools is not None else own

    def _part(self, member: ExecutorKey) -> float:
        """Its share of its pool's work; equal shares as long as none has worked."""
        works = {each: self.working(each) or 0.0 for each in {*self._busy, member} if each.pool == member.pool}
        together = sum(works.values())
        return works[member] / together if together > 0 else 1 / len(works)

    def _forget(self) -> None:
        """Drop what is older than the frame: one sample of everything for each turn that has left it."""
        while len(self._times_s) > 1 and self._times_s[-1] - self._times_s[1] >= self._frame_s:
            self._times_s.popleft()
        for samples in self._samples():
            while len(samples) > len(self._times_s):
                samples.popleft()

    def _samples(self) -> Iterable[deque[float]]:
        yield self._external
        for table in (self._arrived, self._completed, self._busy):
            yield from (series.samples for series in table.values())
        yield from (series.samples for series in self._rows.values())
        for uses in self._nodes.values():
            yield from uses.values()


def _mean(table: Mapping[Key, RateSeries], key: Key) -> float | None:
    return table[key].mean() if key in table else None

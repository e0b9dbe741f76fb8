"""Ra-Stream's data monitor: what every executor, stream and node did over the frame."""

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from rheostat.measure.counter import Counter
from rheostat.measure.unknown import total
from rheostat.names import PoolName
from rheostat.placement.model.measured import trimmed_mean
from rheostat.policies.observation import Observation
from rheostat.snapshot import ExecutorPhase, ExecutorState, NodeState, StreamState

Key = TypeVar("Key", bound=Hashable)

_NEWEST = 3
"""Periods in which a change of the rate shows."""


class Member(NamedTuple):
    """An executor, by its pool and its number there."""

    pool: PoolName
    number: int

    def __str__(self) -> str:
        return f"{self.pool}/{self.number}"


class Wire(NamedTuple):
    """A stream and the operator that reads it."""

    stream: str
    consumer: str


@dataclass
class Series:
    """Rates of one counter, at most as many as fit into the frame."""

    samples: deque[float]
    _counter: Counter = field(default_factory=Counter)

    def see(self, value: float | None, time_s: float) -> None:
        rate = self._counter.rate(value, time_s)
        if rate is not None:
            self.samples.append(rate)

    def mean(self) -> float | None:
        return trimmed_mean(self.samples)


class Monitor:
    """Collects a frame of samples; `full` as soon as it spans the frame."""

    def __init__(self, frame_s: float) -> None:
        self._frame_s = frame_s
        self.restart()

    def restart(self) -> None:
        """Forget everything: what was measured before a change says nothing about after it."""
        self._times_s: deque[float] = deque()
        self._arrived: dict[Member | str, Series] = {}
        self._completed: dict[Member | str, Series] = {}
        self._busy: dict[Member, Series] = {}
        self._rows: dict[Wire, Series] = {}
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
        """The same over the last few periods only, to notice a change."""
        return trimmed_mean(list(self._external)[-_NEWEST:]) if len(self._external) >= _NEWEST else None

    def see(self, observation: Observation) -> None:
        """Add what an observation tells; where executors came or went, all begins anew with it."""
        snapshot = observation.snapshot
        serving = [state for state in snapshot.executors if state.id >= 0 and state.phase is ExecutorPhase.ACTIVE]
        if self._busy.keys() != {Member(state.pool, state.id) for state in serving}:
            self.restart()
        self._times_s.append(snapshot.time_s)
        for executor in serving:
            self._see_executor(executor, snapshot.time_s)
        for pool in observation.plan.pools:
            self._see_pool(pool, observation)
        for stream in snapshot.streams:
            self._see_stream(stream, snapshot.time_s)
        for node in snapshot.nodes:
            self._see_node(node)
        if observation.measures.external_rate is not None:
            self._external.append(observation.measures.external_rate)
        self._forget()

    def arriving(self, member: Member) -> float:
        """Records per second that reach the executor, or that it completes if those are more; 0 where unknown."""
        arrived, completed = self._rate_of(self._arrived, member), self._rate_of(self._completed, member)
        return max(arrived or 0.0, completed or 0.0)

    def completing(self, member: Member) -> float | None:
        """Records per second that it completes."""
        return self._rate_of(self._completed, member)

    def working(self, member: Member) -> float | None:
        """Seconds of work per second: processor time where the plant tells it, else the time it was busy."""
        return _mean(self._busy, member)

    def rate(self, stream: str, consumer: str) -> float | None:
        """Records per second on a stream."""
        return _mean(self._rows, Wire(stream, consumer))

    def use(self, node: str, resource: str) -> float | None:
        """The share of a node's resource in use; None where it was not measured."""
        return trimmed_mean(self._nodes.get(node, {}).get(resource, ()))

    def _see_executor(self, executor: ExecutorState, time_s: float) -> None:
        member = Member(executor.pool, executor.id)
        worked_s = executor.busy_s if executor.cpu_s is None else executor.cpu_s
        for table, value in (
            (self._arrived, executor.arrived),
            (self._completed, executor.completed),
            (self._busy, worked_s),
        ):
            table.setdefault(member, Series(deque())).see(value, time_s)

    def _see_pool(self, pool: PoolName, observation: Observation) -> None:
        """What all operators of the pool count together, for executors that do not count themselves."""
        states = [observation.snapshot.operators.get(name) for name in observation.plan.sharing(pool)]
        for table, values in (
            (self._arrived, [None if state is None else state.arrived for state in states]),
            (self._completed, [None if state is None else state.completed for state in states]),
        ):
            table.setdefault(pool, Series(deque())).see(total(values), observation.snapshot.time_s)

    def _see_stream(self, stream: StreamState, time_s: float) -> None:
        self._rows.setdefault(Wire(stream.name, stream.consumer), Series(deque())).see(stream.rows, time_s)

    def _see_node(self, node: NodeState) -> None:
        uses = self._nodes.setdefault(node.name, {"cpu": deque(), "memory": deque(), "io": deque()})
        for resource, value in (("cpu", node.cpu), ("memory", node.memory), ("io", node.io)):
            if value is not None:
                uses[resource].append(value)

    def _rate_of(self, table: Mapping[Member | str, Series], member: Member) -> float | None:
        """The executor's own rate; where it counts nothing, as much of its pool's as it did of the pool's work."""
        own, pools = _mean(table, member), _mean(table, member.pool)
        return pools * self._part(member) if own is None and pools is not None else own

    def _part(self, member: Member) -> float:
        """Of its pool's work; equal parts as long as none has worked."""
        works = {each: self.working(each) or 0.0 for each in {*self._busy, member} if each.pool == member.pool}
        together = sum(works.values())
        return works[member] / together if together > 0 else 1 / len(works)

    def _forget(self) -> None:
        """Drop what is older than the frame: one sample of everything for each period that has passed out of it."""
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


def _mean(table: Mapping[Key, Series], key: Key) -> float | None:
    return table[key].mean() if key in table else None

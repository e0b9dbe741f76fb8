"""State view: a pipeline at one moment, as the page shows it: operators, streams, executors and substreams.

Rates, utilisation and latency are means over the last seconds, not of the last turn alone: with micro-batches a turn in
which nothing completed tells nothing.
"""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from rheostat.errors import ConfigError, nearest
from rheostat.explain.numbers import OperatorNumbers, operator_numbers
from rheostat.journal import Journal
from rheostat.journal.records import RecordedObservation
from rheostat.measure.measurer import Measurer
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.names import OperatorName
from rheostat.sla import Goal
from rheostat.snapshot import ExecutorPhase, ExecutorState, Latency, Snapshot, SubstreamState

MEAN_OVER_S = 10.0
_MOST_TURNS = 64


class OperatorView(OperatorNumbers, frozen=True, kw_only=True):
    """One operator. Of its pool's `executors` so many serve, and others are `coming` and so on.

    Operators that are fused behind others are not `measured`.
    """

    name: str
    keyed: bool
    measured: bool
    settling: bool
    planned_standby: int
    coming: int
    standby: int
    leaving: int
    failed: int


class PathView(msgspec.Struct, frozen=True):
    """A path that has an SLA: `latency_s` is the sum of the latencies at its operators."""

    operators: tuple[str, ...]
    latency_s: float | None
    sla_s: float


class StreamView(msgspec.Struct, frozen=True):
    """One stream from `producer`, a source or an operator, to `consumer`, in records per second."""

    name: str
    producer: str
    consumer: str
    rate: float | None


class StateView(msgspec.Struct, frozen=True):
    """A pipeline at `time_s`."""

    time_s: float
    input: float | None
    latency_s: float | None
    operators: list[OperatorView]
    paths: list[PathView]
    streams: list[StreamView]
    problems: tuple[str, ...]


class ExecutorView(msgspec.Struct, frozen=True):
    """One executor of a pool; `substreams` is how many it serves."""

    id: int
    phase: ExecutorPhase
    node: str | None
    instance: str | None
    utilisation: float | None
    rate: float | None
    queued: int | None
    substreams: int


class SubstreamView(msgspec.Struct, frozen=True, array_like=True):
    """One substream: the executor that serves it, None while it moves, and the one that should.

    `wait_s` is what a record waits, by Little's law from backlog and throughput.
    """

    index: int
    executor: int | None
    planned: int | None
    rate: float | None
    queued: int | None
    wait_s: float | None
    state_bytes: int | None


class PartitionView(msgspec.Struct, frozen=True):
    """One partition of a topic that the operator reads."""

    topic: str
    number: int
    rate: float | None
    queued: int


class OperatorDetail(msgspec.Struct, frozen=True):
    """One operator in full."""

    time_s: float
    name: str
    pool: str
    shared_with: list[str]
    grouping: str | None
    executors: list[ExecutorView]
    substreams: list[SubstreamView]
    partitions: list[PartitionView]


def state_view(goal: Goal, seen: Sequence[RecordedObservation]) -> StateView:
    """The state at the last of successive observations, measured since the first of them."""
    last = seen[-1]
    first = seen[0].snapshot if len(seen) > 1 else None
    measurer = Measurer(goal.topology)
    for each in (seen[0], last) if first is not None else (last,):
        measures = measurer.update(each.snapshot, each.plan)
    snapshots = [each.snapshot for each in seen[1:]]
    operators = {name: _operator(goal, last, measures, snapshots, name) for name in goal.topology.operators}
    return StateView(
        time_s=last.snapshot.time_s,
        input=measures.external_rate,
        latency_s=_mean_s([each.latency for each in snapshots]),
        operators=list(operators.values()),
        paths=[_path(sla.path, sla.latency_s, operators) for sla in goal.slas if sla.path],
        streams=_streams(goal, first, last.snapshot, measures.operators),
        problems=last.snapshot.problems,
    )


def operator_detail(goal: Goal, seen: Sequence[RecordedObservation], name: str) -> OperatorDetail:
    """Executors and substreams of one operator at the last of successive observations."""
    if name not in goal.topology.operators:
        raise ConfigError(f"no operator is called {name!r}; {nearest(name, goal.topology.operators)}")
    operator, last = OperatorName(name), seen[-1]
    now, before = last.snapshot, seen[0].snapshot if len(seen) > 1 else None
    pool, state = last.plan.pool_of[operator], now.operators.get(operator)
    owned = Counter(each.executor for each in now.substreams_of(operator))
    earlier = {} if before is None else {each.id: each for each in before.executors_of(pool)}
    counted = {} if before is None else {each.index: each for each in before.substreams_of(operator)}
    passed_s = 0.0 if before is None else now.time_s - before.time_s
    planned = last.plan.assignment.get(operator, ())
    return OperatorDetail(
        time_s=now.time_s,
        name=name,
        pool=pool,
        shared_with=[each for each in last.plan.sharing(pool) if each != operator],
        grouping=None if state is None else state.grouping,
        executors=[
            _executor(each, earlier.get(each.id), passed_s, owned[each.id])
            for each in sorted(now.executors_of(pool), key=lambda each: (each.id < 0, abs(each.id)))
        ],
        substreams=[
            _substream(each, counted.get(each.index), passed_s, planned)
            for each in sorted(now.substreams_of(operator), key=lambda each: each.index)
        ],
        partitions=_partitions(operator, before, now),
    )


class StateReader:
    """Reads states from a journal: the present one as the journal grows, or that of any recorded moment."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._recent: list[RecordedObservation] = []
        self._goals: dict[int, Goal] = {}
        self._mutex = threading.Lock()

    def latest(self) -> StateView | None:
        """None as long as nothing was observed."""
        seen = self._newest()
        return state_view(self._goal(seen[-1].run), seen) if seen else None

    def at(self, time_s: float) -> StateView | None:
        """At or before `time_s`; None if no snapshot of that time is left."""
        seen = self._window(time_s)
        return state_view(self._goal(seen[-1].run), seen) if seen else None

    def operator(self, name: str, time_s: float | None = None) -> OperatorDetail | None:
        """Now, or at or before `time_s`."""
        seen = self._newest() if time_s is None else self._window(time_s)
        return operator_detail(self._goal(seen[-1].run), seen, name) if seen else None

    def _newest(self) -> list[RecordedObservation]:
        """The last turns. Only those that are new are read; after a long time, only the last of them."""
        with self._mutex:
            after = self._recent[-1].id if self._recent else 0
            new = self._journal.last_recorded(_MOST_TURNS, after=after)
            self._recent = _within([*self._recent, *new])
            return self._recent

    def _window(self, time_s: float) -> list[RecordedObservation]:
        return _within(self._journal.recorded_at(time_s, _MOST_TURNS))

    def _goal(self, run: int) -> Goal:
        if run not in self._goals:
            self._goals = {number: record.goal.goal() for number, record in self._journal.runs().items()}
        return self._goals[run]


def _within(seen: list[RecordedObservation]) -> list[RecordedObservation]:
    """The last of them that belong together: some seconds, but at least two."""
    if not seen:
        return []
    now_s = seen[-1].snapshot.time_s
    start = next((at for at, each in enumerate(seen) if each.snapshot.time_s >= now_s - MEAN_OVER_S), len(seen) - 1)
    return seen[max(0, min(start, len(seen) - 2)) :]


def _operator(
    goal: Goal, last: RecordedObservation, measures: Measures, snapshots: Sequence[Snapshot], name: OperatorName
) -> OperatorView:
    numbers, pool = operator_numbers(goal, last, measures, name), last.plan.pool_of[name]
    latencies = [each.operators[name].latency for each in snapshots if name in each.operators]
    phases = Counter(executor.phase for executor in last.snapshot.executors_of(pool))
    return OperatorView(
        **msgspec.structs.asdict(msgspec.structs.replace(numbers, latency_s=_mean_s(latencies))),
        name=name,
        keyed=goal.topology.operators[name].keyed,
        measured=name not in last.plan.unseen,
        settling=pool in last.settling,
        planned_standby=last.plan.pools[pool].standby,
        coming=phases[ExecutorPhase.REQUESTED] + phases[ExecutorPhase.STARTING],
        standby=phases[ExecutorPhase.WARM],
        leaving=phases[ExecutorPhase.LEAVING],
        failed=phases[ExecutorPhase.FAILED],
    )


def _path(path: Sequence[OperatorName], limit_s: float, operators: Mapping[OperatorName, OperatorView]) -> PathView:
    known = [latency_s for name in path if (latency_s := operators[name].latency_s) is not None]
    return PathView(tuple(path), sum(known) if len(known) == len(path) else None, limit_s)


def _streams(
    goal: Goal, before: Snapshot | None, now: Snapshot, measured: dict[OperatorName, OperatorMeasures]
) -> list[StreamView]:
    """Where a plant does not count what is on a stream, it is what its producer completes, times the selectivity."""
    passed_s = 0.0 if before is None else now.time_s - before.time_s
    earlier = {} if before is None else {(each.name, each.consumer): each.rows for each in before.streams}
    rows = {(each.name, each.consumer): each.rows for each in now.streams}
    views = []
    for stream in goal.topology.streams:
        key = (stream.name, stream.consumer)
        rate = _per_second(_growth(rows.get(key), earlier.get(key)), passed_s)
        producer = measured.get(OperatorName(stream.producer))
        if rate is None and producer is not None and producer.completion_rate is not None:
            rate = producer.completion_rate * stream.selectivity
        if rate is None and tuple(goal.topology.operators[stream.consumer].inputs) == (stream.name,):
            rate = measured[stream.consumer].arrival_rate
        views.append(StreamView(stream.name, stream.producer, stream.consumer, rate))
    return views


def _partitions(operator: OperatorName, before: Snapshot | None, now: Snapshot) -> list[PartitionView]:
    passed_s = 0.0 if before is None else now.time_s - before.time_s
    seen = [] if before is None else before.partitions_of(operator)
    earlier = {(each.topic, each.number): each.end for each in seen}
    views = []
    for each in now.partitions_of(operator):
        arrived = _growth(each.end, earlier.get((each.topic, each.number)))
        views.append(PartitionView(each.topic, each.number, _per_second(arrived, passed_s), each.queued))
    return views


def _executor(now: ExecutorState, before: ExecutorState | None, passed_s: float, substreams: int) -> ExecutorView:
    busy = None if before is None else _per_second(_growth(now.busy_s, before.busy_s), passed_s)
    rate = None if before is None else _per_second(_growth(now.completed, before.completed), passed_s)
    return ExecutorView(now.id, now.phase, now.node, now.instance, busy, rate, now.queued, substreams)


def _substream(
    now: SubstreamState, before: SubstreamState | None, passed_s: float, planned: Sequence[int]
) -> SubstreamView:
    rate = None if before is None else _per_second(_growth(now.arrived, before.arrived), passed_s)
    completed = None if before is None else _per_second(_growth(now.completed, before.completed), passed_s)
    wait_s = now.queued / completed if now.queued is not None and completed else None
    target = planned[now.index] if now.index < len(planned) else None
    return SubstreamView(now.index, now.executor, target, rate, now.queued, wait_s, now.state_bytes)


def _growth(now: float | None, before: float | None) -> float | None:
    """Of a cumulative counter; None when one value is not known, or when the counter fell."""
    return None if now is None or before is None or now < before else now - before


def _per_second(amount: float | None, passed_s: float) -> float | None:
    return None if amount is None or passed_s <= 0 else amount / passed_s


def _mean_s(latencies: Sequence[Latency | None]) -> float | None:
    """The mean over all records."""
    known = [each for each in latencies if each is not None and each.count > 0]
    count = sum(each.count for each in known)
    return sum(each.count * each.mean_s for each in known) / count if count else None

"""Reads a snapshot off a topology that runs on Spark.

Pulled by the control loop, from what is there already: the runtime's records of committed batches and of what waits
in the streams, the pools' last report, and the driver's bookkeeping of executors and tasks. No query is asked and
none waits. Rows are exact; how they are split over executors and substreams is sampled (see `tasks`).

An operator's useful time is that of its batches that are over, as exact as their rows; an executor's has what is under
way in it as well, and is the rougher for it. An executor counts as one, whatever its slots: it is useful all the time
when all of them are. What a task costs however few its rows are is not useful time (see `work`): it belongs to the
fixed cost of a batch.
"""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import SparkSession

from rheostat.clock import Clock
from rheostat.names import OperatorName, PoolName
from rheostat.snapshot import ExecutorPhase, ExecutorState, OperatorState, Snapshot, StreamState, SubstreamState
from rheostat.spark.act.pools import PoolMember, PoolsReport
from rheostat.spark.act.task_counts import USUAL_GROUPING
from rheostat.spark.observe.counters import Odometer, Portion, Rows, merged
from rheostat.spark.observe.executor_time import useful_times
from rheostat.spark.observe.node_usage import Nodes
from rheostat.spark.observe.operator_meter import OperatorMeter
from rheostat.spark.observe.status_store import StatusStore
from rheostat.spark.observe.task_samples import TaskSampler
from rheostat.spark.query.runtime import Runtime

_SERVING = (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)

Member = tuple[PoolName, int]
"""A pool and a number in it."""


class Meter:
    """`read` returns what happened up to now; latencies are those since the reading before.

    `report` gives the pools' last report. `names` are those of hosts that have another name, `cores` what the hosts
    of a known cluster offer. Counters go on from those of `base`, the last snapshot before the driver was restarted.
    """

    def __init__(
        self,
        runtime: Runtime,
        spark: SparkSession,
        clock: Clock,
        report: Callable[[], PoolsReport],
        *,
        names: Mapping[str, str] | None = None,
        cores: Mapping[str, int] | None = None,
        base: Snapshot | None = None,
    ) -> None:
        self._runtime, self._clock, self._report = runtime, clock, report
        self._store = StatusStore(spark)
        self._sampler = TaskSampler(self._store)
        self._nodes = Nodes(names, cores)
        self._operators = {name: OperatorMeter(runtime, name, base) for name in runtime.topology.operators}
        self._busy = _odometers(base)
        self._rows: dict[Member, Rows] = {}

    def read(self) -> Snapshot:
        report = self._report()
        now_s = self._clock.now()
        seen = useful_times(self._store, now_s)
        operators = self._operators.values()
        for operator in operators:
            operator.look()
        self._sample()
        numbers = {m.spark.id: m.number for m in report.members if m.spark is not None}
        slots = {each.executor.id: each.executor.slots for each in seen}
        for operator in operators:
            operator.book(numbers, slots, report.homes.get(operator.name))
        busy_s = self._useful(report, {each.executor.id: each.useful_s for each in seen})
        self._nodes.see(each.executor for each in seen)
        return Snapshot(
            time_s=now_s,
            operator_states=tuple(self._operator(operator, report, now_s) for operator in operators),
            executors=tuple(self._executor(member, report, busy_s) for member in report.members),
            substreams=self._substreams(report),
            streams=tuple(stream for operator in operators for stream in self._streams(operator)),
            nodes=self._nodes.read(),
            latency=merged(self._operators[name].entry_latency for name in self._runtime.topology.terminals),
            problems=self._problems(),
        )

    def groupings(self) -> dict[OperatorName, tuple[str, ...]]:
        """How the rows of each operator can be spread now."""
        return {name: operator.groupings for name, operator in self._operators.items()}

    def _sample(self) -> None:
        """The tasks of the last batch of each query."""
        runs = {run: operator for operator in self._operators.values() if (run := operator.run_id) is not None}
        samples = self._sampler.sample({run: operator.last_batch for run, operator in runs.items()})
        for run, sample in samples.items():
            runs[run].take(sample)

    def _useful(self, report: PoolsReport, held_s: Mapping[str, float]) -> dict[Member, float]:
        """Useful time under each number, from how long Spark's executors held their slots. What is under way counts as
        well, as far as is known what of it is work: utilisation must not wait for the end of a batch."""
        useful_s: dict[Member, float] = {}
        for member in report.members:
            key = (member.pool, member.number)
            odometer = self._busy.setdefault(key, Odometer())
            if member.spark is not None and member.spark.id in held_s:
                odometer.read(member.spark.id, held_s[member.spark.id], self._share_of_work(member, report))
            useful_s[key] = odometer.total
        for key in self._busy.keys() - useful_s.keys():
            del self._busy[key]
            self._rows.pop(key, None)
        return useful_s

    def _measured(self, report: PoolsReport, pool: PoolName) -> list[OperatorMeter]:
        """The operators that `pool` serves; of fused ones the first, which stands for all."""
        return [each for name in report.sharing(pool) if (each := self._operators[name]).is_first]

    def _share_of_work(self, member: PoolMember, report: PoolsReport) -> float:
        """Of the time for which tasks keep slots of an executor, as far as the last batches tell; before it serves it
        only warms up."""
        if member.phase not in _SERVING or member.spark is None:
            return 0.0
        sampled = [each.worked_s(member.spark.id) for each in self._measured(report, member.pool)]
        held_s = sum(each for _, each in sampled)
        return sum(each for each, _ in sampled) / held_s if held_s else 1.0

    def _operator(self, operator: OperatorMeter, report: PoolsReport, now_s: float) -> OperatorState:
        return operator.state(now_s, report.plan.grouping.get(operator.name, USUAL_GROUPING))

    def _executor(self, member: PoolMember, report: PoolsReport, busy_s: Mapping[Member, float]) -> ExecutorState:
        """One that has not come yet has the counters of the one before it; on a local master there are none."""
        if member.spark is None and member.phase is ExecutorPhase.ACTIVE:
            return ExecutorState(member.pool, member.number, member.phase)
        whole = self._whole(member, report)
        host = None if member.spark is None else member.spark.host
        return ExecutorState(
            member.pool,
            member.number,
            member.phase,
            arrived=None if whole is None else whole.arrived,
            completed=None if whole is None else whole.completed,
            queued=None if whole is None else whole.queued,
            busy_s=busy_s[member.pool, member.number],
            node=None if host is None else self._nodes.names.get(host, host),
            instance=None if member.spark is None else member.spark.id,
        )

    def _whole(self, member: PoolMember, report: PoolsReport) -> Portion | None:
        """What it did for all operators that it serves; None if not all is known."""
        serving = self._measured(report, member.pool)
        portions = [portion for each in serving if (portion := each.portion(member.number)) is not None]
        if not serving or len(portions) < len(serving):
            return None
        rows = self._rows.setdefault((member.pool, member.number), Rows())
        return rows.count("+".join(each.name for each in serving), _together(portions))

    def _substreams(self, report: PoolsReport) -> tuple[SubstreamState, ...]:
        return tuple(
            state
            for operator in self._operators.values()
            for state in operator.substreams(report.owners.get(operator.name, ()))
        )

    def _streams(self, operator: OperatorMeter) -> list[StreamState]:
        return [
            StreamState(stream.name, operator.name, *operator.stream(stream.name))
            for stream in self._runtime.topology.into(operator.name)
        ]

    def _problems(self) -> tuple[str, ...]:
        failure = self._runtime.failure
        told = [problem for operator in self._operators.values() for problem in operator.problems()]
        return (*([] if failure is None else [str(failure)]), *told, *self._nodes.problems())


def _together(portions: Sequence[Portion]) -> Portion:
    """What an executor did for all operators that share it."""
    return Portion(*(sum(column) for column in zip(*portions, strict=True)))


def _odometers(base: Snapshot | None) -> dict[Member, Odometer]:
    executors = () if base is None else base.executors
    return {(state.pool, state.id): Odometer(state.busy_s) for state in executors if state.busy_s is not None}

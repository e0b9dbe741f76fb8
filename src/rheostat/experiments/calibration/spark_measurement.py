"""Spark measurement: runs a topology on Spark with several numbers of executors and input rates, and notes its batches.

No policy decides anything. Executors are outside, rates inside: a change of the rate costs no time. Numbers of
executors should rise, so that starts of executors are seen.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import NamedTuple

from rheostat.errors import ConfigError, PlantError
from rheostat.experiments.calibration.measurements import (
    BatchSample,
    ExecutorStarts,
    MeasuredSetting,
    Measurements,
    OperatorSamples,
)
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.sla import Budget
from rheostat.snapshot import ExecutorPhase, Snapshot
from rheostat.spark.act.cluster_view import RESERVED_EXECUTORS
from rheostat.spark.act.executor_pools import has_executors
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.query.per_record.timings import Timings
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.sinks import Sink
from rheostat.spark.target import SparkTarget
from rheostat.spark.wiring import TopologyPlant, topology_plant
from rheostat.topology import Topology

_LOOK_EVERY_S = 0.5
_START_TIMEOUT_S = 180.0
_COLD_S = 10.0
"""After the first executors serve: the driver's code is still being compiled."""

Feed = Callable[[float | None], AbstractContextManager[object]]
"""Writes input at a rate, in records per second, while its context is open; None stands for the source's own rate."""

Progress = Callable[[str, float], None]
"""Called with what is being done, and the share of the whole that is done."""


class CalibrationSettings(NamedTuple):
    """The numbers of executors of each operator, the input rates for each executor (None: as it comes), and the time
    for each pair. Rates grow with the executors, so that none is overloaded and none idle."""

    executors: Sequence[int]
    rates: Sequence[float | None] = (None,)
    time_s: float = 30.0


def measure_on_spark(
    topology: Topology,
    target: SparkTarget,
    directory: Path,
    settings: CalibrationSettings,
    *,
    feed: Feed = lambda rate: nullcontext(),
    sinks: Mapping[str, Sink | Path | str] | None = None,
    progress: Progress = lambda what, share: None,
) -> Measurements:
    """Run `topology` with each setting and return what was seen."""
    plans = [Plan.initial(topology, count) for count in settings.executors]
    most = max(plan.total for plan in plans)
    with ExitStack() as ending:
        spark = ending.enter_context(target.open(topology.name))
        if not has_executors(spark):
            raise ConfigError(
                "a local master has one process for everything: calibrate on a cluster, e.g. spark://host:7077"
            )
        run_directory = RunDirectory(directory, topology)
        ending.callback(run_directory.release)
        running = ending.enter_context(
            topology_plant(
                spark,
                topology,
                plans[0],
                run_directory,
                sinks=sinks,
                nodes=target.nodes,
                known_nodes=target.known_nodes,
                budget=Budget(most + RESERVED_EXECUTORS),
            )
        )
        watch = _Watch(topology, running, slots=int(spark.conf.get("spark.executor.cores", "1") or 1))
        return _measure(watch, plans, settings, feed, progress)


def _measure(
    watch: "_Watch", plans: Sequence[Plan], settings: CalibrationSettings, feed: Feed, progress: Progress
) -> Measurements:
    done, parts = 0, len(plans) * len(settings.rates)
    for number, plan in enumerate(plans):
        count = settings.executors[number]
        first_rate = _total(settings.rates[0], count)
        progress(f"starting {count} executors for each operator", done / parts)
        with feed(first_rate):
            watch.follow(plan)
            if number == 0:
                watch.await_batches()
                watch.look_for(_COLD_S)
                watch.forget()
        for rate in (_total(each, count) for each in settings.rates):
            at = "" if rate is None else f", {rate:g} records/s"
            progress(f"measuring with {count} executors{at}", done / parts)
            with feed(rate):
                watch.setting(count, settings.time_s)
            done += 1
    return watch.measurements()


def _total(rate: float | None, executors: int) -> float | None:
    return None if rate is None else rate * executors


class _Count(NamedTuple):
    """The executors that served an operator from a time on."""

    since_s: float
    ids: frozenset[int]
    assignment: tuple[int, ...]


class _Watch:
    """Looks at the running topology again and again, and keeps what it sees."""

    def __init__(self, topology: Topology, running: TopologyPlant, slots: int) -> None:
        self._topology, self._running, self._slots = topology, running, slots
        self._zero_s = time.time()
        self._plan: Plan | None = None
        self._batches: dict[OperatorName, list[BatchRecord]] = {name: [] for name in topology.operators}
        self._source_batches: dict[str, list[BatchRecord]] = {name: [] for name in topology.sources}
        self._counts: dict[OperatorName, list[_Count]] = {name: [] for name in topology.operators}
        self._settings: list[MeasuredSetting] = []
        self._starts: list[ExecutorStarts] = []
        self._pending: dict[tuple[PoolName, int], list[float]] = {}
        self._requested_s = self._began_s = self._reached_s = self._zero_s
        self._timings: dict[OperatorName, _Moments] = {}
        self._first: Snapshot | None = None
        self._last: Snapshot | None = None

    def follow(self, plan: Plan) -> None:
        """Have the topology follow `plan`, and wait until it does."""
        before = set() if self._plan is None else _wanted(self._plan)
        self._plan = plan
        self._requested_s = self._began_s = time.time()
        self._pending = {new: [] for new in _wanted(plan) - before}
        self._running.plant.apply(plan)
        end_s = time.monotonic() + _START_TIMEOUT_S
        while self._running.plant.reached(plan) != plan.pools.keys():
            if time.monotonic() > end_s:
                why = "; ".join(self._running.plant.apply(plan)) or "no reason is known"
                raise PlantError(f"{plan.total} executors did not start within {_START_TIMEOUT_S:.0f} s: {why}")
            self.look_for(_LOOK_EVERY_S)
        self.look()
        self._reached_s = time.time()
        times = [each for each in self._pending.values() if len(each) == 2]
        if before and times:
            registered = tuple(each[0] - self._requested_s for each in times)
            served = tuple(each[1] - self._requested_s for each in times)
            self._starts.append(ExecutorStarts(registered_s=registered, served_s=served))

    def await_batches(self) -> None:
        """Wait until each operator has finished a batch with records."""
        end_s = time.monotonic() + _START_TIMEOUT_S
        while waiting := [name for name, seen in self._batches.items() if not any(each.row_count for each in seen)]:
            if time.monotonic() > end_s:
                names = ", ".join(map(repr, waiting))
                raise ConfigError(
                    f"{names} finished no batch with records within {_START_TIMEOUT_S:.0f} s: see that the sources of "
                    f"topology {self._topology.name!r} have input while it is calibrated"
                )
            self.look_for(_LOOK_EVERY_S)

    def forget(self) -> None:
        """Forget the timings up to now: executors were cold."""
        self._timings = {}
        self.look()
        self._first = self._last
        self._began_s = self._reached_s = time.time()

    def setting(self, executors: int, time_s: float) -> None:
        """Measure one setting."""
        self.look()
        arrived = self._arrived()
        start_s = time.time()
        self.look_for(time_s)
        passed_s = time.time() - start_s
        rates = {name: (rows - arrived.get(name, 0)) / passed_s for name, rows in self._arrived().items()}
        self._settings.append(
            MeasuredSetting(
                executors=executors,
                began_s=self._began_s - self._zero_s,
                reached_s=max(start_s, self._reached_s) - self._zero_s,
                ended_s=time.time() - self._zero_s,
                input_rates=rates,
            )
        )
        self._began_s = time.time()

    def look_for(self, time_s: float) -> None:
        end_s = time.monotonic() + time_s
        while True:
            self.look()
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return
            if self._running.runtime.wait(min(left_s, _LOOK_EVERY_S)):
                raise PlantError(f"topology {self._topology.name!r} was stopped while it was measured")

    def look(self) -> None:
        runtime, now_s = self._running.runtime, time.time()
        self._last = snapshot = self._running.plant.observe()
        for name, known in (*self._batches.items(), *self._source_batches.items()):
            known.extend(runtime.batches(name, known[-1].batch if known else -1))
        for name in self._topology.operators:
            timings = runtime.timings(name)
            if timings is not None:
                self._timings.setdefault(name, _Moments(timings)).update(timings)
        self._note_executors(snapshot, now_s)

    def _note_executors(self, snapshot: Snapshot, now_s: float) -> None:
        assert self._plan is not None
        for executor in snapshot.executors:
            seen = self._pending.get((executor.pool, executor.id))
            if seen is None:
                continue
            if not seen and executor.phase not in (ExecutorPhase.REQUESTED, ExecutorPhase.FAILED):
                seen.append(now_s)
            if len(seen) == 1 and executor.phase is ExecutorPhase.ACTIVE:
                seen.append(now_s)
        for name, counts in self._counts.items():
            ids = frozenset(each.id for each in snapshot.active(self._plan.pool_of[name]))
            owners = tuple(-1 if s.executor is None else s.executor for s in snapshot.substreams_of(name))
            if not counts or (counts[-1].ids, counts[-1].assignment) != (ids, owners):
                counts.append(_Count(now_s, ids, owners))

    def _arrived(self) -> dict[str, int]:
        """Records of each source that reached the operators behind it."""
        assert self._last is not None
        return {s.name: s.rows for s in self._last.streams if s.name in self._topology.sources and s.rows is not None}

    def measurements(self) -> Measurements:
        return Measurements(
            settings=tuple(self._settings),
            operators={name: self._operator(name) for name in self._topology.operators},
            starts=tuple(self._starts),
            source_batches_s={
                name: tuple(each.duration_s for each in batches if each.started_s >= self._warm_since_s)
                for name, batches in self._source_batches.items()
            },
        )

    @property
    def _warm_since_s(self) -> float:
        return self._settings[0].reached_s + self._zero_s

    def _operator(self, name: OperatorName) -> OperatorSamples:
        assert self._first is not None
        assert self._last is not None
        timed = self._timings.get(name)
        before = [s.arrived or 0 for s in self._first.substreams_of(name)]
        after = [s.arrived or 0 for s in self._last.substreams_of(name)]
        rows_read: dict[str, int] = {}
        for batch in self._batches[name]:
            for stream, rows in batch.rows.items():
                rows_read[stream] = rows_read.get(stream, 0) + rows
        return OperatorSamples(
            batches=tuple(self._samples(name)),
            rows_read=rows_read,
            timed=0 if timed is None else timed.count,
            timed_s=None if timed is None else timed.mean_s(self._slots),
            timed_scv=None if timed is None else timed.scv(),
            substream_rows=tuple(max(0, n - o) for n, o in zip(after, before, strict=False)),
        )

    def _samples(self, name: OperatorName) -> list[BatchSample]:
        samples, counts = [], self._counts[name]
        seen = _count_at(counts, 0.0)
        for batch in self._batches[name]:
            at_start = _count_at(counts, batch.started_s - _LOOK_EVERY_S)
            at_end = _count_at(counts, batch.committed_s + _LOOK_EVERY_S)
            samples.append(
                BatchSample(
                    started_s=batch.started_s - self._zero_s,
                    committed_s=batch.committed_s - self._zero_s,
                    rows=batch.row_count,
                    executors=len(at_end.ids) if at_start == at_end and at_end.ids else None,
                    is_first=not at_start.ids <= seen.ids or at_start.assignment != seen.assignment,
                    waited_s=None if batch.waited is None else batch.waited.mean_s,
                    latency_s=None if batch.latency is None else batch.latency.mean_s,
                )
            )
            seen = at_start
        return samples


class _Moments:
    """Sums over the records that were timed since the first look."""

    def __init__(self, first: Timings) -> None:
        self._first = (first.records, first.busy_s, first.sampled, first.sampled_s, first.sampled_s2)
        self._last = self._first

    def update(self, now: Timings) -> None:
        self._last = (now.records, now.busy_s, now.sampled, now.sampled_s, now.sampled_s2)

    @property
    def count(self) -> int:
        return int(self._last[2] - self._first[2])

    def mean_s(self, slots: int) -> float | None:
        """For an executor with so many slots, all of which work."""
        records, busy_s = self._last[0] - self._first[0], self._last[1] - self._first[1]
        return busy_s / records / slots if records else None

    def scv(self) -> float | None:
        sampled_s, sampled_s2 = self._last[3] - self._first[3], self._last[4] - self._first[4]
        return max(0.0, sampled_s2 * self.count / sampled_s**2 - 1.0) if self.count >= 8 and sampled_s > 0 else None


def _count_at(counts: Sequence[_Count], time_s: float) -> _Count:
    """Which executors served at a time; none before the first look."""
    return next((each for each in reversed(counts) if each.since_s <= time_s), _Count(0.0, frozenset(), ()))


def _wanted(plan: Plan) -> set[tuple[PoolName, int]]:
    return {(pool, number) for pool, wanted in plan.pools.items() for number in wanted.executors}

"""Reads a snapshot off the simulated cluster: counters as they are, latencies since the reading before."""

from types import SimpleNamespace

import numpy as np

from rheostat.duration import seconds
from rheostat.grouping.check import KEY
from rheostat.names import OperatorName
from rheostat.sim.ahead import ahead_in_batches_s, ahead_in_service_s
from rheostat.sim.build import GROUPINGS
from rheostat.sim.cluster import Cluster
from rheostat.sim.engine import codes
from rheostat.sim.fleet import Executor
from rheostat.sim.histogram import BINS, quantile
from rheostat.sim.score import oldest_waiting_s
from rheostat.snapshot import (
    Batch,
    ExecutorState,
    Latency,
    NodeState,
    OperatorState,
    Snapshot,
    StreamState,
    SubstreamState,
)


class Meter:
    """Remembers the last reading, so that spreads and latencies are those of the time between two readings."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._last_operators = cluster.state.operators.copy()
        self._last_histogram = cluster.state.histogram["count"].copy()
        self._last_world = cluster.state.world.copy()
        self._handled: dict[Executor, int] = {}
        self._io_since_s = cluster.now_s

    def read(self) -> Snapshot:
        cluster = self._cluster
        names, executors = list(cluster.position), cluster.fleet.members.values()
        in_batches_s = ahead_in_batches_s(cluster.state)
        ahead_s = (in_batches_s.sum(axis=1) + ahead_in_service_s(cluster.state)).tolist()
        booked_s = in_batches_s.sum(axis=0).tolist()
        snapshot = Snapshot(
            time_s=cluster.now_s,
            operator_states=tuple(self._operator(name, ahead) for name, ahead in zip(names, ahead_s, strict=True)),
            executors=tuple(self._executor(executor, booked_s[executor.index]) for executor in executors),
            substreams=tuple(state for name in names for state in self._substreams(name)),
            streams=self._streams(),
            nodes=self._nodes(),
            latency=self._topology_latency(),
        )
        self._last_operators = cluster.state.operators.copy()
        self._last_histogram = cluster.state.histogram["count"].copy()
        self._last_world = cluster.state.world.copy()
        self._reset_maxima()
        return snapshot

    def _reset_maxima(self) -> None:
        self._cluster.state.operators.latency_max[:] = 0.0
        self._cluster.state.world.latency_max[:] = 0.0

    def _operator(self, name: OperatorName, ahead_s: float) -> OperatorState:
        position = self._cluster.position[name]
        row, last = _plain(self._cluster.state.operators[position]), _plain(self._last_operators[position])
        batched = row.mode == codes.MICRO_BATCH
        return OperatorState(
            name=name,
            arrived=int(row.arrived),
            completed=int(row.completed),
            lost=int(row.lost),
            queued=int(row.arrived - row.completed - row.lost),
            busy_s=float(row.service_sum) - ahead_s,
            latency=self._latency(1 + position, row, last, int(row.completed - last.completed)),
            oldest_s=oldest_waiting_s(self._cluster, name),
            arrival_scv=_scv(*_growth(row, last, "gap_count", "gap_sum", "gap_squares")),
            service_scv=_scv(*_growth(row, last, "service_count", "service_sum", "service_squares")),
            batch=_batch(row) if batched else None,
            grouping=KEY if row.grouping == codes.BY_KEY else _GROUPING_NAMES[int(row.grouping)],
        )

    def _topology_latency(self) -> Latency | None:
        world, last = _plain(self._cluster.state.world[0]), _plain(self._last_world[0])
        return self._latency(0, world, last, int(world.left - last.left))

    def _latency(self, row: int, now: SimpleNamespace, last: SimpleNamespace, count: int) -> Latency | None:
        if count == 0:
            return None
        bins = slice(row * BINS, (row + 1) * BINS)
        counts = self._cluster.state.histogram["count"][bins] - self._last_histogram[bins]
        total = float(now.latency_sum - last.latency_sum)
        return Latency(
            count=count,
            mean_s=total / count,
            p50_s=quantile(counts, 0.5),
            p99_s=quantile(counts, 0.99),
            max_s=float(now.latency_max),
            scv=_scv(count, total, float(now.latency_squares - last.latency_squares)),
        )

    def _executor(self, executor: Executor, ahead_s: float) -> ExecutorState:
        row = _plain(self._cluster.state.executors[executor.index])
        before = executor.before
        busy_s = float(row.busy_s) - before.busy_s - ahead_s
        if row.current != codes.NONE:
            busy_s += self._cluster.now_s - float(row.started)
        return ExecutorState(
            pool=executor.pool,
            id=executor.id,
            phase=executor.phase,
            arrived=int(row.arrived) - before.arrived,
            completed=int(row.completed) - before.completed,
            queued=int(row.queued) + int(row.current != codes.NONE),
            busy_s=busy_s,
            cpu_s=busy_s,
            speed=float(row.speed),
            node=executor.node,
            process=executor.process,
        )

    def _substreams(self, name: OperatorName) -> list[SubstreamState]:
        """Column by column: a record's fields one at a time would cost more than the whole rest of a reading."""
        cluster = self._cluster
        model = cluster.model.operator(name)
        where = cluster.substreams(name)
        rows = cluster.state.substreams[where]
        number = {executor.index: executor.id for executor in cluster.fleet.members.values()}
        columns = zip(rows.owner.tolist(), rows.arrived.tolist(), rows.completed.tolist(), strict=True)
        return [
            SubstreamState(
                name,
                index,
                None if cluster.moves.under_way(where.start + index) else number.get(owner),
                arrived,
                completed,
                arrived - completed,
                int(model.state_bytes + model.state_bytes_per_record * completed),
            )
            for index, (owner, arrived, completed) in enumerate(columns)
        ]

    def _streams(self) -> tuple[StreamState, ...]:
        topology, rows = self._cluster.model.topology, self._cluster.state.edges.rows
        streams = [s for name in (*topology.operators, *topology.sources) for s in topology.out_of(name)]
        return tuple(StreamState(s.name, s.consumer, rows=int(rows[edge])) for edge, s in enumerate(streams))

    def _nodes(self) -> tuple[NodeState, ...]:
        """Processor shares are those of this moment: busy executors over cores. Memory is what executors hold, I/O
        the time that their records kept it busy since the last reading."""
        cluster = self._cluster
        memory, io = self._memory_by_node(), self._io_by_node()
        return tuple(
            NodeState(
                name=node.name,
                slots=node.slots,
                cores=node.cores,
                cpu=min(1.0, float(cluster.state.nodes[position].busy) / (node.cores or node.slots)),
                memory=None if memory is None else min(1.0, memory.get(node.name, 0.0)),
                io=None if io is None else min(1.0, io.get(node.name, 0.0)),
            )
            for position, node in enumerate(cluster.model.cluster.nodes)
        )

    def _memory_by_node(self) -> dict[str | None, float] | None:
        """None where the model tells of no operator how much memory its executors hold."""
        model, held = self._cluster.model, dict[str | None, float]()
        if not any(model.operator(name).memory for name in self._cluster.position):
            return None
        for executor in self._cluster.fleet.members.values():
            share = sum(model.operator(name).memory for name in executor.operators)
            held[executor.node] = held.get(executor.node, 0.0) + share
        return held

    def _io_by_node(self) -> dict[str | None, float] | None:
        """None where the model tells of no operator what its records cost, and at the first reading."""
        cluster, busy = self._cluster, dict[str | None, float]()
        cost_s = {name: seconds(cluster.model.operator(name).io, "io") for name in cluster.position}
        since_s, self._io_since_s = self._io_since_s, cluster.now_s
        before, self._handled = self._handled, self._handled_by_executor()
        if not any(cost_s.values()) or cluster.now_s <= since_s:
            return None
        for executor in cluster.fleet.members.values():
            each_s = sum(cost_s[name] for name in executor.operators) / len(executor.operators)
            records = self._handled[executor] - before.get(executor, 0)
            busy[executor.node] = busy.get(executor.node, 0.0) + records * each_s / (cluster.now_s - since_s)
        return busy

    def _handled_by_executor(self) -> dict[Executor, int]:
        completed = self._cluster.state.executors.completed
        return {executor: int(completed[executor.index]) for executor in self._cluster.fleet.members.values()}


_GROUPING_NAMES = {code: name for name, code in GROUPINGS.items()}


def _plain(row: np.record) -> SimpleNamespace:
    """A record's fields as Python numbers: numpy takes as long for one of them as for all at once."""
    return SimpleNamespace(**dict(zip(row.dtype.names or (), row.item(), strict=True)))


def _growth(now: SimpleNamespace, last: SimpleNamespace, *fields: str) -> list[float]:
    return [getattr(now, field) - getattr(last, field) for field in fields]


def _batch(row: SimpleNamespace) -> Batch:
    return Batch(
        count=int(row.batch_count),
        duration_s=float(row.batch_duration_s),
        fixed_s=float(row.batch_overhead_s),
        tasks=int(row.batch_task_count),
    )


def _scv(count: float, total: float, squares: float) -> float | None:
    """Squared coefficient of variation from sums; None for fewer than two values."""
    if count < 2 or total <= 0:
        return None
    mean = float(total / count)
    return max(0.0, float(squares) / float(count) - mean * mean) / (mean * mean)

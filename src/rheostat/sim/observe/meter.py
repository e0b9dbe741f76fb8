"""Meter: snapshots of the simulated cluster, with counters since the start and latencies since the last snapshot."""

from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from rheostat.grouping.check import KEY
from rheostat.names import OperatorName
from rheostat.sim.build import GROUPINGS
from rheostat.sim.cluster.cluster import Cluster
from rheostat.sim.cluster.executor_registry import SimExecutor
from rheostat.sim.engine.calendar import BATCH_END, KIND_BITS
from rheostat.sim.engine.latency_histogram import BINS, quantile
from rheostat.sim.engine.tables import codes
from rheostat.sim.engine.tables.state import EngineState
from rheostat.sim.observe.scoreboard import oldest_waiting_s
from rheostat.snapshot import (
    Batch,
    BatchUnderWay,
    ExecutorState,
    Latency,
    NodeState,
    OperatorState,
    Snapshot,
    StreamState,
    SubstreamState,
)

Floats = NDArray[np.float64]


class SimMeter:
    """Remembers the last reading, so that variations and latencies are those between two readings."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._last_operators = cluster.state.operators.copy()
        self._last_histogram = cluster.state.histogram["count"].copy()
        self._last_world = cluster.state.world.copy()
        self._last_io_s = self._io_done_s()
        self._io_since_s = cluster.now_s

    def read(self) -> Snapshot:
        cluster = self._cluster
        names, executors = list(cluster.position), cluster.registry.members.values()
        in_batches_s = _unfinished_in_batches_s(cluster.state)
        unfinished_s = (_running_batches_s(cluster.state) + _unfinished_service_s(cluster.state)).tolist()
        booked_s = in_batches_s.sum(axis=0).tolist()
        snapshot = Snapshot(
            time_s=cluster.now_s,
            operator_states=tuple(
                self._operator(name, left_s) for name, left_s in zip(names, unfinished_s, strict=True)
            ),
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

    def _operator(self, name: OperatorName, unfinished_s: float) -> OperatorState:
        position = self._cluster.position[name]
        row, last = _plain(self._cluster.state.operators[position]), _plain(self._last_operators[position])
        batched = row.mode == codes.MICRO_BATCH
        return OperatorState(
            name=name,
            arrived=int(row.arrived),
            completed=int(row.completed),
            lost=int(row.lost),
            queued=int(row.arrived - row.completed - row.lost),
            busy_s=float(row.service_sum) - unfinished_s,
            latency=self._latency(1 + position, row, last, int(row.completed - last.completed)),
            oldest_s=oldest_waiting_s(self._cluster, name),
            arrival_scv=_scv(*_growth(row, last, "gap_count", "gap_sum", "gap_squares")),
            service_scv=_scv(*_growth(row, last, "service_count", "service_sum", "service_squares")),
            batch=_batch(row) if batched else None,
            grouping=KEY if row.grouping == codes.BY_KEY else _GROUPING_NAMES[int(row.grouping)],
            under_way=self._under_way(position, row) if batched and _ends_next(row.batch_code) else None,
            trigger_s=float(row.batch_trigger_s) if batched else 0.0,
        )

    def _under_way(self, position: int, row: SimpleNamespace) -> BatchUnderWay:
        """The tasks of an executor are taken to be of equal length, since work is known by executor only; and where
        it is not known how many it has, each executor to have as many."""
        state = self._cluster.state
        now_s, width = float(state.world[0].now), int(state.world[0].width)
        shares = state.shares[position * width : (position + 1) * width]
        shares = shares[shares["end"] > row.batch_started]
        worked_s = np.clip(shares["work_s"] - (shares["end"] - now_s), 0.0, shares["work_s"])
        tasks = int(row.batch_under_way_tasks)
        each = shares["tasks"]
        if not each.any():
            each = tasks // max(1, len(shares)) + (np.arange(len(shares)) < tasks % max(1, len(shares)))
        done = worked_s / np.maximum(shares["work_s"], 1e-12)
        finished = np.floor(each * done + 1e-9)
        return BatchUnderWay(
            elapsed_s=now_s - float(row.batch_started),
            tasks=tasks,
            finished=int(finished.sum()),
            running=int(((worked_s > 0) & (finished < each)).sum()),
            worked_s=float(worked_s.sum()),
            rows=int(row.batch_rows),
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

    def _executor(self, executor: SimExecutor, booked_s: float) -> ExecutorState:
        row = _plain(self._cluster.state.executors[executor.index])
        before = executor.before
        busy_s = float(row.busy_s) - before.busy_s - booked_s
        io_s = float(row.io_s) - before.io_s
        if row.current != codes.NONE:
            busy_s += self._cluster.now_s - float(row.started)
            io_s += min(self._cluster.now_s, float(row.read_at)) - float(row.started)
        return ExecutorState(
            pool=executor.pool,
            id=executor.id,
            phase=executor.phase,
            arrived=int(row.arrived) - before.arrived,
            completed=int(row.completed) - before.completed,
            queued=int(row.queued) + int(row.current != codes.NONE),
            busy_s=busy_s,
            cpu_s=busy_s - io_s,
            speed=float(row.speed),
            node=executor.node,
            process=executor.process,
        )

    def _substreams(self, name: OperatorName) -> list[SubstreamState]:
        """Column by column: reading single fields would take longer than the rest of the snapshot."""
        cluster = self._cluster
        model = cluster.model.operator(name)
        where = cluster.substreams(name)
        rows = cluster.state.substreams[where]
        number = {executor.index: executor.id for executor in cluster.registry.members.values()}
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
        """CPU is busy executors over cores at this moment, memory what executors hold, I/O the share of the time
        since the last reading in which it was busy."""
        cluster = self._cluster
        memory, io = self._memory_by_node(), self._io_by_node()
        return tuple(
            NodeState(
                name=node.name,
                slots=node.slots,
                cores=node.cores,
                cpu=min(1.0, float(cluster.state.nodes[position].busy) / (node.cores or node.slots)),
                memory=None if memory is None else min(1.0, memory.get(node.name, 0.0)),
                io=None if io is None else min(1.0, float(io[position])),
            )
            for position, node in enumerate(cluster.model.cluster.nodes)
        )

    def _memory_by_node(self) -> dict[str | None, float] | None:
        """None where the model gives no operator's memory."""
        model, held = self._cluster.model, dict[str | None, float]()
        if not any(model.operator(name).memory for name in self._cluster.position):
            return None
        for executor in self._cluster.registry.members.values():
            held[executor.node] = held.get(executor.node, 0.0) + model.memory(executor.operators)
        return held

    def _io_by_node(self) -> Floats | None:
        """None where no record needs I/O, and at the first reading."""
        cluster = self._cluster
        elapsed_s, self._io_since_s = cluster.now_s - self._io_since_s, cluster.now_s
        before_s, self._last_io_s = self._last_io_s, self._io_done_s()
        if not (np.any(cluster.state.operators.io_s) or cluster.state.world[0].node_io_s) or elapsed_s <= 0:
            return None
        return np.asarray((self._last_io_s - before_s) / elapsed_s)

    def _io_done_s(self) -> Floats:
        """How long each node's I/O has been busy: without what it was asked for and has not come to."""
        nodes = self._cluster.state.nodes
        return np.asarray(nodes.io_s - np.maximum(nodes.io_until - self._cluster.now_s, 0.0))


_GROUPING_NAMES = {code: name for name, code in GROUPINGS.items()}


def _plain(row: np.record) -> SimpleNamespace:
    """A record's fields as Python numbers: numpy takes as long to read one field as to read all at once."""
    return SimpleNamespace(**dict(zip(row.dtype.names or (), row.item(), strict=True)))


def _growth(now: SimpleNamespace, last: SimpleNamespace, *fields: str) -> list[float]:
    return [getattr(now, field) - getattr(last, field) for field in fields]


def _ends_next(batch_code: int) -> bool:
    """Whether the next event of an operator's batches is the end of one, so that it is under way."""
    return batch_code != codes.NONE and batch_code % (1 << KIND_BITS) == BATCH_END


def _batch(row: SimpleNamespace) -> Batch:
    return Batch(
        count=int(row.batch_count),
        duration_s=float(row.batch_duration_s),
        fixed_s=float(row.finished_overhead_s),
        tasks=int(row.finished_task_count),
    )


def _scv(count: float, total: float, squares: float) -> float | None:
    """Squared coefficient of variation from sums; None for fewer than two values."""
    if count < 2 or total <= 0:
        return None
    mean = float(total / count)
    return max(0.0, float(squares) / float(count) - mean * mean) / (mean * mean)


def _unfinished_in_batches_s(state: EngineState) -> Floats:
    """Work of batches that was counted when they began and is not done yet: rows are operators, columns executors.

    An executor works at the end of its share of a batch; before that it waits for others or loads state.
    """
    left_s = np.maximum(state.shares["end"] - state.world[0].now, 0.0)
    unfinished_s: Floats = np.minimum(left_s, state.shares["work_s"])
    return unfinished_s.reshape(-1, int(state.world[0].width))


def _running_batches_s(state: EngineState) -> Floats:
    """All work of the batches under way, by operator: as on Spark, an operator's work counts when its batch ends, with
    the records. A share that ends after its batch began belongs to it."""
    ends_s = state.shares["end"].reshape(-1, int(state.world[0].width))
    works_s = state.shares["work_s"].reshape(ends_s.shape)
    events = state.operators["batch_code"]
    is_running = (events != codes.NONE) & (events % (1 << KIND_BITS) == BATCH_END)
    is_theirs = is_running[:, None] & (ends_s > state.operators["batch_started"][:, None])
    return np.asarray(np.where(is_theirs, works_s, 0.0).sum(axis=1))


def _unfinished_service_s(state: EngineState) -> Floats:
    """What is left of the services under way, which were counted when they began, by operator."""
    current = state.executors["current"]
    serving = current != codes.NONE
    unfinished_s = np.zeros(len(state.operators))
    left_s = state.executors["done"][serving] - state.world[0].now
    np.add.at(unfinished_s, state.tuples["operator"][current[serving]], left_s)
    return unfinished_s

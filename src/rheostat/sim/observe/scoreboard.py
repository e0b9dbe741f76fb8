"""Scoreboard: how often a run met each SLA, and how far its output fell behind its input.

It uses true latencies, never a policy's estimates. Its memory does not grow with the run.
"""

import math
from collections.abc import Callable

import numpy as np

from rheostat.measure.sla_windows import WindowedSuccess
from rheostat.names import OperatorName
from rheostat.sim.cluster.cluster import Cluster
from rheostat.sim.engine.tables import codes
from rheostat.sla import SLA

_SLOT_S = 0.1
_MOST_SLOTS = 100
"""Of a window: windows longer than ten seconds are judged less often than ten times a second."""
_INTERVAL_S = 1.0

Slot = tuple[np.ndarray, np.ndarray, Callable[[], np.ndarray]]
"""One slot of a window, per substream: sum of latencies, completions, and a function for the age of the oldest waiting
record, which takes long to find in a long backlog and matters only if nothing was completed in the window."""


class Scoreboard:
    """Watches `cluster` from now on."""

    def __init__(self, cluster: Cluster, slas: tuple[SLA, ...]) -> None:
        self._cluster = cluster
        self.success = {sla: self._watch(sla) for sla in slas}
        self._degradation_sum, self._degradation_intervals = 0.0, 0
        self._last_entered, self._last_left = self._through()
        self._repeat(_INTERVAL_S, self._note_throughput)

    @property
    def throughput_degradation(self) -> float | None:
        """PA-SPS: the mean over intervals of |in − out| / in; intervals without input are left out."""
        return self._degradation_sum / self._degradation_intervals if self._degradation_intervals else None

    def _through(self) -> tuple[int, int]:
        world = self._cluster.state.world[0]
        return int(world.entered), int(world.left)

    def _note_throughput(self) -> None:
        entered, left = self._through()
        input_, output = entered - self._last_entered, left - self._last_left
        self._last_entered, self._last_left = entered, left
        if input_ > 0:
            self._degradation_sum += abs(input_ - output) / input_
            self._degradation_intervals += 1

    def _watch(self, sla: SLA) -> WindowedSuccess:
        slot_s = sla.window_s / min(_MOST_SLOTS, math.ceil(sla.window_s / _SLOT_S - 1e-9))
        slot = _path_slot(self._cluster, sla.path) if sla.path else _slot(self._cluster, sla.operator)
        success = WindowedSuccess(sla.latency_s, sla.window_s, slot_s, len(slot()[0]))
        self._repeat(slot_s, lambda: success.add_slot(*slot()))
        return success

    def _repeat(self, every_s: float, action: Callable[[], None]) -> None:
        """Run `action` at every multiple of `every_s` from now on, without drift."""
        start_s, timers = self._cluster.now_s, self._cluster.timers

        def repeat(count: int) -> None:
            action()
            timers.at(start_s + (count + 1) * every_s, lambda: repeat(count + 1))

        timers.at(start_s + every_s, lambda: repeat(1))


def _slot(cluster: Cluster, operator: OperatorName | None) -> Callable[[], Slot]:
    """What happened since the previous call: per substream of an operator, for the operator, or for the topology.

    Substreams are not distinguished where a merge allows their records on any executor.
    """
    if operator is None:
        oldest = _OldestRecord(cluster)
        return _since(lambda: _topology_totals(cluster, oldest))
    watched = cluster.model.topology.operators[operator]
    if watched.keyed and watched.merge is None:
        return _since(lambda: _substream_totals(cluster, operator))
    return _since(lambda: _operator_totals(cluster, operator))


def _since(totals: Callable[[], Slot]) -> Callable[[], Slot]:
    last = totals()

    def difference() -> Slot:
        nonlocal last
        now = totals()
        slot = now[0] - last[0], now[1] - last[1], now[2]
        last = now
        return slot

    return difference


def _topology_totals(cluster: Cluster, oldest: "_OldestRecord") -> Slot:
    world = cluster.state.world[0]
    return np.array([world.latency_sum]), np.array([world.left]), oldest


class _OldestRecord:
    """The age of the oldest record in the topology. It stays the oldest until it is done, so it is looked for once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._index, self._entry_s = 0, -1.0

    def __call__(self) -> np.ndarray:
        roots = self._cluster.state.roots
        entries_s, pending = roots.entry, roots.pending
        if not (len(pending) and pending[self._index] > 0 and entries_s[self._index] == self._entry_s):
            waiting = np.flatnonzero(pending > 0)
            if not len(waiting):
                return np.zeros(1)
            self._index = int(waiting[np.argmin(entries_s[waiting])])
            self._entry_s = float(entries_s[self._index])
        return np.array([self._cluster.now_s - self._entry_s])


def _operator_totals(cluster: Cluster, name: OperatorName) -> Slot:
    row = cluster.row(name)
    return np.array([row.latency_sum]), np.array([row.completed]), lambda: np.array([oldest_waiting_s(cluster, name)])


def oldest_waiting_s(cluster: Cluster, name: OperatorName) -> float:
    """How long the oldest record of an operator has been there; 0 when there is none."""
    state, position = cluster.state, cluster.position[name]
    row = cluster.row(name)
    if row.grouping == codes.BY_KEY:
        heads = state.substreams.head[cluster.substreams(name)]
    else:
        first = position * int(state.world[0].width)
        executors = state.executors[state.server.executor[first : first + int(row.servers)]]
        queue_heads = executors.queue_head[executors.queued > 0]
        own = [row.queue_head] if row.queued else []
        batch = [row.batch_head] if row.batch_rows else []
        heads = np.concatenate([executors.current, queue_heads, own, batch]).astype(np.int64)
    present = heads[heads != codes.NONE]
    return float(cluster.now_s - state.tuples.arrival[present].min()) if len(present) else 0.0


def _substream_totals(cluster: Cluster, name: OperatorName) -> Slot:
    rows = cluster.state.substreams[cluster.substreams(name)]

    def oldest() -> np.ndarray:
        waits = rows.head != codes.NONE
        return np.where(waits, cluster.now_s - cluster.state.tuples.arrival[np.where(waits, rows.head, 0)], 0.0)

    return rows.latency.copy(), rows.completed.copy(), oldest


def _path_slot(cluster: Cluster, path: tuple[OperatorName, ...]) -> Callable[[], Slot]:
    """A path's latency is the sum of its operators' mean latencies, weighted by the completions of its last one."""
    slots = [_since(lambda name=name: _operator_totals(cluster, name)) for name in path]  # type: ignore[misc]

    def along() -> Slot:
        parts = [slot() for slot in slots]
        mean = sum(latency / np.maximum(count, 1) for latency, count, _ in parts)
        completed = parts[-1][1]
        return mean * completed, completed, lambda: sum((oldest() for _, _, oldest in parts), np.zeros(1))

    return along

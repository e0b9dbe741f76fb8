"""Node usage: nodes in use and their utilisation, from the snapshots of a run."""

from itertools import pairwise

from rheostat.experiments.reproduce.rastream.applications import CORES
from rheostat.experiments.reproduce.turn_log import TurnLog
from rheostat.loop.turn import Turn
from rheostat.placement import Resources, ResourceWeights
from rheostat.snapshot import Snapshot


def nodes_used(turn: Turn) -> int:
    """The number of nodes that have tasks."""
    return 0 if turn.snapshot is None else _used(turn.snapshot)


def utilisations(log: TurnLog) -> list[tuple[float, float]]:
    """Time and the mean of R over the nodes in use (eq. 6), turn by turn."""
    seen = [turn.snapshot for turn in log.turns if turn.snapshot is not None]
    return [(now.time_s, _mean_utilisation(before, now)) for before, now in pairwise(seen)]


def _used(snapshot: Snapshot) -> int:
    return len({executor.node for executor in snapshot.executors})


def _mean_utilisation(before: Snapshot, now: Snapshot) -> float:
    """Processor time is summed over executors; the processor share of a node state is a momentary value."""
    worked_s = _busy_s(now) - _busy_s(before)
    total = Resources(
        worked_s / (now.time_s - before.time_s) / CORES,
        sum(node.memory or 0.0 for node in now.nodes),
        sum(node.io or 0.0 for node in now.nodes),
    )
    return ResourceWeights().of(total) / _used(now)


def _busy_s(snapshot: Snapshot) -> float:
    return sum(executor.busy_s or 0.0 for executor in snapshot.executors)

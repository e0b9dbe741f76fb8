"""Nodes in use and how full they are, from what the loop saw."""

from itertools import pairwise

from rheostat.experiments.reproduce.course import Course
from rheostat.experiments.reproduce.rastream.applications import CORES
from rheostat.loop.turn import Turn
from rheostat.placement import Resources, ResourceWeights
from rheostat.snapshot import Snapshot


def nodes_used(period: Turn) -> int:
    """Nodes that have tasks."""
    return 0 if period.snapshot is None else _used(period.snapshot)


def utilisations(course: Course) -> list[tuple[float, float]]:
    """Time and the mean of R over the nodes in use (eq. 6), period by period."""
    seen = [period.snapshot for period in course.periods if period.snapshot is not None]
    return [(now.time_s, _mean_utilisation(before, now)) for before, now in pairwise(seen)]


def _used(snapshot: Snapshot) -> int:
    return len({executor.node for executor in snapshot.executors})


def _mean_utilisation(before: Snapshot, now: Snapshot) -> float:
    """Processor time is counted by executor; a node's own share would be that of one moment."""
    worked_s = _busy_s(now) - _busy_s(before)
    total = Resources(
        worked_s / (now.time_s - before.time_s) / CORES,
        sum(node.memory or 0.0 for node in now.nodes),
        sum(node.io or 0.0 for node in now.nodes),
    )
    return ResourceWeights().of(total) / _used(now)


def _busy_s(snapshot: Snapshot) -> float:
    return sum(executor.busy_s or 0.0 for executor in snapshot.executors)

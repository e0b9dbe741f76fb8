"""Measured task graph: edge weights and demands of tasks from measurements (Ra-Stream eq. 1 to 5)."""

import math
from collections.abc import Mapping, Sequence

from rheostat.placement.model.resources import Resources
from rheostat.placement.model.task_graph import Edge


def trimmed_mean(samples: Sequence[float]) -> float | None:
    """The mean without the largest and the smallest sample (Ra-Stream eq. 1, divided by n − 2).

    Of fewer than three samples it is the plain mean, of none it is None.
    """
    if not samples:
        return None
    if len(samples) < 3:
        return math.fsum(samples) / len(samples)
    return math.fsum(sorted(samples)[1:-1]) / (len(samples) - 2)


def task_edges(rate: float, producers: Mapping[str, float], consumers: Mapping[str, float]) -> list[Edge]:
    """A stream of `rate` records per second, as edges from every producer to every consumer.

    Both give what each task processed: its share of the stream is its share of that.
    """
    out, into = _shares(producers), _shares(consumers)
    return [
        Edge(source, target, rate * sent * received)
        for source, sent in out.items()
        for target, received in into.items()
        if rate * sent * received > 0
    ]


def task_shares(processed: Mapping[str, float], utilisation: Resources) -> dict[str, Resources]:
    """The utilisation of a node, divided by the records that each task on it processed (Ra-Stream eq. 3 to 5)."""
    return {task: utilisation.scaled(share) for task, share in _shares(processed).items()}


def _shares(amounts: Mapping[str, float]) -> dict[str, float]:
    """Shares of the total; equal ones as long as nothing was processed."""
    total = sum(amounts.values())
    return {name: amount / total if total > 0 else 1 / len(amounts) for name, amount in amounts.items()}

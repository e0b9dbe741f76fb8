"""Edge weights from what was measured (Ra-Stream eq. 1 and 2)."""

from collections.abc import Mapping, Sequence

from rheostat.placement.graph import Edge
from rheostat.placement.trimmed import trimmed_mean


def edge_rate(samples: Sequence[float]) -> float:
    """Tr of a pair of tasks: the trimmed mean of its rates over the frame; 0 where nothing was sent (eq. 2)."""
    return trimmed_mean(samples) or 0.0


def task_edges(rate: float, producers: Mapping[str, float], consumers: Mapping[str, float]) -> list[Edge]:
    """A stream of so many records per second, as edges from every producer to every consumer.

    Tasks of an operator are told with what each of them processed: a producer's share of the stream is its share
    of that, and so is a consumer's.
    """
    out, into = _shares(producers), _shares(consumers)
    return [
        Edge(source, target, rate * sent * received)
        for source, sent in out.items()
        for target, received in into.items()
        if rate * sent * received > 0
    ]


def _shares(amounts: Mapping[str, float]) -> dict[str, float]:
    """Parts of 1; equal ones as long as nothing was processed."""
    total = sum(amounts.values())
    return {name: amount / total if total > 0 else 1 / len(amounts) for name, amount in amounts.items()}

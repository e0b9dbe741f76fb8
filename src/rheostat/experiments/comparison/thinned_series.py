"""Thinned series: a time series with few points, for storage and pictures."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean

from rheostat.experiments.time_series import SeriesPoint

MOST_POINTS = 240


def thinned(points: Sequence[SeriesPoint], most: int = MOST_POINTS) -> tuple[SeriesPoint, ...]:
    """At most so many points. Each stands for several: with their mean rate, highest latency, largest backlog, last
    executors, and whether all of them met the SLA."""
    if len(points) <= most:
        return tuple(points)
    edges = [len(points) * number // most for number in range(most + 1)]
    return tuple(_joined(points[start:end]) for start, end in pairwise(edges))


def _joined(points: Sequence[SeriesPoint]) -> SeriesPoint:
    met = [point.sla_met for point in points if point.sla_met is not None]
    rates = list(_known(point.input_rate for point in points))
    return SeriesPoint(
        time_s=points[-1].time_s,
        input_rate=fmean(rates) if rates else None,
        latency_s=max(_known(point.latency_s for point in points), default=None),
        backlog=max(point.backlog for point in points),
        executors=points[-1].executors,
        sla_met=all(met) if met else None,
    )


def _known(values: Iterator[float | None]) -> Iterator[float]:
    return (value for value in values if value is not None)

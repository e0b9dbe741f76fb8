"""Smoothed measures: the measures of all operators, each quantity smoothed by itself."""

from collections.abc import Callable

from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.measure.smoothing import Smoother
from rheostat.names import OperatorName
from rheostat.snapshot import Latency, Snapshot
from rheostat.topology import Topology

_PLAIN = ("arrival_rate", "completion_rate", "service_rate", "utilisation", "queued", "arrival_scv", "service_scv")


class SmoothedMeasures:
    """`smoother` makes one smoother for each quantity of each operator."""

    def __init__(self, topology: Topology, smoother: Callable[[], Smoother]) -> None:
        self._plain = {name: {what: smoother() for what in _PLAIN} for name in topology.operators}
        self._latency = {name: _SmoothedLatency(smoother) for name in topology.operators}
        self._end_to_end = _SmoothedLatency(smoother)
        self._external_rate = smoother()

    def update(self, raw: Measures, snapshot: Snapshot) -> Measures:
        """`raw` smoothed; `snapshot` has the number of records behind each latency."""
        operators: dict[OperatorName, OperatorMeasures] = {}
        for name, measures in raw.operators.items():
            plain = {what: smoother.update(getattr(measures, what)) for what, smoother in self._plain[name].items()}
            latency = snapshot.operators[name].latency if name in snapshot.operators else None
            operators[name] = OperatorMeasures(
                **plain, latency_s=self._latency[name].update(measures.latency_s, latency)
            )
        latency_s = self._end_to_end.update(raw.latency_s, snapshot.latency)
        external_rate = self._external_rate.update(raw.external_rate)
        return Measures(raw.interval_s, operators, latency_s, external_rate, raw.external_until_s)


class _SmoothedLatency:
    """The smoothed sum of latencies over the smoothed number of records: each record weighs the same."""

    def __init__(self, smoother: Callable[[], Smoother]) -> None:
        self._sum_s, self._count = smoother(), smoother()

    def update(self, mean_s: float | None, latency: Latency | None) -> float | None:
        count = None if mean_s is None or latency is None else latency.count
        sum_s = self._sum_s.update(None if mean_s is None or count is None else mean_s * count)
        records = self._count.update(count)
        return sum_s / records if sum_s is not None and records else None

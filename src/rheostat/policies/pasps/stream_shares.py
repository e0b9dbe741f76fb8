"""Stream shares θ: how much of the input reaches each operator, from the rows of the last interval (eq. 5, 6)."""

from collections.abc import Iterable, Mapping

from rheostat.errors import TopologyError
from rheostat.names import OperatorName
from rheostat.queueing import Route, arrival_rates
from rheostat.snapshot import Snapshot
from rheostat.topology import Stream, Topology


class CounterGrowth:
    """The growth of cumulative counters over an interval."""

    def __init__(self) -> None:
        self._before: dict[object, int] = {}
        self._now: dict[object, int] = {}

    def update(self, counters: Iterable[tuple[object, int | None]]) -> None:
        """The present values. A counter that is missing counts as unknown, not as unchanged."""
        self._now = {key: value for key, value in counters if value is not None}

    def end_interval(self) -> dict[object, int]:
        """The growth over the interval that ends, of the counters that are known at both ends and did not fall."""
        grown = {key: now - self._before[key] for key, now in self._now.items() if key in self._before}
        self._before = self._now
        return {key: amount for key, amount in grown.items() if amount >= 0}


class StreamShares:
    """θ^p_i of every stream: the rows that p sent to i for each that it processed, in the last interval.

    An operator that processed nothing keeps its last shares, and so does a stream that was not measured; before there
    are any, the declared selectivity is used.
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._completed, self._rows = CounterGrowth(), CounterGrowth()
        self._share = {stream: stream.selectivity for stream in topology.streams}
        self._from_source = {name: 1.0 / len(topology.sources) for name in topology.sources}

    def update(self, snapshot: Snapshot) -> None:
        self._completed.update((operator.name, operator.completed) for operator in snapshot.operator_states)
        self._rows.update(((stream.name, stream.consumer), stream.rows) for stream in snapshot.streams)

    def end_interval(self) -> None:
        """Use the shares of the interval that ends."""
        completed, rows = self._completed.end_interval(), self._rows.end_interval()
        self._split_sources(rows)
        found = {s: share for s in self._share if (share := _share(s, completed, rows)) is not None}
        self._adopt({**self._share, **found})

    def events(self, entering: float, queued: Mapping[OperatorName, float]) -> dict[OperatorName, float]:
        """λ̂ of each operator in the next interval (eq. 3, 4 and 7), when `entering` events come from outside and
        `queued` ones wait: all of them flow through the topology.

        Both sums of the paper obey the traffic equations, and so does their sum: they are solved together, which
        also covers loops.
        """
        external = dict(queued)
        for stream in self._topology.streams:
            if stream.producer in self._from_source:
                share = entering * self._from_source[stream.producer]
                external[stream.consumer] = external.get(stream.consumer, 0.0) + share
        return arrival_rates(list(self._topology.operators), external, _routes(self._share))

    def _split_sources(self, rows: Mapping[object, int]) -> None:
        """By what the sources sent in the interval, where that is known of all of them; else as before."""
        known = {name: [rows[key] for key in self._read_from(name) if key in rows] for name in self._from_source}
        sent = {name: max(counts) for name, counts in known.items() if counts}
        if sent.keys() == known.keys() and (total := sum(sent.values())):
            self._from_source = {name: amount / total for name, amount in sent.items()}

    def _read_from(self, source: str) -> list[tuple[str, OperatorName]]:
        return [(stream.name, stream.consumer) for stream in self._topology.out_of(source)]

    def _adopt(self, shares: dict[Stream, float]) -> None:
        """Skip shares with which a loop writes more than it reads, as it may seem for a moment."""
        try:
            arrival_rates(list(self._topology.operators), {}, _routes(shares))
        except TopologyError:
            return
        self._share = shares


def _share(stream: Stream, completed: Mapping[object, int], rows: Mapping[object, int]) -> float | None:
    """θ^p_i = λ^p_i / μ_p, where both are known and p processed something."""
    sent, processed = rows.get((stream.name, stream.consumer)), completed.get(stream.producer)
    return sent / processed if sent is not None and processed else None


def _routes(shares: Mapping[Stream, float]) -> list[Route]:
    """The streams between operators; what sources send enters from outside."""
    operators = {stream.consumer for stream in shares}
    return [Route(s.producer, s.consumer, share) for s, share in shares.items() if s.producer in operators]

"""Routes: where records go, learned from the rows on the streams, and the arrival rates that follow from the sources.

What is measured at an operator behind a bottleneck is what the bottleneck lets through, and behind a micro-batch
nothing arrives for a while and then everything at once. Neither is the load to plan for. The traffic equations
give that, from the rate at the sources and the rows that each operator writes for a row it reads.
"""

from collections.abc import Mapping

from rheostat.errors import TopologyError
from rheostat.names import OperatorName
from rheostat.queueing import Route, arrival_rates
from rheostat.snapshot import Snapshot
from rheostat.topology import Topology

_KEPT = 0.9
"""The weight of a period's rows in the next one: shares follow a drift within some ten periods."""


class _Grown:
    """The recent growth of a cumulative counter."""

    __slots__ = ("_last", "rows")

    def __init__(self) -> None:
        self._last: int | None = None
        self.rows = 0.0

    def update(self, value: int | None) -> None:
        if value is None:
            return
        last, self._last = self._last, value
        self.rows = _KEPT * self.rows + (max(0, value - last) if last is not None else 0)


class Routes:
    """Follows all streams of a topology."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._streams = {(stream.name, stream.consumer): _Grown() for stream in topology.streams}
        self._completed = {name: _Grown() for name in topology.operators}

    def update(self, snapshot: Snapshot) -> None:
        for state in snapshot.operator_states:
            if state.name in self._completed:
                self._completed[state.name].update(state.completed)
        for stream in snapshot.streams:
            if (stream.name, stream.consumer) in self._streams:
                self._streams[stream.name, stream.consumer].update(stream.rows)

    def arrival_rates(self, external_rate: float) -> dict[OperatorName, float] | None:
        """λ of each operator when records enter at `external_rate`; None when that is not known.

        The declared selectivity is used where an operator has not completed anything yet.
        """
        external = self._external(external_rate)
        if external is None:
            return None
        return self._solved(external, self._routes())

    def carried_on(self, entering: Mapping[OperatorName, float]) -> dict[OperatorName, float] | None:
        """Records per second at each operator when they enter the operators at these rates."""
        return self._solved(entering, self._routes())

    def visits(self, rates: Mapping[OperatorName, float]) -> dict[OperatorName, float] | None:
        """How often a result came through each operator on its way, on average, when records arrive at `rates`.

        The traffic equations read backwards: a record came over each of the streams into an operator with that
        stream's part of the arrivals there. In a line it is 1 everywhere, however many records a record becomes.
        """
        results = {name: rates[name] for name in self._topology.terminals}
        total = sum(results.values())
        if not total:
            return None
        back = [
            Route(target, source, rates[source] * route.share / rates[target])
            for route in self._routes()
            if rates[target := OperatorName(route.target)] and (source := OperatorName(route.source))
        ]
        return self._solved({name: rate / total for name, rate in results.items()}, back)

    def _routes(self) -> list[Route]:
        return [
            Route(producer, stream.consumer, self._share(producer, stream.name, stream.consumer))
            for stream in self._topology.streams
            if (producer := OperatorName(stream.producer)) in self._completed
        ]

    def _solved(self, external: Mapping[OperatorName, float], routes: list[Route]) -> dict[OperatorName, float] | None:
        try:
            return arrival_rates(list(self._completed), external, routes)
        except TopologyError:  # for a moment a loop may write more than it reads
            return None

    def _external(self, external_rate: float) -> dict[OperatorName, float] | None:
        sources = self._topology.sources
        rows = {name: max(grown.rows for (s, _), grown in self._streams.items() if s == name) for name in sources}
        total = sum(rows.values())
        if not total and len(sources) > 1:
            return None
        rates: dict[OperatorName, float] = {}
        for stream in self._topology.streams:
            if stream.producer in sources:
                share = rows[stream.producer] / total if total else 1.0
                rates[stream.consumer] = rates.get(stream.consumer, 0.0) + share * external_rate
        return rates

    def _share(self, producer: OperatorName, name: str, consumer: OperatorName) -> float:
        written, completed = self._streams[name, consumer].rows, self._completed[producer].rows
        declared = self._topology.operators[producer].selectivities[name]
        return written / completed if completed and written else declared

"""Running queries: the queries of a topology that run now, started, watched and ended together."""

import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from rheostat.errors import PlantError, TopologyError, nearest
from rheostat.spark.query.unit import Unit
from rheostat.spark.query.unit_query import UnitQuery
from rheostat.spark.state.query_groups import QueryGroups
from rheostat.topology import Topology

_POLL_S = 0.02


class RunningQueries:
    """One query for each of `units`, by the unit's name; empty before the start.

    `stopping` is set when all of them are to end. `lock` is held while queries are replaced or ended. `groups` always
    has the operators that share a query.
    """

    def __init__(self, topology: Topology, units: tuple[Unit, ...], groups: QueryGroups) -> None:
        self.topology = topology
        self.units, self._groups = units, groups
        groups.set(unit.parts for unit in units)
        self.by_name: Mapping[str, UnitQuery] = {}
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self._replaced: Collection[str] = ()

    def of(self, operator: str) -> UnitQuery:
        """The query that runs an operator or source."""
        for query in self.by_name.values():
            if operator in query.unit.parts:
                return query
        if not self.by_name:
            raise PlantError(f"topology {self.topology.name!r} is not started")
        names = [part.name for part in self.topology.parts]
        raise TopologyError(f"topology {self.topology.name!r} has no operator {operator!r}; {nearest(operator, names)}")

    def start(self, queries: Mapping[str, UnitQuery]) -> None:
        """Start the first queries of the topology."""
        self.by_name = queries
        self._begin(queries)

    def replace(self, queries: Mapping[str, UnitQuery], units: tuple[Unit, ...]) -> None:
        """Start `queries` in place of others, which have stopped; from now on the units are `units`."""
        if not self.stopping.is_set():
            self._begin(queries)
        known = {**self.by_name, **queries}
        self.by_name, self.units = {unit.name: known[unit.name] for unit in units}, units
        self._groups.set(unit.parts for unit in units)

    @contextmanager
    def replacing(self, names: Collection[str]) -> Iterator[None]:
        """Within this block these queries may end without being reported as failed."""
        self._replaced = names
        try:
            yield
        finally:
            self._replaced = ()

    def find_failed(self) -> UnitQuery | None:
        """A query that ended although it should run."""
        for query in self.by_name.values():
            if not query.is_active and self._should_run(query):
                return query
        return None

    def finish(self, timeout_s: float) -> None:
        """Let every query finish the batch under way, for at most `timeout_s`, then end it."""
        with self.lock:
            for query in self.by_name.values():
                query.close()
            deadline_s = time.monotonic() + timeout_s
            try:
                while time.monotonic() < deadline_s and not all(query.is_quiet for query in self.by_name.values()):
                    time.sleep(_POLL_S)
            finally:  # an interrupt must not leave them running
                self.stop()

    def stop(self) -> None:
        """End all queries at once."""
        self.stopping.set()
        for query in self.by_name.values():
            query.stop()
            query.batches.settle()

    def _begin(self, queries: Mapping[str, UnitQuery]) -> None:
        """The last in the flow first: if one cannot start, none before it has written anything for it to read."""
        for query in reversed(list(queries.values())):
            query.start(f"{self.topology.name}: {query.unit.name}")

    def _should_run(self, query: UnitQuery) -> bool:
        name = query.unit.name
        is_replaced = name in self._replaced or self.by_name.get(name) is not query
        return not is_replaced and not self.stopping.is_set()

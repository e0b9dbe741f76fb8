"""Query replacement: operators are fused or split while the topology runs.

The queries concerned finish the batch under way and everything that lies between them. Others continue from there.
The run directory records which queries there are: until it names the new ones everything is as before, afterwards as
after the change, whenever the driver dies.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from rheostat.errors import PlantError
from rheostat.spark.query.fusion.checkpoint import FEWEST_BATCHES, has_enough_batches, has_state
from rheostat.spark.query.fusion.checkpoint_migration import migrate_checkpoints
from rheostat.spark.query.fusion.query_changes import QueryChange, changes_between
from rheostat.spark.query.query_builder import QueryBuilder
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.running_queries import RunningQueries
from rheostat.spark.query.unit import Unit, units_of
from rheostat.spark.query.unit_query import UnitQuery

_STOP_TIMEOUT_S = 60.0
_POLL_S = 0.01
_LOG = logging.getLogger(__name__)


class QueryReplacement:
    """Replaces `running` queries. Without `streams_in_files` it cannot: only such streams can change their writer."""

    def __init__(
        self, running: RunningQueries, builder: QueryBuilder, directory: RunDirectory, *, streams_in_files: bool
    ) -> None:
        self._running, self._builder, self._directory = running, builder, directory
        self._streams_in_files = streams_in_files

    def rearrange(self, fused: Iterable[Sequence[str]]) -> None:
        """Fuse these groups and split everything else, one change after the other.

        Raises the reason if a change is not possible; the queries that it concerns then run as before.
        """
        wanted = [unit.parts for unit in units_of(self._running.topology, fused)]
        with self._running.lock:
            present = [unit.parts for unit in self._running.units]
            for change in changes_between(self._running.topology, present, wanted):
                self._check(change)
                self._apply(change)

    def _check(self, change: QueryChange) -> None:
        if not self._streams_in_files:
            raise PlantError(f"cannot change {change} while it runs: only streams in files can change their writer")
        if self._running.stopping.is_set() or not self._running.by_name:
            raise PlantError(f"cannot change {change}: topology {self._running.topology.name!r} does not run")
        for parts in change.before:
            _check_checkpoint(self._running.by_name["+".join(parts)])

    def _apply(self, change: QueryChange) -> None:
        before = [self._running.by_name["+".join(parts)] for parts in change.before]
        kept = {unit.parts for unit in self._running.units} - set(change.before)
        units = units_of(self._running.topology, [*kept, *change.after])
        unit_of = {unit.parts: unit for unit in units}
        queries = self._builder.build([unit_of[parts] for parts in change.after], units)
        with self._running.replacing([query.unit.name for query in before]):
            try:
                stop_chain(before, self._running.stopping)
                migrate_checkpoints(change, self._directory.checkpoint, self._directory.stream)
                self._commit(queries, units)
            except BaseException:
                self._restart(before)
                raise
        self._directory.remove_unused_checkpoints()
        _LOG.info("queries changed from %s", change)

    def _commit(self, queries: Mapping[str, UnitQuery], units: tuple[Unit, ...]) -> None:
        self._directory.record_queries([unit.parts for unit in units])
        try:
            self._running.replace(queries, units)
        except BaseException:
            for query in queries.values():
                query.stop()
            self._directory.record_queries([unit.parts for unit in self._running.units])
            raise

    def restart(self, ended: UnitQuery) -> None:
        """Start a query again that has ended by itself, unless it was replaced or everything stops."""
        with self._running.lock:
            if self._running.by_name.get(ended.unit.name) is ended:
                self._restart([ended])

    def _restart(self, stopped: Sequence[UnitQuery]) -> None:
        if not self._running.stopping.is_set():
            units = self._running.units
            queries = self._builder.build([query.unit for query in stopped], units)
            for query in stopped:
                queries[query.unit.name].batches.carry_over(query.batches)
            self._running.replace(queries, units)


def _check_checkpoint(query: UnitQuery) -> None:
    """Whether another query could continue from there; checked before anything is stopped."""
    name = query.unit.name
    if not has_enough_batches(query.checkpoint):
        raise PlantError(f"{name!r} has had fewer than {FEWEST_BATCHES} batches: too few to continue from")
    if has_state(query.checkpoint) and not query.unit.keyed:
        raise PlantError(f"{name!r} keeps state between batches but has no key: it can be neither fused nor split")


def stop_chain(queries: Sequence[UnitQuery], stopping: threading.Event, timeout_s: float = _STOP_TIMEOUT_S) -> None:
    """Stop a chain of queries, in flow order, so that nothing is left between them.

    Each finishes the batch under way and stops; all but the first process everything published for them before that.
    Raises when it takes longer than `timeout_s` or `stopping` is set; some of the queries have then stopped.
    """
    deadline_s = time.monotonic() + timeout_s
    for number, query in enumerate(queries):
        if number:
            _await(_has_read_everything, query, stopping, deadline_s)
        query.close()
        _await(_is_quiet, query, stopping, deadline_s)
        query.stop()
        query.batches.settle()


def _has_read_everything(query: UnitQuery) -> bool:
    return not query.has_rows or not query.is_active


def _is_quiet(query: UnitQuery) -> bool:
    return query.is_quiet


def _await(
    condition: Callable[[UnitQuery], bool], query: UnitQuery, stopping: threading.Event, deadline_s: float
) -> None:
    while not condition(query):
        if stopping.wait(_POLL_S):
            raise PlantError(f"{query.unit.name!r} was being replaced when the whole topology was stopped")
        if time.monotonic() > deadline_s:
            raise PlantError(f"{query.unit.name!r} did not finish its batches in time: will try again later")

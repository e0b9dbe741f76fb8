"""A topology on Spark: every operator a Structured Streaming query, durable streams between them.

    runtime = Runtime(topology, spark, "runs/words")
    runtime.start()
    ...
    runtime.stop()

What a query does with a batch is: take what its streams have, compute it, publish the output, commit. All four are
Spark's own, down to the file sink; the runtime decides when a batch begins, how its rows are spread over tasks and
when consumed files go. Started again in the same directory everything goes on where it was.

Batches are handed to the runtime by `foreachBatch`, which on two cores costs about 5 % of a small batch against
Spark's sink called directly. It is what makes updates (which the file sink refuses), sinks of the user's own and an
error that names the operator possible.
"""

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import ConfigError, PlantError, TopologyError, nearest
from rheostat.spark.query.assembly import Placement, unplaced
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.query.build import Builder
from rheostat.spark.query.failure import QueryError
from rheostat.spark.query.fusion.checkpoint import FEWEST_BATCHES, has_batches_enough, has_state
from rheostat.spark.query.fusion.checkpoint_migration import carry_over
from rheostat.spark.query.fusion.query_changes import Change, Parts, changes_between
from rheostat.spark.query.fusion.stop_chain import wind_down
from rheostat.spark.query.grouping.row_groupings import Grouping
from rheostat.spark.query.per_record.timings import Timings
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.sinks import Sink, as_sink
from rheostat.spark.query.unit import Unit, units_of
from rheostat.spark.query.unit_query import UnitQuery
from rheostat.spark.streams.files import FileStreams
from rheostat.spark.streams.stream import Arrival, StreamKind
from rheostat.topology import Topology

_LOG = logging.getLogger(__name__)
_LOOK_EVERY_S = 0.2
_POLL_S = 0.02
_PATIENCE_S = 60.0


class Runtime:
    """The queries of one topology in one Spark application.

    `sinks` takes results by operator (or `operator.output`): a function of a DataFrame and a batch number, or a
    path; by default a folder under `directory`. Each group in `fused` is one query, unless the directory's were others
    last: it goes on with those until it is told to `rearrange`. `placement` says where the stages of an operator run.
    """

    def __init__(
        self,
        topology: Topology,
        spark: SparkSession,
        directory: Path | str,
        *,
        sinks: Mapping[str, Sink | Path | str] | None = None,
        fused: Iterable[Sequence[str]] = (),
        streams: StreamKind | None = None,
        placement: Placement = unplaced,
    ) -> None:
        self.topology = topology
        self._spark = spark
        wanted = units_of(topology, fused)
        checked = _checked_sinks(sinks or {}, wanted)
        self.directory = RunDirectory(directory, topology, [unit.parts for unit in wanted])
        self._units = units_of(topology, self.directory.queries)
        self._can_rearrange = streams is None
        kind = streams or FileStreams(self.directory.streams)
        self._builder = Builder(spark, self.directory, kind, checked, placement)
        self._queries: dict[str, UnitQuery] = {}
        self._changing: tuple[Parts, ...] = ()
        self._arranging = threading.Lock()
        self._failure: QueryError | None = None
        self._stopping = threading.Event()
        self._caretaker: threading.Thread | None = None

    def start(self) -> None:
        """Start all queries. An error in the user's functions is raised here, before anything runs."""
        if self._queries:
            raise PlantError(f"topology {self.topology.name!r} is running already")
        try:
            self._queries = self._builder.build(self._units, self._units)
            self._begin(self._queries)
        except BaseException:
            self._end_all()
            raise
        self._caretaker = threading.Thread(target=self._take_care, name=f"rheostat {self.topology.name}", daemon=True)
        self._caretaker.start()

    def stop(self, patience_s: float = _PATIENCE_S) -> None:
        """Let every query finish the batch under way, then end it. Raises the error if one had failed."""
        self._stopping.set()
        if self._caretaker is not None:
            self._caretaker.join()
        with self._arranging:
            self._finish(patience_s)
        if self._failure is not None:
            raise self._failure

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until a query fails and all have ended, and raise its error; False when `timeout_s` passes first."""
        if self._caretaker is not None:
            self._caretaker.join(timeout_s)
        if self._caretaker is not None and self._failure is not None:
            self._caretaker.join()
            raise self._failure
        return self._stopping.is_set()

    def __enter__(self) -> "Runtime":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def failure(self) -> QueryError | None:
        """The first query's error, after which all were stopped."""
        return self._failure

    @property
    def queries(self) -> Mapping[str, UnitQuery]:
        """The running query of each unit by name; fused operators share one, `split+count`."""
        return self._queries

    def batches(self, operator: str, after: int = -1) -> tuple[BatchRecord, ...]:
        """The committed batches of the query that runs `operator`, with numbers above `after`; the last 1,000."""
        return self._query_of(operator).batches.after(after)

    def waiting(self, operator: str) -> dict[str, tuple[Arrival, ...] | None]:
        """By stream, what was published for `operator` and is in no committed batch of it; None if not known yet."""
        query = self._query_of(operator)
        return {name: query.readers[name].waiting() for name in query.readers}

    def timings(self, operator: str) -> Timings | None:
        """What a function on single records took in the executors so far; None for other functions."""
        return self._builder.timings(operator)

    def results(self, stream: str) -> DataFrame:
        """What came out so far where no sink was given, with the number of the batch as a column."""
        return self._spark.read.parquet(str(self.directory.results(stream)))

    def regroup(self, operator: str, grouping: Grouping) -> None:
        """Spread the rows of a stateless operator over tasks in another way, from its next batch on."""
        unit = self._query_of(operator).unit
        if unit.keyed:
            raise ConfigError(
                f"operator {operator!r} is keyed: its {unit.substreams} substreams decide which task gets a row"
            )
        if not unit.inputs:
            raise ConfigError(f"operator {operator!r} is fused with its source, which alone says how rows are spread")
        self._builder.groupings[operator] = grouping

    @property
    def fused(self) -> tuple[Parts, ...]:
        """The groups that share a query now."""
        return tuple(unit.parts for unit in self._units if len(unit.parts) > 1)

    def rearrange(self, fused: Iterable[Sequence[str]]) -> None:
        """Have these groups fused, and everything else apart, while the rest of the topology runs on.

        The queries concerned finish the batch under way and what lies between them; others go on where those stopped.
        What stands in the way is raised, and the queries are as they were.
        """
        wanted = [unit.parts for unit in units_of(self.topology, fused)]
        with self._arranging:
            for change in changes_between(self.topology, [unit.parts for unit in self._units], wanted):
                if not self._can_rearrange:
                    raise PlantError(
                        f"{change} cannot be changed while it runs: only streams in files can be taken over"
                    )
                if self._stopping.is_set() or not self._queries:
                    raise PlantError(f"{change} cannot be changed: topology {self.topology.name!r} does not run")
                self._make(change)

    def _query_of(self, operator: str) -> UnitQuery:
        for query in self._queries.values():
            if operator in query.unit.parts:
                return query
        if not self._queries:
            raise PlantError(f"topology {self.topology.name!r} is not started")
        names = [part.name for part in self.topology.parts]
        raise TopologyError(f"topology {self.topology.name!r} has no operator {operator!r}; {nearest(operator, names)}")

    def _begin(self, queries: Mapping[str, UnitQuery]) -> None:
        """Readers first: nothing waits for them then."""
        for query in reversed(list(queries.values())):
            query.start(f"{self.topology.name}: {query.unit.name}")

    def _make(self, change: Change) -> None:
        """Until the directory says so everything is as before `change`, from then on as after it."""
        before = [self._queries["+".join(parts)] for parts in change.before]
        _check_checkpoints(before)
        units = units_of(self.topology, [*({unit.parts for unit in self._units} - set(change.before)), *change.after])
        unit_of = {unit.parts: unit for unit in units}
        queries = self._builder.build([unit_of[parts] for parts in change.after], units)
        self._changing = change.before
        try:
            wind_down(before, self._stopping)
            carry_over(change, self.directory.checkpoint, self.directory.stream)
            self._commit(queries, units)
        except BaseException:
            self._go_back(before)
            raise
        finally:
            self._changing = ()
        self.directory.remove_leftovers()
        _LOG.info("queries changed from %s", change)

    def _commit(self, queries: Mapping[str, UnitQuery], units: tuple[Unit, ...]) -> None:
        """`queries` take the place of those that were wound down.

        The first in the flow begins last: if one of them cannot, none has read anything.
        """
        self.directory.now_runs([unit.parts for unit in units])
        try:
            self._replace(queries, units)
        except BaseException:
            for query in queries.values():
                query.stop()
            self.directory.now_runs([unit.parts for unit in self._units])
            raise

    def _go_back(self, stopped: Sequence[UnitQuery]) -> None:
        if not self._stopping.is_set():
            self._replace(self._builder.build([query.unit for query in stopped], self._units), self._units)

    def _replace(self, queries: Mapping[str, UnitQuery], units: tuple[Unit, ...]) -> None:
        if not self._stopping.is_set():
            self._begin(queries)
        known = {**self._queries, **queries}
        self._queries, self._units = {unit.name: known[unit.name] for unit in units}, units

    def _take_care(self) -> None:
        """Runs beside the queries: notes what they commit, and ends all of them when one fails."""
        while not self._stopping.wait(_LOOK_EVERY_S):
            for query in self._queries.values():
                query.batches.settle()
                if not query.is_active and self._is_meant_to_run(query):
                    self._failure = query.failure() or QueryError(query.unit.name, "it was stopped by somebody else")
                    _LOG.error("%s; stopping the topology", self._failure)
                    self._stopping.set()
                    with self._arranging:
                        self._finish(_PATIENCE_S)
                    return

    def _is_meant_to_run(self, query: UnitQuery) -> bool:
        replaced = query.unit.parts in self._changing or self._queries.get(query.unit.name) is not query
        return not replaced and not self._stopping.is_set()

    def _finish(self, patience_s: float) -> None:
        for query in self._queries.values():
            query.close()
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline and not all(query.is_quiet for query in self._queries.values()):
            time.sleep(_POLL_S)
        self._end_all()

    def _end_all(self) -> None:
        self._stopping.set()
        for query in self._queries.values():
            query.stop()
            query.batches.settle()
        self.directory.release()


def _check_checkpoints(queries: Iterable[UnitQuery]) -> None:
    """Whether others could go on from there; looked at before anything is stopped."""
    for query in queries:
        name = query.unit.name
        if not has_batches_enough(query.checkpoint):
            raise PlantError(f"{name!r} has had fewer than {FEWEST_BATCHES} batches: too few to go on from")
        if has_state(query.checkpoint) and not query.unit.keyed:
            raise PlantError(f"{name!r} remembers something between batches but has no key: it stays as it is")


def _checked_sinks(sinks: Mapping[str, Sink | Path | str], units: Sequence[Unit]) -> dict[str, Sink]:
    results = [name for unit in units for name in unit.results]
    for name in sinks:
        if name not in results:
            raise TopologyError(f"a sink is given for {name!r}, which is no result; {nearest(name, results)}")
    return {name: as_sink(sink) for name, sink in sinks.items()}

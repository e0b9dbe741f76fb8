"""Task counts: how the rows of a stateless operator are spread over tasks, and over how many."""

from collections.abc import Mapping
from typing import Protocol

from rheostat.errors import PlantError, RheostatError
from rheostat.grouping import check
from rheostat.grouping.check import KEY, ROUND_ROBIN
from rheostat.spark.query.grouping.named_groupings import named_grouping
from rheostat.spark.query.grouping.row_groupings import Evenly, RowGrouping
from rheostat.spark.query.per_record.timings import Timings
from rheostat.spark.query.unit import Unit
from rheostat.spark.query.unit_query import UnitQuery
from rheostat.topology import Operator, Topology


class NotYetError(PlantError):
    """Something that is not possible yet, and is tried again."""


class Regroupable(Protocol):
    """What runs the queries."""

    @property
    def queries(self) -> Mapping[str, UnitQuery]:
        """The running queries."""
        ...

    def timings(self, operator: str) -> Timings | None: ...

    def regroup(self, operator: str, grouping: RowGrouping) -> None: ...


def group_rows(queries: Regroupable, operator: str, grouping: str | None, tasks: int) -> None:
    """Spread the rows of `operator` over `tasks` from the next batch on: round-robin unless `grouping` names another
    way, `by-key:COLUMN` among them.

    Operators that share a query with a source or a keyed operator are left alone, since those decide; so are operators
    that read only what others in their query write. A grouping that is refused leaves the rows spread round-robin.
    """
    unit = _unit_of(queries, operator)
    it = unit.topology.operators[operator]
    if it.keyed and grouping is not None:
        _refuse_keyed(unit.topology, it, grouping)
    if unit.keyed or not set(unit.inputs) & set(it.inputs):
        return
    try:
        queries.regroup(operator, named_grouping(grouping or ROUND_ROBIN, it, tasks, lambda: queries.timings(operator)))
    except RheostatError:
        queries.regroup(operator, Evenly(tasks))
        raise


def _unit_of(queries: Regroupable, operator: str) -> Unit:
    for query in queries.queries.values():
        if operator in query.unit.parts:
            return query.unit
    raise NotYetError(f"operator {operator!r} has no running query yet whose rows could be spread")


def _refuse_keyed(topology: Topology, operator: Operator, grouping: str) -> None:
    check(topology, operator.name, grouping)
    raise PlantError(
        f"operator {operator.name!r} is keyed by {operator.key!r}: on Spark its substreams decide which task gets "
        f"a row, not {grouping!r}; leave it at {KEY!r}"
    )

"""Task counts: how the rows of a stateless operator are spread over tasks, and over how many."""

from collections.abc import Callable, Mapping
from typing import Protocol

from rheostat.errors import PlantError, RheostatError, nearest
from rheostat.grouping import check
from rheostat.grouping.check import KEY, LOAD_AWARE, ROUND_ROBIN
from rheostat.spark.query.grouping.balanced import BALANCED, balanced
from rheostat.spark.query.grouping.row_groupings import ByColumnHash, Evenly, InParts, RowGrouping, WholeFiles
from rheostat.spark.query.per_record.timings import Timings
from rheostat.spark.query.unit import Unit
from rheostat.spark.query.unit_query import UnitQuery
from rheostat.topology import Operator, Topology

_BY_NAME: Mapping[str, Callable[[int], RowGrouping]] = {
    ROUND_ROBIN: Evenly,
    LOAD_AWARE: InParts,
    "whole-files": WholeFiles,
}
_BY_KEY = "by-key:"


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
        queries.regroup(operator, _named(grouping or ROUND_ROBIN, it, tasks, queries))
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


def _named(name: str, operator: Operator, tasks: int, queries: Regroupable) -> RowGrouping:
    if name in BALANCED:
        return balanced(name, operator, tasks, lambda: queries.timings(operator.name))
    if name.startswith(_BY_KEY):
        return ByColumnHash(tasks, name.removeprefix(_BY_KEY))
    if name not in _BY_NAME:
        raise PlantError(f"there is no grouping {name!r}; {nearest(name, [*_BY_NAME, *BALANCED, f'{_BY_KEY}COLUMN'])}")
    return _BY_NAME[name](tasks)

"""Named groupings: the ways to spread rows over tasks, by the names that plans use for them."""

from collections.abc import Callable, Mapping

from rheostat.errors import PlantError, nearest
from rheostat.grouping.check import KEY, LOAD_AWARE, ROUND_ROBIN
from rheostat.spark.query.grouping.balanced import BALANCED, balanced, choices
from rheostat.spark.query.grouping.row_groupings import ByColumnHash, Evenly, InParts, RowGrouping, WholeFiles
from rheostat.spark.query.per_record.timings import Timings
from rheostat.topology import Operator

_BY_NAME: Mapping[str, Callable[[int], RowGrouping]] = {
    ROUND_ROBIN: Evenly,
    LOAD_AWARE: InParts,
    "whole-files": WholeFiles,
}
_BY_KEY = "by-key:"
"""Followed by the name of a column."""


def groupings_for(operator: Operator) -> tuple[str, ...]:
    """The names that can be given for `operator`, round-robin first, which is the usual one."""
    return (KEY,) if operator.keyed else (*_BY_NAME, _BY_KEY, *choices(operator))


def named_grouping(name: str, operator: Operator, tasks: int, timings: Callable[[], Timings | None]) -> RowGrouping:
    """The grouping called `name` over `tasks`; `timings` are what the executors have measured of the operator."""
    if name in BALANCED:
        return balanced(name, operator, tasks, timings)
    if name.startswith(_BY_KEY):
        return ByColumnHash(tasks, name.removeprefix(_BY_KEY))
    if name not in _BY_NAME:
        raise PlantError(f"there is no grouping {name!r}; {nearest(name, [*_BY_NAME, *BALANCED, f'{_BY_KEY}COLUMN'])}")
    return _BY_NAME[name](tasks)

"""How many tasks a stateless operator's batch has: as many as its pool has slots, told once for each change."""

from collections.abc import Callable, Mapping

from rheostat.errors import PlantError, nearest
from rheostat.plan import Plan
from rheostat.spark.grouping import ByKey, Evenly, Grouping, WholeFiles
from rheostat.spark.runtime import Runtime
from rheostat.topology import Topology

Deal = Callable[[str, str | None, int], None]
"""Told operator, grouping (None: the usual) and tasks: how its rows are spread from the next batch on."""


class Dealer:
    """Passes on to `deal` what is new, for operators whose substreams do not settle it already."""

    def __init__(self, topology: Topology, deal: Deal) -> None:
        self._stateless = [name for name, operator in topology.operators.items() if not operator.keyed]
        self._deal = deal
        self._told: dict[str, tuple[str | None, int]] = {}

    def tell(self, plan: Plan, slots: Mapping[str, int]) -> None:
        """`slots` are those that serve, by pool; a pool that has none yet is left as it was."""
        for operator in self._stateless:
            wanted = (plan.grouping.get(operator), slots.get(plan.pool_of[operator], 0))
            if wanted[1] > 0 and self._told.get(operator) != wanted:
                self._deal(operator, *wanted)
                self._told[operator] = wanted


Groupings = Mapping[str, Callable[[int], Grouping]]
"""Ways to spread rows over a number of tasks, by the names that plans have for them."""

USUAL_GROUPING = "round-robin"
GROUPINGS: Groupings = {USUAL_GROUPING: Evenly, "whole-files": WholeFiles}
_BY_KEY = "by-key:"


def dealt_by(runtime: Runtime, groupings: Groupings = GROUPINGS) -> Deal:
    """Have `runtime` spread rows as it is told: by one of `groupings`, or `by-key:COLUMN`.

    Operators that share a query with a source or a keyed operator are left alone: those decide there.
    """

    def deal(operator: str, grouping: str | None, tasks: int) -> None:
        units = (query.unit for query in runtime.queries.values())
        unit = next((unit for unit in units if operator in unit.parts), None)
        if unit is None:
            raise PlantError(f"operator {operator!r} has no running query yet whose rows could be spread")
        if unit.inputs and not unit.keyed:
            runtime.regroup(operator, _named(grouping or USUAL_GROUPING, tasks, groupings))

    return deal


def _named(name: str, tasks: int, groupings: Groupings) -> Grouping:
    if name.startswith(_BY_KEY):
        return ByKey(tasks, name.removeprefix(_BY_KEY))
    if name not in groupings:
        raise PlantError(f"there is no grouping {name!r}; {nearest(name, [*groupings, f'{_BY_KEY}COLUMN'])}")
    return groupings[name](tasks)

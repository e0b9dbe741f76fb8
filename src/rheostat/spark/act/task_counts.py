"""How many tasks a stateless operator's batch has: as many as its pool has slots, told once for each change."""

from collections.abc import Callable, Mapping

from rheostat.errors import PlantError, RheostatError, nearest
from rheostat.grouping import check
from rheostat.grouping.check import KEY, LOAD_AWARE, ROUND_ROBIN
from rheostat.plan import Plan
from rheostat.spark.act.query_fusion import Groups
from rheostat.spark.query.grouping.balanced import BALANCED, balanced
from rheostat.spark.query.grouping.row_groupings import ByKey, Evenly, Grouping, InParts, WholeFiles
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.query.unit import Unit
from rheostat.topology import Operator, Topology

Deal = Callable[[str, str | None, int], None]
"""Told operator, grouping (None: the usual) and tasks: how its rows are spread from the next batch on."""


class NotYetError(PlantError):
    """The query whose rows are to be spread does not run yet: to be told again later."""


class Dealer:
    """Passes on to `deal` what is new, for operators whose substreams do not settle it already.

    A grouping that is refused keeps no other operator from getting its own; it is tried, and refused, again each time.
    """

    def __init__(self, topology: Topology, deal: Deal) -> None:
        self._keyed = {name: operator.keyed for name, operator in topology.operators.items()}
        self._deal = deal
        self._told: dict[str, tuple[str | None, int]] = {}
        self._fused: Groups = ()

    def tell(self, plan: Plan, slots: Mapping[str, int], fused: Groups = ()) -> tuple[str, ...]:
        """Returns what was refused, in words. `slots` are those that serve, by pool; a pool that has none yet is left
        as it was. `fused` share a query now; when they change everything is told again.
        """
        if fused != self._fused:
            self._told.clear()
            self._fused = fused
        refusals = []
        for operator, keyed in self._keyed.items():
            wanted = (plan.grouping.get(operator), slots.get(plan.pool_of[operator], 0))
            if (keyed and wanted[0] in (None, KEY)) or wanted[1] < 1 or self._told.get(operator) == wanted:
                continue
            try:
                self._deal(operator, *wanted)
                self._told[operator] = wanted
            except NotYetError:
                continue
            except RheostatError as error:
                refusals.append(str(error))
        return tuple(refusals)


Groupings = Mapping[str, Callable[[int], Grouping]]
"""Ways to spread rows over a number of tasks, by the names that plans have for them."""

USUAL_GROUPING = ROUND_ROBIN
GROUPINGS: Groupings = {USUAL_GROUPING: Evenly, LOAD_AWARE: InParts, "whole-files": WholeFiles}
BY_KEY = "by-key:"


def dealt_by(runtime: Runtime, groupings: Groupings = GROUPINGS) -> Deal:
    """Have `runtime` spread rows as it is told: by one of `groupings` or `BALANCED`, or `by-key:COLUMN`.

    Operators that share a query with a source or a keyed operator are left alone: those decide there; so are those
    that read nothing but what others in their query make. Where a grouping is refused, rows are spread as usual.
    """

    def deal(operator: str, grouping: str | None, tasks: int) -> None:
        unit = _unit_of(runtime, operator)
        it = unit.topology.operators[operator]
        if it.keyed:
            _refuse_keyed(unit.topology, it, grouping)
        if unit.keyed or not set(unit.inputs) & set(it.inputs):
            return
        try:
            runtime.regroup(operator, _named(grouping or USUAL_GROUPING, it, tasks, runtime, groupings))
        except RheostatError:
            runtime.regroup(operator, groupings[USUAL_GROUPING](tasks))
            raise

    return deal


def _unit_of(runtime: Runtime, operator: str) -> Unit:
    for query in runtime.queries.values():
        if operator in query.unit.parts:
            return query.unit
    raise NotYetError(f"operator {operator!r} has no running query yet whose rows could be spread")


def _refuse_keyed(topology: Topology, operator: Operator, grouping: str | None) -> None:
    if grouping is None:
        return
    check(topology, operator.name, grouping)
    raise PlantError(
        f"operator {operator.name!r} is keyed by {operator.key!r}: on Spark its substreams decide which task gets "
        f"a row, not {grouping!r}; leave it at {KEY!r}"
    )


def _named(name: str, operator: Operator, tasks: int, runtime: Runtime, groupings: Groupings) -> Grouping:
    if name in BALANCED:
        return balanced(name, operator, tasks, lambda: runtime.timings(operator.name))
    if name.startswith(BY_KEY):
        return ByKey(tasks, name.removeprefix(BY_KEY))
    if name not in groupings:
        raise PlantError(f"there is no grouping {name!r}; {nearest(name, [*groupings, *BALANCED, f'{BY_KEY}COLUMN'])}")
    return groupings[name](tasks)

"""How many tasks a stateless operator's batch has: as many as its pool has slots, told once for each change."""

from collections.abc import Callable, Mapping

from rheostat.plan import Plan
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

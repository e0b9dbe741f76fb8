"""Capabilities: what a plant can do beside scaling pools and moving substreams, known before anyone decides."""

import msgspec

from rheostat.decision import Decision, Fuse, Place, Regroup, Split
from rheostat.names import OperatorName, PoolName


class Capabilities(msgspec.Struct, frozen=True, omit_defaults=True):
    """`can_fuse`: operators can be fused and split while they run. `can_place`: executors can be placed on nodes.
    `groupings`: how the records of each operator can be spread; one that is left out stays as it is. A name that ends
    with a colon stands for all that begin with it. `room`: how many executors the cluster can give to all pools
    together, standbys included, None when that is not known. `short`: pools that have all that the cluster can give
    them now, and less than is planned. `reserved`: executors outside all pools, for sources; they count in the budget.
    """

    can_fuse: bool = False
    can_place: bool = False
    groupings: dict[OperatorName, tuple[str, ...]] = {}
    room: int | None = None
    short: frozenset[PoolName] = frozenset()
    reserved: int = 0

    def can_group(self, operator: OperatorName, grouping: str) -> bool:
        names = self.groupings.get(operator, ())
        return any(name == grouping or (name.endswith(":") and grouping.startswith(name)) for name in names)

    def why_not(self, decision: Decision) -> str | None:
        """Why the plant cannot do what is decided, or None."""
        match decision:
            case Fuse() | Split() if not self.can_fuse:
                return "the plant can neither fuse nor split operators; on Spark that needs streams in files"
            case Place() if not self.can_place:
                return "the plant cannot place executors"
            case Regroup() if not self.can_group(decision.operator, decision.grouping):
                names = ", ".join(self.groupings.get(decision.operator, ())) or "none"
                return f"the plant cannot group {decision.operator!r} by {decision.grouping!r}; it offers {names}"
        return None

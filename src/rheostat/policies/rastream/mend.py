"""Mend what runs instead of planning afresh, where that is as good.

Records follow executors: whoever moves changes what its neighbours get, and a plan made for the old shares may not fit
the new ones. Few moves keep a plan true.
"""

from rheostat.errors import InfeasibleError
from rheostat.placement import Costs, Placement
from rheostat.placement.consolidate import consolidate
from rheostat.placement.processes import Spots, processes


def mended(now: Placement) -> Placement | None:
    """Algorithm 2 upon the subgraphs that run: full nodes relieved, empty ones merged; None where there is no room."""
    try:
        scheme = consolidate(now.problem, now.scheme)
    except InfeasibleError:
        return None
    return Placement(now.problem, scheme, processes(now.problem, scheme, Spots(now.scheme, now.processes)))


def as_good(mend: Placement, fresh: Placement, costs: Costs, margin: float) -> bool:
    """Whether it needs no more nodes than a fresh plan, nor more communication by more than the margin."""
    enough = mend.nodes_used <= fresh.nodes_used
    return enough and (1 - margin) * mend.ways.cost(costs) <= fresh.ways.cost(costs)

"""Mend what runs instead of planning afresh, where that is as good.

Records follow executors: whoever moves changes what its neighbours get, and a plan made for the old shares may not fit
the new ones. Few moves keep a plan true.
"""

from rheostat.errors import InfeasibleError
from rheostat.placement import Costs, Placement
from rheostat.placement.solvers.consolidation import consolidate
from rheostat.placement.solvers.processes import TaskLocations, processes


def mended(now: Placement, fresh: Placement, costs: Costs, margin: float) -> Placement | None:
    """What runs with full nodes relieved (Algorithm 2), if a `fresh` plan needs as many nodes and is hardly better.

    Hardly means by no more than the margin in communication.
    """
    if fresh.nodes_used != now.nodes_used:
        return None
    try:
        scheme = consolidate(now.problem, now.scheme)
    except InfeasibleError:
        return None
    mend = Placement(now.problem, scheme, processes(now.problem, scheme, TaskLocations(now.scheme, now.processes)))
    hardly = fresh.ways.cost(costs) >= (1 - margin) * mend.ways.cost(costs)
    return mend if hardly and mend.nodes_used <= fresh.nodes_used else None

"""As few moves as possible: whatever can stay where it is without making things worse stays."""

from rheostat.placement import Placement
from rheostat.placement.draft import Draft
from rheostat.placement.processes import Spots, processes


def staying(now: Placement, then: Placement) -> Placement:
    """`then`, without the moves that neither save a node nor shorten the way of a record."""
    draft = Draft(then.problem, then.scheme)
    for task, home in enumerate(now.scheme.tolist()):
        away = draft.where[task]
        if home == away or not draft.tasks[home] or not draft.fits([task], home):
            continue
        traffic = draft.traffic(task)
        if traffic.get(home, 0.0) >= traffic.get(away, 0.0) and len(draft.tasks[away]) > 1:
            draft.put(task, home)
    spots = Spots(now.scheme, now.processes)
    return Placement(then.problem, draft.scheme, processes(then.problem, draft.scheme, spots))

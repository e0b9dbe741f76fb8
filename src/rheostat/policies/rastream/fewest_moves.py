"""As few moves as possible: whatever can stay where it is without making things worse stays."""

from rheostat.placement import Placement
from rheostat.placement.model.draft_scheme import DraftScheme
from rheostat.placement.solvers.processes import TaskLocations, processes


def staying(now: Placement, then: Placement) -> Placement:
    """`then`, without the moves that neither save a node nor shorten the way of a record."""
    draft = DraftScheme(then.problem, then.scheme)
    for task, home in enumerate(now.scheme.tolist()):
        away = draft.where[task]
        if home == away or not draft.tasks[home] or not draft.fits([task], home):
            continue
        traffic = draft.traffic(task)
        if traffic.get(home, 0.0) >= traffic.get(away, 0.0) and len(draft.tasks[away]) > 1:
            draft.put(task, home)
    spots = TaskLocations(now.scheme, now.processes)
    return Placement(then.problem, draft.scheme, processes(then.problem, draft.scheme, spots))

"""Plant observer: takes snapshots and measures them. What cannot be observed is reported as a problem, not raised."""

from collections import deque
from typing import NamedTuple

from rheostat.capabilities import Capabilities
from rheostat.loop.problems import ProblemLog
from rheostat.measure.measurer import Measurer, substream_loads
from rheostat.measure.measures import Measures
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.plant import Plant
from rheostat.snapshot import Snapshot

_LOADS_OVER_S = 10.0
"""Over how long the loads of substreams are counted at least: in a short period most of them get nothing."""


class MeasuredSnapshot(NamedTuple):
    """A new snapshot, its measures (smoothed and not), what the plant can do, and an earlier snapshot."""

    snapshot: Snapshot
    measures: Measures
    unsmoothed: Measures
    capabilities: Capabilities
    earlier: Snapshot | None

    def substream_loads(self) -> dict[OperatorName, list[float]]:
        """Arrivals of each substream since the earlier snapshot, where they are known, and one more.

        So the quiet ones are spread over the executors as well.
        """
        loads = {} if self.earlier is None else substream_loads(self.earlier, self.snapshot)
        return {operator: [load + 1.0 for load in each] for operator, each in loads.items()}


class PlantObserver:
    """Observes `plant`. `last` is the newest snapshot there was before."""

    def __init__(self, plant: Plant, measurer: Measurer, problems: ProblemLog, last: Snapshot | None) -> None:
        self._plant, self._measurer, self._problems = plant, measurer, problems
        self._last = last
        self._recent: deque[Snapshot] = deque([] if last is None else [last])

    def observe(self, plan: Plan) -> MeasuredSnapshot | None:
        """The plant under `plan`; None when there is nothing new."""
        try:
            snapshot, capabilities = self._plant.observe(), self._plant.capabilities
        except Exception as error:
            self._problems.failed("observe", error)
            return None
        if self._last is not None and snapshot.time_s <= self._last.time_s:
            self._problems.set("observe", f"no snapshot is newer than the one at {self._last.time_s:.3f} s")
            return None
        self._problems.clear("observe")
        return self._measured(snapshot, capabilities, plan)

    def unreached(self, plan: Plan) -> frozenset[PoolName]:
        """The pools for which what runs is not yet what `plan` wants; all of them when that is not known."""
        pools = frozenset(plan.pools)
        try:
            unreached = pools - self._plant.reached(plan)
        except Exception as error:
            self._problems.failed("reached", error)
            return pools
        self._problems.clear("reached")
        return unreached

    def _measured(self, snapshot: Snapshot, capabilities: Capabilities, plan: Plan) -> MeasuredSnapshot | None:
        try:
            measures = self._measurer.update(snapshot, plan)
        except Exception as error:
            self._problems.failed("measure", error)
            return None
        self._problems.clear("measure")
        self._last = snapshot
        while len(self._recent) > 1 and snapshot.time_s - self._recent[1].time_s >= _LOADS_OVER_S:
            self._recent.popleft()
        earlier = self._recent[0] if self._recent else None
        self._recent.append(snapshot)
        return MeasuredSnapshot(snapshot, measures, self._measurer.raw or measures, capabilities, earlier)

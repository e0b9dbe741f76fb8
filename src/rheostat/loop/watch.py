"""The loop's eyes: what a plant looks like now. What cannot be seen is a problem to be told, not an error."""

from typing import NamedTuple

from rheostat.capabilities import Capabilities
from rheostat.loop.problems import ProblemLog
from rheostat.measure.measures import Measures
from rheostat.measure.rates import Measurer, substream_loads
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.plant import Plant
from rheostat.snapshot import Snapshot


class Sight(NamedTuple):
    """A new snapshot, what it amounts to (smoothed and not), the snapshot before, and what the plant can do."""

    snapshot: Snapshot
    measures: Measures
    raw: Measures
    before: Snapshot | None
    capabilities: Capabilities

    def substream_loads(self) -> dict[OperatorName, list[float]]:
        """Arrivals of each substream since the snapshot before, where they are known."""
        return {} if self.before is None else substream_loads(self.before, self.snapshot)


class Watch:
    """Looks at `plant`. `last` is the newest snapshot there was before."""

    def __init__(self, plant: Plant, measurer: Measurer, problems: ProblemLog, last: Snapshot | None) -> None:
        self._plant, self._measurer, self._problems = plant, measurer, problems
        self._last = last

    def look(self, plan: Plan) -> Sight | None:
        """What there is to see while `plan` is wanted; None when nothing new can be seen."""
        try:
            snapshot, capabilities = self._plant.observe(), self._plant.capabilities
        except Exception as error:
            self._problems.failed("observe", error)
            return None
        if self._last is not None and snapshot.time_s <= self._last.time_s:
            self._problems.set("observe", f"nothing newer than the snapshot at {self._last.time_s:.3f} s")
            return None
        self._problems.clear("observe")
        return self._measured(snapshot, capabilities, plan)

    def settling(self, plan: Plan) -> frozenset[PoolName]:
        """The pools for which `plan` is not real yet; all of them when that is not known."""
        pools = frozenset(plan.pools)
        try:
            settling = pools - self._plant.reached(plan)
        except Exception as error:
            self._problems.failed("reached", error)
            return pools
        self._problems.clear("reached")
        return settling

    def _measured(self, snapshot: Snapshot, capabilities: Capabilities, plan: Plan) -> Sight | None:
        try:
            measures = self._measurer.update(snapshot, plan)
        except Exception as error:
            self._problems.failed("measure", error)
            return None
        self._problems.clear("measure")
        before, self._last = self._last, snapshot
        return Sight(snapshot, measures, self._measurer.raw or measures, before, capabilities)

"""What the next iteration asks of each pool: volumes times processing times, against usable processors."""

from collections.abc import Sequence
from dataclasses import dataclass

from rheostat.plan import Plan
from rheostat.policies.dabs.degree import Need
from rheostat.policies.dabs.monitor import Iteration, NotKnownError
from rheostat.policies.dabs.options import DabsOptions
from rheostat.policies.dabs.processors import usable_alone, usable_by_pool
from rheostat.policies.dabs.volumes import Volume, VolumeEstimator
from rheostat.topology import Topology


@dataclass(frozen=True)
class PoolNeed:
    """One pool: its operators, its present size, the records expected at it and the work they are."""

    operators: Sequence[str]
    size: int
    volume: float
    pending: float
    need: Need


class Needs:
    """Turns iterations into needs. Remembers the last processing time of each operator."""

    def __init__(self, topology: Topology, options: DabsOptions) -> None:
        self._options = options
        self._estimator = VolumeEstimator(topology, options)
        self._latencies_s: dict[str, float] = {}

    def volumes(self, iteration: Iteration) -> dict[str, Volume]:
        """Of the whole topology, since each operator's depend on its parents'."""
        return self._estimator.volumes(iteration)

    def of(self, pool: str, plan: Plan, iteration: Iteration, volumes: dict[str, Volume]) -> PoolNeed:
        """Operators that share a pool share its processors: their work adds up."""
        operators, size = plan.sharing(pool), len(plan.pools[pool].executors)
        here = [volumes[name] for name in operators]
        work_s = sum(volumes[name].expected * self._latency_s(name, iteration) for name in operators)
        reserved = min(self._options.reserved(name) for name in operators)
        usable = self._usable(pool, size, operators, iteration, reserved)
        need = Need(work_s, self._options.iteration_s, usable, reserved, self._options.weight)
        return PoolNeed(operators, size, sum(v.expected for v in here), sum(v.pending for v in here), need)

    def _usable(self, pool: str, size: int, operators: Sequence[str], iteration: Iteration, reserved: float) -> float:
        """By the executors, or, where they are not measured, by what the operators used of a core for each."""
        known = usable_by_pool(pool, iteration, reserved, self._options.weight)
        if known is not None:
            return known
        used = sum(iteration.busy_s(name) for name in operators) / (size * iteration.length_s)
        return usable_alone(min(1.0, used), reserved, self._options.weight)

    def _latency_s(self, operator: str, iteration: Iteration) -> float:
        """Lat: useful time for one record; that of the last iteration in which there were any."""
        if (completed := iteration.completed(operator)) > 0:
            self._latencies_s[operator] = iteration.busy_s(operator) / completed
        if operator not in self._latencies_s:
            raise NotKnownError(f"{operator!r} has completed nothing yet: its processing time is not known")
        return self._latencies_s[operator]

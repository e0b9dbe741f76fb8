"""What the next iteration asks of each pool: volumes times processing times, against usable processors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rheostat.plan import Plan
from rheostat.policies.dabs.degree import Need
from rheostat.policies.dabs.monitor import Iteration, NotKnownError
from rheostat.policies.dabs.options import DabsOptions
from rheostat.policies.dabs.processors import Cores, usable_alone
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


class Outlooks:
    """Turns iterations into outlooks. Remembers the last processing time of each operator."""

    def __init__(self, topology: Topology, options: DabsOptions) -> None:
        self._topology, self._options = topology, options
        self._estimator = VolumeEstimator(topology, options)
        self._latencies_s: dict[str, float] = {}

    def after(self, iteration: Iteration) -> "Outlook":
        """What `iteration` lets expect of the next one; fails with `NotKnownError` if volumes were not measured."""
        volumes = self._estimator.volumes(iteration)
        for operator in self._topology.operators:
            if (completed := iteration.completed(operator)) > 0:
                self._latencies_s[operator] = iteration.busy_s(operator) / completed
        return Outlook(iteration, volumes, dict(self._latencies_s), Cores(iteration), self._options)


@dataclass(frozen=True)
class Outlook:
    """The next iteration: records expected by operator, Lat of each, and the cores there are for them."""

    iteration: Iteration
    volumes: Mapping[str, Volume]
    latencies_s: Mapping[str, float]
    cores: Cores
    options: DabsOptions

    def of(self, pool: str, plan: Plan) -> PoolNeed:
        """Operators that share a pool share its processors: their work adds up."""
        operators, size = plan.sharing(pool), len(plan.pools[pool].executors)
        here = [self.volumes[name] for name in operators]
        work_s = sum(self.volumes[name].expected * self._latency_s(name) for name in operators)
        reserved = min(self.options.reserved(name) for name in operators)
        usable = self._usable(pool, size, operators, reserved)
        need = Need(work_s, self.options.iteration_s, usable, reserved, self.options.weight)
        return PoolNeed(operators, size, sum(v.expected for v in here), sum(v.pending for v in here), need)

    def _usable(self, pool: str, size: int, operators: Sequence[str], reserved: float) -> float:
        """By the executors, or, where they are not measured, by what the operators used of a core for each."""
        known = self.cores.usable_by_pool(pool, reserved, self.options.weight)
        if known is not None:
            return known
        used = sum(self.iteration.busy_s(name) for name in operators) / (size * self.iteration.length_s)
        return usable_alone(min(1.0, used), reserved, self.options.weight)

    def _latency_s(self, operator: str) -> float:
        """Lat: useful time for one record, in the last iteration that completed any."""
        if operator not in self.latencies_s:
            raise NotKnownError(f"{operator!r} has completed nothing yet: its processing time is not known")
        return self.latencies_s[operator]

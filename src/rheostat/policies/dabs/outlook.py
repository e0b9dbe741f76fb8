"""Outlook: what the next iteration asks of each pool, volumes times processing times, against usable cores."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rheostat.names import OperatorName
from rheostat.policies.dabs.monitor import Iteration
from rheostat.policies.dabs.options import DabsOptions
from rheostat.policies.dabs.usable_cores import UsableCores, usable_alone
from rheostat.policies.dabs.volumes import Volume, VolumeEstimator
from rheostat.policies.observation import NotMeasuredError, PoolView
from rheostat.topology import Topology

_ROUNDING = 1e-9


@dataclass(frozen=True)
class ProcessorNeed:
    """`work_s` is EstimInput × Lat: the processor time that the next iteration of `iteration_s` will need.

    `usable` and `reserved` are shares of a core that one executor can count on, now and after any change.
    """

    work_s: float
    iteration_s: float
    usable: float
    reserved: float
    alpha: float

    @property
    def ideal(self) -> float:
        """idealK (eq. 10), with Capacity of eq. 9."""
        return self.work_s / (self.iteration_s * self.usable)

    @property
    def degree(self) -> int:
        """The smallest k' with EstimInput / ResCapacity ≤ k' (eq. 12, which prints k; ResCapacity is eq. 13, which
        prints λ for α)."""
        needed = self.work_s / (self.iteration_s * self.reserved * self.alpha)
        return max(1, math.ceil(needed - _ROUNDING))

    def beyond(self, executors: int, beta: float) -> int | None:
        """The degree to change to when the ideal one leaves [βk, k]; None to hold.

        A scale-in that reservations do not allow is none.
        """
        if self.ideal > executors + _ROUNDING:
            return max(self.degree, executors + 1)
        if self.ideal < beta * executors - _ROUNDING and self.degree < executors:
            return self.degree
        return None


@dataclass(frozen=True)
class PoolNeed:
    """One pool: the records expected at it and the work they are."""

    volume: float
    pending: float
    need: ProcessorNeed

    def utilisation(self, size: int) -> float:
        """What is expected of so many executors."""
        return min(1.0, self.need.work_s / (self.need.iteration_s * size))


class OutlookEstimator:
    """Estimates the next iteration from the last one. Keeps the last processing time of each operator."""

    def __init__(self, topology: Topology, options: DabsOptions) -> None:
        self._topology, self._options = topology, options
        self._estimator = VolumeEstimator(topology, options)
        self._latencies_s: dict[OperatorName, float] = {}

    def after(self, iteration: Iteration, sizes: Mapping[OperatorName, int]) -> "Outlook":
        """What is expected after `iteration` of operators with these executors.

        Fails with `NotMeasuredError` if volumes were not measured.
        """
        for operator in self._topology.operators:
            if (completed := iteration.completed(operator)) > 0:
                self._latencies_s[operator] = iteration.busy_s(operator) / completed
        volumes = self._estimator.volumes(iteration, self._deliverable(sizes))
        return Outlook(iteration, volumes, dict(self._latencies_s), UsableCores(iteration), self._options)

    def _deliverable(self, sizes: Mapping[OperatorName, int]) -> dict[OperatorName, float]:
        """The records that each operator can process in an iteration with its executors, where that is known."""
        iteration_s = self._options.iteration_s
        return {name: sizes[name] * iteration_s / each_s for name, each_s in self._latencies_s.items() if each_s > 0}


@dataclass(frozen=True)
class Outlook:
    """The next iteration: records expected by operator, Lat of each, and the cores there are for them."""

    iteration: Iteration
    volumes: Mapping[OperatorName, Volume]
    latencies_s: Mapping[OperatorName, float]
    cores: UsableCores
    options: DabsOptions

    def of(self, pool: PoolView) -> PoolNeed:
        """Operators that share a pool share its processors: their work adds up."""
        here = [self.volumes[name] for name in pool.operators]
        work_s = sum(self.volumes[name].expected * self._latency_s(name) for name in pool.operators)
        reserved = min(self.options.reserved(name) for name in pool.operators)
        usable = self._usable(pool, reserved)
        need = ProcessorNeed(work_s, self.options.iteration_s, usable, reserved, self.options.alpha)
        return PoolNeed(sum(v.expected for v in here), sum(v.pending for v in here), need)

    def _usable(self, pool: PoolView, reserved: float) -> float:
        """By the executors, or, where they are not measured, by what the operators used of a core for each."""
        known = self.cores.usable_by_pool(pool.name, reserved, self.options.weight)
        if known is not None:
            return known
        used = sum(self.iteration.busy_s(name) for name in pool.operators) / (pool.size * self.iteration.length_s)
        return usable_alone(min(1.0, used), reserved, self.options.weight)

    def _latency_s(self, operator: OperatorName) -> float:
        """Lat: useful time for one record, in the last iteration that completed any."""
        if operator not in self.latencies_s:
            raise NotMeasuredError(f"{operator!r} has completed nothing yet, its processing time is not known: hold")
        return self.latencies_s[operator]

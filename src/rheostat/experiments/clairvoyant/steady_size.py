"""Steady size: the executors with which an operator keeps a latency at a constant rate, by the queueing models."""

import math
from functools import cache

from rheostat.duration import seconds
from rheostat.experiments.feasibility import OperatorLoads
from rheostat.experiments.scenario import Scenario
from rheostat.names import OperatorName
from rheostat.queueing import GIGk, MicroBatch, QueueModel, SplitMM1

_NEAR = 1.1
"""Times the least latency that is possible: to reach that itself may take any number of executors."""


class SteadySizes:
    """For the operators of one scenario, whose model is known exactly."""

    def __init__(self, scenario: Scenario) -> None:
        self.loads = OperatorLoads(scenario.model, scenario.duration_s)
        self._scenario = scenario
        self.size = cache(self._size)

    def latency_s(self, name: OperatorName) -> float:
        """What an operator may take: its own SLA, and an equal part of the strictest one that includes others."""
        goal, operators = self._scenario.goal, self._scenario.model.topology.operators
        own = [sla.latency_s for sla in goal.slas if sla.operator == name]
        parts = [sla.latency_s / len(sla.path or operators) for sla in goal.slas if sla.operator is None]
        return min((*own, *parts), default=math.inf)

    def _size(self, name: OperatorName, rate: float, latency_s: float, cost: float = 1.0) -> int:
        """The fewest executors that keep `latency_s` at `rate`; if none do, those that come near to the least one.

        Records take `cost` times as long as usual.
        """
        least, most = self._scenario.goal.budget.bounds([name])
        if rate * cost <= 0:
            return least
        queue = self._queue(name, rate, cost)
        fewest, best = max(least, queue.fewest()), min(most, queue.best(least))
        if fewest >= best:
            return int(best)
        size, reachable_s = int(fewest), max(latency_s, _NEAR * queue.floor_s(least))
        while size < best and queue.sojourn_s(size) > reachable_s:
            size += 1
        return size

    def _queue(self, name: OperatorName, rate: float, cost: float) -> QueueModel:
        serving, operator = self._scenario.model.operator(name), self._scenario.model.topology.operators[name]
        service_rate = 1 / (self.loads.record_s(name) * cost)
        fixed_s, per_task_s = seconds(serving.batches.fixed, "fixed"), seconds(serving.batches.per_task, "per_task")
        if serving.queues == "batches" and fixed_s + per_task_s > 0:
            tasks = serving.batches.tasks or (operator.substream_count if operator.keyed else None)
            return MicroBatch(rate, service_rate, fixed_s, per_task_s, tasks)
        return SplitMM1(rate, service_rate) if serving.queues == "own" else GIGk(rate, service_rate)

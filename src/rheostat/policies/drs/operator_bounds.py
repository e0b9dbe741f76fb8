"""Operator bounds: the executors that the SLAs of single operators need, which the paper does not have.

Each pool gets the fewest executors with which the model keeps the bound of its operators. One more is added where more
is measured than the bound although the model sees no shortage; none is removed where more than the share of T_min in
T_max is measured. A pool without a bound has the fewest executors that keep up.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from rheostat.describe import executors
from rheostat.duration import human
from rheostat.names import OperatorName
from rheostat.policies.drs.options import T_MIN_SHARE, DrsLimits
from rheostat.policies.drs.problems import AllocationProblem, Proposal, ScaleInDelay, Situation, best_division
from rheostat.queueing import ExecutorAllocation, Station
from rheostat.sla import MOST_EXECUTORS


class OperatorBounds:
    """AllocationProblem for goals with SLAs of operators: `bounds_s` by operator, alone or beside one end to end."""

    def __init__(
        self, bounds_s: Mapping[OperatorName, float], limits: DrsLimits, whole: AllocationProblem | None = None
    ) -> None:
        self._bounds_s, self._k_max, self._whole = bounds_s, limits.k_max, whole
        self._delay = ScaleInDelay(limits.keep_s)

    def solve(self, situation: Situation) -> Proposal:
        """What both the operators' SLAs and the one end to end need, if there is one."""
        needed, why = self._needed(situation)
        if self._whole is not None:
            proposal = self._whole.solve(situation)
            sizes = tuple(map(max, needed, proposal.wanted.executors))
            if sizes == tuple(proposal.wanted.executors):
                return proposal
            return self._allowed(situation, sizes, f"{proposal.why}; {why}")
        running = situation.running
        if sum(needed) >= running.total():
            self._delay.reset()
            return self._allowed(situation, needed, why)
        wanted = self._delay.needed(ExecutorAllocation(situation.network, needed), situation.time_s)
        if wanted is None:
            return Proposal(running, f"{why}, but fewer not for long enough yet: hold")
        return Proposal(wanted, why)

    def _needed(self, situation: Situation) -> tuple[tuple[int, ...], str]:
        """The executors of each pool, and the reason."""
        sizes, reasons = [], []
        rows = zip(situation.network.stations, situation.measured.pools, situation.running.executors, strict=True)
        for station, pool, running in rows:
            bound_s = min((self._bounds_s[name] for name in pool.operators if name in self._bounds_s), default=None)
            measured_s = situation.measured.latencies_s.get(pool.name)
            sizes.append(_size(station, running, bound_s, measured_s))
            if bound_s is not None:
                measured = "not measured" if measured_s is None else f"latency {human(measured_s)}"
                reasons.append(f"{pool.name} {measured}, SLA {human(bound_s)}, needs {executors(sizes[-1])}")
        return tuple(sizes), "; ".join(reasons)

    def _allowed(self, situation: Situation, sizes: Sequence[int], why: str) -> Proposal:
        k_max = situation.within(self._k_max)
        if k_max is not None and sum(sizes) > k_max:
            wanted, best = best_division(situation.network, k_max)
            return Proposal(wanted, f"{why}; more than k_max {k_max}, {best}")
        wanted = msgspec.structs.replace(situation.running, executors=tuple(sizes))
        return Proposal(wanted, why if wanted != situation.running else f"{why}: hold")


def _size(station: Station, running: int, bound_s: float | None, measured_s: float | None) -> int:
    most = int(min(station.most, MOST_EXECUTORS))
    fewest = station.model.fewest()
    size = max(station.least, int(min(fewest, most)))
    if bound_s is None:
        return min(size, most)
    while size < most and station.model.sojourn_s(size) > bound_s:
        if size > running and station.model.sojourn_s(size + 1) >= station.model.sojourn_s(size):
            break  # more executors would not help
        size += 1
    if measured_s is not None and measured_s > bound_s:
        size = max(size, running + 1)
    elif measured_s is None or measured_s >= T_MIN_SHARE * bound_s:
        size = max(size, running if not math.isinf(fewest) else size)
    return min(size, most)

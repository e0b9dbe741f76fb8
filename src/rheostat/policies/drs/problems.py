"""DRS's two schedulers (section IV-B): what should run instead of what runs, and why."""

import math
from typing import Protocol

import msgspec

from rheostat.describe import executors
from rheostat.duration import human
from rheostat.errors import InfeasibleError
from rheostat.policies.drs.best_effort import bearable_share
from rheostat.policies.drs.correction import Line
from rheostat.policies.drs.measured import Measured
from rheostat.policies.drs.options import Limits
from rheostat.policies.drs.variants import under_load, with_share
from rheostat.policies.drs.worth import not_bearable, not_worth_it
from rheostat.queueing import ExecutorAllocation, Network, assign_processors, min_processors

_SAME = 1 - 1e-9
"""A latency that falls by less than rounding does not fall."""


class Proposal(msgspec.Struct, frozen=True):
    """What should run, and why; what runs already where nothing is to change."""

    wanted: ExecutorAllocation
    why: str


class Situation(msgspec.Struct, frozen=True):
    """What runs, how estimates are to be corrected, and for how long an act would last."""

    measured: Measured
    line: Line
    horizon_s: float

    @property
    def running(self) -> ExecutorAllocation:
        return self.measured.running

    @property
    def network(self) -> Network:
        return self.measured.network

    def predicted_s(self, allocation: ExecutorAllocation) -> float:
        """The corrected estimate for `allocation` under the whole load."""
        return self.line.predicted_s(self.network.expected_latency_s(allocation.executors))

    def latency_s(self) -> float:
        """What is measured, or else predicted, for what runs."""
        measured_s = self.measured.latency_s
        return self.predicted_s(self.running) if measured_s is None else measured_s

    def overloaded(self) -> bool:
        """Whether what runs cannot keep up, whatever was measured so far."""
        return math.isinf(self.network.expected_latency_s(self.running.executors))

    def measured_below(self, t_min_s: float) -> bool:
        """Nothing is taken away on a guess: latency must be measured, or nothing be there to measure."""
        if self.measured.latency_s is None:
            return self.measured.idle
        return self.measured.latency_s < t_min_s

    def share_left(self, wanted: ExecutorAllocation) -> float:
        """What `wanted` leaves of the latency by the model without margin; 0 where what runs cannot keep up.

        With a margin executors near saturation look worse than they are, and noise would swap them for ever.
        """
        network = self.measured.plain
        network = with_share(network, bearable_share(network, wanted.total()))
        now_s, then_s = network.expected_latency_s(self.running.executors), network.expected_latency_s(wanted.executors)
        if math.isinf(now_s):
            return 0.0 if math.isfinite(then_s) else 1.0
        return then_s / now_s if now_s else 1.0

    def under_surge(self, t_max_s: float) -> Network:
        """The network as it is to be sized when executors are too few.

        A rate that rises is more than any mean over the past, and E[T] is that of a steady state, which a queue that
        has grown is not in: what waits beyond T_max is to be worked off until the next possible act.
        """
        beyond_s = max(0.0, self.measured.held_s - t_max_s)
        return under_load(self.network, max(1.0, self.measured.growth) + beyond_s / self.horizon_s)

    def told(self) -> str:
        """The latency in words, as the beginning of a reason."""
        how = "expected" if self.measured.latency_s is None else "measured"
        return f"{how} latency {human(self.latency_s()) if math.isfinite(self.latency_s()) else 'without bound'}"


class Problem(Protocol):
    """One of the two problems with its triggers."""

    def solve(self, situation: Situation) -> Proposal: ...


class LeastLatency:
    """Problem (6): the least latency that K_max executors can bring."""

    def __init__(self, limits: Limits) -> None:
        assert limits.k_max is not None
        self._k_max, self._cost_s = limits.k_max, limits.cost_s

    def solve(self, situation: Situation) -> Proposal:
        wanted, why = best_use(situation.network, self._k_max)
        if wanted.executors == situation.running.executors:
            return Proposal(situation.running, f"{why}, as it is")
        if situation.running.total() > self._k_max:
            return Proposal(wanted, f"K_max is {self._k_max}: {why}")
        return _rearranged(situation, wanted, why, self._cost_s)


class FewestExecutors:
    """Problem (8): the fewest executors that keep the latency within T_max."""

    def __init__(self, limits: Limits) -> None:
        assert limits.t_max_s is not None
        self._t_max_s, self._t_min_s = limits.t_max_s, limits.t_min_s
        self._k_max, self._cost_s, self._surge = limits.k_max, limits.cost_s, limits.surge

    def solve(self, situation: Situation) -> Proposal:
        if situation.latency_s() > self._t_max_s:
            return self._more(situation, f"{situation.told()} is above T_max {human(self._t_max_s)}")
        if situation.overloaded():
            return self._more(situation, f"{situation.told()}, but the load is more than what runs can serve")
        if situation.measured_below(self._t_min_s):
            return self._fewer(situation, f"{situation.told()} is below T_min {human(self._t_min_s)}")
        return self._otherwise(situation, f"{situation.told()} is within T_max {human(self._t_max_s)}")

    def _more(self, situation: Situation, trigger: str) -> Proposal:
        """MinProcessors; never fewer than now while latency is too high."""
        running, total = situation.running, situation.running.total()
        network = situation.under_surge(self._t_max_s) if self._surge else situation.network
        wanted, why = self._least(network, situation.line)
        if wanted.total() < total:
            wanted, why = best_use(network, total)
        if wanted.total() < total:
            return Proposal(running, f"{trigger}; the model would rather have {executors(wanted.total())}, but not now")
        if wanted.executors == running.executors and self._may_have(total + 1):
            wanted, why = best_use(network, total + 1)
            why = f"the model sees no shortage; {why}"
        if wanted.executors == running.executors:
            return Proposal(running, f"{trigger}; {why}, as it is")
        if wanted.total() == total:
            proposal = _rearranged(situation, wanted, why, self._cost_s)
            return msgspec.structs.replace(proposal, why=f"{trigger}; {proposal.why}")
        return Proposal(wanted, f"{trigger}; {why}")

    def _fewer(self, situation: Situation, trigger: str) -> Proposal:
        """Fewer executors, as long as the prediction stays within T_max."""
        total = situation.running.total()
        wanted, why = self._least(situation.network, situation.line)
        if wanted.total() >= total:
            return self._otherwise(situation, f"{trigger}, but fewer executors would not keep it within T_max")
        now_s, then_s = situation.latency_s(), situation.predicted_s(wanted)
        if unbearable := not_bearable(now_s, then_s, self._t_max_s, self._cost_s, situation.horizon_s):
            return Proposal(situation.running, f"{trigger}, but {unbearable}")
        return Proposal(wanted, f"{trigger}; {why}")

    def _otherwise(self, situation: Situation, trigger: str) -> Proposal:
        """The same number of executors, better split (AssignProcessors)."""
        wanted, why = best_use(situation.network, situation.running.total())
        if wanted.executors == situation.running.executors:
            return Proposal(situation.running, f"{trigger}; {why}, as it is")
        if wanted.total() < situation.running.total() and situation.measured.latency_s is None:
            return Proposal(situation.running, f"{trigger}; {why}, but nothing is removed before latency is measured")
        proposal = _rearranged(situation, wanted, why, self._cost_s)
        return msgspec.structs.replace(proposal, why=f"{trigger}; {proposal.why}")

    def _least(self, network: Network, line: Line) -> tuple[ExecutorAllocation, str]:
        """The fewest executors whose corrected estimate meets T_max; when none do, the best that may be had."""
        try:
            wanted = min_processors(network, line.estimate_s(self._t_max_s), self._k_max)
        except InfeasibleError:
            return self._beyond_reach(network)
        return wanted, f"{executors(wanted.total())} are the fewest that keep it within T_max"

    def _beyond_reach(self, network: Network) -> tuple[ExecutorAllocation, str]:
        """T_max cannot be predicted to be met: all of K_max then, or what the model alone would do without one."""
        if self._k_max is not None:
            wanted, why = best_use(network, self._k_max)
            return wanted, f"no allowed number keeps it within T_max: {why}"
        share = bearable_share(network)
        bearable = network if share == 1 else with_share(network, 0.9 * share)
        limit_s = max(self._t_max_s, 2 * bearable.floor_s())
        wanted = min_processors(bearable, limit_s)
        why = f"no number keeps it within T_max by the measurements: {executors(wanted.total())} by the model alone"
        return wanted, why

    def _may_have(self, total: int) -> bool:
        return self._k_max is None or total <= self._k_max


def best_use(network: Network, k_max: int) -> tuple[ExecutorAllocation, str]:
    """The best allocation of at most `k_max` executors, for as much of the load as they can serve.

    Its network is the one it is the best for. Lower bounds that ask for more than `k_max` are kept.
    """
    allowed = max(k_max, sum(station.least for station in network.stations))
    share = bearable_share(network, allowed)
    if share == 1:
        wanted = assign_processors(network, allowed)
        return wanted, f"{executors(wanted.total())} are best used so"
    wanted = assign_processors(with_share(network, share), allowed)
    return wanted, f"{executors(wanted.total())} can serve {share:.0%} of the load and are best used so"


def _rearranged(situation: Situation, wanted: ExecutorAllocation, why: str, cost_s: float) -> Proposal:
    """`wanted`, if it is better than what runs by enough; in any case when bounds were drawn that do not allow that."""
    if not _allowed(situation.running):
        return Proposal(wanted, f"what runs is not within the bounds; {why}")
    now_s, share = situation.latency_s(), situation.share_left(wanted)
    if share >= _SAME:
        return Proposal(situation.running, f"{why}, no better than as it is")
    if share and (unworthy := not_worth_it(now_s, share * now_s, cost_s, situation.horizon_s)):
        return Proposal(situation.running, f"{why}, but {unworthy}")
    return Proposal(wanted, why)


def _allowed(allocation: ExecutorAllocation) -> bool:
    rows = zip(allocation.network.stations, allocation.executors, strict=True)
    return all(station.least <= executors <= station.most for station, executors in rows)

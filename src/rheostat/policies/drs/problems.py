"""Allocation problems: the two schedulers of DRS (section IV-B), with the cost of an action.

DRS lists a re-allocation cost and leaves open how it is weighed. Here an action stops the network for C seconds, and
its gain counts until the next possible action, H seconds later. The stop delays the λ0·E[T] records in the network by
C, and those that arrive meanwhile by C/2 on average: over H seconds that is C·(E[T] + C/2)/H for each record.
"""

import math
from collections import deque
from typing import Protocol

import msgspec

from rheostat.describe import executors
from rheostat.duration import human
from rheostat.errors import InfeasibleError
from rheostat.policies.drs.correction import Correction
from rheostat.policies.drs.measured_network import MeasuredNetwork
from rheostat.policies.drs.network_variants import servable_share, under_load, with_share
from rheostat.policies.drs.options import DrsLimits
from rheostat.queueing import ExecutorAllocation, Network, assign_processors, min_processors

_SAME = 1 - 1e-9
"""A latency that falls by less than rounding does not fall."""


class Proposal(msgspec.Struct, frozen=True):
    """The allocation that should run, and why; the present one where nothing is to change."""

    wanted: ExecutorAllocation
    why: str


class Situation(msgspec.Struct, frozen=True):
    """The present network and allocation, the correction of estimates, and the time until the next possible action."""

    measured: MeasuredNetwork
    line: Correction
    horizon_s: float
    time_s: float = 0.0
    since_action_s: float = math.inf

    @property
    def running(self) -> ExecutorAllocation:
        return self.measured.running

    @property
    def network(self) -> Network:
        return self.measured.network

    def within(self, k_max: int | None) -> int | None:
        """K_max, or less where budget or cluster allow less; None where nothing limits the executors."""
        most = min(math.inf if k_max is None else k_max, self.measured.most)
        return None if math.isinf(most) else max(1, int(most))

    def predicted_s(self, allocation: ExecutorAllocation) -> float:
        """The corrected estimate for `allocation` under the whole load."""
        return self.line.predicted_s(self.network.expected_latency_s(allocation.executors))

    def latency_s(self) -> float:
        """Measured, or else predicted, for the present allocation."""
        measured_s = self.measured.latency_s
        return self.predicted_s(self.running) if measured_s is None else measured_s

    def overloaded(self, from_s: float) -> bool:
        """Whether the present allocation cannot keep up, whatever was measured so far. What only the margin makes an
        overload counts from a latency of `from_s`: noise crosses it again and again where executors are just enough."""
        if math.isinf(self.measured.plain.expected_latency_s(self.running.executors)):
            return True
        return self.latency_s() >= from_s and math.isinf(self.network.expected_latency_s(self.running.executors))

    def measured_below(self, t_min_s: float) -> bool:
        """Executors are removed only when latency was measured, or when there is nothing to measure."""
        if self.measured.latency_s is None:
            return self.measured.idle
        return self.measured.latency_s < t_min_s

    def share_left(self, wanted: ExecutorAllocation) -> float:
        """The latency of `wanted` over the present one, by the model without margin; 0 where the present allocation
        cannot keep up.

        With a margin executors near saturation look worse than they are, and noise would swap them again and again.
        """
        network = self.measured.plain
        network = with_share(network, servable_share(network, wanted.total()))
        now_s, then_s = network.expected_latency_s(self.running.executors), network.expected_latency_s(wanted.executors)
        if math.isinf(now_s):
            return 0.0 if math.isfinite(then_s) else 1.0
        return then_s / now_s if now_s else 1.0

    def under_surge(self, t_max_s: float) -> Network:
        """The network to size for when executors are too few.

        A rising rate is above any mean of the past, and E[T] is that of a steady state, which a growing queue is not
        in: the backlog beyond T_max is to be drained until the next possible action.
        """
        beyond_s = max(0.0, self.measured.held_s - t_max_s)
        return under_load(self.network, max(1.0, self.measured.growth) + beyond_s / self.horizon_s)

    def described(self) -> str:
        """The latency as the beginning of a reason."""
        how = "expected" if self.measured.latency_s is None else "measured"
        return f"{how} latency {human(self.latency_s()) if math.isfinite(self.latency_s()) else 'unbounded'}"


class AllocationProblem(Protocol):
    """One of the two problems with its triggers."""

    def solve(self, situation: Situation) -> Proposal: ...


class LeastLatency:
    """AllocationProblem (6): the least latency that K_max executors can bring."""

    def __init__(self, limits: DrsLimits) -> None:
        assert limits.k_max is not None
        self._k_max, self._cost_s, self._keep_s = limits.k_max, limits.cost_s, limits.keep_s

    def solve(self, situation: Situation) -> Proposal:
        k_max = situation.within(self._k_max) or self._k_max
        if situation.measured.unmeasured:
            k_max = min(k_max, situation.running.total())  # the rest may be needed where nothing is known yet
        wanted, why = best_division(situation.network, k_max)
        if wanted.executors == situation.running.executors:
            return Proposal(situation.running, f"{why}, which is what runs: hold")
        if situation.running.total() > k_max:
            return Proposal(wanted, f"{executors(situation.running.total())} run, k_max is {k_max}; {why}")
        return _rearranged(situation, wanted, why, self._cost_s, self._keep_s)


class ScaleInDelay:
    """Executors are removed once fewer have been enough for `keep_s`, then down to the most that each operator needed.

    The paper removes them as soon as the model allows it. Under a constant load near a boundary between two numbers,
    noise would remove and add the same executor again and again.
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._since_s: float | None = None
        self._needed: deque[tuple[float, ExecutorAllocation]] = deque()

    def reset(self) -> None:
        """The present executors are needed."""
        self._since_s = None
        self._needed.clear()

    def needed(self, wanted: ExecutorAllocation, time_s: float) -> ExecutorAllocation | None:
        """The most of each operator in the last `keep_s`, `wanted` now included; None before they have passed."""
        self._since_s = time_s if self._since_s is None else self._since_s
        self._needed.append((time_s, wanted))
        while self._needed[0][0] < time_s - self._keep_s - 1e-9:
            self._needed.popleft()
        if time_s - self._since_s < self._keep_s - 1e-9:
            return None
        sizes = [each.by_name() for _, each in self._needed]  # an operator may have been without load before
        most = tuple(max(each.get(name, 0) for each in sizes) for name in wanted.network.names())
        return wanted if most == wanted.executors else msgspec.structs.replace(wanted, executors=most)


class FewestExecutors:
    """AllocationProblem (8): the fewest executors that keep the latency within T_max."""

    def __init__(self, limits: DrsLimits) -> None:
        assert limits.t_max_s is not None
        self._t_max_s, self._t_min_s, self._t_min_given = limits.t_max_s, limits.t_min_s, limits.t_min_given
        self._limit = f"{'SLA' if limits.from_sla else 't_max'} {human(limits.t_max_s)}"
        self._k_max, self._cost_s, self._surge = limits.k_max, limits.cost_s, limits.surge
        self._keep_s, self._delay = limits.keep_s, ScaleInDelay(limits.keep_s)

    def solve(self, situation: Situation) -> Proposal:
        t_min_s = self._reachable_t_min_s(situation)
        if situation.latency_s() <= self._t_max_s and not situation.overloaded(self._margin_counts_from_s(t_min_s)):
            if situation.measured_below(t_min_s):
                return self._fewer(situation, f"{situation.described()} < t_min {human(t_min_s)}")
            self._delay.reset()
            return self._otherwise(situation, f"{situation.described()} <= {self._limit}")
        self._delay.reset()
        if situation.latency_s() > self._t_max_s:
            return self._more(situation, f"{situation.described()} > {self._limit}")
        return self._more(situation, f"{situation.described()}, but the load is more than the executors can serve")

    def _reachable_t_min_s(self, situation: Situation) -> float:
        """T_min. A default that no number of executors is predicted to reach would keep all of them for ever: then
        half way from the least that is predicted to T_max."""
        if self._t_min_given:
            return self._t_min_s
        least_s = situation.line.predicted_s(_least_s(situation.network, situation.within(self._k_max)))
        return self._t_min_s if least_s < self._t_min_s else (least_s + self._t_max_s) / 2

    def _margin_counts_from_s(self, t_min_s: float) -> float:
        return (t_min_s + self._t_max_s) / 2 if self._keep_s else 0.0

    def _more(self, situation: Situation, trigger: str) -> Proposal:
        """MinProcessors; never fewer than now while latency is too high."""
        running, total = situation.running, situation.running.total()
        network = situation.under_surge(self._t_max_s) if self._surge else situation.network
        k_max = situation.within(self._k_max)
        wanted, why = self._least(network, situation.line, k_max)
        if wanted.total() < total:
            wanted, why = best_division(network, total)
        if wanted.total() < total:
            return Proposal(
                running, f"{trigger}; the model asks for {executors(wanted.total())} only: hold until it recovers"
            )
        if wanted.executors == running.executors and (k_max is None or total < k_max):
            wanted, why = best_division(network, total + 1)
            why = f"the model sees no shortage, add one executor; {why}"
        if wanted.executors == running.executors:
            return Proposal(running, f"{trigger}; {why}, which is what runs: hold")
        if wanted.total() == total:
            proposal = _rearranged(situation, wanted, why, self._cost_s, 0.0)
            return msgspec.structs.replace(proposal, why=f"{trigger}; {proposal.why}")
        return Proposal(self._none_removed(running, wanted, k_max), f"{trigger}; {why}")

    def _none_removed(
        self, running: ExecutorAllocation, wanted: ExecutorAllocation, k_max: int | None
    ) -> ExecutorAllocation:
        """More executors in all, and fewer nowhere if `keep` delays their removal and K_max allows it."""
        sizes = tuple(map(max, running.executors, wanted.executors))
        if self._keep_s == 0 or (k_max is not None and sum(sizes) > k_max):
            return wanted
        return msgspec.structs.replace(wanted, executors=sizes)

    def _fewer(self, situation: Situation, trigger: str) -> Proposal:
        """Fewer executors, as long as the prediction stays within T_max."""
        total = situation.running.total()
        wanted, why = self._least(situation.network, situation.line, situation.within(self._k_max))
        if wanted.total() >= total:
            self._delay.reset()
            return self._otherwise(situation, f"{trigger}, but fewer executors would exceed {human(self._t_max_s)}")
        needed = self._delay.needed(wanted, situation.time_s)
        if needed is None or situation.since_action_s < self._keep_s:
            return Proposal(situation.running, f"{trigger}; {why}, but not for {human(self._keep_s)} yet: hold")
        if needed is not wanted:
            wanted, why = _no_more_than(situation.running, needed, self._keep_s)
        if wanted.executors == situation.running.executors:
            return Proposal(situation.running, f"{trigger}; {why}, which is what runs: hold")
        now_s, then_s = situation.latency_s(), situation.predicted_s(wanted)
        if unaffordable := why_not_affordable(now_s, then_s, self._t_max_s, self._cost_s, situation.horizon_s):
            return Proposal(situation.running, f"{trigger}, but {unaffordable}: hold")
        return Proposal(wanted, f"{trigger}; {why}")

    def _otherwise(self, situation: Situation, trigger: str) -> Proposal:
        """The same number of executors, better split (AssignProcessors)."""
        wanted, why = best_division(situation.network, situation.running.total())
        if wanted.executors == situation.running.executors:
            return Proposal(situation.running, f"{trigger}; {why}, which is what runs: hold")
        if wanted.total() < situation.running.total() and situation.measured.latency_s is None:
            return Proposal(
                situation.running, f"{trigger}; {why}, but no executor is removed before latency is measured: hold"
            )
        proposal = _rearranged(situation, wanted, why, self._cost_s, self._keep_s)
        return msgspec.structs.replace(proposal, why=f"{trigger}; {proposal.why}")

    def _least(self, network: Network, line: Correction, k_max: int | None) -> tuple[ExecutorAllocation, str]:
        """The fewest executors whose corrected estimate meets T_max; if there are none, the best allowed."""
        try:
            wanted = min_processors(network, line.estimate_s(self._t_max_s), k_max)
        except InfeasibleError:
            return self._best_without_t_max(network, k_max)
        return wanted, f"{executors(wanted.total())} are the fewest predicted to keep {human(self._t_max_s)}"

    def _best_without_t_max(self, network: Network, k_max: int | None) -> tuple[ExecutorAllocation, str]:
        """T_max is out of reach by prediction: use all of K_max, or what the model alone asks for without a K_max."""
        if k_max is not None:
            wanted, why = best_division(network, k_max)
            return wanted, f"no allowed number is predicted to keep {human(self._t_max_s)}; {why}"
        share = servable_share(network)
        bearable = network if share == 1 else with_share(network, 0.9 * share)
        limit_s = max(self._t_max_s, 2 * bearable.floor_s())
        wanted = min_processors(bearable, limit_s)
        unmet = f"no number is predicted to keep {human(self._t_max_s)}"
        return wanted, f"{unmet}; {executors(wanted.total())} are the fewest by the model alone"


def _least_s(network: Network, k_max: int | None) -> float:
    """The least latency that K_max executors, or any number, can bring; 0 where none can serve the load."""
    if k_max is not None:
        return best_division(network, k_max)[0].expected_latency_s()
    return network.floor_s() if servable_share(network) == 1 else 0.0


def _no_more_than(
    running: ExecutorAllocation, needed: ExecutorAllocation, keep_s: float
) -> tuple[ExecutorAllocation, str]:
    """`needed`, without executors that do not run yet: those are another action."""
    sizes = tuple(map(min, running.executors, needed.executors))
    why = f"{executors(needed.total())} are the most needed in the last {human(keep_s)}"
    return msgspec.structs.replace(needed, executors=sizes), why


def best_division(network: Network, k_max: int) -> tuple[ExecutorAllocation, str]:
    """The allocation of at most `k_max` executors with the least latency, for as much of the load as they can serve.

    Its network is the one it is the best for. Lower bounds that ask for more than `k_max` are kept.
    """
    allowed = max(k_max, sum(station.least for station in network.stations))
    share = servable_share(network, allowed)
    if share == 1:
        wanted = assign_processors(network, allowed)
        return wanted, f"least latency for {executors(wanted.total())}"
    wanted = assign_processors(with_share(network, share), allowed)
    return wanted, f"least latency for {executors(wanted.total())}, which can serve {share:.0%} of the load"


def _rearranged(situation: Situation, wanted: ExecutorAllocation, why: str, cost_s: float, keep_s: float) -> Proposal:
    """`wanted`, if it is better than the present allocation by enough, or if that is outside the bounds.

    Where the present one can keep up, it stays for `keep_s`.
    """
    if not _allowed(situation.running):
        return Proposal(wanted, f"the present sizes are outside the bounds; {why}")
    now_s, share = situation.latency_s(), situation.share_left(wanted)
    if share >= _SAME:
        return Proposal(situation.running, f"{why} would be no less than now: hold")
    if share and situation.since_action_s < keep_s:
        return Proposal(situation.running, f"{why}, but the last action was less than {human(keep_s)} ago: hold")
    if share and (unworthy := why_not_worth_it(now_s, share * now_s, cost_s, situation.horizon_s)):
        return Proposal(situation.running, f"{why}, but {unworthy}: hold")
    return Proposal(wanted, why)


def _allowed(allocation: ExecutorAllocation) -> bool:
    rows = zip(allocation.network.stations, allocation.executors, strict=True)
    return all(station.least <= executors <= station.most for station, executors in rows)


def _delay_s(now_s: float, cost_s: float, horizon_s: float) -> float:
    """By how much a stop of `cost_s` prolongs the mean latency of `now_s` until the next possible action."""
    return cost_s * (now_s + cost_s / 2) / horizon_s if cost_s else 0.0


def why_not_worth_it(now_s: float, then_s: float, cost_s: float, horizon_s: float) -> str | None:
    """Why a shorter latency does not outweigh the stop, or None. An overload is worth any stop."""
    if math.isinf(now_s) or now_s - then_s > _delay_s(now_s, cost_s, horizon_s):
        return None
    return f"{human(now_s - then_s)} less for {human(horizon_s)} do not outweigh a stop of {human(cost_s)}"


def why_not_affordable(now_s: float, then_s: float, t_max_s: float, cost_s: float, horizon_s: float) -> str | None:
    """Why executors cannot be removed, or None: with the stop, latency must stay within T_max."""
    total_s = then_s + _delay_s(now_s, cost_s, horizon_s)
    if total_s <= t_max_s:
        return None
    return f"with a stop of {human(cost_s)} it would be {human(total_s)} for the next {human(horizon_s)}"

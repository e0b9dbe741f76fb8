"""DRS: measure the network, correct the model, solve the allocation problem, and act if it is time."""

import math
from collections.abc import Mapping, Sequence

from rheostat.decision import Decision
from rheostat.describe import executors, resize
from rheostat.duration import human
from rheostat.names import OperatorName
from rheostat.policies.drs.correction import Correction, correction_named
from rheostat.policies.drs.measured_network import MeasuredNetwork, NetworkMeasurer
from rheostat.policies.drs.operator_bounds import OperatorBounds
from rheostat.policies.drs.options import DrsLimits, DrsOptions, limits_of, operator_bounds_s
from rheostat.policies.drs.pacing import Pacing
from rheostat.policies.drs.problems import AllocationProblem, FewestExecutors, LeastLatency, Proposal, Situation
from rheostat.policies.observation import NotMeasuredError, Observation
from rheostat.policies.policy import Policy
from rheostat.sla import MOST_EXECUTORS, Goal

_NAMED = 6
"""Pools that a reason lists."""


class Drs(Policy[DrsOptions]):
    """Least latency with K_max executors, or fewest executors within T_max, by a model of the network of queues."""

    summary = "as few executors as keep the SLA, where a model of queues says they help most (DRS)"

    def __init__(self, goal: Goal, options: DrsOptions | None = None) -> None:
        super().__init__(goal, options)
        limits = limits_of(self.options, goal)
        self._measurer = NetworkMeasurer(goal, self.options)
        self._correction = correction_named(self.options.correction)
        self._pacing = Pacing(limits.t_ra_s, limits.t_m_s, self.options.smoothing)
        self._problem = _problem(limits, operator_bounds_s(self.options, goal))

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool. Together they are one action."""
        self._pacing.update(observation)
        self._measurer.learn(observation)
        if observation.settling:
            return observation.hold_all(f"pool {', '.join(sorted(observation.settling))} is still settling: hold")
        if (wait := self._pacing.why_wait()) is not None:
            return observation.hold_all(wait)
        if observation.measures.interval_s <= 0:
            return observation.hold_all("no time has passed since the last turn: hold")
        try:
            measured = self._measurer.network(observation)
        except NotMeasuredError as missing:
            return observation.hold_all(str(missing))
        decided = {decision.subject: decision for decision in self._act(measured, observation.measures.interval_s)}
        return [decided.get(name) or pool.hold(measured.unmeasured[name]) for name, pool in observation.pools.items()]

    def _act(self, measured: MeasuredNetwork, interval_s: float) -> list[Decision]:
        estimate_s = measured.running.expected_latency_s()
        # What is measured is the latency of all pools: it says nothing about an estimate for some of them.
        line = self._correction.update(None if measured.unmeasured else measured.latency_s, estimate_s)
        pacing = self._pacing
        situation = Situation(
            measured, line, pacing.horizon_s(interval_s), time_s=pacing.now_s, since_action_s=pacing.since_action_s()
        )
        proposal = self._problem.solve(situation)
        if proposal.wanted.executors == measured.running.executors:
            return _decisions(measured, proposal, proposal.why)
        reason = f"{proposal.why}: {_change(measured, proposal)}, {_prediction(proposal, line)}"
        if (wait := self._pacing.too_soon()) is not None:
            return _decisions(measured, Proposal(measured.running, proposal.why), f"{reason}; {wait}: hold")
        return _decisions(measured, proposal, reason)


def _problem(limits: DrsLimits, bounds_s: Mapping[OperatorName, float]) -> AllocationProblem:
    whole = None if limits.t_max_s is None else FewestExecutors(limits)
    if bounds_s:
        return OperatorBounds(bounds_s, limits, whole)
    return whole or LeastLatency(limits)


def _decisions(measured: MeasuredNetwork, proposal: Proposal, reason: str) -> list[Decision]:
    decisions: list[Decision] = []
    stations = proposal.wanted.network.stations
    rows = zip(stations, measured.pools, proposal.wanted.executors, strict=True)
    for station, pool, then in rows:
        sojourn_s = station.model.sojourn_s(then)
        latency_s = sojourn_s if math.isfinite(sojourn_s) else None
        utilisation = station.model.utilisation(then)
        decisions.append(pool.scale(min(then, MOST_EXECUTORS), reason, latency_s=latency_s, utilisation=utilisation))
    return decisions


def _change(measured: MeasuredNetwork, proposal: Proposal) -> str:
    """ "scale out split 2 -> 3, scale in count 4 -> 3": the pools that change."""
    now, then = measured.running.by_name(), proposal.wanted.by_name()
    changed = [resize(now[name], then[name], name) for name in now if now[name] != then[name]]
    return ", ".join(changed[:_NAMED]) + (f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else "")


def _prediction(proposal: Proposal, line: Correction) -> str:
    estimate_s = proposal.wanted.expected_latency_s()
    total = f"{executors(proposal.wanted.total())} in all"
    if math.isinf(estimate_s):
        return total
    by = "" if line.slope == 1 and line.offset_s == 0 else f" ({human(estimate_s)} by the model alone)"
    return f"{total}, predicted latency {human(line.predicted_s(estimate_s))}{by}"

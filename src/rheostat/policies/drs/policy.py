"""The policy: measure the network, correct the model, solve the problem, and act if it is time."""

import math
from collections.abc import Sequence

from rheostat.decision import Decision
from rheostat.describe import executors
from rheostat.duration import human
from rheostat.policies.drs.correction import Line, correction_named
from rheostat.policies.drs.measured import Measured, NetworkMeasurer, NotKnownError
from rheostat.policies.drs.options import DrsOptions, limits_of
from rheostat.policies.drs.pace import Pace
from rheostat.policies.drs.problems import FewestExecutors, LeastLatency, Problem, Proposal, Situation
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy
from rheostat.sla import Goal

_NAMED = 6
"""Pools that a reason lists."""


class Drs(Policy[DrsOptions]):
    """Least latency with K_max executors, or fewest executors within T_max, by a model of the network of queues."""

    summary = "puts executors where a model of queues says they help most (DRS)"

    def __init__(self, goal: Goal, options: DrsOptions | None = None) -> None:
        super().__init__(goal, options)
        limits = limits_of(self.options, goal)
        self._measurer = NetworkMeasurer(goal, self.options)
        self._correction = correction_named(self.options.correction)
        self._pace = Pace(limits.t_ra_s, limits.t_m_s, self.options.smoothing)
        self._problem: Problem = LeastLatency(limits) if limits.t_max_s is None else FewestExecutors(limits)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool. Together they are one act."""
        self._pace.see(observation)
        self._measurer.learn(observation)
        if observation.settling:
            return observation.hold_all(f"a change of {', '.join(sorted(observation.settling))} is still under way")
        if (blind := self._pace.blind()) is not None:
            return observation.hold_all(blind)
        try:
            measured = self._measurer.network(observation)
        except NotKnownError as unknown:
            return observation.hold_all(str(unknown))
        return self._act(measured, observation.measures.interval_s)

    def _act(self, measured: Measured, interval_s: float) -> Sequence[Decision]:
        estimate_s = measured.running.expected_latency_s()
        line = self._correction.update(measured.latency_s, estimate_s)
        proposal = self._problem.solve(Situation(measured, line, self._pace.horizon_s(interval_s)))
        if proposal.wanted.executors == measured.running.executors:
            return _decisions(measured, proposal, proposal.why)
        reason = f"{proposal.why}: {_change(measured, proposal)}{_prediction(proposal, line)}"
        if (wait := self._pace.too_soon()) is not None:
            return _decisions(measured, Proposal(measured.running, proposal.why), f"{wait}; {reason}")
        return _decisions(measured, proposal, reason)


def _decisions(measured: Measured, proposal: Proposal, reason: str) -> list[Decision]:
    decisions: list[Decision] = []
    stations = proposal.wanted.network.stations
    rows = zip(stations, measured.pools, proposal.wanted.executors, strict=True)
    for station, pool, then in rows:
        sojourn_s = station.model.sojourn_s(then)
        latency_s = sojourn_s if math.isfinite(sojourn_s) else None
        utilisation = station.model.utilisation(then)
        decisions.append(pool.scale(then, reason, latency_s=latency_s, utilisation=utilisation))
    return decisions


def _change(measured: Measured, proposal: Proposal) -> str:
    """ "split 2 → 3, count 4 → 3": the pools that change."""
    now, then = measured.running.by_name(), proposal.wanted.by_name()
    changed = [f"{name} {now[name]} → {then[name]}" for name in now if now[name] != then[name]]
    return ", ".join(changed[:_NAMED]) + (", …" if len(changed) > _NAMED else "")


def _prediction(proposal: Proposal, line: Line) -> str:
    estimate_s = proposal.wanted.expected_latency_s()
    if math.isinf(estimate_s):
        return f" ({executors(proposal.wanted.total())} in all)"
    by = "" if line.slope == 1 and line.offset_s == 0 else f", by the model {human(estimate_s)}"
    return f" ({executors(proposal.wanted.total())} in all; {human(line.predicted_s(estimate_s))} predicted{by})"

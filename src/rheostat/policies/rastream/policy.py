"""The policy: monitor, trigger, plan, and act if it is worth it."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from rheostat.decision import Decision, Hold, Location, Place
from rheostat.errors import ConfigError, InfeasibleError
from rheostat.placement import Placement, algorithm, ra_stream
from rheostat.placement.solvers.processes import TaskLocations
from rheostat.policies.policy import Observation, Policy, PolicyOptions
from rheostat.policies.rastream.fewest_moves import staying
from rheostat.policies.rastream.fusing import fusing, splitting_first
from rheostat.policies.rastream.measured_problem import NotKnownError, Picture, take
from rheostat.policies.rastream.monitor import Monitor
from rheostat.policies.rastream.options import RaStreamOptions
from rheostat.policies.rastream.overload import crowded
from rheostat.policies.rastream.prices import Prices
from rheostat.policies.rastream.repair import mended
from rheostat.policies.rastream.reserve import posed, with_reserve
from rheostat.policies.rastream.trigger import Trigger
from rheostat.policies.rastream.worth import judge, moves
from rheostat.sla import Goal


class RaStream:
    """Another policy says how many executors there are; this one says where."""

    name: ClassVar[str] = "ra-stream"
    summary: ClassVar[str] = "few nodes, chatty executors together; how many of them says another policy (Ra-Stream)"
    Options: ClassVar[type[PolicyOptions]] = RaStreamOptions

    def __init__(self, goal: Goal, options: RaStreamOptions) -> None:
        self._topology = goal.topology
        self._scaling = _scaling(goal, options)
        self.options = _smoothed_for(options, self._scaling)
        self._monitor = Monitor(options.frame_s)
        self._prices = Prices()
        self._trigger = Trigger(options)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """What the scaling policy decides; where and when it holds everywhere, the placement."""
        scaling = self._scaling.decide(observation)
        self._monitor.see(observation)
        if observation.settling or not all(isinstance(decision, Hold) for decision in scaling):
            self._monitor.restart()
            return scaling
        placing, reason = self._place(observation)
        if self.options.fuse:
            placing = self._with_fusing(observation, placing)
        return [placing.get(decision.operator, _also(decision, reason)) for decision in scaling] + [
            decision for operator, decision in placing.items() if operator not in {each.operator for each in scaling}
        ]

    def _with_fusing(self, observation: Observation, placing: dict[str, Decision]) -> dict[str, Decision]:
        """Where nothing is to move, or what moves is fused and parts, operators are fused or split instead."""
        if placing or not self._monitor.full:
            return splitting_first(self._topology, observation, placing)
        return fusing(self._topology, observation, self._monitor, self.options.fuse_load)

    def _place(self, observation: Observation) -> tuple[dict[str, Decision], str]:
        """A decision for each operator whose executors move, and in words why there are some or none."""
        if not self._monitor.full:
            return {}, "the frame of measurements is not full yet"
        try:
            picture = take(self._topology, observation, self._monitor, self._prices, self.options)
        except (NotKnownError, InfeasibleError) as unknown:
            return {}, str(unknown)
        why = self._trigger.reason(picture.now, picture.members, self._monitor)
        if why is None:
            return {}, "every node is within its limits, and the rate is that of the last plan"
        if self._trigger.load_changed(self._monitor) and not self._steady():
            return {}, f"{why}: waits for a frame of the new rate"
        return self._plan(observation, picture, why)

    def _steady(self) -> bool:
        """Whether the whole frame has the newest rate; it begins anew if not."""
        newest, mean = self._monitor.newest_rate, self._monitor.external_rate
        if newest is None or mean is None or abs(newest - mean) <= self.options.rate_change / 2 * mean:
            return True
        self._monitor.restart()
        return False

    def _plan(self, observation: Observation, picture: Picture, why: str) -> tuple[dict[str, Decision], str]:
        self._trigger.planned(picture.now, picture.members, self._monitor)
        try:
            then = self._found(picture)
        except InfeasibleError as error:
            return {}, f"{why}, but {error}"
        verdict = judge(picture.now, then, self.options)
        if not verdict.go and self.options.algorithm == "ra-stream":
            return {}, f"{why}, but {verdict.why}"
        self._trigger.planned(then, picture.members, self._monitor)
        self._monitor.restart()
        return _decisions(observation, picture, then, f"{why}: {verdict.why}"), why

    def _found(self, picture: Picture) -> Placement:
        if self.options.algorithm != "ra-stream":
            return algorithm(self.options.algorithm).place(picture.problem, self.options.search)
        problem = with_reserve(picture.problem, self.options.reserve)
        return posed(picture.problem, self._planned(posed(problem, picture.now)))

    def _planned(self, now: Placement) -> Placement:
        """Ra-Stream's plan; what runs, mended, if that needs no more nodes; all nodes if there are not enough."""
        try:
            fresh = staying(now, ra_stream(now.problem, self.options.search, TaskLocations(now.scheme, now.processes)))
        except InfeasibleError:
            return crowded(now, self.options.search)
        return mended(now, fresh, self.options.costs, self.options.margin) or fresh


def _scaling(goal: Goal, options: RaStreamOptions) -> Policy:
    from rheostat.policies.registry import make_policy

    if options.scaling == RaStream.name:
        raise ConfigError(f"scaling {options.scaling!r} would ask itself: name another policy")
    return make_policy(options.scaling, goal, options.scaling_options)


def _smoothed_for(options: RaStreamOptions, scaling: Policy) -> RaStreamOptions:
    """Measures are smoothed as the scaling policy asks, unless told otherwise: this one smooths by its frame."""
    if options.smoothing != "none":
        return options
    return msgspec.structs.replace(options, smoothing=scaling.options.smoothing)


def _also(decision: Decision, reason: str) -> Decision:
    """A hold for two reasons."""
    return Hold(operator=decision.operator, reason=f"{decision.reason}; {reason}", predicted=decision.predicted)


def _decisions(observation: Observation, picture: Picture, then: Placement, reason: str) -> dict[str, Decision]:
    """The executors that move, by pool, in the name of the pool's first operator."""
    locations: dict[str, dict[int, Location]] = {}
    for task in moves(picture.now, then).tolist():
        member = picture.members[task]
        node = then.problem.nodes[int(then.scheme[task])].name
        locations.setdefault(member.pool, {})[member.number] = Location(node, int(then.processes[task]))
    first = {pool: observation.plan.sharing(pool)[0] for pool in locations}
    return {first[pool]: Place(operator=first[pool], reason=reason, locations=of) for pool, of in locations.items()}

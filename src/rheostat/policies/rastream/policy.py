"""The policy: monitor, trigger, plan, and act if it is worth it."""

from collections.abc import Sequence

import msgspec

from rheostat.decision import Decision, Hold, Location, Place
from rheostat.errors import ConfigError, InfeasibleError
from rheostat.names import PoolName
from rheostat.placement import Placement, algorithm, ra_stream
from rheostat.placement.solvers.processes import TaskLocations
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy
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


class RaStream(Policy[RaStreamOptions]):
    """Another policy says how many executors there are; this one says where."""

    summary = "few nodes, chatty executors together; how many of them says another policy (Ra-Stream)"

    def __init__(self, goal: Goal, options: RaStreamOptions | None = None) -> None:
        super().__init__(goal, options)
        self._topology = goal.topology
        self._scaling = _scaling(goal, self.options)
        self.options = _smoothed_for(self.options, self._scaling)
        self._monitor = Monitor(self.options.frame_s)
        self._prices = Prices()
        self._trigger = Trigger(self.options)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """What the scaling policy decides; where and when it holds everywhere, the placement."""
        scaling = self._scaling.decide(observation)
        self._monitor.see(observation)
        if observation.settling or not all(isinstance(decision, Hold) for decision in scaling):
            self._monitor.restart()
            return scaling
        placing, reason = self._place(observation)
        changes = self._with_fusing(observation, placing) if self.options.fuse else placing
        changed = {pool for decision in changes for pool in observation.plan.pools_of(decision)}
        holds = [each for each in scaling if isinstance(each, Hold) and each.pool not in changed]
        return [*(_also(hold, reason) for hold in holds), *changes]

    def _with_fusing(self, observation: Observation, placing: Sequence[Place]) -> Sequence[Decision]:
        """Where nothing is to move, or what moves is fused and parts, operators are fused or split instead."""
        if placing or not self._monitor.full:
            return splitting_first(self._topology, observation, placing)
        if not observation.capabilities.can_fuse:
            return placing
        return fusing(self._topology, observation, self._monitor, self.options.fuse_load)

    def _place(self, observation: Observation) -> tuple[list[Place], str]:
        """A decision for each pool whose executors move, and in words why there are some or none."""
        if not observation.capabilities.can_place:
            return [], "the plant cannot put executors on nodes"
        if not self._monitor.full:
            return [], "the frame of measurements is not full yet"
        try:
            picture = take(self._topology, observation, self._monitor, self._prices, self.options)
        except (NotKnownError, InfeasibleError) as unknown:
            return [], str(unknown)
        why = self._trigger.reason(picture.now, picture.members, self._monitor)
        if why is None:
            return [], "every node is within its limits, and the rate is that of the last plan"
        if self._trigger.load_changed(self._monitor) and not self._steady():
            return [], f"{why}: waits for a frame of the new rate"
        return self._plan(picture, why)

    def _steady(self) -> bool:
        """Whether the whole frame has the newest rate; it begins anew if not."""
        newest, mean = self._monitor.newest_rate, self._monitor.external_rate
        if newest is None or mean is None or abs(newest - mean) <= self.options.rate_change / 2 * mean:
            return True
        self._monitor.restart()
        return False

    def _plan(self, picture: Picture, why: str) -> tuple[list[Place], str]:
        self._trigger.planned(picture.now, picture.members, self._monitor)
        try:
            then = self._found(picture)
        except InfeasibleError as error:
            return [], f"{why}, but {error}"
        verdict = judge(picture.now, then, self.options)
        if not verdict.go and self.options.algorithm == "ra-stream":
            return [], f"{why}, but {verdict.why}"
        self._trigger.planned(then, picture.members, self._monitor)
        self._monitor.restart()
        return _decisions(picture, then, f"{why}: {verdict.why}"), why

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


def _also(hold: Hold, reason: str) -> Hold:
    """A hold for two reasons."""
    return msgspec.structs.replace(hold, reason=f"{hold.reason}; {reason}")


def _decisions(picture: Picture, then: Placement, reason: str) -> list[Place]:
    """The executors that move, by pool."""
    locations: dict[PoolName, dict[int, Location]] = {}
    for task in moves(picture.now, then).tolist():
        member = picture.members[task]
        node = then.problem.nodes[int(then.scheme[task])].name
        locations.setdefault(member.pool, {})[member.number] = Location(node, int(then.processes[task]))
    return [Place(pool=pool, reason=reason, locations=of) for pool, of in locations.items()]

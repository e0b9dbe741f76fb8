"""Ra-Stream: monitor, trigger, compute a placement, and move executors if that is worth it."""

from collections.abc import Sequence

import msgspec

from rheostat.decision import Decision, Hold, Location, Place
from rheostat.duration import human
from rheostat.errors import ConfigError, InfeasibleError
from rheostat.names import PoolName
from rheostat.placement import Placement, algorithm, ra_stream
from rheostat.placement.solvers.processes import TaskLocations
from rheostat.policies.observation import NotMeasuredError, Observation
from rheostat.policies.policy import Policy
from rheostat.policies.rastream.benefit import judge, moves
from rheostat.policies.rastream.executor_load import ResourcePrices
from rheostat.policies.rastream.fusing import fusing, splitting_first
from rheostat.policies.rastream.measured_placement import MeasuredPlacement, measure_placement
from rheostat.policies.rastream.monitor import FrameMonitor
from rheostat.policies.rastream.options import RaStreamOptions
from rheostat.policies.rastream.replanning import for_overload, repaired, with_fewest_moves, with_problem, with_reserve
from rheostat.policies.rastream.trigger import Trigger
from rheostat.sla import Goal


class RaStream(Policy[RaStreamOptions]):
    """Another policy sizes the pools; this one places their executors."""

    summary = "few nodes, executors that exchange many records together; another policy sizes pools (Ra-Stream)"

    def __init__(self, goal: Goal, options: RaStreamOptions | None = None) -> None:
        super().__init__(goal, options)
        self._topology = goal.topology
        self._scaling = _scaling(goal, self.options)
        self.options = _smoothed_for(self.options, self._scaling)
        self._monitor = FrameMonitor(self.options.frame_s)
        self._prices = ResourcePrices()
        self._trigger = Trigger(self.options)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """The decisions of the scaling policy; when it holds everywhere, those about the placement."""
        scaling = self._scaling.decide(observation)
        self._monitor.update(observation)
        if observation.settling or not all(isinstance(decision, Hold) for decision in scaling):
            self._monitor.restart()
            return scaling
        placing, reason = self._place(observation)
        changes = self._with_fusing(observation, placing) if self.options.fuse else placing
        changed = {pool for decision in changes for pool in observation.plan.pools_of(decision)}
        holds = [each for each in scaling if isinstance(each, Hold) and each.pool not in changed]
        return [*(_also(hold, reason) for hold in holds), *changes]

    def _with_fusing(self, observation: Observation, placing: Sequence[Place]) -> Sequence[Decision]:
        """Where nothing moves, or fused operators would be on several nodes, they are fused or split instead."""
        if placing or not self._monitor.full:
            return splitting_first(self._topology, observation, placing)
        if not observation.capabilities.can_fuse:
            return placing
        return fusing(self._topology, observation, self._monitor, self.options.fuse_load)

    def _place(self, observation: Observation) -> tuple[list[Place], str]:
        """A decision for each pool whose executors move, and why there are some or none."""
        if not observation.capabilities.can_place:
            return [], "the plant cannot place executors"
        if not self._monitor.full:
            return [], "the first frame of measurements is not complete: keep the placement"
        try:
            measured = measure_placement(self._topology, observation, self._monitor, self._prices, self.options)
        except (NotMeasuredError, InfeasibleError) as error:
            return [], str(error)
        why = self._trigger.reason(measured.now, measured.members, self._monitor)
        if why is None:
            return [], "every node is within its limits and the rate has not changed: keep the placement"
        if self._trigger.load_changed(self._monitor) and not self._steady():
            return [], f"{why}: wait for a whole frame at the new rate"
        time_s = observation.snapshot.time_s
        wait_s = self._trigger.wait_s(measured.members, self._monitor, time_s)
        if wait_s > 0:
            return [], f"{why}, as after the last placement for this load: wait {human(wait_s)} before the next one"
        return self._plan(measured, why, time_s)

    def _steady(self) -> bool:
        """Whether the whole frame has the newest rate; it starts again if not."""
        newest, mean = self._monitor.newest_rate, self._monitor.external_rate
        if newest is None or mean is None or abs(newest - mean) <= self.options.rate_change / 2 * mean:
            return True
        self._monitor.restart()
        return False

    def _plan(self, measured: MeasuredPlacement, why: str, time_s: float) -> tuple[list[Place], str]:
        self._trigger.planned(measured.now, measured.members, self._monitor, time_s)
        try:
            then = self._found(measured)
        except InfeasibleError as error:
            return [], f"{why}, but {error}: keep the placement"
        verdict = judge(measured.now, then, self.options)
        if not verdict.go and self.options.algorithm == "ra-stream":
            return [], f"{why}, but {verdict.why}: keep the placement"
        self._trigger.placed(then)
        self._monitor.restart()
        return _decisions(measured, then, f"{why}: move executors, {verdict.why}"), why

    def _found(self, measured: MeasuredPlacement) -> Placement:
        if self.options.algorithm != "ra-stream":
            return algorithm(self.options.algorithm).place(measured.problem, self.options.search)
        problem = with_reserve(measured.problem, self.options.reserve)
        return with_problem(measured.problem, self._planned(with_problem(problem, measured.now)))

    def _planned(self, now: Placement) -> Placement:
        """A new placement; the present one repaired, if that needs no more nodes; all nodes if they are too few."""
        try:
            fresh = with_fewest_moves(
                now, ra_stream(now.problem, self.options.search, TaskLocations(now.scheme, now.processes))
            )
        except InfeasibleError:
            return for_overload(now, self.options.search)
        return repaired(now, fresh, self.options.costs, self.options.margin) or fresh


def _scaling(goal: Goal, options: RaStreamOptions) -> Policy:
    from rheostat.policies.registry import make_policy

    if options.scaling == RaStream.name:
        raise ConfigError(f"scaling {options.scaling!r} is this policy itself: name another one")
    return make_policy(options.scaling, goal, options.scaling_options)


def _smoothed_for(options: RaStreamOptions, scaling: Policy) -> RaStreamOptions:
    """Measures are smoothed as the scaling policy asks, unless the option is given: this one averages over a frame."""
    if options.smoothing != "none":
        return options
    return msgspec.structs.replace(options, smoothing=scaling.options.smoothing)


def _also(hold: Hold, reason: str) -> Hold:
    """The same hold with a second reason."""
    return msgspec.structs.replace(hold, reason=f"{hold.reason}; {reason}")


def _decisions(measured: MeasuredPlacement, then: Placement, reason: str) -> list[Place]:
    """The executors that move, by pool."""
    locations: dict[PoolName, dict[int, Location]] = {}
    for task in moves(measured.now, then).tolist():
        member = measured.members[task]
        node = then.problem.nodes[int(then.scheme[task])].name
        locations.setdefault(member.pool, {})[member.number] = Location(node, int(then.processes[task]))
    return [Place(pool=pool, reason=reason, locations=of) for pool, of in locations.items()]

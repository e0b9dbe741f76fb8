"""DRS-LB, which StreamSwitch compares itself with (section 6.2): DRS, and load balance while DRS holds."""

from collections.abc import Sequence
from typing import ClassVar

from rheostat.decision import Decision, Hold, Move
from rheostat.policies.drs.options import DrsLbOptions
from rheostat.policies.drs.policy import Drs
from rheostat.policies.policy import Observation, PolicyOptions
from rheostat.policies.streamswitch.diagnose import Room
from rheostat.policies.streamswitch.options import StreamSwitchOptions
from rheostat.policies.streamswitch.policy import StreamSwitch
from rheostat.sla import Goal


class DrsLb:
    """How many executors is DRS's business; which substream is whose is StreamSwitch's."""

    name: ClassVar[str] = "drs-lb"
    summary: ClassVar[str] = "DRS, and StreamSwitch's load balance of substreams while it holds (DRS-LB)"
    Options: ClassVar[type[PolicyOptions]] = DrsLbOptions

    def __init__(self, goal: Goal, options: DrsLbOptions) -> None:
        self.options = options
        self._drs = Drs(goal, options)
        self._balancer = _Balancer(goal, _of_streamswitch(options))

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """DRS's decisions; where all of them hold, an operator's load balance takes the place of its hold."""
        scaling, balancing = self._drs.decide(observation), self._balancer.decide(observation)
        if not all(isinstance(decision, Hold) for decision in scaling):
            return scaling
        moves = {decision.operator: decision for decision in balancing if isinstance(decision, Move)}
        return [moves.get(decision.operator, decision) for decision in scaling]


class _Balancer(StreamSwitch):
    """StreamSwitch that may neither add nor remove an executor: what is left to it is to move substreams."""

    def _room(self, observation: Observation, pool: str, operators: list[str], spare: float) -> Room:
        return Room(observation.plan.pools[pool].next_executor, more=False, fewer=False)


def _of_streamswitch(options: DrsLbOptions) -> StreamSwitchOptions:
    return StreamSwitchOptions(epsilon=options.margin, l=options.l, L=options.L, T=options.T, delta=options.delta)

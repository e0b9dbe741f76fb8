"""DRS-LB, which StreamSwitch compares itself with (section 6): DRS, and load balance while DRS holds."""

from collections.abc import Sequence

import msgspec

from rheostat.decision import Decision, Hold, Move, Scale
from rheostat.names import PoolName
from rheostat.policies.drs.options import DrsLbOptions
from rheostat.policies.drs.policy import Drs
from rheostat.policies.drs.sized import Sized
from rheostat.policies.observation import Observation, PoolView
from rheostat.policies.policy import Policy
from rheostat.policies.streamswitch.options import StreamSwitchOptions
from rheostat.policies.streamswitch.policy import StreamSwitch
from rheostat.sla import Goal


class DrsLb(Policy[DrsLbOptions]):
    """How many executors is DRS's business; which substream is whose is StreamSwitch's."""

    summary = "DRS, and StreamSwitch's load balance of substreams while it holds (DRS-LB)"

    def __init__(self, goal: Goal, options: DrsLbOptions | None = None) -> None:
        super().__init__(goal, options)
        self._drs = Drs(goal, self.options)
        self._sized = Sized(balances=self.options.balance)
        self._switch = StreamSwitch(goal, _of_streamswitch(self.options), self._sized)
        self._keyed = {name for name, operator in goal.topology.operators.items() if operator.keyed}

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """DRS's decisions with the moves that belong to them; where all hold, load balance in a hold's place."""
        scaling = self._drs.decide(observation)
        self._sized.wanted = self._switched_to(scaling)
        switching = dict(zip(observation.pools, self._switch.decide(observation), strict=True))
        holds = all(isinstance(decision, Hold) for decision in scaling)
        return [
            self._joined(pool, decision, switching[pool.name], holds)
            for pool, decision in zip(observation.pools.values(), scaling, strict=True)
        ]

    def _switched_to(self, scaling: Sequence[Decision]) -> dict[PoolName, int]:
        if self.options.substreams == "spread":
            return {}
        return {each.pool: each.executors for each in scaling if isinstance(each, Scale)}

    def _joined(self, pool: PoolView, scaling: Decision, switching: Decision, holds: bool) -> Decision:
        if holds:
            return switching if isinstance(switching, Move) else scaling
        if pool.name in self._sized.wanted and self._keyed.issuperset(pool.operators) and len(pool.operators) == 1:
            return _for_both(scaling.reason, switching)
        return scaling


def _for_both(reason: str, switching: Decision) -> Decision:
    return msgspec.structs.replace(switching, reason=f"{reason}; {switching.reason}")


def _of_streamswitch(options: DrsLbOptions) -> StreamSwitchOptions:
    return StreamSwitchOptions(epsilon=options.margin, l=options.l, L=options.L, T=options.T, delta=options.delta)

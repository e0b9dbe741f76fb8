"""Substreams that follow sizes somebody else decided on, by StreamSwitch's unit strategies."""

from collections.abc import Sequence

from rheostat.names import PoolName
from rheostat.policies.streamswitch.balance import scale_out
from rheostat.policies.streamswitch.diagnose import Diagnosis, Room, Treatment, diagnose
from rheostat.policies.streamswitch.executor import Executor
from rheostat.policies.streamswitch.health import Thresholds
from rheostat.policies.streamswitch.scale_in import scale_in
from rheostat.policies.streamswitch.strategy import Strategy


class Sized:
    """Diagnoses by `wanted`, the sizes of pools by name: one executor more or fewer at a time, whatever their
    health. An operator that has the size it should have may be balanced, if `balances`."""

    def __init__(self, *, balances: bool) -> None:
        self.wanted: dict[PoolName, int] = {}
        self._balances = balances

    def __call__(self, pool: PoolName, executors: Sequence[Executor], limits: Thresholds, room: Room) -> Diagnosis:
        wanted = self.wanted.get(pool, len(executors))
        if wanted > len(executors):
            busiest = max(executors, key=lambda each: each.stress)
            return _treated(Treatment.SCALE_OUT, scale_out(busiest, room.new), executors, limits)
        if wanted < len(executors):
            return _treated(Treatment.SCALE_IN, scale_in(executors), executors, limits)
        if self._balances:
            return diagnose(executors, limits, Room(room.new, more=False, fewer=False))
        return Diagnosis(limits.overall(executors), tuple(executors))


def _treated(
    treatment: Treatment, strategy: Strategy | None, executors: Sequence[Executor], limits: Thresholds
) -> Diagnosis:
    health = limits.overall(executors)
    if strategy is None:
        return Diagnosis(health, tuple(executors), note=f"to {treatment} would move no substream to advantage")
    return Diagnosis(health, tuple(strategy.applied(executors)), treatment, strategy)

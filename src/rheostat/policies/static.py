"""The policy that never changes anything: what provisioning for the peak looks like."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from rheostat import describe
from rheostat.decision import Decision
from rheostat.errors import ConfigError
from rheostat.names import OperatorName
from rheostat.policies.observation import Observation, PoolView
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.sla import Goal


class StaticOptions(PolicyOptions, frozen=True, kw_only=True):
    """What the static policy can be told."""

    executors: Annotated[
        int | dict[str, int] | None,
        msgspec.Meta(description="executors of every operator, or of each by its name; left out: as at the start"),
    ] = None


class Static(Policy[StaticOptions]):
    """Keeps the executors it is told, or those there are."""

    summary = "never changes the number of executors"

    def __init__(self, goal: Goal, options: StaticOptions | None = None) -> None:
        super().__init__(goal, options)
        self._wanted = _by_operator(goal, self.options.executors)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool: the largest number that was told for one of its operators."""
        return [self._keep(pool) for pool in observation.pools.values()]

    def _keep(self, pool: PoolView) -> Decision:
        wanted = max((self._wanted[each] for each in pool.operators if each in self._wanted), default=pool.size)
        if wanted == pool.size:
            return pool.scale(wanted, f"stays at {describe.executors(wanted)}")
        return pool.scale(wanted, f"told to use {describe.executors(wanted)}, the plan has {pool.size}")


def _by_operator(goal: Goal, executors: int | dict[str, int] | None) -> dict[OperatorName, int]:
    if executors is None:
        return {}
    told = executors if isinstance(executors, dict) else dict.fromkeys(goal.topology.operators, executors)
    goal.topology.operators.check(told)
    wanted = {OperatorName(name): number for name, number in told.items()}
    for name, number in wanted.items():
        if number < 1:
            raise ConfigError(f"executors {number!r} for operator {name!r} must be a whole number >= 1")
        if number > (most := goal.budget.maximum(name)):
            raise ConfigError(f"executors {number} for operator {name!r}: the budget allows {most:.0f} at most")
    return wanted

"""The policy that never changes anything: what provisioning for the peak looks like."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from rheostat import describe
from rheostat.decision import Decision, Effect, Hold, Scale
from rheostat.errors import ConfigError
from rheostat.policies.policy import Observation, Policy, PolicyOptions
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
        """One decision for each pool, in the name of the first operator it serves."""
        pools = (observation.plan.sharing(pool) for pool in observation.plan.pools)
        return [self._keep(operators, observation.plan.size(operators[0])) for operators in pools if operators]

    def _keep(self, operators: Sequence[str], executors: int) -> Decision:
        operator = operators[0]
        wanted = max((self._wanted[each] for each in operators if each in self._wanted), default=executors)
        predicted = Effect(executors=wanted)
        if wanted == executors:
            return Hold(operator=operator, reason=f"stays at {describe.executors(executors)}", predicted=predicted)
        reason = f"told to use {describe.executors(wanted)}, the plan has {executors}"
        return Scale(operator=operator, executors=wanted, reason=reason, predicted=predicted)


def _by_operator(goal: Goal, executors: int | dict[str, int] | None) -> dict[str, int]:
    if executors is None:
        return {}
    wanted = dict.fromkeys(goal.topology.operators, executors) if isinstance(executors, int) else executors
    for name, number in wanted.items():
        goal.topology.operator(name)
        if number < 1:
            raise ConfigError(f"executors {number!r} for operator {name!r} must be a whole number >= 1")
        if number > (most := goal.budget.maximum(name)):
            raise ConfigError(f"executors {number} for operator {name!r}: the budget allows {most:.0f} at most")
    return wanted

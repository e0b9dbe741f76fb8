"""Static: a fixed number of executors, as when a pipeline is provisioned for its peak."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from rheostat.decision import Decision
from rheostat.describe import executors, resize
from rheostat.errors import ConfigError
from rheostat.names import OperatorName
from rheostat.policies.observation import Observation, PoolView
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.sla import Goal


class StaticOptions(PolicyOptions, frozen=True, kw_only=True):
    """Options of the static policy."""

    executors: Annotated[
        int | dict[str, int] | None,
        msgspec.Meta(
            description='Number of executors of every operator, or of each by its name ({"split": 2}). Left out, '
            "the number at the start stays. Set it to compare with a fixed size, or to pin a size for a while."
        ),
    ] = None


class Static(Policy[StaticOptions]):
    """Keeps the configured number of executors, or those there are."""

    summary = "never changes the number of executors"

    def __init__(self, goal: Goal, options: StaticOptions | None = None) -> None:
        super().__init__(goal, options)
        self._wanted = _by_operator(goal, self.options.executors)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool: the largest number that is configured for one of its operators."""
        return observation.decide_each(self._keep)

    def _keep(self, pool: PoolView, spare: float) -> Decision:
        configured = [self._wanted[operator] for operator in pool.operators if operator in self._wanted]
        if not configured:
            return pool.scale(pool.size, f"no number of executors configured: hold at {pool.size}")
        wanted = pool.clamp(max(configured), spare)
        limit = f", budget and cluster have room for {wanted}" if wanted < pool.bounds.clamp(max(configured)) else ""
        return pool.scale(wanted, f"{executors(max(configured))} configured{limit}: {resize(pool.size, wanted)}")


def _by_operator(goal: Goal, given: int | dict[str, int] | None) -> dict[OperatorName, int]:
    if given is None:
        return {}
    by_name = given if isinstance(given, dict) else dict.fromkeys(goal.topology.operators, given)
    goal.topology.operators.check(by_name)
    wanted = {OperatorName(name): number for name, number in by_name.items()}
    for name, number in wanted.items():
        if number < 1:
            raise ConfigError(f"executors {number!r} for operator {name!r} must be a whole number >= 1")
        if number > (most := goal.budget.maximum(name)):
            raise ConfigError(f"executors {number} for operator {name!r}: the budget allows {most} at most")
        if number < (least := goal.budget.minimum(name)):
            raise ConfigError(f"executors {number} for operator {name!r}: the budget asks for {least} at least")
    return wanted

"""Q-learning: executors by a table that was learned for the input rate, the third baseline of DABS-Storm (§7.2)."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from rheostat.decision import Decision
from rheostat.describe import executors, resize
from rheostat.policies.observation import SETTLING, Observation, PoolView
from rheostat.policies.policy import Policy, PolicyOptions, Smoothing
from rheostat.policies.qlearning.table import read_table
from rheostat.sla import Goal

Meta = msgspec.Meta


class QLearningOptions(PolicyOptions, frozen=True, kw_only=True):
    """Options of the policy."""

    table: Annotated[
        str | dict[str, Any],
        Meta(
            description="What was learned: for each operator the number of executors by input rate, as a JSON file "
            "made with `qlearning.train` and `write_table`. Train it again when records take more or less work than "
            "before."
        ),
    ]
    smoothing: Smoothing = "window:3"


class QLearning(Policy[QLearningOptions]):
    """Gives each pool the executors that were worth most at its input rate. Queues are not considered."""

    summary = "the number of executors that was learned for the input rate (baseline of DABS-Storm)"

    def __init__(self, goal: Goal, options: QLearningOptions) -> None:
        super().__init__(goal, options)
        self._table = read_table(options.table)
        goal.topology.operators.check(self._table)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool."""
        return observation.decide_each(lambda pool, spare: self._judge(pool, observation, spare))

    def _judge(self, pool: PoolView, observation: Observation, spare: float) -> Decision:
        learned = [name for name in pool.operators if name in self._table]
        if pool.settling:
            return pool.hold(SETTLING)
        if not learned:
            return pool.hold(f"the table has nothing on {', '.join(pool.operators)}: hold")
        rates = {name: observation.measures.operators[name].arrival_rate for name in learned}
        if unknown := [name for name, rate in rates.items() if rate is None]:
            return pool.hold(f"the input rate of {unknown[0]!r} was not measured: hold")
        wanted = sum(self._table[name].degree(rate) for name, rate in rates.items() if rate is not None)
        allowed = pool.clamp(wanted, spare)
        rate = sum(rate for rate in rates.values() if rate is not None)
        reason = f"input {rate:,.4g} records/s, {executors(wanted)} by the table: {resize(pool.size, allowed)}"
        return pool.scale(allowed, reason)

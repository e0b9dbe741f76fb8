"""What stands for pools on `local[n]`, where one process does everything: plans are real at once.

The number of tasks per batch alone carries the allocation.
"""

import logging

from pyspark.sql import DataFrame

from rheostat.names import OperatorName
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.act.pools import PoolMember, PoolsReport

_LOG = logging.getLogger(__name__)


class NoPools:
    """Every executor of a plan is a task in each batch."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._report = PoolsReport(plan, frozenset(), (), (), {}, False)
        _LOG.warning("a local master has no pools of executors: the number of tasks per batch stands for them")

    @property
    def report(self) -> PoolsReport:
        return self._report

    @property
    def can_place(self) -> bool:
        return False

    def place(self, part: str, df: DataFrame) -> DataFrame:
        return df

    def follow(self, plan: Plan) -> None:
        self._plan = plan

    def step(self, now_s: float) -> PoolsReport:
        plan = self._plan
        members = tuple(
            PoolMember(name, number, ExecutorPhase.ACTIVE, None)
            for name, pool in plan.pools.items()
            for number in pool.executors
        )
        owners: dict[OperatorName, tuple[int | None, ...]] = {**plan.assignment}
        self._report = PoolsReport(plan, frozenset(plan.pool_of), (), members, owners, True, dict(plan.pool_of))
        return self._report

    def close(self) -> None:
        """There is nothing to let go."""

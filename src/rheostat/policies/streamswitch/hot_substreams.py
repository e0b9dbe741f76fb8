"""Substreams that nothing but a faster executor or a finer key can help: each is named once."""

from collections.abc import Sequence

import msgspec

from rheostat.decision import Decision
from rheostat.names import PoolName
from rheostat.policies.streamswitch.diagnose import Diagnosis
from rheostat.policies.streamswitch.executor import Executor
from rheostat.policies.streamswitch.health import Thresholds
from rheostat.policies.streamswitch.heavy import heaviest
from rheostat.policies.streamswitch.treat import complaint


class Complaints:
    """Remembers what was said. A substream that has become half as heavy as would be too much may be named again."""

    def __init__(self) -> None:
        self._told: set[tuple[PoolName, int]] = set()

    def added(
        self,
        decision: Decision,
        pool: PoolName,
        executors: Sequence[Executor],
        diagnosis: Diagnosis,
        limits: Thresholds,
    ) -> Decision:
        """`decision`, with what has not been said yet added to its reason."""
        self._forget(pool, executors)
        words = [decision.reason]
        for executor in diagnosis.helpless:
            heavy = heaviest(executor)
            if heavy is not None and (pool, heavy.id) not in self._told:
                self._told.add((pool, heavy.id))
                words.append(complaint(executor, heavy, limits))
        return decision if len(words) == 1 else msgspec.structs.replace(decision, reason="; ".join(words))

    def _forget(self, pool: PoolName, executors: Sequence[Executor]) -> None:
        if not any(name == pool for name, _ in self._told):
            return
        for executor in executors:
            half = executor.capacity.trusted_rate / 2
            light = {(pool, each.id) for each in executor.substreams if each.arrival_rate < half}
            self._told -= light

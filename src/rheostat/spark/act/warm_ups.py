"""The warm-ups under way, one at a time for each pool, beside everything else."""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from rheostat.spark.act.pool import Pool
from rheostat.spark.act.warm_up import WarmUp

_LOG = logging.getLogger(__name__)


class _UnderWay(NamedTuple):
    executor_ids: frozenset[str]
    warm_up: WarmUp
    outcome: "Future[None]"


class WarmUps:
    """Begins and ends warm-ups; none of the calls waits for one, but `close`."""

    def __init__(self) -> None:
        self._under_way: dict[int, _UnderWay] = {}
        self._helpers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="rheostat warm-up")

    def begin(self, pool: Pool, make: Callable[[], WarmUp]) -> None:
        """Warm up those of `pool` that came since, unless others are being warmed up there."""
        new = pool.to_warm_up()
        if new and id(pool) not in self._under_way:
            warm_up = make()
            ids = frozenset(executor.id for executor in new)
            self._under_way[id(pool)] = _UnderWay(ids, warm_up, self._helpers.submit(warm_up.run, new))

    def end(self, pool: Pool) -> None:
        """Tell `pool` who is warm now. A warm-up that failed is over as well: a cold executor is better than none."""
        found = self._under_way.get(id(pool))
        if found is None or not found.outcome.done():
            return
        del self._under_way[id(pool)]
        if error := found.outcome.exception():
            names = ", ".join(sorted(found.executor_ids))
            _LOG.warning("warming up executors %s of pool %r failed: %s", names, pool.name, error)
        pool.warmed_up(found.executor_ids)

    def close(self) -> None:
        for each in self._under_way.values():
            each.warm_up.cancel()
        self._helpers.shutdown(wait=True, cancel_futures=True)

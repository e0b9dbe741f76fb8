"""Within budget: the sizes that pools get when they want more executors than budget and cluster have."""

import math
from collections.abc import Mapping

from rheostat.names import PoolName
from rheostat.policies.observation import Observation


def within_budget(observation: Observation, wanted: Mapping[PoolName, float]) -> dict[PoolName, int]:
    """The sizes nearest to `wanted` that bounds, substreams, budget and cluster allow.

    What other pools give back is used. If that is not enough, the pool that has least of what it wants is first.
    """
    pools = observation.pools
    aims = {name: pools[name].bounds.clamp(min(number, pools[name].useful)) for name, number in wanted.items()}
    sizes = {name: min(aim, pools[name].size) for name, aim in aims.items()}
    freed = sum(pools[name].size - size for name, size in sizes.items())
    room = observation.spare + freed
    if sum(aims.values()) - sum(sizes.values()) <= room:
        return aims
    for _ in range(max(0, math.floor(room))):
        name = min((name for name in aims if sizes[name] < aims[name]), key=lambda name: sizes[name] / aims[name])
        sizes[name] += 1
    return sizes


def shared_by_need(observation: Observation, needed: Mapping[PoolName, float]) -> dict[PoolName, int]:
    """What these pools have, and what budget and cluster leave, in proportion to what each needs.

    A pool may lose executors to one that has less of what it needs.
    """
    pools = {name: observation.pools[name] for name in needed}
    aims = {name: pools[name].bounds.clamp(min(number, pools[name].useful)) for name, number in needed.items()}
    sizes = {name: pool.bounds.least for name, pool in pools.items()}
    room = min(sum(pool.size for pool in pools.values()) + observation.spare, sum(aims.values())) - sum(sizes.values())
    for _ in range(max(0, math.floor(room))):
        name = min((name for name in aims if sizes[name] < aims[name]), key=lambda name: sizes[name] / aims[name])
        sizes[name] += 1
    return sizes

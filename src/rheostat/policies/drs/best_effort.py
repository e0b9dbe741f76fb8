"""What to do with executors that cannot keep up: plan for the largest share of the load that they can serve."""

import math

from rheostat.policies.drs.variants import with_share
from rheostat.queueing import Network

_STEPS = 20


def bearable_share(network: Network, k_max: float = math.inf) -> float:
    """The share of all arrivals that at most `k_max` executors, within each operator's bounds, keep up with: up to 1.

    All operators are spared alike, so that none becomes the bottleneck of the others.
    """
    low, high = 0.0, 1.0
    if _bearable(network, k_max):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _bearable(with_share(network, middle), k_max) else (low, middle)
    return low


def _bearable(network: Network, k_max: float) -> bool:
    fewest = [station.model.fewest() for station in network.stations]
    within = all(k <= station.most for k, station in zip(fewest, network.stations, strict=True))
    return within and sum(max(k, s.least) for k, s in zip(fewest, network.stations, strict=True)) <= k_max

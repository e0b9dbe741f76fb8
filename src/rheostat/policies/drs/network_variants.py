"""Network variants: the same network with less load, more load, or slower executors."""

import math
from collections.abc import Callable

import msgspec

from rheostat.queueing import GIGk, MicroBatch, Network, QueueModel, Station


def with_share(network: Network, share: float) -> Network:
    """With `share` of its arrivals."""
    return network if share == 1 else _each(network, lambda model: _scaled(model, "arrival_rate", share))


def under_load(network: Network, factor: float) -> Network:
    """With `factor` times as much that arrives from outside, and so everywhere."""
    return Network(with_share(network, factor).stations, factor * network.external_rate)


def with_margin(network: Network, margin: float) -> Network:
    """With executors that serve at (1 − `margin`) of their rate."""
    return network if margin == 0 else _each(network, lambda model: _scaled(model, "service_rate", 1 - margin))


def _each(network: Network, change: Callable[[QueueModel], QueueModel]) -> Network:
    stations = tuple(Station(s.name, change(s.model), s.least, s.most) for s in network.stations)
    return Network(stations, network.external_rate)


def _scaled(model: QueueModel, rate: str, factor: float) -> QueueModel:
    assert isinstance(model, GIGk | MicroBatch)
    return msgspec.structs.replace(model, **{rate: factor * getattr(model, rate)})


_STEPS = 20


def servable_share(network: Network, k_max: float = math.inf) -> float:
    """The share of all arrivals, up to 1, that at most `k_max` executors within the bounds of each pool can serve.

    All operators get the same share, so that none becomes the bottleneck of the others.
    """
    low, high = 0.0, 1.0
    if _servable(network, k_max):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _servable(with_share(network, middle), k_max) else (low, middle)
    return low


def _servable(network: Network, k_max: float) -> bool:
    fewest = [station.model.fewest() for station in network.stations]
    within = all(k <= station.most for k, station in zip(fewest, network.stations, strict=True))
    return within and sum(max(k, s.least) for k, s in zip(fewest, network.stations, strict=True)) <= k_max

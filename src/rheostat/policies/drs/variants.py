"""The same network under other assumptions: fewer arrivals, or executors that are not trusted with all they can do."""

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

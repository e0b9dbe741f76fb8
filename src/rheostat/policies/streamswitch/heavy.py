"""Substreams that are too much for any executor: moving them cannot help, moving their neighbours away can."""

from bisect import bisect_right
from collections.abc import Sequence

from rheostat.policies.streamswitch.executor import Executor, Substream
from rheostat.policies.streamswitch.health import Thresholds
from rheostat.policies.streamswitch.prefix import leaving_order
from rheostat.policies.streamswitch.strategy import Strategy


def heaviest(executor: Executor) -> Substream | None:
    return max(executor.substreams, key=lambda each: each.arrival_rate, default=None)


def stands_alone(executor: Executor) -> bool:
    """Whether only one of its substreams has arrivals: there is nothing left to move away."""
    return sum(1 for each in executor.substreams if each.arrival_rate > 0) == 1


def too_heavy(source: Executor, executors: Sequence[Executor], limits: Thresholds) -> Substream | None:
    """The heaviest substream of `source`, if even the fastest executor could not serve it within L by itself."""
    heavy = heaviest(source)
    if heavy is None:
        return None
    fits = any(each.capacity.latency_s(heavy.arrival_rate) <= limits.latency_s for each in (source, *executors))
    return None if fits else heavy


def make_room(source: Executor, heavy: Substream, executors: Sequence[Executor], limits: Thresholds) -> Strategy | None:
    """As many neighbours of `heavy` as one other executor can take within L, the one that can take most load; None
    when none can take any."""
    neighbours = leaving_order([each for each in source.substreams if each is not heavy])
    best: tuple[float, Executor, list[Substream]] | None = None
    for target in executors:
        if target.id == source.id:
            continue
        taken = neighbours[: _how_many(neighbours, target, limits)]
        load = sum(each.arrival_rate for each in taken)
        if load > (best[0] if best else 0.0):
            best = load, target, taken
    return None if best is None else Strategy.of(best[2], source.id, best[1].id)


def make_room_on_new(source: Executor, heavy: Substream, new: int, limits: Thresholds) -> Strategy:
    """As many neighbours as a new executor can take, and at least the first that has arrivals."""
    neighbours = leaving_order([each for each in source.substreams if each is not heavy])
    empty = Executor(new, source.capacity, 0.0)
    loaded = next((n for n, each in enumerate(neighbours, 1) if each.arrival_rate > 0), len(neighbours))
    return Strategy.of(neighbours[: max(loaded, _how_many(neighbours, empty, limits))], source.id, new)


def _how_many(neighbours: Sequence[Substream], target: Executor, limits: Thresholds) -> int:
    """The longest prefix with which `target` stays within L."""
    loads = [target.arrival_rate]
    for each in neighbours:
        loads.append(loads[-1] + each.arrival_rate)
    return max(0, bisect_right(loads, limits.latency_s, key=target.capacity.latency_s) - 1)

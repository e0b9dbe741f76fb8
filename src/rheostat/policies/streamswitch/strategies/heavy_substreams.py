"""Heavy substreams: too much for any executor. Moving them does not help, moving the others away does."""

from bisect import bisect_right
from collections.abc import Sequence

from rheostat.policies.streamswitch.model.executor import ExecutorModel, Substream, Thresholds
from rheostat.policies.streamswitch.strategies.leaving_order import leaving_order
from rheostat.policies.streamswitch.strategies.strategy import Strategy


def heaviest(executor: ExecutorModel) -> Substream | None:
    return max(executor.substreams, key=lambda each: each.arrival_rate, default=None)


def serves_one_substream(executor: ExecutorModel) -> bool:
    """Whether only one of its substreams has arrivals: there is nothing to move away."""
    return sum(1 for each in executor.substreams if each.arrival_rate > 0) == 1


def too_heavy(source: ExecutorModel, executors: Sequence[ExecutorModel], limits: Thresholds) -> Substream | None:
    """The heaviest substream of `source`, if even the fastest executor could not serve it within L by itself."""
    heavy = heaviest(source)
    if heavy is None:
        return None
    fits = any(each.capacity.latency_s(heavy.arrival_rate) <= limits.latency_s for each in (source, *executors))
    return None if fits else heavy


def make_room(
    source: ExecutorModel, heavy: Substream, executors: Sequence[ExecutorModel], limits: Thresholds
) -> Strategy | None:
    """As many of the other substreams as one other executor can take within L, the one that can take most load; None
    when none can take any."""
    others = leaving_order([each for each in source.substreams if each is not heavy])
    best: tuple[float, ExecutorModel, list[Substream]] | None = None
    for target in executors:
        if target.id == source.id:
            continue
        taken = others[: _how_many(others, target, limits)]
        load = sum(each.arrival_rate for each in taken)
        if load > (best[0] if best else 0.0):
            best = load, target, taken
    return None if best is None else Strategy.of(best[2], source.id, best[1].id)


def make_room_on_new(source: ExecutorModel, heavy: Substream, new: int, limits: Thresholds) -> Strategy:
    """As many of the other substreams as a new executor can take, and at least the first that has arrivals."""
    others = leaving_order([each for each in source.substreams if each is not heavy])
    empty = ExecutorModel(new, source.capacity, 0.0)
    loaded = next((n for n, each in enumerate(others, 1) if each.arrival_rate > 0), len(others))
    return Strategy.of(others[: max(loaded, _how_many(others, empty, limits))], source.id, new)


def _how_many(others: Sequence[Substream], target: ExecutorModel, limits: Thresholds) -> int:
    """The longest prefix with which `target` stays within L."""
    loads = [target.arrival_rate]
    for each in others:
        loads.append(loads[-1] + each.arrival_rate)
    return max(0, bisect_right(loads, limits.latency_s, key=target.capacity.latency_s) - 1)

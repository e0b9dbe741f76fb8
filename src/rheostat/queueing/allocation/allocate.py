"""Allocation by DRS: the best use of K_max executors (Algorithm 1), and the fewest that meet T_max (Algorithm 2).

As printed, Algorithm 1 uses K_max + 1 executors and continues where one more does harm, and Algorithm 2 compares T_max
with Σ 1/μi. Here at most K_max are used, none without gain, and the bound counts a tuple's visits.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.queueing.allocation.bounded_models import BoundedModels, all_convex
from rheostat.queueing.allocation.convolution import ConvolutionOrder
from rheostat.queueing.allocation.greedy import greedy_order
from rheostat.queueing.allocation.ranking import RankedOrder
from rheostat.queueing.models.model import Floats, QueueModel
from rheostat.queueing.network import ExecutorAllocation, Network

_SEARCHED = 1_000_000
"""The most executors that a search without limit tries: more than any cluster has."""

_SEARCHED_NOT_CONVEX = 10_000
"""The same for models that are not convex, where the search takes quadratic time."""

_COUNTED = 10_000_000
"""The most executors that a load may need: models count up to it."""

_NAMED = 8
"""Operators that an error message lists."""

_FEW_STATIONS = 32
"""Up to this many stations a heap is faster than vectors."""


class AllocationOrder(Protocol):
    """Executors in the order of their gains, known up to some number of them.

    One sequence solves both of DRS's problems: start from the fewest executors that keep up, then always add the one
    that lowers the mean number of tuples in the network most. AssignProcessors takes as many as K_max allows,
    MinProcessors as many as T_max needs.
    """

    @property
    def changes(self) -> Sequence[float] | Floats:
        """By how much each next executor changes the mean number of tuples in the network: never positive."""

    def take(self, spare: int) -> Sequence[int]:
        """The executors of each station when the best `spare` are added to the fewest possible."""


def assign_processors(network: Network, k_max: int) -> ExecutorAllocation:
    """The allocation of at most `k_max` executors with the least E[T] (DRS problem 6).

    Executors that would not lower E[T] are left out; between equal gains the station declared first wins.
    """
    bounded = network.bounded_models()
    spare = k_max - _needed(bounded)
    if spare < 0:
        raise _too_few(network, k_max)
    return ExecutorAllocation(network, tuple(_best_order(bounded, spare).take(spare)))


def min_processors(network: Network, t_max_s: float, k_max: int | None = None) -> ExecutorAllocation:
    """The allocation of the fewest executors, at most `k_max`, whose E[T] is at most `t_max_s` (DRS problem 8)."""
    if math.isnan(t_max_s):
        raise ConfigError(f"T_max {t_max_s!r} must be a number of seconds")
    bounded = network.bounded_models()
    needed = _needed(bounded)
    if k_max is not None and k_max < needed:
        raise _too_few(network, k_max)
    floor_s = network.floor_s()
    if t_max_s < floor_s or (t_max_s == floor_s and not network.floor_is_reached()):
        raise _too_fast(network, t_max_s)
    searched = _SEARCHED if all_convex(bounded) else _SEARCHED_NOT_CONVEX
    most = searched if k_max is None else k_max - needed
    return ExecutorAllocation(network, tuple(_shortest(network, bounded, t_max_s, most)))


def _needed(bounded: BoundedModels[QueueModel]) -> int:
    """The executors without which queues grow for ever."""
    needed = sum(bounded.lowest)
    if needed > _COUNTED:
        raise ConfigError(f"the load needs {needed:,.3g} executors, more than any cluster has: check the rates")
    return needed


def _shortest(network: Network, bounded: BoundedModels[QueueModel], t_max_s: float, most: int) -> Sequence[int]:
    """The shortest prefix of the best order that meets T_max."""
    spare = min(most, len(bounded.models))
    while True:
        order = _best_order(bounded, spare)
        latency_s = network.expected_latency_s(order.take(spare))
        if latency_s <= t_max_s:
            affordable = (t_max_s - latency_s) * network.external_rate
            return order.take(_first(partial(_meets, network, t_max_s, order), _guess(order, affordable), spare))
        if spare == most:
            raise _too_slow(ExecutorAllocation(network, tuple(order.take(spare))), t_max_s)
        spare = min(most, 4 * spare)


def _meets(network: Network, t_max_s: float, order: AllocationOrder, spare: int) -> bool:
    return network.expected_latency_s(order.take(spare)) <= t_max_s


def _guess(order: AllocationOrder, affordable: float) -> int:
    """The length of the prefix that is needed if the network may hold `affordable` more tuples than with all of it."""
    lost_from_the_end = np.cumsum(-np.asarray(order.changes)[::-1])
    return len(lost_from_the_end) - int(np.searchsorted(lost_from_the_end, affordable, side="right"))


def _first(met: Callable[[int], bool], guess: int, last: int) -> int:
    """The least number up to `last` from which on `met` holds; `guess` is near it."""
    if not met(guess):
        return bisect_left(range(last), True, lo=guess + 1, key=met)
    if guess == 0 or not met(guess - 1):
        return guess
    return bisect_left(range(guess), True, key=met)


def _too_few(network: Network, k_max: int) -> InfeasibleError:
    fewest = ExecutorAllocation(network, tuple(network.bounded_models().lowest))
    needs = sorted(fewest.by_name().items(), key=lambda need: -need[1])
    named = ", ".join(f"{name} {k}" for name, k in needs[:_NAMED]) + (", …" if len(needs) > _NAMED else "")
    return InfeasibleError(
        f"{k_max} executors cannot keep up: at least {fewest.total()} are needed ({named}), with an expected latency "
        f"of {fewest.expected_latency_s():.6g} s"
    )


def _too_fast(network: Network, t_max_s: float) -> InfeasibleError:
    possible = "the least possible is" if network.floor_is_reached() else "it stays above"
    return InfeasibleError(
        f"no number of executors brings the expected latency to {t_max_s:.6g} s: {possible} {network.floor_s():.6g} s"
    )


def _too_slow(nearest: ExecutorAllocation, t_max_s: float) -> InfeasibleError:
    return InfeasibleError(
        f"{nearest.total()} executors reach an expected latency of {nearest.expected_latency_s():.6g} s, "
        f"not {t_max_s:.6g} s: allow more executors, or that latency"
    )


def _best_order(bounded: BoundedModels[QueueModel], spare: int) -> AllocationOrder:
    """The best order, known up to `spare` executors, by the fastest algorithm that is exact for these models."""
    if not all_convex(bounded):
        return ConvolutionOrder(bounded, spare)
    return greedy_order(bounded, spare) if len(bounded.models) <= _FEW_STATIONS else RankedOrder(bounded, spare)

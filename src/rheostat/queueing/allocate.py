"""DRS's two problems: the best use of K_max executors (Algorithm 1), and the fewest that meet T_max (Algorithm 2).

As printed, Algorithm 1 spends K_max + 1 executors and goes on where one does harm, and Algorithm 2 compares
T_max with Σ 1/μi. Here at most K_max are spent, none without gain, and the bound counts a tuple's visits.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.queueing.lanes import Lanes, all_fall
from rheostat.queueing.model import Model
from rheostat.queueing.network import Allocation, Network
from rheostat.queueing.order import Order, best_order

_SEARCHED = 1_000_000
"""Where a search without limit gives up: more executors than any cluster has."""

_SEARCHED_UNEVEN = 10_000
"""The same where gains do not fall, and the search takes the square of the time."""

_COUNTED = 10_000_000
"""What it takes as a load: models count up to it."""

_NAMED = 8
"""Operators that an error message lists."""


def assign_processors(network: Network, k_max: int) -> Allocation:
    """The allocation of at most `k_max` executors with the least E[T] (DRS problem 6).

    Executors that would not lower E[T] are left out; between equal gains the station declared first wins.
    """
    lanes = network.lanes()
    spare = k_max - _needed(lanes)
    if spare < 0:
        raise _too_few(network, k_max)
    return Allocation(network, tuple(best_order(lanes, spare).take(spare)))


def min_processors(network: Network, t_max_s: float, k_max: int | None = None) -> Allocation:
    """The allocation of the fewest executors, at most `k_max`, whose E[T] is at most `t_max_s` (DRS problem 8)."""
    if math.isnan(t_max_s):
        raise ConfigError(f"T_max {t_max_s!r} must be a number of seconds")
    lanes = network.lanes()
    needed = _needed(lanes)
    if k_max is not None and k_max < needed:
        raise _too_few(network, k_max)
    floor_s = network.floor_s()
    if t_max_s < floor_s or (t_max_s == floor_s and not network.floor_is_reached()):
        raise _too_fast(network, t_max_s)
    searched = _SEARCHED if all_fall(lanes) else _SEARCHED_UNEVEN
    most = searched if k_max is None else k_max - needed
    return Allocation(network, tuple(_shortest(network, lanes, t_max_s, most)))


def _needed(lanes: Lanes[Model]) -> int:
    """Executors without which queues grow for ever."""
    needed = sum(lanes.lowest)
    if needed > _COUNTED:
        raise ConfigError(f"the load needs {needed:,.3g} executors, of which no cluster has as many: check the rates")
    return needed


def _shortest(network: Network, lanes: Lanes[Model], t_max_s: float, most: int) -> Sequence[int]:
    """The shortest beginning of the best order that meets T_max."""
    spare = min(most, len(lanes.models))
    while True:
        order = best_order(lanes, spare)
        latency_s = network.expected_latency_s(order.take(spare))
        if latency_s <= t_max_s:
            affordable = (t_max_s - latency_s) * network.external_rate
            return order.take(_first(partial(_meets, network, t_max_s, order), _guess(order, affordable), spare))
        if spare == most:
            raise _too_slow(Allocation(network, tuple(order.take(spare))), t_max_s)
        spare = min(most, 4 * spare)


def _meets(network: Network, t_max_s: float, order: Order, spare: int) -> bool:
    return network.expected_latency_s(order.take(spare)) <= t_max_s


def _guess(order: Order, affordable: float) -> int:
    """How much of the order is needed when the network may hold so many tuples more than with all of it."""
    lost_from_the_end = np.cumsum(-np.asarray(order.changes)[::-1])
    return len(lost_from_the_end) - int(np.searchsorted(lost_from_the_end, affordable, side="right"))


def _first(met: Callable[[int], bool], guess: int, last: int) -> int:
    """The first number up to `last` for which `met` holds, as it does from there on; `guess` is near it."""
    if not met(guess):
        return bisect_left(range(last), True, lo=guess + 1, key=met)
    if guess == 0 or not met(guess - 1):
        return guess
    return bisect_left(range(guess), True, key=met)


def _too_few(network: Network, k_max: int) -> InfeasibleError:
    fewest = Allocation(network, tuple(network.lanes().lowest))
    needs = sorted(fewest.by_name().items(), key=lambda need: -need[1])
    named = ", ".join(f"{name} {k}" for name, k in needs[:_NAMED]) + (", …" if len(needs) > _NAMED else "")
    return InfeasibleError(
        f"{k_max} executors cannot keep up: at least {fewest.total()} are needed ({named}); "
        f"they would bring the expected latency to {fewest.expected_latency_s():.6g} s"
    )


def _too_fast(network: Network, t_max_s: float) -> InfeasibleError:
    possible = "the least possible is" if network.floor_is_reached() else "it stays above"
    return InfeasibleError(
        f"no number of executors brings the expected latency to {t_max_s:.6g} s: {possible} {network.floor_s():.6g} s"
    )


def _too_slow(nearest: Allocation, t_max_s: float) -> InfeasibleError:
    return InfeasibleError(
        f"{nearest.total()} executors bring the expected latency to {nearest.expected_latency_s():.6g} s, "
        f"not to {t_max_s:.6g} s: allow more executors, or that latency"
    )

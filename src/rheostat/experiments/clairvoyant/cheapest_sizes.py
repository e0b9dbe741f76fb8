"""Cheapest sizes: the executors in each slot of a fluid model that cost least, by dynamic programming.

The state before a slot is how many executors served in the last one and how much work is left; the value is the least
cost from there to the end. Both are whole numbers, so that the result is exact. Serving less than possible never
helps: work left over is only due earlier.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheostat.experiments.clairvoyant.fluid import FluidModel

Ints = NDArray[np.int64]

_NEVER = np.int64(1) << 60


class CheapestSizes(NamedTuple):
    """The executors of each slot, and what they cost in slots of executors."""

    cost: int
    sizes: tuple[int, ...]


def cheapest_sizes(model: FluidModel) -> CheapestSizes | None:
    """None if no sizes meet all deadlines."""
    if model.is_met(fewest := (model.least,) * len(model.arrivals)):
        return CheapestSizes(model.cost(fewest), fewest)
    limits = list(model.limits())
    levels = max(limits, default=0) + 1
    numbers = np.arange(model.least, _most_useful(model, limits) + 1)
    value: Ints = np.zeros((len(numbers), levels), dtype=np.int64)
    choices: list[Ints] = []
    for slot in reversed(range(len(limits))):
        then = _after_slot(model, numbers, value, slot, limits[slot])
        value, choice = _best(then, numbers, model.start, may_grow=slot >= model.start)
        choices.append(choice.astype(np.uint16))
    return _followed(model, numbers, value, choices[::-1])


def states(model: FluidModel) -> int:
    """How many states have to be looked at: what time and memory are in proportion to."""
    limits = list(model.limits())
    numbers = _most_useful(model, limits) + 1 - model.least
    return len(limits) * numbers * (max(limits, default=0) + 1)


def least_cost(model: FluidModel) -> int:
    """A lower bound on the cost that is quick for models of any size, without deadlines that cannot be met.

    What is due at the end of one slot and arrived after the end of another is served between them, and at least the
    fewest executors are there at all other times.
    """
    total = np.concatenate([[0], np.cumsum(np.asarray(model.arrivals, dtype=np.int64))])
    slots = np.arange(len(total), dtype=np.int64)
    due = total[np.maximum(0, slots - model.deadline)] - model.per_executor * model.least * slots
    arrived = np.minimum.accumulate(total - model.per_executor * model.least * slots)
    extra = max(0, int((due - arrived).max()))
    return int(model.least * (len(total) - 1) - (-extra // model.per_executor))


def _most_useful(model: FluidModel, limits: list[int]) -> int:
    """More executors than serve all work that can ever be there have nothing to do."""
    there = max((limit + arriving for limit, arriving in zip([0, *limits], model.arrivals, strict=False)), default=0)
    useful = max(model.least, model.initial, -(-there // model.per_executor))
    return min(model.most, useful)


def _after_slot(model: FluidModel, numbers: Ints, value: Ints, slot: int, limit: int) -> Ints:
    """What a slot and all after it cost, for each number of executors in it and each amount of work left before it."""
    before = np.arange(value.shape[1], dtype=np.int64)
    costs = np.full_like(value, _NEVER)
    for row, number in enumerate(numbers):
        left = np.maximum(0, before + model.arrivals[slot] - number * model.per_executor)
        is_met = left <= limit
        costs[row, is_met] = number + value[row, left[is_met]]
    return np.minimum(costs, _NEVER)


def _best(then: Ints, numbers: Ints, start: int, *, may_grow: bool) -> tuple[Ints, Ints]:
    """The least cost for each number of executors before, and the row of the number that it takes.

    Fewer or as many cost what they cost; each one more costs its start besides.
    """
    value, choice = _running_minimum(then)
    if not may_grow:
        return value, choice
    with_starts = np.minimum(then + start * numbers[:, None], _NEVER)
    growing, rows = (each[::-1] for each in _running_minimum(with_starts[::-1]))
    growing, rows = np.minimum(growing - start * numbers[:, None], _NEVER), len(numbers) - 1 - rows
    better = growing < value
    return np.where(better, growing, value), np.where(better, rows, choice)


def _running_minimum(costs: Ints) -> tuple[Ints, Ints]:
    """The least of all rows up to each one, and which row it is in."""
    least = np.minimum.accumulate(costs, axis=0)
    is_new = np.ones(costs.shape, dtype=bool)
    is_new[1:] = costs[1:] < least[:-1]
    rows = np.where(is_new, np.arange(len(costs))[:, None], 0)
    return least, np.maximum.accumulate(rows, axis=0)


def _followed(model: FluidModel, numbers: Ints, value: Ints, choices: list[Ints]) -> CheapestSizes | None:
    """The sizes along the best choices. Initial executors beyond the useful ones leave at once."""
    row, left = min(model.initial, int(numbers[-1])) - model.least, 0
    if value[row, left] >= _NEVER:
        return None
    sizes: list[int] = []
    for arriving, choice in zip(model.arrivals, choices, strict=True):
        row = int(choice[row, left])
        sizes.append(int(numbers[row]))
        left = max(0, left + arriving - sizes[-1] * model.per_executor)
    return CheapestSizes(model.cost(sizes), tuple(sizes))

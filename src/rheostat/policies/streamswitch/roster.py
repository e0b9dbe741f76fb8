"""The executors of a pool as the diagnosis wants them, from what the last look showed."""

from collections.abc import Callable, Sequence

from rheostat.policies.streamswitch.capacity import Capacity
from rheostat.policies.streamswitch.examine import State
from rheostat.policies.streamswitch.executor import Executor

CapacityOf = Callable[[int], Capacity]
"""What each executor can do, by its number."""


def keyed_executors(
    numbers: Sequence[int], assignment: Sequence[int], state: State, capacity: CapacityOf
) -> list[Executor]:
    """Each with its substreams by `assignment`, which is in force when no treatment is under way."""
    substreams = state.substreams()
    owned: dict[int, list[int]] = {number: [] for number in numbers}
    for index, number in enumerate(assignment):
        owned[number].append(index)
    return [
        Executor.serving(
            number, capacity(number), [substreams[index] for index in indices], state.latency_s(number, indices)
        )
        for number, indices in owned.items()
    ]


def even_executors(numbers: Sequence[int], states: Sequence[State], capacity: CapacityOf) -> list[Executor]:
    """All with the same share of everything that arrives, and the latency of the operator that fares worst."""
    share = sum(float(state.arrival_rates.sum()) for state in states) / len(numbers)
    latency_s = max(state.overall_s() for state in states)
    return [Executor(number, capacity(number), share, latency_s) for number in numbers]

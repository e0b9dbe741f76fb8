"""One latency bound for several operators: each gets a share, and the shares follow the success rates.

StreamSwitch 6.6: the success rate of an operator grows with its bound, so that the worst one is best when all are
equal. Each operator's share is therefore weighed up when it meets its bound less often than the others, and down when
it does so more often. Whatever way a record takes, the bounds along it add up to L at most.
"""

import math
from collections.abc import Mapping, Sequence

from rheostat.duration import human
from rheostat.errors import ConfigError
from rheostat.graph import strong_components
from rheostat.names import OperatorName

OperatorEdges = Mapping[OperatorName, Sequence[OperatorName]]
"""The operators that follow each operator."""

_GAIN = 2.0
_EXTREME = 20.0
"""No share is more than this many times larger or smaller than an even one: it must find its way back."""


class Shares:
    """Splits `latency_s` over the operators in `edges` (successors by operator); `looks` are judged between two
    adjustments."""

    def __init__(self, latency_s: float, edges: OperatorEdges, looks: int = 50) -> None:
        self._latency_s = latency_s
        self._edges = edges
        self._looks = looks
        self._weights = dict.fromkeys(edges, 1.0)
        self._successes: dict[OperatorName, list[float]] = {operator: [] for operator in edges}
        self._seen = 0

    @property
    def operators(self) -> list[OperatorName]:
        return list(self._weights)

    def bounds_s(self, floors_s: Mapping[OperatorName, float]) -> dict[OperatorName, float]:
        """L_i of each operator: what it cannot do without, and its share of what is left along its longest way."""
        floors = {operator: floors_s.get(operator, 0.0) for operator in self._edges}
        needed_s = max(heaviest_ways(self._edges, floors).values())
        if needed_s >= self._latency_s:
            raise ConfigError(
                f"an end-to-end latency of {human(self._latency_s)} leaves no room: the batches along the way need "
                f"more than {human(needed_s)}"
            )
        ways = heaviest_ways(self._edges, self._weights)
        spare_s = self._latency_s - needed_s
        return {o: floors[o] + spare_s * weight / ways[o] for o, weight in self._weights.items()}

    def judge(self, successes: Mapping[OperatorName, float | None]) -> None:
        """One more look at how often each operator meets its bound."""
        for operator, success in successes.items():
            if success is not None and operator in self._successes:
                self._successes[operator].append(success)
        self._seen += 1
        if self._seen >= self._looks:
            self._adjust()

    def _adjust(self) -> None:
        rates = {o: sum(judged) / len(judged) for o, judged in self._successes.items() if judged}
        self._seen = 0
        self._successes = {operator: [] for operator in self._edges}
        if not rates:
            return
        mean = sum(rates.values()) / len(rates)
        for operator, rate in rates.items():
            weight = self._weights[operator] * math.exp(_GAIN * (mean - rate))
            self._weights[operator] = min(max(weight, 1 / _EXTREME), _EXTREME)


def heaviest_ways(edges: OperatorEdges, weights: Mapping[OperatorName, float]) -> dict[OperatorName, float]:
    """For each operator, the weight of the heaviest way through it. The operators of a loop count as one step."""
    loops = list(strong_components(edges))
    loop_of = {operator: number for number, loop in enumerate(loops) for operator in loop}
    own = [sum(weights[operator] for operator in loop) for loop in loops]
    behind, ahead = [0.0] * len(loops), [0.0] * len(loops)
    following = [
        {loop_of[successor] for operator in loop for successor in edges[operator]} - {number}
        for number, loop in enumerate(loops)
    ]
    for number in range(len(loops)):  # components come in reverse topological order: successors first
        behind[number] = max((own[after] + behind[after] for after in following[number]), default=0.0)
    for number in reversed(range(len(loops))):
        for after in following[number]:
            ahead[after] = max(ahead[after], ahead[number] + own[number])
    return {o: ahead[number] + own[number] + behind[number] for o, number in loop_of.items()}

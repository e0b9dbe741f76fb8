"""Latency bounds: the bound and window of each operator, as an option, by its own SLA, or as a share of a wider SLA.

StreamSwitch 6.6: the success rate of an operator grows with its bound, so that the worst one is best when all are
equal. An operator's share of a bound therefore grows when it meets its own bound less often than the others, and
shrinks when it meets it more often. The bounds along any path add up to L at most.
"""

import math
from collections.abc import Mapping, Sequence

from rheostat.duration import human
from rheostat.errors import ConfigError
from rheostat.graph import strong_components
from rheostat.names import OperatorName
from rheostat.policies.streamswitch.options import StreamSwitchOptions
from rheostat.sla import SLA, Goal
from rheostat.topology import Topology

OperatorEdges = Mapping[OperatorName, Sequence[OperatorName]]
"""The operators that follow each operator."""

_GAIN = 2.0
_EXTREME = 20.0
"""No share is more than this many times larger or smaller than an even one: otherwise it could not recover."""

_DEFAULT_WINDOW_S = 10.0


class LatencyShares:
    """Splits `latency_s` over the operators in `edges` (successors by operator), adjusted every `interval` slots."""

    def __init__(self, latency_s: float, edges: OperatorEdges, interval: int = 50) -> None:
        self._latency_s = latency_s
        self._edges = edges
        self._interval = interval
        self._weights = dict.fromkeys(edges, 1.0)
        self._successes: dict[OperatorName, list[float]] = {operator: [] for operator in edges}
        self._slots = 0

    @property
    def operators(self) -> list[OperatorName]:
        return list(self._weights)

    def bounds_s(self, floors_s: Mapping[OperatorName, float]) -> dict[OperatorName, float]:
        """L_i of each operator: what it needs at least, and its share of what is left along its longest path."""
        floors = {operator: floors_s.get(operator, 0.0) for operator in self._edges}
        needed_s = max(heaviest_paths(self._edges, floors).values())
        if needed_s >= self._latency_s:
            raise ConfigError(
                f"an end-to-end latency of {human(self._latency_s)} cannot be met: the batches along the path need "
                f"more than {human(needed_s)}"
            )
        paths = heaviest_paths(self._edges, self._weights)
        spare_s = self._latency_s - needed_s
        return {o: floors[o] + spare_s * weight / paths[o] for o, weight in self._weights.items()}

    def judge(self, successes: Mapping[OperatorName, float | None]) -> None:
        """Add one more slot: how often each operator met its bound."""
        for operator, success in successes.items():
            if success is not None and operator in self._successes:
                self._successes[operator].append(success)
        self._slots += 1
        if self._slots >= self._interval:
            self._adjust()

    def _adjust(self) -> None:
        rates = {o: sum(judged) / len(judged) for o, judged in self._successes.items() if judged}
        self._slots = 0
        self._successes = {operator: [] for operator in self._edges}
        if not rates:
            return
        mean = sum(rates.values()) / len(rates)
        for operator, rate in rates.items():
            weight = self._weights[operator] * math.exp(_GAIN * (mean - rate))
            self._weights[operator] = min(max(weight, 1 / _EXTREME), _EXTREME)


class LatencyBounds:
    """Of several SLAs for one operator, the tightest bound and the shortest window count."""

    def __init__(self, goal: Goal, options: StreamSwitchOptions) -> None:
        goal.topology.operators.check(options.L if isinstance(options.L, dict) else ())
        self._options = options
        self._goal = goal
        self._edges = [(sla, _edges(sla, goal.topology)) for sla in goal.slas]
        self._shares = [LatencyShares(sla.latency_s, edges) for sla, edges in self._edges if sla.operator is None]
        self._split_s: dict[OperatorName, float] = {}
        self._problems: dict[OperatorName, str] = {}

    def window_s(self, operator: OperatorName) -> float:
        windows = [sla.window_s for sla, edges in self._edges if operator in edges]
        return self._options.window_s or min(windows, default=_DEFAULT_WINDOW_S)

    def latency_s(self, operator: OperatorName) -> float | None:
        """L of `operator`; None without an SLA for it. One that cannot be met is an error."""
        if (given_s := self._options.bound_s(operator)) is not None:
            return given_s
        if operator in self._problems:
            raise ConfigError(self._problems[operator])
        own = self._goal.sla_of(operator)
        known = [] if own is None else [own.latency_s]
        return min([*known, *([self._split_s[operator]] if operator in self._split_s else [])], default=None)

    def split(self, floors_s: Mapping[OperatorName, float]) -> None:
        """Split again the bounds for several operators, each of which needs more than its floor."""
        self._split_s, self._problems = {}, {}
        for shares in self._shares:
            try:
                bounds_s = shares.bounds_s(floors_s)
            except ConfigError as error:
                self._problems.update(dict.fromkeys(shares.operators, str(error)))
                continue
            for operator, bound_s in bounds_s.items():
                self._split_s[operator] = min(bound_s, self._split_s.get(operator, bound_s))

    def judge(self, successes: Mapping[OperatorName, float | None]) -> None:
        """Add one more slot: how often each operator met its bound."""
        for shares in self._shares:
            shares.judge({operator: successes.get(operator) for operator in shares.operators})


def _edges(sla: SLA, topology: Topology) -> OperatorEdges:
    """The operators that `sla` is for, with those that follow each."""
    if sla.operator is not None:
        return {sla.operator: ()}
    if sla.path is not None:
        path = tuple(dict.fromkeys(sla.path))
        return {step: path[n : n + 1] for n, step in enumerate(path, 1)}
    return {name: [stream.consumer for stream in topology.out_of(name)] for name in topology.operators}


def heaviest_paths(edges: OperatorEdges, weights: Mapping[OperatorName, float]) -> dict[OperatorName, float]:
    """For each operator, the weight of the heaviest path through it. The operators of a loop count as one step."""
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

"""Which latency bound and window each operator has: told, by its own SLA, or by a share of one that spans several."""

from collections.abc import Mapping

from rheostat.errors import ConfigError
from rheostat.names import OperatorName
from rheostat.policies.streamswitch.options import StreamSwitchOptions
from rheostat.policies.streamswitch.shares import OperatorEdges, Shares
from rheostat.sla import SLA, Goal
from rheostat.topology import Topology

_USUAL_WINDOW_S = 10.0


class Bounds:
    """Where several SLAs concern an operator, the tightest bound and the shortest window count."""

    def __init__(self, goal: Goal, options: StreamSwitchOptions) -> None:
        goal.topology.operators.check(options.L if isinstance(options.L, dict) else ())
        self._options = options
        self._goal = goal
        self._edges = [(sla, _edges(sla, goal.topology)) for sla in goal.slas]
        self._shares = [Shares(sla.latency_s, edges) for sla, edges in self._edges if sla.operator is None]
        self._split_s: dict[OperatorName, float] = {}
        self._problems: dict[OperatorName, str] = {}

    def window_s(self, operator: OperatorName) -> float:
        windows = [sla.window_s for sla, edges in self._edges if operator in edges]
        return self._options.window_s or min(windows, default=_USUAL_WINDOW_S)

    def latency_s(self, operator: OperatorName) -> float | None:
        """L of `operator`; None when nothing concerns it. An SLA that leaves no room is an error that says so."""
        if (told_s := self._options.bound_s(operator)) is not None:
            return told_s
        if operator in self._problems:
            raise ConfigError(self._problems[operator])
        own = self._goal.sla_of(operator)
        known = [] if own is None else [own.latency_s]
        return min([*known, *([self._split_s[operator]] if operator in self._split_s else [])], default=None)

    def split(self, floors_s: Mapping[OperatorName, float]) -> None:
        """Share out anew what spans several operators, each of which needs more than its floor."""
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
        """One more look at how often each operator meets its bound."""
        for shares in self._shares:
            shares.judge({operator: successes.get(operator) for operator in shares.operators})


def _edges(sla: SLA, topology: Topology) -> OperatorEdges:
    """The operators that `sla` concerns, with those that follow each."""
    if sla.operator is not None:
        return {sla.operator: ()}
    if sla.path is not None:
        path = tuple(dict.fromkeys(sla.path))
        return {step: path[n : n + 1] for n, step in enumerate(path, 1)}
    return {name: [stream.consumer for stream in topology.out_of(name)] for name in topology.operators}

"""Goal: latency SLAs, the budget of executors, and both together with a topology."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rheostat.duration import Duration, human, positive_seconds
from rheostat.errors import ConfigError
from rheostat.names import OperatorName
from rheostat.topology import Topology


@dataclass(frozen=True, slots=True, init=False)
class SLA:
    """(L, T): the mean latency of the records that complete in any window of length T is at most L.

    For the whole topology unless `operator` or `path` (operators in the order of the streams) narrows it.
    """

    latency_s: float
    window_s: float
    operator: OperatorName | None
    path: tuple[OperatorName, ...] | None

    def __init__(
        self,
        latency: Duration,
        window: Duration = "10s",
        *,
        operator: str | None = None,
        path: Sequence[str] | None = None,
    ) -> None:
        if operator is not None and path is not None:
            raise ConfigError(f"an SLA is for operator {operator!r} or for path {tuple(path)!r}, not for both")
        freeze = object.__setattr__
        freeze(self, "latency_s", positive_seconds(latency, "SLA latency"))
        freeze(self, "window_s", positive_seconds(window, "SLA window"))
        freeze(self, "operator", None if operator is None else OperatorName(operator))
        freeze(self, "path", None if path is None else tuple(map(OperatorName, path)))

    @classmethod
    def parse(cls, text: str, *, operator: str | None = None, path: Sequence[str] | None = None) -> "SLA":
        """From "LATENCY/WINDOW" as on the command line, e.g. "2s/10s"; the window may be left out."""
        latency, _, window = text.partition("/")
        return cls(latency, window or "10s", operator=operator, path=path)

    def with_limits(self, text: str) -> "SLA":
        """For the same operator or path, with "LATENCY/WINDOW" from `text`."""
        return self.parse(text, operator=self.operator, path=self.path)

    @property
    def operators(self) -> tuple[OperatorName, ...]:
        """The operators that it is for; none if it is for the whole topology."""
        return self.path or () if self.operator is None else (self.operator,)

    def check(self, topology: Topology) -> None:
        """Refuse an SLA whose operator or path `topology` does not have."""
        topology.operators.check(self.operators)
        for one, other in zip(self.path or (), (self.path or ())[1:], strict=False):
            if other not in {stream.consumer for stream in topology.out_of(one)}:
                raise ConfigError(f"SLA path {' -> '.join(self.path or ())}: no stream leads from {one!r} to {other!r}")

    @property
    def scope(self) -> str:
        """What it is for, "at count" or "along parse -> count"; nothing if it is for the whole topology."""
        if self.path:
            return f"along {' -> '.join(self.path)}"
        return f"at {self.operator}" if self.operator else ""

    def __str__(self) -> str:
        return f"{human(self.latency_s)} over {human(self.window_s)} {self.scope}".rstrip()


MOST_EXECUTORS = 100_000
"""No pool has more, with or without a budget: a wrong measurement must not lead to a plan with millions of them."""


class ExecutorBounds(NamedTuple):
    """The fewest and the most executors that a pool may have."""

    least: int
    most: int

    def clamp(self, executors: float) -> int:
        """The allowed number nearest to `executors`."""
        return int(max(self.least, min(executors, self.most)))


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds on executors: `total` (K_max) for all operators together, and a least and most for each."""

    total: int | None = None
    least: Mapping[str, int] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, value in [
            ("budget total", self.total),
            *_named("least", self.least),
            *_named("most", self.most),
        ]:
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ConfigError(f"{what} {value!r} must be a whole number >= 1")
        for name, least in self.least.items():
            if least > self.most.get(name, least):
                raise ConfigError(f"operator {name!r}: at least {least} but at most {self.most[name]} executors")

    def check(self, topology: Topology) -> None:
        """Refuse bounds for unknown operators, and totals below what the operators need at least."""
        topology.operators.check((*self.least, *self.most))
        needed = sum(self.minimum(name) for name in topology.operators)
        if self.total is not None and needed > self.total:
            raise ConfigError(
                f"budget of {self.total} executors is below the {needed} that the operators of "
                f"{topology.name!r} need at least"
            )

    def minimum(self, operator: OperatorName) -> int:
        return self.least.get(operator, 1)

    def maximum(self, operator: OperatorName) -> int:
        """The most executors that `operator` may have."""
        total = MOST_EXECUTORS if self.total is None else self.total
        return min(self.most.get(operator, total), total, MOST_EXECUTORS)

    def bounds(self, operators: Collection[OperatorName]) -> ExecutorBounds:
        """The bounds of a pool that serves `operators`: enough for each of them, and too many for none."""
        least = max((self.minimum(operator) for operator in operators), default=1)
        most = min((self.maximum(operator) for operator in operators), default=MOST_EXECUTORS)
        return ExecutorBounds(least, max(least, most))


@dataclass(frozen=True, slots=True)
class Goal:
    """What a policy has to achieve: the topology, its SLAs and the budget."""

    topology: Topology
    slas: tuple[SLA, ...] = ()
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        for sla in self.slas:
            sla.check(self.topology)
        self.budget.check(self.topology)

    @property
    def end_to_end(self) -> SLA | None:
        """The SLA of the whole topology, if one is given."""
        return next((sla for sla in self.slas if not sla.operators), None)

    def sla_of(self, operator: OperatorName) -> SLA | None:
        """The SLA given for `operator` itself, if any."""
        return next((sla for sla in self.slas if sla.operator == operator), None)


def _named(kind: str, bounds: Mapping[str, int]) -> list[tuple[str, int | None]]:
    return [(f"operator {name!r}: {kind} executors", value) for name, value in bounds.items()]

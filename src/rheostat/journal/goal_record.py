"""Goal record: a goal as plain data, so that a journal can be replayed without the program that wrote it."""

import warnings
from collections.abc import Mapping

import msgspec

from rheostat.sla import SLA, Budget, Goal
from rheostat.topology import Operator, Source, Topology, TopologyWarning


class SourceRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    rate: float | None = None


class OperatorRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """An operator without its function."""

    name: str
    inputs: tuple[str, ...]
    outputs: dict[str, float] = {}
    selectivity: float = 1.0
    key: str | None = None
    substreams: int | None = None
    merge: str | None = None


class SlaRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    latency_s: float
    window_s: float
    operator: str | None = None
    path: tuple[str, ...] | None = None


class BudgetRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    total: int | None = None
    least: dict[str, int] = {}
    most: dict[str, int] = {}


class GoalRecord(msgspec.Struct, frozen=True):
    """Topology, SLAs and budget; `goal` builds the objects again."""

    topology: str
    sources: tuple[SourceRecord, ...]
    operators: tuple[OperatorRecord, ...]
    slas: tuple[SlaRecord, ...]
    budget: BudgetRecord

    @classmethod
    def of(cls, goal: Goal) -> "GoalRecord":
        topology, budget = goal.topology, goal.budget
        return cls(
            topology.name,
            tuple(SourceRecord(source.name, source.rate) for source in topology.sources.values()),
            tuple(_operator_record(operator) for operator in topology.operators.values()),
            tuple(SlaRecord(sla.latency_s, sla.window_s, sla.operator, sla.path) for sla in goal.slas),
            BudgetRecord(budget.total, dict(budget.least), dict(budget.most)),
        )

    def goal(self) -> Goal:
        parts: list[Source | Operator] = [Source(source.name, source.rate) for source in self.sources]
        parts += [Operator(**msgspec.structs.asdict(operator)) for operator in self.operators]
        with warnings.catch_warnings():  # the warnings were given when the journal was written
            warnings.simplefilter("ignore", TopologyWarning)
            topology = Topology(self.topology, parts)
        slas = tuple(SLA(s.latency_s, s.window_s, operator=s.operator, path=s.path) for s in self.slas)
        return Goal(topology, slas, Budget(**msgspec.structs.asdict(self.budget)))


def _operator_record(operator: Operator) -> OperatorRecord:
    return OperatorRecord(
        operator.name,
        tuple(operator.inputs),
        dict(operator.outputs) if isinstance(operator.outputs, Mapping) else {},
        operator.selectivity,
        operator.key,
        operator.substreams,
        operator.merge,
    )

"""Scenario: topology, load, cluster, SLAs, budget and policy of one simulated run, read from a TOML file.

`docs/scenarios.md` describes every field; `scenarios/` has examples.
"""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rheostat.duration import Duration, human, positive_seconds, seconds
from rheostat.errors import ConfigError, RheostatError
from rheostat.experiments.scenario_errors import error_message
from rheostat.load import shape_from, skew_from
from rheostat.loop.options import LoopOptions
from rheostat.names import OperatorName
from rheostat.policies.registry import DEFAULT_POLICY
from rheostat.sim.model import (
    Bursts,
    ClusterModel,
    Failure,
    NotNegative,
    OperatorModel,
    SimModel,
    Slowdown,
    SourceModel,
    Spec,
)
from rheostat.sla import MOST_EXECUTORS, SLA, Budget, Goal
from rheostat.topology import Operator, Source, Topology

MAX_PER_OPERATOR = 100_000
"""Executors or substreams: more than any cluster has, and still within the memory of a simulation."""

MOST_REPEATS = 5_000_000
"""Turns of the loop, SLA windows or rotations of keys in one run: more would take hours."""


class SourceTable(Spec, frozen=True):
    """A `[[source]]`: `load` and `keys` as `rheostat.load` reads them; `arrivals` names the arrival process."""

    name: str
    load: Any
    arrivals: str = "poisson"
    scv: NotNegative | None = None
    bursts: Bursts | None = None
    keys: dict[str, Any] | None = None
    rotate_every: Duration = 0
    rotate_by: int = 1
    batch: Duration = 0


class OperatorTable(OperatorModel, frozen=True, kw_only=True):
    """An `[[operator]]`: its place in the topology and its service; `cost` as `rheostat.load` reads it."""

    name: str
    inputs: tuple[str, ...]
    outputs: dict[str, float] = {}
    selectivity: NotNegative = 1.0
    key: str | None = None
    substreams: int | None = None
    merge: str | None = None
    keys: dict[str, Any] | None = None
    cost: Any = None


class SlaTable(Spec, frozen=True):
    """An `[[sla]]`: end to end, or for one operator or path."""

    latency: Duration
    window: Duration = "10s"
    operator: str | None = None
    path: tuple[str, ...] | None = None


class BudgetChangeTable(Spec, frozen=True):
    """A `[[budget.change]]`: the total from a time on."""

    at: Duration
    total: int


class BudgetTable(Spec, frozen=True):
    total: int | None = None
    least: dict[str, int] = {}
    most: dict[str, int] = {}
    change: tuple[BudgetChangeTable, ...] = ()


class PolicyTable(Spec, frozen=True):
    name: str = DEFAULT_POLICY
    options: dict[str, Any] = {}


class SparkTable(Spec, frozen=True):
    """How it runs on Spark: with `attach` as one plain query that `rheostat.attach` controls, not as a pipeline."""

    attach: bool = False


class ScenarioFile(Spec, frozen=True):
    """The whole file as written."""

    name: str
    duration: Duration
    source: tuple[SourceTable, ...]
    operator: tuple[OperatorTable, ...]
    period: Duration = "1s"
    cooldown: Duration = 0
    resolution: Duration = "100ms"
    sla: tuple[SlaTable, ...] = ()
    budget: BudgetTable = BudgetTable()
    cluster: ClusterModel = ClusterModel()
    policy: PolicyTable = PolicyTable()
    spark: SparkTable = SparkTable()


class BudgetChange(NamedTuple):
    """From `at_s` on the goal has another budget."""

    at_s: float
    budget: Budget


@dataclass(frozen=True)
class Scenario:
    """A scenario that has been read and validated."""

    name: str
    duration_s: float
    model: SimModel
    goal: Goal
    loop: LoopOptions
    policy: str
    policy_options: dict[str, Any]
    budget_changes: tuple[BudgetChange, ...] = ()
    attach: bool = False

    @property
    def largest_budget(self) -> Budget:
        """Of all budgets that the run has, the one that allows the most executors."""
        budgets = [self.goal.budget, *(change.budget for change in self.budget_changes)]
        return max(budgets, key=lambda budget: MOST_EXECUTORS if budget.total is None else budget.total)


def read_scenario(path: Path, traces: Path | None = None) -> Scenario:
    """The scenario in the file at `path`; every error names the file.

    Recorded traces are searched in its folder, then in `traces`.
    """
    content: dict[str, Any] = {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return make_scenario(msgspec.convert(content, ScenarioFile), path.parent, traces)
    except FileNotFoundError:
        raise ConfigError(f"scenario {str(path)!r} does not exist: give a TOML file") from None
    except OSError as error:
        raise ConfigError(f"scenario {str(path)!r} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"scenario {path}: not a TOML file: {error}") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"scenario {path}: {error_message(error, content)}") from None
    except RheostatError as error:
        raise type(error)(f"scenario {path}: {error}") from None


def make_scenario(file: ScenarioFile, folder: Path, traces: Path | None = None) -> Scenario:
    """The scenario that `file` describes; files that it refers to are searched in `folder`, then in `traces`."""
    _check_all_durations(file)
    _check_repeats(file)
    topology = Topology(file.name, [*(Source(table.name) for table in file.source), *map(_operator, file.operator)])
    model = SimModel(
        topology,
        sources={table.name: _source(table, folder, traces) for table in file.source},
        operators={table.name: _operator_model(table) for table in file.operator},
        values={table.name: skew_from(table.keys, folder, traces) for table in file.operator if table.keys},
        costs={OperatorName(t.name): shape_from(t.cost, folder, traces) for t in file.operator if t.cost is not None},
        cluster=file.cluster,
        resolution_s=positive_seconds(file.resolution, "resolution"),
    )
    for shape in (*(source.load for source in model.sources.values()), *model.costs.values()):
        shape.breakpoints(positive_seconds(file.duration, "duration"))  # refuses a load that recurs too often
    slas = tuple(SLA(s.latency, s.window, operator=s.operator, path=s.path) for s in file.sla)
    budget = Budget(file.budget.total, file.budget.least, file.budget.most)
    scenario = Scenario(
        name=file.name,
        duration_s=positive_seconds(file.duration, "duration"),
        model=model,
        goal=Goal(topology, slas, budget),
        loop=LoopOptions(file.period, cooldown=file.cooldown),
        policy=file.policy.name,
        policy_options=file.policy.options,
        budget_changes=_budget_changes(file, topology, slas),
        attach=file.spark.attach,
    )
    _check_executor_numbers(model, scenario.largest_budget)
    return scenario


def _budget_changes(file: ScenarioFile, topology: Topology, slas: tuple[SLA, ...]) -> tuple[BudgetChange, ...]:
    changes = []
    for change in sorted(file.budget.change, key=lambda each: seconds(each.at, "budget change: at")):
        at_s = seconds(change.at)
        if at_s >= seconds(file.duration):
            raise ConfigError(f"budget change: at {change.at!r} is not before the end of the run, {file.duration!r}")
        goal = Goal(topology, slas, Budget(change.total, file.budget.least, file.budget.most))
        changes.append(BudgetChange(at_s, goal.budget))
    return tuple(changes)


def _check_executor_numbers(model: SimModel, budget: Budget) -> None:
    """Refuse failures and slow executors with a number that no executor gets."""
    named: list[tuple[str, Failure | Slowdown]] = [
        *(("failure", each) for each in model.cluster.failures),
        *(("slow", each) for each in model.cluster.slow),
    ]
    for what, each in named:
        name = OperatorName(each.operator)
        most = max(budget.maximum(name), model.operator(name).executors)
        if each.executor >= most:
            raise ConfigError(
                f"cluster: {what} executor {each.executor} of {each.operator!r} is never there: the budget allows "
                f"{most}, numbered from 0 to {most - 1}"
            )


def _operator(table: OperatorTable) -> Operator:
    return Operator(
        table.name,
        inputs=table.inputs,
        outputs=table.outputs,
        selectivity=table.selectivity,
        key=table.key,
        substreams=table.substreams,
        merge=table.merge,
    )


def _operator_model(table: OperatorTable) -> OperatorModel:
    for what, number in (("executors", table.executors), ("standby", table.standby), ("substreams", table.substreams)):
        if number is not None and number > MAX_PER_OPERATOR:
            raise ConfigError(
                f"operator {table.name!r}: {what} {number:,} is more than the limit of {MAX_PER_OPERATOR:,}"
            )
    return OperatorModel(**{field: getattr(table, field) for field in OperatorModel.__struct_fields__})


_ARRIVALS = {"regular": 0.0, "poisson": 1.0}


def _source(table: SourceTable, folder: Path, traces: Path | None) -> SourceModel:
    if table.scv is None and table.arrivals not in _ARRIVALS:
        known = ", ".join(_ARRIVALS)
        raise ConfigError(
            f"source {table.name!r}: arrivals {table.arrivals!r} is unknown: use one of {known}, or give an scv"
        )
    if table.bursts is not None and not all(map(math.isfinite, table.bursts.factors())):
        raise ConfigError(
            f"source {table.name!r}: bursts of factor {table.bursts.factor!r} are not possible: give a finite factor"
        )
    return SourceModel(
        load=shape_from(table.load, folder, traces),
        scv=_ARRIVALS[table.arrivals] if table.scv is None else table.scv,
        bursts=table.bursts,
        weights=None if table.keys is None else skew_from(table.keys, folder, traces),
        rotate_every_s=seconds(table.rotate_every, "rotate_every"),
        rotate_by=table.rotate_by,
        batch_s=seconds(table.batch, "batch"),
    )


def _check_all_durations(file: ScenarioFile) -> None:
    """Refuse invalid durations now; the simulator would only notice when it first needs them."""
    for source in file.source:
        _check_durations(source, f"source {source.name!r}")
    for operator in file.operator:
        _check_durations(operator, f"operator {operator.name!r}")
    _check_durations(file.cluster, "cluster")


def _check_repeats(told: ScenarioFile) -> None:
    """Refuse what would recur so often that the run takes for ever."""
    duration_s = positive_seconds(told.duration, "duration")
    recurring = [
        ("period", told.period),
        *(("sla window", sla.window) for sla in told.sla),
        *((f"source {source.name!r}: rotate_every", source.rotate_every) for source in told.source),
    ]
    for what, every in recurring:
        every_s = seconds(every, what)
        if 0 < every_s < duration_s / MOST_REPEATS:
            raise ConfigError(
                f"{what} {every!r} is too short: it recurs {duration_s / every_s:,.0f} times in {human(duration_s)}; "
                f"give at least {human(duration_s / MOST_REPEATS)}"
            )


def _check_durations(table: Spec, where: str) -> None:
    for field in msgspec.structs.fields(type(table)):
        value = getattr(table, field.name)
        if field.type in (Duration, Duration | None) and value is not None:
            seconds(value, f"{where}: {field.name}")
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Spec):
                _check_durations(part, where)

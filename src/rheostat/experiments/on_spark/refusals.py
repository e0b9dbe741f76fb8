"""Refusals: what a scenario asks for and a run on Spark cannot do; nothing is ignored silently.

The fields of `[cluster]` and `batches` that describe how long things take (start, warm-up, moves, a batch's fixed cost)
are not refused: they describe the simulated plant, and Spark takes its own times.
"""

from collections.abc import Iterator

from rheostat.errors import ConfigError
from rheostat.experiments.scenario import Scenario
from rheostat.names import OperatorName
from rheostat.sim.model import Batches, ClusterModel, OperatorModel, SourceModel
from rheostat.topology import Topology

_CLUSTER_FIELDS = (
    "failures", "slow", "odd_share", "nodes", "restart", "restart_loses", "pause_on_add", "pause_on_remove",
    "process_hop", "node_hop", "process_cost", "node_cost",
)  # fmt: skip
_OPERATOR_FIELDS = ("capacity", "split", "state_bytes", "state_bytes_per_record", "memory", "io")
_BATCH_FIELDS = ("trigger", "limit")


def check_scenario(scenario: Scenario, *, plain: bool) -> None:
    """Raise an error that names all fields of `scenario` that Spark cannot honour; `plain`: as one plain query."""
    found = [*_refused(scenario), *(_refused_plain(scenario) if plain else _refused_pools(scenario))]
    if found:
        raise ConfigError(f"scenario {scenario.name!r} cannot run on Spark: {'; '.join(found)}")


def _refused(scenario: Scenario) -> Iterator[str]:
    model = scenario.model
    for source in model.topology.sources:
        yield from _refused_source(source, model.source(source))
    for name in model.topology.operators:
        yield from _refused_operator(model.topology, name, model.operator(name))
    for field in _CLUSTER_FIELDS:
        if getattr(model.cluster, field) != getattr(ClusterModel(), field):
            yield f"cluster: {field} exists only on the simulator, leave it out"
    if scenario.budget_changes:
        yield "budget: change exists only on the simulator, leave it out"
    for sla in scenario.goal.slas:
        if sla != scenario.goal.end_to_end:
            yield f"sla {sla}: only the end-to-end SLA is measured on Spark, leave out `operator` and `path`"


def _refused_source(name: str, source: SourceModel) -> Iterator[str]:
    if source.scv not in (0.0, 1.0):
        yield f"source {name!r}: scv {source.scv:g} is neither regular (0) nor Poisson (1)"
    if source.bursts is not None:
        yield f"source {name!r}: bursts exist only on the simulator, use a load that changes"


def _refused_operator(topology: Topology, name: OperatorName, model: OperatorModel) -> Iterator[str]:
    operator, where = topology.operators[name], f"operator {name!r}"
    if model.queues != "batches":
        yield f"{where}: queues {model.queues!r}, Spark has only 'batches'"
    if len(operator.inputs) != 1:
        yield f"{where}: {len(operator.inputs)} inputs, on Spark it needs 1"
    if operator.outputs:
        yield f"{where}: outputs are named, on Spark all its readers get the same records"
    if operator.merge is not None:
        yield f"{where}: merge exists only on the simulator"
    if model.grouping not in (None, "key" if operator.keyed else None):
        yield f"{where}: grouping {model.grouping!r} exists only on the simulator, leave it out"
    if topology.out_of(name) and (operator.selectivity < 1 or model.emission != "rounded"):
        yield f"{where}: every record must make at least one, give it selectivity >= 1 and emission 'rounded'"
    for field in _OPERATOR_FIELDS:
        if getattr(model, field) != getattr(OperatorModel(), field):
            yield f"{where}: {field} exists only on the simulator, leave it out"
    for field in _BATCH_FIELDS:
        if getattr(model.batches, field) != getattr(Batches(), field):
            yield f"{where}: batches: {field} exists only on the simulator, leave it out"


def _refused_pools(scenario: Scenario) -> Iterator[str]:
    for name in scenario.model.topology.operators:
        if scenario.model.operator(name).batches.tasks is not None:
            yield f"operator {name!r}: batches: tasks needs a plain query, leave it out or give [spark] attach = true"


def _refused_plain(scenario: Scenario) -> Iterator[str]:
    topology, why = scenario.model.topology, "a plain query"
    if len(topology.sources) != 1 or any(len(topology.out_of(part.name)) > 1 for part in topology.parts):
        yield f"{why} needs one source and a chain of operators"
    keyed = [name for name, operator in topology.operators.items() if operator.keyed]
    if len(keyed) > 1:
        yield f"{why} can have one keyed operator, not {', '.join(keyed)}"
    if scenario.goal.end_to_end is None:
        yield f"{why} needs an end-to-end SLA"
    standby = [name for name in topology.operators if scenario.model.operator(name).standby]
    if standby:
        yield f"{why} has no standby executors, leave out `standby` of {', '.join(standby)}"

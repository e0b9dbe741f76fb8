"""Small simulated plants, and what their tables say."""

from collections.abc import Mapping, Sequence

import numpy as np

from rheostat.decision import Place
from rheostat.load import Constant, Shape
from rheostat.plan import Plan
from rheostat.sim.model import ClusterModel, NodeModel, OperatorModel, Service, SimModel, SourceModel
from rheostat.sim.plant import SimPlant
from rheostat.topology import Operator, Source, Topology

CHAIN = Topology("chain", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a")])


def one_operator(**operator) -> Topology:
    return Topology("one", [Source("in"), Operator("op", inputs="in", **operator)])


def keyed(substreams: int = 4) -> Topology:
    return one_operator(key="k", substreams=substreams)


def plant(
    topology: Topology,
    operators: Mapping[str, OperatorModel] | OperatorModel | None = None,
    *,
    rate: float | Shape = 100.0,
    scv: float = 1.0,
    weights: np.ndarray | Sequence[float] | None = None,
    cluster: ClusterModel | None = None,
    seed: int = 1,
    plan: Plan | None = None,
    resolution_s: float = 0.1,
    **source,
) -> SimPlant:
    """A plant whose operators all serve alike unless told; keyed ones see values that hit every substream alike."""
    if not isinstance(operators, Mapping):
        operators = dict.fromkeys(topology.operators, operators or OperatorModel())
    if weights is None:
        weights = np.ones(max(operator.substream_count for operator in topology.operators.values()) or 1)
    load = rate if isinstance(rate, Shape) else Constant(rate)
    entering = SourceModel(load, scv=scv, weights=np.asarray(weights, dtype=float), **source)
    model = SimModel(
        topology,
        dict.fromkeys(topology.sources, entering),
        dict(operators),
        cluster=cluster or ClusterModel(),
        resolution_s=resolution_s,
    )
    return SimPlant(model, np.random.default_rng(seed), plan)


def exponential(mean_s: float, **more) -> OperatorModel:
    return OperatorModel(service=Service(mean=mean_s), **more)


def fixed(mean_s: float, **more) -> OperatorModel:
    return OperatorModel(service=Service(mean=mean_s, distribution="fixed"), **more)


def nodes(*names, **more):
    return tuple(NodeModel(name=name, **more) for name in names)


def placed(plan, operator, **locations):
    """`plan` with executor n of `operator` at the location given as `_n`."""
    spots = {int(number[1:]): spot for number, spot in locations.items()}
    return plan.after(Place(pool=operator, reason="test", locations=spots))


def row(plant: SimPlant, operator: str = "op") -> np.record:
    return plant.cluster.state.operators[plant.cluster.position[operator]]


def executor_row(plant: SimPlant, number: int, pool: str = "op") -> np.record:
    return plant.cluster.state.executors[plant.cluster.registry.members[pool, number].index]


def drained(plant: SimPlant, until_s: float) -> bool:
    """Advance to `until_s`; whether every record that entered has then left or was lost."""
    plant.cluster.advance(until_s)
    world = plant.cluster.state.world[0]
    return bool(world.entered == world.left + world.lost)


def realise(plant: SimPlant, plan: Plan, every_s: float = 0.25, patience_s: float = 60.0) -> None:
    """Apply `plan` again and again until it is real."""
    deadline_s = plant.cluster.now_s + patience_s
    while plant.reached(plan) != set(plant.topology.operators):
        assert plant.cluster.now_s < deadline_s, f"the plan did not become real within {patience_s:g} s"
        plant.apply(plan)
        plant.cluster.advance(plant.cluster.now_s + every_s)


def count_in_system(plant: SimPlant) -> dict[str, int]:
    """Every operator's records by walking all lists: in service, queued, held, waiting, in batches."""
    state = plant.cluster.state
    counts = np.zeros(len(state.operators), dtype=int)

    def walk(head: int, length: int | None = None) -> None:
        while head != -1 and length != 0:
            counts[state.tuples.operator[head]] += 1
            head = int(state.tuples.next[head])
            length = None if length is None else length - 1

    for executor in state.executors:
        if executor.current != -1:
            counts[state.tuples.operator[executor.current]] += 1
        walk(int(executor.queue_head), int(executor.queued))
    for substream in state.substreams:
        walk(int(substream.held_head))
    for operator in state.operators:
        walk(int(operator.queue_head), int(operator.queued))
        walk(int(operator.batch_head), int(operator.batch_rows))
    return dict(zip(plant.topology.operators, counts.tolist(), strict=True))


def strangers(plant: SimPlant, plan: Plan) -> list[tuple[str, str]]:
    """Records at an executor of a pool that does not serve their operator, as (pool, operator)."""
    state, names = plant.cluster.state, list(plant.topology.operators)
    found = []
    for executor in plant.cluster.registry.members.values():
        row = state.executors[executor.index]
        there, i = [int(row.current)] if row.current != -1 else [], int(row.queue_head)
        for _ in range(int(row.queued)):
            there.append(i)
            i = int(state.tuples.next[i])
        operators = [names[state.tuples.operator[i]] for i in there]
        found += [(executor.pool, name) for name in operators if plan.pool_of[name] != executor.pool]
    return found

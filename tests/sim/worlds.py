"""Random topologies, clusters and histories, and what must hold in every one of them at any time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from plants import count_in_system, strangers

from rheostat.decision import Location, Move, Place, Regroup, Scale, Transfer
from rheostat.load import Step
from rheostat.plan import Plan, PoolPlan
from rheostat.sim.model import Batches, ClusterModel, NodeModel, OperatorModel, Osg, Service, SimModel, SourceModel
from rheostat.sim.plant import SimPlant
from rheostat.snapshot import ExecutorPhase
from rheostat.topology import Operator, Source, Topology

GROUPINGS = ("round-robin", "random", "key", "load-aware", "osg")

LOAD_S = 12.0
"""How long records enter."""


@st.composite
def topologies(draw) -> Topology:
    """One to four operators, each behind a source or earlier operators, with selectivities and perhaps a loop."""
    count = draw(st.integers(1, 4))
    parts: list[Source | Operator] = [Source("in")]
    loop_to = draw(st.integers(0, count - 1)) if draw(st.booleans()) else None
    for position in range(count):
        before = ["in", *(f"op{earlier}" for earlier in range(position))]
        inputs = draw(st.lists(st.sampled_from(before), min_size=1, max_size=2, unique=True))
        if position == loop_to:
            inputs = [*inputs, f"op{count - 1}"]
        keyed = draw(st.booleans())
        parts.append(
            Operator(
                f"op{position}",
                inputs=inputs,
                selectivity=draw(st.sampled_from([0.3, 0.5])) if loop_to is not None else draw(st.floats(0, 2)),
                key="k" if keyed else None,
                substreams=draw(st.integers(1, 6)) if keyed else None,
            )
        )
    return Topology("random", parts)


@st.composite
def operator_models(draw, keyed: bool, on_nodes: bool) -> OperatorModel:
    queues = draw(st.sampled_from(["own", "batches"] if keyed else ["own", "shared", "batches"]))
    return OperatorModel(
        service=Service(
            mean=draw(st.sampled_from([0.001, 0.02, 0.1])),
            distribution=draw(st.sampled_from(["fixed", "exponential", "lognormal", "uniform"])),
        ),
        queues=queues,
        batches=Batches(
            fixed=draw(st.sampled_from([0, 0.05, 0.5])),
            per_task=0.001,
            trigger=draw(st.sampled_from([0, 1])),
            tasks=draw(st.sampled_from([None, 1, 7])),
            limit=draw(st.sampled_from(["pace", "none", 5])),
        ),
        grouping=None
        if keyed
        else draw(st.sampled_from((*GROUPINGS, *(["batch-greedy"] if queues == "batches" else ())))),
        interval=draw(st.sampled_from([0.05, 1])),
        osg=Osg(window=draw(st.sampled_from([1, 4, 1024])), schedulers=draw(st.integers(1, 3))),
        capacity=draw(st.sampled_from([None, None, 1, 20])),
        emission=draw(st.sampled_from(["rounded", "poisson", "bulk"])),
        bulk=draw(st.integers(1, 3)),
        state_bytes=draw(st.sampled_from([0.0, 1e8])),
        memory=draw(st.sampled_from([0.0, 0.05])) if on_nodes else 0.0,
        io=draw(st.sampled_from([0, 0, 0.005])) if on_nodes else 0,
    )


@st.composite
def cluster_models(draw, loses: bool) -> ClusterModel:
    nodes = tuple(NodeModel(name=name, slots=12, cores=draw(st.sampled_from([None, 2.0]))) for name in ("x", "y"))
    return ClusterModel(
        start=draw(st.sampled_from([0, 0.5, 3])),
        stop=draw(st.sampled_from([0, 1])),
        activate=draw(st.sampled_from([0, 0.5])),
        move_delay=draw(st.sampled_from([0, 0.05, 2])),
        pause=draw(st.sampled_from(["substream", "executors", "drain", "barrier", "topology"])),
        restart=draw(st.sampled_from([None, None, 1])),
        restart_loses=loses and draw(st.booleans()),
        pause_on_add=draw(st.sampled_from([0, 0.5])),
        odd_share=draw(st.sampled_from([0.0, 0.5])),
        odd_speed=0.5,
        process_hop=draw(st.sampled_from([0, 0.02])),
        node_hop=draw(st.sampled_from([0, 0.3])),
        nodes=draw(st.sampled_from([(), nodes])),
    )


@st.composite
def plans(draw, topology: Topology) -> Plan:
    """Pools that operators may share, of one to three executors, perhaps with a standby."""
    names = [f"pool{number}" for number in range(draw(st.integers(1, len(topology.operators))))]
    pool_of = {name: draw(st.sampled_from(names)) for name in topology.operators}
    pools = {
        name: PoolPlan.of(draw(st.integers(1, 3)), draw(st.integers(0, 1)))
        for name in names
        if name in pool_of.values()
    }
    assignment = {
        name: tuple(draw(st.sampled_from(pools[pool_of[name]].executors)) for _ in range(operator.substream_count))
        for name, operator in topology.operators.items()
        if operator.keyed
    }
    return Plan(0, pools, pool_of, assignment)


@st.composite
def sim_models(draw) -> SimModel:
    topology = draw(topologies())
    rate = draw(st.sampled_from([1.0, 20.0, 100.0]))
    source = SourceModel(
        Step([(0, rate), (LOAD_S, 0.0)]),
        scv=draw(st.sampled_from([0.0, 1.0, 4.0])),
        weights=draw(st.sampled_from([None, np.ones(7), 1.0 / np.arange(1, 12)])),
    )
    cluster = draw(cluster_models(loses=not any(operator.keyed for operator in topology.operators.values())))
    operators = {
        name: draw(operator_models(operator.keyed, bool(cluster.nodes)))
        for name, operator in topology.operators.items()
    }
    return SimModel(topology, {"in": source}, operators, cluster=cluster)


@dataclass
class History:
    """A plant with the plan it is to follow, to which things happen."""

    plant: SimPlant
    plan: Plan

    def scale(self, operator: str, executors: int, leaver: int) -> None:
        pool = self.plan.pool(operator).executors
        leaving = (pool[leaver % len(pool)],) if leaver % 2 and len(pool) > 1 else ()
        self.plan = self.plan.after(
            Scale(pool=self.plan.pool_of[operator], reason="test", executors=executors, leaving=leaving)
        )

    def move(self, operator: str, substream: int, target: int) -> None:
        if operator not in self.plan.assignment:
            return
        owners, pool = self.plan.assignment[operator], self.plan.pool(operator).executors
        index = substream % len(owners)
        moves = (Transfer((index,), owners[index], pool[target % len(pool)]),)
        self.plan = self.plan.after(Move(operator=operator, reason="test", transfers=moves))

    def place(self, operator: str, executor: int, node: int) -> None:
        nodes, pool = self.plant.model.cluster.nodes, self.plan.pool(operator).executors
        if nodes:
            spot = Location(nodes[node % len(nodes)].name)
            locations = {pool[executor % len(pool)]: spot}
            self.plan = self.plan.after(Place(pool=self.plan.pool_of[operator], reason="test", locations=locations))

    def regroup(self, operator: str, which: int, _: int) -> None:
        if operator not in self.plan.assignment:
            grouping = GROUPINGS[which % len(GROUPINGS)]
            self.plan = self.plan.after(Regroup(operator=operator, reason="test", grouping=grouping))

    def fail(self, operator: str, executor: int, down: int) -> None:
        serving = self.plant.cluster.registry.serving(self.plan.pool_of[operator])
        failed = serving[executor % len(serving)]
        self.plant.cluster.failures.fail(failed, self.plan.sharing(failed.pool), 0.1 + down % 3)

    def pause(self, _: str, length: int, __: int) -> None:
        self.plant.cluster.pauses.pause_topology(0.3 * (length % 4))

    def apply(self, *_: object) -> None:
        self.plant.apply(self.plan)

    def advance(self, seconds: float) -> None:
        self.plant.cluster.advance(self.plant.cluster.now_s + seconds)


Happening = Callable[[History], None]


@st.composite
def happenings(draw, topology: Topology) -> list[Happening]:
    """What happens to a plant, with the time that passes after each; plans are applied now and then."""
    names = list(topology.operators)
    verbs = ["scale", "scale", "move", "move", "place", "regroup", "fail", "pause", "apply", "apply"]

    def one(verb: str, operator: str, a: int, b: int, passing_s: float) -> Happening:
        def happen(history: History) -> None:
            getattr(history, verb)(operator, a, b)
            if verb not in ("fail", "pause"):
                history.apply()
            history.advance(passing_s)

        return happen

    steps = st.tuples(
        st.sampled_from(verbs),
        st.sampled_from(names),
        st.integers(1, 5),
        st.integers(0, 5),
        st.sampled_from([0.0, 0.01, 0.3, 1.0, 2.5]),
    )
    return [one(*step) for step in draw(st.lists(steps, max_size=25))]


def check_everything(plant: SimPlant, plan: Plan) -> None:
    """All that holds at any moment of any run."""
    _check_conservation(plant)
    _check_substreams(plant)
    _check_executors(plant, plan)
    _check_lists(plant)
    _check_calendar(plant)


def _check_conservation(plant: SimPlant) -> None:
    state, inside = plant.cluster.state, count_in_system(plant)
    world = state.world[0]
    for position, name in enumerate(plant.topology.operators):
        it = state.operators[position]
        assert it.arrived == it.completed + it.lost + inside[name], name
    underway = int((state.roots.pending > 0).sum())
    assert world.entered == world.left + world.lost + underway
    assert world.free_roots == len(state.roots) - underway
    transit = sum(1 for code in state.heap.code[: world.events] if code & 7 == 2)
    assert world.free_tuples == len(state.tuples) - sum(inside.values()) - transit


def _check_substreams(plant: SimPlant) -> None:
    cluster, state = plant.cluster, plant.cluster.state
    assert state.world[0].disorder == state.world[0].overlap == 0
    members = {executor.index for executor in cluster.registry.members.values()}
    for index, substream in enumerate(state.substreams[: _substreams(plant)]):
        assert substream.owner in members
        is_moving = cluster.moves.under_way(index)
        assert substream.held == is_moving or (is_moving and plant.model.cluster.pause in ("drain", "barrier"))
        assert substream.serving in (-1, substream.owner)
        assert substream.held or substream.held_head == -1


def _substreams(plant: SimPlant) -> int:
    return sum(operator.substream_count for operator in plant.topology.operators.values())


def _check_executors(plant: SimPlant, plan: Plan) -> None:
    state = plant.cluster.state
    assert strangers(plant, plan) == []
    for executor in plant.cluster.registry.members.values():
        row = state.executors[executor.index]
        assert row.arrived == row.completed + row.handed_on + row.queued + (row.current != -1) + row.rows
        assert row.paused >= 0
        idle_phases = (ExecutorPhase.STARTING, ExecutorPhase.WARM, ExecutorPhase.FAILED)
        assert row.current == -1 or executor.phase not in idle_phases
        is_at_barrier = row.completed + row.handed_on >= row.barrier
        ready = (
            row.paused == 0 and not is_at_barrier and executor.phase in (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)
        )
        assert not (ready and row.current == -1 and row.queued > 0), "an executor rests while records wait for it"
    for position, node in enumerate(state.nodes[: len(plant.model.cluster.nodes)]):
        here = state.executors[state.executors.node == position]
        assert node.busy == (here.current != -1).sum() + (here.rows > 0).sum()


def _check_lists(plant: SimPlant) -> None:
    state = plant.cluster.state
    members = {executor.index: executor for executor in plant.cluster.registry.members.values()}
    for position, it in enumerate(state.operators):
        first = position * int(state.world[0].width)
        servers = state.server.executor[first : first + it.servers].tolist()
        idle = state.idle.executor[first : first + it.idles].tolist()
        assert len(set(servers)) == len(servers)
        assert len(set(idle)) == len(idle)
        assert set(idle) <= set(servers) <= set(members)
        resting = [state.executors[index] for index in idle if state.executors[index].current == -1]
        rested = [row for row in resting if not row.paused and row.completed + row.handed_on < row.barrier]
        assert not (it.mode == 1 and it.queued and rested), "an idle executor rests while records wait"


def _check_calendar(plant: SimPlant) -> None:
    state = plant.cluster.state
    count = int(state.world[0].events)
    heap = state.heap[:count]
    keys = list(zip(heap.time.tolist(), heap.code.tolist(), strict=True))
    assert all(keys[(child - 1) // 2] < keys[child] for child in range(1, count))
    done = sorted(int(code) >> 3 & 0xFFFFFF for code in heap.code if code & 7 == 1)
    assert done == np.flatnonzero(state.executors.current != -1).tolist()
    assert np.all(heap.time >= state.world[0].now)

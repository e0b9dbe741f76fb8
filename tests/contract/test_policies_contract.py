"""Every registered policy on hostile snapshots: it decides or holds, never raises, and never leaves the bounds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from rheostat.capabilities import Capabilities
from rheostat.decision import Decision, OperatorDecision, Scale
from rheostat.loop.guards import Context, arbitrate
from rheostat.loop.options import LoopOptions
from rheostat.measure.measurer import Measurer
from rheostat.plan import Plan, PoolPlan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy, policies
from rheostat.sla import SLA, Budget, Goal
from rheostat.snapshot import Batch, ExecutorPhase, NodeState, OperatorState, Snapshot, StreamState
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

TURNS = 30
PERIOD_S = 10.0
EVERYTHING = Capabilities(can_fuse=True, can_place=True)

CHAIN = Topology(
    "chain",
    [
        Source("in"),
        Operator("read", inputs="in"),
        Operator("split", inputs="read", selectivity=2),
        Operator("count", inputs="split", key="word", substreams=6),
    ],
)
DIAMOND = Topology(
    "diamond",
    [
        Source("left"),
        Source("right"),
        Operator("join", inputs=["left", "right", "sum.again"]),
        Operator("sum", inputs="join", key="k", substreams=4, outputs={"again": 0.1, "done": 1.0}),
        Operator("end", inputs="sum.done"),
    ],
)
LONG = Topology(
    "long",
    [Source("in"), Operator("o0", inputs="in"), *(Operator(f"o{i}", inputs=f"o{i - 1}") for i in range(1, 100))],
)

Mutation = Callable[[Snapshot, int], Snapshot]


@dataclass(frozen=True)
class Case:
    """A plant whose snapshots are changed before a policy gets them."""

    mutate: Mutation = lambda snapshot, turn: snapshot
    topology: Topology = CHAIN
    plan: Plan | None = None
    budget: Budget = field(default_factory=Budget)
    rate: Callable[[float], float] = lambda time_s: 150.0
    settling: Callable[[int], bool] = lambda turn: False


def nothing_known(snapshot: Snapshot, turn: int) -> Snapshot:
    return Snapshot(snapshot.time_s, tuple(OperatorState(state.name) for state in snapshot.operator_states))


def empty(snapshot: Snapshot, turn: int) -> Snapshot:
    return Snapshot(snapshot.time_s, ())


def sometimes_unknown(snapshot: Snapshot, turn: int) -> Snapshot:
    return nothing_known(snapshot, turn) if turn % 3 == 0 else snapshot


def counters_fall(snapshot: Snapshot, turn: int) -> Snapshot:
    """The plant was restarted at turn 12: its counters begin at zero again, late and not all at once."""
    return snapshot if turn < 12 else _scaled(snapshot, max(0.0, (turn - 13) / turn))


def no_executors(snapshot: Snapshot, turn: int) -> Snapshot:
    return msgspec.structs.replace(snapshot, executors=())


def all_executors_failed(snapshot: Snapshot, turn: int) -> Snapshot:
    failed = [msgspec.structs.replace(each, phase=ExecutorPhase.FAILED) for each in snapshot.executors]
    return msgspec.structs.replace(snapshot, executors=tuple(failed))


def time_stands_still(snapshot: Snapshot, turn: int) -> Snapshot:
    return msgspec.structs.replace(snapshot, time_s=PERIOD_S * min(turn, 9))


def time_goes_back(snapshot: Snapshot, turn: int) -> Snapshot:
    return msgspec.structs.replace(snapshot, time_s=PERIOD_S * (turn if turn < 15 else turn - 10))


def in_batches(snapshot: Snapshot, turn: int) -> Snapshot:
    batched = [msgspec.structs.replace(each, batch=Batch(4 * turn, 9.0 * turn)) for each in snapshot.operator_states]
    return msgspec.structs.replace(snapshot, operator_states=tuple(batched))


def batches_stall(snapshot: Snapshot, turn: int) -> Snapshot:
    return in_batches(snapshot, min(turn, 8))


def on_nodes(snapshot: Snapshot, turn: int) -> Snapshot:
    """Two nodes, one of them gone for a while; executors with nodes and processor time."""
    names = ("one", "two")
    executors = tuple(
        msgspec.structs.replace(each, node=names[each.id % 2], process=each.id, cpu_s=each.busy_s)
        for each in snapshot.executors
    )
    streams = tuple(StreamState(each.name, each.consumer, 100 * turn, 1000 * turn) for each in CHAIN.streams)
    nodes = tuple(
        NodeState(name, slots=4, cores=2.0, cpu=0.9, memory=0.99, up=name == "one" or not 10 < turn < 20)
        for name in names
    )
    return msgspec.structs.replace(snapshot, executors=executors, streams=streams, nodes=nodes)


def fused_are_unseen(snapshot: Snapshot, turn: int) -> Snapshot:
    states = [OperatorState(each.name) if each.name == "split" else each for each in snapshot.operator_states]
    return msgspec.structs.replace(snapshot, operator_states=tuple(states))


def huge(snapshot: Snapshot, turn: int) -> Snapshot:
    return _scaled(snapshot, 1e9)


def _scaled(snapshot: Snapshot, factor: float) -> Snapshot:
    """All counters times `factor`."""

    def changed(state: Any, *names: str) -> Any:
        values = {name: getattr(state, name) for name in names}
        return msgspec.structs.replace(
            state, **{n: None if v is None else type(v)(v * factor) for n, v in values.items()}
        )

    counters = ("arrived", "completed", "queued")
    return msgspec.structs.replace(
        snapshot,
        operator_states=tuple(changed(each, *counters, "busy_s") for each in snapshot.operator_states),
        executors=tuple(changed(each, *counters, "busy_s") for each in snapshot.executors),
        substreams=tuple(changed(each, *counters) for each in snapshot.substreams),
        streams=tuple(changed(each, "rows") for each in snapshot.streams),
    )


CASES = {
    "all is well": Case(),
    "nothing known": Case(nothing_known),
    "no operators in the snapshot": Case(empty),
    "now and then nothing known": Case(sometimes_unknown),
    "counters that fell": Case(counters_fall),
    "no executors in the snapshot": Case(no_executors),
    "all executors failed": Case(all_executors_failed),
    "a clock that stood still": Case(time_stands_still),
    "a clock that went back": Case(time_goes_back),
    "batches": Case(in_batches),
    "batches that stall": Case(batches_stall),
    "batches without executors": Case(lambda snapshot, turn: no_executors(in_batches(snapshot, turn), turn)),
    "nodes that come and go": Case(on_nodes),
    "huge numbers": Case(huge, budget=Budget(total=40)),
    "no load": Case(rate=lambda time_s: 0.0),
    "a load that ends": Case(rate=lambda time_s: 500.0 if time_s < 100 else 0.0),
    "overload": Case(rate=lambda time_s: 1e4),
    "100 operators": Case(topology=LONG, plan=Plan.initial(LONG, 1)),
    "a loop and two sources": Case(topology=DIAMOND),
    "shared pools": Case(plan=Plan.initial(CHAIN, 2, shared=[("split", "count")])),
    "one pool for all": Case(plan=Plan.initial(CHAIN, 2, shared=[("read", "split", "count")])),
    "fused operators": Case(fused_are_unseen, plan=Plan.initial(CHAIN, 2, fused=[("read", "split")])),
    "a budget that is spent": Case(budget=Budget(total=3), rate=lambda time_s: 1e4),
    "a plan beyond its budget": Case(budget=Budget(total=6), plan=Plan.initial(CHAIN, 4)),
    "narrow bounds": Case(
        budget=Budget(least=dict.fromkeys(CHAIN.operators, 2), most=dict.fromkeys(CHAIN.operators, 2))
    ),
    "a plan outside its bounds": Case(budget=Budget(least={"read": 3}, most={"count": 2}), plan=Plan.initial(CHAIN, 5)),
    "always settling": Case(settling=lambda turn: True),
    "settling now and then": Case(settling=lambda turn: turn % 4 in (1, 2)),
    "high executor numbers": Case(
        plan=Plan(
            7,
            {name: PoolPlan((41, 99), 100, standby=3) for name in CHAIN.operators},
            {name: name for name in CHAIN.operators},
            {"count": (41, 99, 41, 99, 41, 99)},
        )
    ),
}

LEARNED = {"step": 50.0, "levels": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]}
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "q-learning": [{"table": {}}],
    "static": [{}, {"executors": 2}],
    "ds2": [{}, {"warm_up": 0, "target_rate_ratio": 1.0, "scaling_factor": 0.5}],
    "flink": [{}, dict.fromkeys(("metrics_window", "stabilisation", "catch_up", "scale_down_interval"), "20s")],
    "lag": [{}, {"lag_threshold": 100, "stabilisation": "20s", "cooldown": "20s", "interval": "10s"}],
    "spark-dra": [{}, {"idle_timeout": "20s", "slots": 2, "partitions": 16, "ratio": 0.5}],
    "drs": [{}, {"k_max": 200, "problem": "k_max", "arrivals": "measured", "smoothing": "none"}],
    "drs-lb": [{}, {"substreams": "switched"}],
    "dabs": [{}, {"sample": "10s", "iteration": "30s"}],
    "psps": [{"td": "10s"}, {"td": "20s", "pool": 4}],
    "pa-sps": [{"td": "10s", "predictor": "linear"}, {"td": "10s", "predictor": "fft", "lead": "20s"}],
    "ra-stream": [{"frame": "30s", "fuse": True, "scaling": scaling} for scaling in ("static", "threshold", "drs")],
}
POLICIES = [(name, options) for name in policies() for options in OPTIONS.get(name, [{}])]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize(("name", "options"), POLICIES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(POLICIES)])
def test_it_decides_or_holds_and_never_leaves_the_bounds(name: str, options: dict[str, Any], case: Case) -> None:
    goal = Goal(case.topology, (SLA("2s", "20s"),), case.budget)
    if name == "q-learning":
        options = {"table": dict.fromkeys(case.topology.operators, LEARNED)}
    if name == "static" and "executors" in options:
        options = {"executors": {n: goal.budget.bounds([n]).clamp(2) for n in case.topology.operators}}
    policy, again = make_policy(name, goal, options), make_policy(name, goal, options)
    plan = case.plan or Plan.initial(case.topology, {n: goal.budget.minimum(n) for n in case.topology.operators})
    plant = FakePlant(case.topology, arrival_rate=case.rate, plan=plan)
    measurer = Measurer(case.topology, policy.options.smoothing)
    for turn in range(TURNS):
        plant.clock.wait_until(turn * PERIOD_S)
        snapshot = case.mutate(plant.observe(), turn)
        measures = measurer.update(snapshot, plan)
        settling = frozenset(plan.pools) if case.settling(turn) else frozenset()
        observation = Observation(snapshot, measures, plan, settling, goal.budget, EVERYTHING)
        decisions = list(policy.decide(observation))
        assert decisions == list(again.decide(observation)), "equal observations give equal decisions"
        check(decisions, observation)
        context = Context(
            goal, LoopOptions(PERIOD_S), snapshot.time_s, snapshot, measurer.raw, plan, EVERYTHING, settling
        )
        _, plan = arbitrate(decisions, context)
        if plan.pool_of == plant._running.pool_of:
            plant.apply(plan)
        else:  # fused or split, which the plant cannot do
            plan = plant._running
        total = goal.budget.total
        assert total is None or plan.total <= max(total, observation.plan.total)


def check(decisions: list[Decision], observation: Observation) -> None:
    plan = observation.plan
    decided: set[str] = set()
    for decision in decisions:
        assert isinstance(decision, Decision)
        assert decision.reason.strip()
        assert observation.snapshot.time_s == observation.snapshot.time_s
        touched = _touched(decision, plan)
        assert not decided & touched, f"two decisions about {decided & touched}"
        decided |= touched
        plan.after(decision)
        if isinstance(decision, Scale):
            pool = observation.pools[decision.pool]
            assert pool.bounds.clamp(decision.executors) == decision.executors or _towards(decision, pool), decision


def _touched(decision: Decision, plan: Plan) -> set[str]:
    pools = plan.pools_of(decision)
    return (
        {decision.operator} if isinstance(decision, OperatorDecision) else {o for p in pools for o in plan.sharing(p)}
    )


def _towards(decision: Scale, pool: Any) -> bool:
    """Whether a step from outside the bounds leads towards them."""
    least, most = pool.bounds
    return pool.size > decision.executors > most or pool.size < decision.executors < least

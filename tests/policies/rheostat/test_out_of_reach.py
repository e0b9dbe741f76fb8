"""An SLA that cannot be kept: best effort, and the reason says why and what would help."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from rheostat.capabilities import Capabilities
from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate
from rheostat.measure.measures import Measures
from rheostat.plan import Plan, PoolPlan
from rheostat.policies.observation import Observation
from rheostat.policies.rheostat.operator_cost import OperatorCost
from rheostat.policies.rheostat.out_of_reach import _has_left_some, why_out_of_reach
from rheostat.policies.rheostat.sizing import Sizing
from rheostat.sla import Budget
from rheostat.snapshot import Batch, BatchUnderWay, ExecutorPhase, ExecutorState, OperatorState, Snapshot


def reasons(rate, *, latency="5s", total=20, source=None, **operator):
    """Of the decisions of the last minute of a run under a constant load."""
    work = {
        "name": "work",
        "inputs": ["records"],
        "executors": 2,
        "queues": "batches",
        "batches": {"fixed": "500ms", "per_task": "20ms"},
        "service": {"mean": "20ms"},
        **operator,
    }
    content = {
        "name": "test",
        "duration": "4m",
        "period": "2s",
        "source": [{"name": "records", "load": rate, **(source or {})}],
        "operator": [work],
        "sla": [{"latency": latency, "window": "30s"}],
        "budget": {"total": total},
        "cluster": {"start": "6s", "warm_up": "3s"},
    }
    found, sizes = [], []

    def note(turn):
        if turn.time_s > 180:
            found.extend(verdict.decision.reason for verdict in turn.verdicts)
            sizes.append(turn.plan.total)

    simulate(make_scenario(msgspec.convert(content, ScenarioFile), Path()), "rheostat", seed=1, listeners=[note])
    return found, sizes


def test_a_budget_that_is_too_small_is_used_up_and_named():
    found, sizes = reasons(400, total=6)
    assert min(sizes) == 6
    assert any("out of reach: 6 executors are the most that the pool may have" in reason for reason in found)


def test_substreams_that_are_too_few_are_named():
    found, sizes = reasons(180, key="word", substreams=4, source={"keys": {"zipf": 0.1, "keys": 1000}})
    assert max(sizes) <= 4
    assert any("more substreams would help" in reason for reason in found)


def test_a_substream_that_one_executor_cannot_serve_is_named():
    found, _ = reasons(200, key="word", substreams=16, source={"keys": {"zipf": 2.0, "keys": 50}})
    assert any("one substream of 'work' is work for" in reason for reason in found)


def test_a_substream_that_is_too_heavy_for_what_batches_cost_is_named():
    found, sizes = reasons(
        160,
        key="word",
        substreams=64,
        batches={"fixed": "400ms", "per_task": "20ms"},
        source={"keys": {"zipf": 1.0, "keys": 300}},
    )
    assert any("costs 1.68s beside its work, and one substream is work for 0.5" in reason for reason in found)
    assert max(sizes) < 20


def test_a_batch_cost_beyond_the_sla_is_named():
    found, sizes = reasons(50, latency="1s", batches={"fixed": "2s", "per_task": "10ms"})
    assert any("beside its work, which alone is a latency of" in reason for reason in found)
    assert max(sizes) < 20, "executors that do not help are not taken"


def test_a_trigger_interval_beyond_the_sla_is_named():
    found, _ = reasons(50, batches={"fixed": "500ms", "per_task": "10ms", "trigger": "12s"})
    assert any("batches of 'work' begin every 12s, which alone is a latency of 6" in reason for reason in found)


def test_a_limit_of_records_in_each_batch_is_named():
    found, _ = reasons(300, batches={"fixed": "1s", "per_task": "10ms", "limit": 200})
    assert any("each batch of 'work' takes 200 of the" in reason for reason in found)


def test_batches_with_too_few_tasks_are_named():
    found, _ = reasons(400, batches={"fixed": "500ms", "per_task": "20ms", "tasks": 4})
    assert any("a batch has 4 tasks, and 4 executors at most can have work" in reason for reason in found)


@pytest.fixture
def observed():
    """One pool of four executors, whose only operator has a batch under way."""
    batch = BatchUnderWay(elapsed_s=30.0, tasks=8, finished=7, running=1, worked_s=40.0, rows=100)
    state = OperatorState(
        "work", completed=500, queued=200, busy_s=60.0, batch=Batch(9, 20.0, 4.0, 72), under_way=batch
    )
    executors = tuple(ExecutorState("work", number, ExecutorPhase.ACTIVE) for number in range(4))
    plan = Plan(0, {"work": PoolPlan.of(4)}, {"work": "work"})
    snapshot = Snapshot(100.0, (state,), executors)
    return Observation(snapshot, Measures(2.0, {}), plan, budget=Budget(total=10))


def sizing_of(observation):
    cost = OperatorCost()
    cost.update(100.0, observation.snapshot.operator_states[0], (), 4)
    return Sizing(observation.pools, {"work": cost}, {"work": 10.0}, {"work": 10.0}, 5.0, 30.0, 12.0, 5.0)


def test_one_task_that_is_too_long_is_named(observed):
    why = why_out_of_reach(observed, sizing_of(observed), observed.pools["work"], 6)
    assert why.startswith("1 of 8 tasks of a batch of 'work' still run after 30s")


def test_sources_that_take_longer_than_the_sla_are_named(observed):
    slow = replace(sizing_of(observed), outside_s=6.0)
    why = why_out_of_reach(observed, slow, observed.pools["work"], 6)
    assert why.startswith("records take 6s in sources and between operators")


def test_the_room_of_the_cluster_and_the_budget_are_named(observed):
    between = msgspec.structs.replace(observed.snapshot.operator_states[0], under_way=None)
    calm = msgspec.structs.replace(observed, snapshot=Snapshot(100.0, (between,), observed.snapshot.executors))
    full = msgspec.structs.replace(calm, capabilities=Capabilities(room=5))
    assert why_out_of_reach(full, sizing_of(full), full.pools["work"], 8) == (
        "the cluster has room for 5 executors: more nodes would help"
    )
    sizing = sizing_of(calm)
    assert why_out_of_reach(calm, sizing, calm.pools["work"], 8) is None
    wider = replace(calm.pools["work"], bounds=calm.pools["work"].bounds._replace(most=30), useful=30)
    assert why_out_of_reach(calm, replace(sizing, pools={"work": wider}), wider, 12) == (
        "the budget is 10 executors: a higher one would help"
    )


@pytest.mark.parametrize(("queued", "has_left_some"), [(480, False), (1_000, False), (1_300, True)])
def test_records_that_arrived_since_a_batch_began_were_not_left_by_it(queued, has_left_some):
    batch = BatchUnderWay(elapsed_s=5.0, tasks=8, finished=0, running=1, worked_s=5.0, rows=120)
    assert _has_left_some(OperatorState("work", queued=queued), batch, rate=120.0) is has_left_some

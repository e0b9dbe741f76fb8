"""Substreams change hands: how long it takes, who pauses meanwhile, and what never happens."""

import msgspec
import pytest
from plants import count_in_system, drained, executor_row, exponential, fixed, keyed, plant, realise, row

from rheostat.decision import Move, Scale, Transfer
from rheostat.load import Step
from rheostat.plan import Plan
from rheostat.sim.model import Batches, ClusterModel, OperatorModel, Service
from rheostat.topology import Operator, Source, Topology

BURST = Step([(0, 100.0), (0.105, 0.0)])
"""With regular gaps: ten records, from 0.01 s to 0.1 s."""


def moved(plan, substreams, source, target, operator="op"):
    return plan.after(Move(operator=operator, reason="test", transfers=(Transfer(tuple(substreams), source, target),)))


def scaled(plan, executors, operator="op", **more):
    return plan.after(Scale(pool=operator, reason="test", executors=executors, **more))


def test_a_moved_substream_is_served_by_its_new_executor_only():
    it = plant(keyed(2), exponential(0.001, executors=2))
    plan = moved(Plan.initial(it.topology, 2), [0], 0, 1)
    it.cluster.advance(1.0)
    realise(it, plan)
    before = int(executor_row(it, 0).completed)
    it.cluster.advance(20.0)
    assert executor_row(it, 0).completed == before
    assert [substream.executor for substream in it.observe().substreams] == [1, 1]


@pytest.mark.parametrize(("state_bytes", "per_record", "expected_s"), [(0, 0, 0.5), (1e8, 0, 2.5), (1e8, 1e7, 3.5)])
def test_a_move_takes_its_delay_and_the_time_to_send_the_state(state_bytes, per_record, expected_s):
    model = OperatorModel(
        service=Service(mean=0.001), executors=2, state_bytes=state_bytes, state_bytes_per_record=per_record
    )
    it = plant(keyed(2), model, rate=BURST, scv=0, weights=[1, 0], cluster=ClusterModel(move_delay=0.5, bandwidth=5e7))
    plan = moved(Plan.initial(it.topology, 2), [0], 0, 1)
    if per_record:
        it.cluster.advance(1.0)
        expected_s += 10 * per_record / 5e7 - 1.0
    it.apply(plan)
    start_s = it.cluster.now_s
    it.cluster.advance(start_s + expected_s - 1e-6)
    assert it.observe().substreams[0].executor is None
    it.cluster.advance(start_s + expected_s + 1e-6)
    assert it.observe().substreams[0].executor == 1
    assert it.cluster.switching_s == pytest.approx(expected_s)


@pytest.mark.parametrize(("pause", "working"), [("substream", {0, 1, 2}), ("executors", {2}), ("topology", set())])
def test_a_move_pauses_the_substream_or_both_executors_or_everybody(pause, working):
    it = plant(keyed(6), fixed(0.001, executors=3), rate=1000.0, cluster=ClusterModel(move_delay="5s", pause=pause))
    it.cluster.advance(2.0)
    it.apply(moved(Plan.initial(it.topology, 3), [0], 0, 1))
    it.cluster.advance(2.1)
    before = [int(executor_row(it, number).completed) for number in range(3)]
    it.cluster.advance(6.9)
    after = [int(executor_row(it, number).completed) for number in range(3)]
    assert {number for number in range(3) if after[number] > before[number]} == working
    it.cluster.advance(60.0)
    assert count_in_system(it)["op"] < 100
    assert it.cluster.state.world[0].disorder == 0


def test_records_that_come_during_a_move_are_served_afterwards_and_in_order():
    it = plant(keyed(2), fixed(0.02, executors=2), rate=Step([(0, 40.0), (3, 0.0)]), cluster=ClusterModel(move_delay=2))
    it.cluster.advance(1.0)
    it.apply(moved(Plan.initial(it.topology, 2), [0], 0, 1))
    it.cluster.advance(2.9)
    held = it.observe().substreams[0].queued
    assert held > 20
    assert drained(it, 10.0)
    assert it.cluster.state.world[0].disorder == it.cluster.state.world[0].overlap == 0
    assert it.observe().latency.max_s > 1.9


def test_counters_of_executors_never_fall_when_substreams_leave_them():
    it = plant(keyed(4), fixed(1.0, executors=2), rate=20.0)
    plan = Plan.initial(it.topology, 2)
    last = [0, 0]
    for turn in range(10):
        it.cluster.advance(turn + 1.0)
        arrived = [executor.arrived for executor in it.observe().executors]
        assert all(now >= before for now, before in zip(arrived, last, strict=True))
        last = arrived
        plan = moved(plan, [turn % 2], *((0, 1) if turn % 4 < 2 else (1, 0)))
        it.apply(plan)


def test_an_executor_to_which_substreams_are_on_their_way_does_not_leave_before_they_have_come():
    it = plant(keyed(2), exponential(0.001, executors=3), cluster=ClusterModel(move_delay="5s"))
    plan = moved(Plan.initial(it.topology, 3), [0], 0, 2)
    it.apply(plan)
    it.cluster.advance(1.0)
    realise(it, scaled(plan, 2, leaving=(2,)))
    assert {substream.executor for substream in it.observe().substreams} <= {0, 1}


def test_a_second_move_waits_for_the_first():
    it = plant(keyed(2), exponential(0.001, executors=3), cluster=ClusterModel(move_delay="3s"))
    plan = moved(Plan.initial(it.topology, 3), [0], 0, 1)
    it.apply(plan)
    it.cluster.advance(1.0)
    realise(it, moved(plan, [0], 1, 2))
    assert it.observe().substreams[0].executor == 2
    assert it.cluster.switching_events == 2
    assert it.cluster.switching_s == pytest.approx(6.0)


def test_a_batch_moves_its_substreams_between_two_batches_and_loads_their_state_in_the_next():
    batches = OperatorModel(
        service=Service(mean=0.001, distribution="fixed"),
        executors=2,
        queues="batches",
        batches=Batches(fixed=0.5, per_task=0),
        state_bytes=2e8,
    )
    it = plant(keyed(2), batches, rate=100.0, cluster=ClusterModel(move_delay=0, bandwidth=1e8))
    it.cluster.advance(10.0)
    it.apply(moved(Plan.initial(it.topology, 2), [0], 0, 1))
    before = it.observe().operators["op"].batch
    it.cluster.advance(13.5)
    after = it.observe().operators["op"].batch
    assert after.duration_s / after.count > before.duration_s / before.count
    assert it.observe().substreams[0].executor == 1


@pytest.mark.parametrize(
    ("pause", "begins_s", "delays_s"),
    [("substream", 10.01, (0, 2, 0)), ("executors", 10.01, (2, 2, 0)), ("topology", 11.5, (0, 0, 0))],
)
def test_a_move_between_batches_delays_the_new_executor_or_both_or_everybody(pause, begins_s, delays_s):
    """One record makes the first batch, the other nine the second, for which a move of two seconds comes in time."""
    batches = fixed(0.1, executors=3, queues="batches", batches=Batches(fixed=0, per_task=0, trigger="10s"))
    cluster = ClusterModel(move_delay="2s", pause=pause)
    it = plant(keyed(4), batches, rate=BURST, scv=0, weights=[4, 1, 1, 1], cluster=cluster)
    plan = moved(Plan.initial(it.topology, 3), [1], 0, 1)
    it.cluster.advance(9.5)
    before = [substream.completed for substream in it.observe().substreams]
    it.apply(plan)
    assert drained(it, 30.0)
    work_s = [0.0, 0.0, 0.0]
    for owner, substream, first in zip(plan.assignment["op"], it.observe().substreams, before, strict=True):
        work_s[owner] += 0.1 * (substream.completed - first)
    assert row(it).batch_started == pytest.approx(begins_s)
    expected_s = max(work + delay for work, delay in zip(work_s, delays_s, strict=True))
    assert row(it).batch_duration_s == pytest.approx(0.1 + expected_s)
    assert it.cluster.switching_executor_s == {"substream": 2.0, "executors": 4.0, "topology": 6.0}[pause]


def test_where_a_move_pauses_everybody_the_batches_of_other_operators_wait_too():
    topology = Topology(
        "mixed", [Source("in"), Operator("a", inputs="in", key="k", substreams=2), Operator("b", inputs="in")]
    )
    models = {"a": fixed(0.001, executors=2), "b": fixed(0.001, queues="batches", batches=Batches(fixed=0.1))}
    it = plant(topology, models, rate=50.0, cluster=ClusterModel(move_delay="5s", pause="topology"))
    it.cluster.advance(10.0)
    it.apply(moved(Plan.initial(topology, {"a": 2, "b": 1}), [0], 0, 1, operator="a"))
    it.cluster.advance(10.5)
    before = int(row(it, "b").batch_count)
    it.cluster.advance(14.9)
    assert row(it, "b").batch_count == before
    it.cluster.advance(20.0)
    assert row(it, "b").batch_count > before + 20
    assert count_in_system(it)["b"] < 50


def test_a_batch_goes_on_with_a_leaving_executor_until_its_successor_is_up():
    batches = fixed(0.01, queues="batches", batches=Batches(fixed=0.1, per_task=0))
    it = plant(keyed(2), batches, rate=50.0, cluster=ClusterModel(start="20s"))
    plan = Plan.initial(it.topology, 1)
    it.cluster.advance(5.0)
    successor = msgspec.structs.replace(plan.pools["op"], executors=(1,), next_executor=2)
    plan = msgspec.structs.replace(plan, revision=1, pools={"op": successor}, assignment={"op": (1, 1)})
    it.apply(plan)
    it.cluster.advance(20.0)
    batch = it.observe().operators["op"].batch
    it.cluster.advance(24.9)
    later = it.observe().operators["op"].batch
    duration_s = (later.duration_s - batch.duration_s) / (later.count - batch.count)
    assert duration_s == pytest.approx(0.1 / (1 - 0.5), rel=0.2)
    assert count_in_system(it)["op"] < 100
    realise(it, plan)


def test_substreams_that_nobody_was_given_are_kept():
    it = plant(keyed(2), exponential(0.001, executors=1), plan=Plan.initial(keyed(2), 1))
    assert it.cluster.state.substreams.held.tolist() == [0, 0]
    bare = msgspec.structs.replace(Plan.initial(keyed(2), 1), assignment={})
    it = plant(keyed(2), exponential(0.001), plan=bare)
    it.cluster.advance(1.0)
    assert row(it).completed == 0
    assert count_in_system(it)["op"] == row(it).arrived > 50

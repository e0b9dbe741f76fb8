"""Executors that break down: what they had is done again, nothing is lost, and order is kept."""

import numpy as np
from plants import count_in_system, drained, executor_row, exponential, fixed, keyed, one_operator, plant, row

from rheostat.load import Step
from rheostat.plan import Plan, PoolPlan
from rheostat.sim.model import Batches, ClusterModel, Failure, OperatorModel, Service
from rheostat.snapshot import ExecutorPhase
from rheostat.topology import Operator, Source, Topology

ONE_RECORD = Step([(0, 1.0), (1.5, 0.0)])
"""With regular gaps: a single record, at 1 s."""


def fail(plant, number, down_s, pool="op", operators=("op",)):
    plant.cluster.failures.fail(plant.cluster.registry.members[pool, number], operators, down_s)


def test_a_failed_executor_starts_its_record_again_when_it_is_back():
    it = plant(keyed(1), fixed(10.0), rate=ONE_RECORD, scv=0)
    it.cluster.advance(3.0)
    fail(it, 0, down_s=4.0)
    assert drained(it, 17.0)
    assert it.observe().latency.mean_s == 6 + 10  # arrived at 1, back at 7, then the whole service


def test_a_failure_is_seen_and_then_over():
    it = plant(one_operator(), fixed(0.1), cluster=ClusterModel(failures=(Failure(at=2, operator="op", executor=0),)))
    it.cluster.advance(3.0)
    assert it.observe().executors[0].phase is ExecutorPhase.FAILED
    assert it.reached(Plan.initial(it.topology)) == frozenset()
    it.cluster.advance(12.5)
    assert it.observe().executors[0].phase is ExecutorPhase.ACTIVE


def phases_over(it, times_s):
    seen = []
    for time_s in times_s:
        it.cluster.advance(time_s)
        seen.append(it.observe().executors[0].phase)
    return seen


def test_a_failed_executor_is_replaced_after_the_time_of_a_start_and_a_warm_up():
    cluster = ClusterModel(start=3, warm_up=2, failures=(Failure(at=2, operator="op", executor=0),))
    it = plant(one_operator(), fixed(0.1, executors=2), cluster=cluster)
    assert phases_over(it, (1.9, 2.1, 6.9, 7.1)) == [
        ExecutorPhase.ACTIVE,
        ExecutorPhase.FAILED,
        ExecutorPhase.FAILED,
        ExecutorPhase.ACTIVE,
    ]
    assert executor_row(it, 0).speed == 1.0


def test_a_keyed_batch_goes_on_when_its_executor_is_replaced():
    batches = fixed(0.01, executors=2, queues="batches", batches=Batches(fixed=0.1, per_task=0))
    cluster = ClusterModel(start=3, failures=(Failure(at=1, operator="op", executor=1),))
    it = plant(keyed(4), batches, rate=Step([(0, 10.0), (5, 0.0)]), scv=0, cluster=cluster)
    it.cluster.advance(3.9)
    assert row(it).completed < 12
    assert drained(it, 8.0)
    assert it.cluster.state.world[0].disorder == 0


def test_the_only_executor_of_a_pool_serves_cold_when_it_is_replaced():
    cluster = ClusterModel(start=3, warm_up=4, cold_speed=0.5, failures=(Failure(at=2, operator="op", executor=0),))
    it = plant(one_operator(), fixed(0.01), cluster=cluster)
    it.cluster.advance(5.1)
    assert it.observe().executors[0].phase is ExecutorPhase.ACTIVE
    assert executor_row(it, 0).speed == 0.5
    it.cluster.advance(9.1)
    assert executor_row(it, 0).speed == 1.0


def test_a_failure_of_a_number_that_nobody_has_hits_the_nearest():
    failures = (Failure(at=1, operator="op", executor=7), Failure(at=2, operator="op", executor=1))
    it = plant(one_operator(), fixed(0.01, executors=2), cluster=ClusterModel(failures=failures))
    it.cluster.advance(1.5)
    assert [each.phase for each in it.observe().executors] == [ExecutorPhase.ACTIVE, ExecutorPhase.FAILED]
    it.cluster.advance(2.5)
    assert (it.cluster.failures.hit, it.cluster.failures.missed) == (1, 1), "executor 1 was down already"


def test_an_idle_executor_of_a_shared_queue_takes_over_from_a_failed_one_at_once():
    it = plant(one_operator(), fixed(10.0, executors=2, queues="shared"), rate=ONE_RECORD, scv=0)
    it.cluster.advance(2.0)
    busy = next(number for number in (0, 1) if executor_row(it, number).current != -1)
    fail(it, busy, down_s=100.0)
    assert drained(it, 12.0)


def test_a_stateless_operators_queue_goes_to_the_others():
    it = plant(one_operator(), fixed(1.0, executors=2), rate=Step([(0, 8.0), (1.3, 0.0)]), scv=0)
    it.cluster.advance(1.4)
    fail(it, 0, down_s=1000.0)
    assert drained(it, 1.4 + 10.0)
    assert [executor_row(it, number).completed for number in (0, 1)] == [1, 9]


def test_records_wait_when_all_executors_are_down_and_are_served_when_one_is_back():
    it = plant(one_operator(), fixed(0.01), rate=Step([(0, 8.0), (2.1, 0.0)]), scv=0)
    it.cluster.advance(1.1)
    fail(it, 0, down_s=5.0)
    it.cluster.advance(5.0)
    assert (row(it).arrived, row(it).completed) == (16, 8)
    assert drained(it, 6.2)


def test_a_bounded_queue_is_bounded_also_while_all_executors_are_down():
    it = plant(one_operator(), fixed(0.01, capacity=3), rate=Step([(0, 8.0), (2.1, 0.0)]), scv=0)
    it.cluster.advance(1.1)
    fail(it, 0, down_s=5.0)
    it.cluster.advance(5.0)
    assert row(it).lost == 16 - 8 - 3


def test_a_failure_during_a_move_keeps_the_order_of_the_substream():
    it = plant(
        keyed(2),
        fixed(1.0, executors=2),
        rate=Step([(0, 2.0), (10.2, 0.0)]),
        scv=0,
        weights=[1, 0],
        cluster=ClusterModel(move_delay=0.1),
    )
    it.cluster.advance(3.2)
    it.cluster.moves.move("op", [0], it.cluster.registry.members["op", 1])
    it.cluster.advance(3.25)
    fail(it, 0, down_s=1.0)
    assert drained(it, 60.0)
    assert it.cluster.state.world[0].disorder == it.cluster.state.world[0].overlap == 0
    assert executor_row(it, 1).completed == row(it).completed - 2


def test_a_failure_leaves_the_other_operators_records_of_a_shared_pool_where_they_are():
    topology = Topology("two", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="in", key="k")])
    shared = Plan(0, {"both": PoolPlan.of(2)}, {"a": "both", "b": "both"}, {"b": (0, 1) * 8})
    it = plant(topology, exponential(0.02), rate=Step([(0, 60.0), (5, 0.0)]), plan=shared)
    it.cluster.advance(4.0)
    fail(it, 0, 20.0, "both", ("a", "b"))
    assert count_in_system(it) == {name: row(it, name).arrived - row(it, name).completed for name in "ab"}
    before = it.cluster.state.substreams.completed.copy()
    it.cluster.advance(20.0)
    assert ((it.cluster.state.substreams.completed > before) == [False, True] * 8).all()
    assert drained(it, 60.0)
    assert it.cluster.state.world[0].disorder == it.cluster.state.world[0].overlap == 0


def test_a_failure_told_for_an_operator_finds_the_pool_that_it_shares():
    topology = Topology("two", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="in")])
    shared = Plan(0, {"both": PoolPlan.of(2)}, {"a": "both", "b": "both"})
    told = ClusterModel(failures=(Failure(at=1, operator="b", executor=1, down=2),))
    it = plant(topology, fixed(0.01), plan=shared, cluster=told)
    it.cluster.advance(1.5)
    assert [executor.phase for executor in it.observe().executors] == [ExecutorPhase.ACTIVE, ExecutorPhase.FAILED]
    assert row(it, "a").servers == row(it, "b").servers == 1
    it.cluster.advance(3.5)
    assert row(it, "a").servers == row(it, "b").servers == 2


def test_events_that_no_longer_hold_do_not_pile_up():
    it = plant(keyed(1), fixed(1e6), rate=ONE_RECORD, scv=0)
    it.cluster.advance(2.0)
    for turn in range(100):
        fail(it, 0, down_s=0.01)
        it.cluster.advance(2.0 + 0.02 * (turn + 1))
    assert it.cluster.state.world[0].events == 1


def test_a_failed_batch_is_done_again_from_its_start():
    batches = OperatorModel(
        service=Service(mean=1.0, distribution="fixed"), queues="batches", batches=Batches(fixed=1, per_task=0)
    )
    it = plant(one_operator(), {"op": batches}, rate=ONE_RECORD, scv=0)
    it.cluster.advance(2.5)
    fail(it, 0, down_s=0.5)
    assert drained(it, 5.0)
    assert it.observe().latency.max_s == 3 + 2 - 1  # the batch of 1 s breaks off at 2.5 and runs from 3 to 5


def test_a_failed_batch_leaves_no_trace_in_the_counters_of_executors():
    batches = exponential(0.02, executors=3, queues="batches", batches=Batches(fixed=0.1, per_task=0))
    it = plant(one_operator(), batches, rate=Step([(0, 100.0), (5, 0.0)]))
    it.cluster.advance(2.0)
    fail(it, 1, down_s=1.0)
    assert drained(it, 60.0)
    assert sum(executor_row(it, number).completed for number in range(3)) == row(it).completed == row(it).arrived
    assert all(executor.queued == 0 for executor in it.observe().executors)


def test_a_keyed_batch_waits_for_its_failed_executor():
    batches = fixed(0.01, executors=2, queues="batches", batches=Batches(fixed=0.1, per_task=0))
    it = plant(keyed(4), batches, rate=Step([(0, 10.0), (5, 0.0)]), scv=0)
    it.cluster.advance(1.0)
    before = int(row(it).completed)
    fail(it, 1, down_s=3.0)
    it.cluster.advance(3.9)
    assert row(it).completed == before
    assert drained(it, 8.0)
    assert it.cluster.state.world[0].disorder == 0


def test_executors_fail_independently_of_each_other():
    failures = tuple(
        Failure(at=at, operator="op", executor=number, down=3) for at, number in ((1, 0), (2, 1), (2.5, 0))
    )
    it = plant(keyed(8), exponential(0.01, executors=3), cluster=ClusterModel(failures=failures))
    phases = []
    for time_s in np.arange(0.5, 7.0):
        it.cluster.advance(float(time_s))
        phases.append("".join(executor.phase[0] for executor in it.observe().executors))
    assert phases == ["aaa", "faa", "ffa", "ffa", "afa", "aaa", "aaa"]

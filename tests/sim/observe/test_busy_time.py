"""Busy time, as it is read at any moment: what was worked so far, by whom, and for whose finished batches."""

from itertools import pairwise

import pytest
from plants import executor_row, exponential, fixed, keyed, one_operator, plant, row

from rheostat.decision import Scale
from rheostat.load import Step
from rheostat.plan import Plan, PoolPlan
from rheostat.sim.engine.calendar import BATCH_END, KIND_BITS
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.model import Batches, ClusterModel
from rheostat.topology import Operator, Source, Topology

TWO = Topology("two", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="in")])
ONE_POOL = Plan(0, {"both": PoolPlan.of(1)}, {"a": "both", "b": "both"})
EVERY_TEN_SECONDS = {"queues": "batches", "batches": Batches(fixed=1, per_task=0, trigger="10s", limit="none")}


def is_under_way(it, operator):
    """Whether the next event of its batches is the end of one."""
    code = int(row(it, operator).batch_code)
    return code != NONE and code % (1 << KIND_BITS) == BATCH_END


def readings(it, until_s, every_s=0.1):
    seen = [it.observe()]
    for turn in range(1, round((until_s - it.cluster.now_s) / every_s) + 1):
        it.cluster.advance(turn * every_s)
        seen.append(it.observe())
    return seen


def test_the_busy_time_of_operators_that_share_an_executor_in_batches_never_falls():
    it = plant(TWO, fixed(0.002, **EVERY_TEN_SECONDS), rate=100.0, plan=ONE_POOL)
    last = dict.fromkeys("ab", 0.0)
    for seen in readings(it, 60.0):
        for name in "ab":
            assert seen.operators[name].busy_s >= last[name] - 1e-9, f"{name} at {seen.time_s:g} s"
            last[name] = seen.operators[name].busy_s
    assert min(last.values()) > 5.0


def test_what_executors_worked_is_what_was_worked_for_operators_whenever_no_batch_is_under_way():
    it = plant(TWO, fixed(0.002, **EVERY_TEN_SECONDS), rate=100.0, plan=ONE_POOL)
    compared = 0
    for turn in range(600):
        it.cluster.advance(turn * 0.1)
        seen = it.observe()
        [executor] = seen.executors
        for_operators_s = seen.operators["a"].busy_s + seen.operators["b"].busy_s
        assert executor.busy_s >= for_operators_s - 1e-9
        if not any(is_under_way(it, name) for name in "ab"):
            assert executor.busy_s == pytest.approx(for_operators_s, abs=1e-9)
            compared += 1
    assert compared > 100


def test_the_work_of_a_batch_counts_for_its_operator_together_with_its_records():
    """As on Spark. Counted while it is done, it would make the service rate of a short period any number."""
    model = exponential(0.04, executors=2, queues="batches", batches=Batches(fixed=0.3, per_task=0))
    it = plant(one_operator(), model, rate=30.0)
    measured = []
    for before, now in pairwise(readings(it, 300.0, every_s=2.0)):
        one, other = before.operators["op"], now.operators["op"]
        if other.completed > one.completed:
            measured.append((other.completed - one.completed) / (other.busy_s - one.busy_s))
    assert len(measured) > 100
    assert min(measured) > 12.0
    assert max(measured) < 50.0


def worked_s(it):
    """By all executors."""
    return sum(executor.busy_s for executor in it.observe().executors)


def two_shares():
    """One record of 10 ms makes the first batch of each operator, 98 the second, ten seconds after the first record.

    The second ones are worked from the eleventh second on, b's after a's. Returns when the first record came, too.
    """
    burst = Step([(0, 99.5), (1, 0.0)])
    return plant(TWO, fixed(0.01, **EVERY_TEN_SECONDS), rate=burst, scv=0, plan=ONE_POOL), 1 / 99.5


def test_a_share_is_worked_at_its_turn_and_counts_for_its_operator_when_the_batch_ends():
    it, first_s = two_shares()
    worked = {
        10.5: (0.02, 0.01, 0.01),
        11.4: (0.42, 0.01, 0.01),
        12.0: (1.02, 0.99, 0.01),
        12.5: (1.52, 0.99, 0.01),
        13.0: (1.98, 0.99, 0.99),
    }
    for time_s, expected_s in worked.items():
        it.cluster.advance(first_s + time_s)
        seen = it.observe()
        busy_s = (seen.executors[0].busy_s, seen.operators["a"].busy_s, seen.operators["b"].busy_s)
        assert busy_s == pytest.approx(expected_s), time_s


def test_a_batch_that_is_given_up_takes_back_what_was_not_worked_of_its_own_share():
    it, first_s = two_shares()
    it.cluster.advance(first_s + 11.5)
    it.cluster.failures.fail(it.cluster.registry.members["both", 0], ("a", "b"), 1.0)
    seen = it.observe()
    assert [seen.operators[name].busy_s for name in "ab"] == pytest.approx([0.51, 0.01])
    assert seen.executors[0].busy_s == pytest.approx(0.52)
    assert executor_row(it, 0, "both").free_at == it.cluster.now_s, "nothing is booked any more"
    it.cluster.advance(60.0)
    assert row(it, "a").completed == row(it, "b").completed == 99
    assert executor_row(it, 0, "both").busy_s == pytest.approx(0.52 + 2 * 0.98)


def test_the_service_that_a_leaving_executor_still_gives_counts_as_it_is_given():
    it = plant(one_operator(), fixed(4.0, executors=2), rate=Step([(0, 2.0), (1.1, 0.0)]), scv=0)
    it.cluster.advance(2.0)
    it.apply(Plan.initial(it.topology, 2).after(Scale(pool="op", reason="test", executors=1)))
    assert it.observe().operators["op"].busy_s == pytest.approx(1.5 + 1.0)
    it.cluster.advance(3.0)
    assert it.observe().operators["op"].busy_s == pytest.approx(2.5 + 2.0)


def test_loading_the_state_of_a_substream_is_not_work():
    batches = fixed(0.1, executors=2, queues="batches", batches=Batches(fixed=0, per_task=0, trigger="10s"))
    burst = Step([(0, 100.0), (0.105, 0.0)])
    it = plant(keyed(2), batches, rate=burst, scv=0, weights=[1, 0], cluster=ClusterModel(move_delay="2s"))
    it.cluster.advance(5.0)
    it.cluster.moves.move("op", [0], it.cluster.registry.members["op", 1])
    it.cluster.advance(12.0)
    assert worked_s(it) == pytest.approx(0.1)
    it.cluster.advance(12.51)
    assert worked_s(it) == pytest.approx(0.6)
    it.cluster.advance(20.0)
    assert it.observe().operators["op"].busy_s == pytest.approx(1.0)

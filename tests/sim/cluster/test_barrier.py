"""Moves at a barrier: all executors of an operator, or only two, do what they have, wait for the slowest and pause."""

import pytest
from plants import drained, executor_row, fixed, keyed, plant

from rheostat.decision import Move, Transfer
from rheostat.load import Step
from rheostat.plan import Plan
from rheostat.sim.model import ClusterModel, Failure

SERVICE_S = 0.1
START_S, MOVE_S = 1.0, 2.0
LOAD = Step([(0, 60.0), (1.0, 6.0), (9.0, 0.0)])
"""Twice what three executors can do until the barrier, so that each has a queue, and little afterwards."""


def moving(transfers, pause="barrier", **cluster):
    it = plant(
        keyed(6),
        fixed(SERVICE_S, executors=3),
        rate=LOAD,
        cluster=ClusterModel(move_delay=MOVE_S, pause=pause, **cluster),
    )
    it.cluster.advance(START_S)
    plan = Plan.initial(it.topology, 3).after(Move(operator="op", reason="test", transfers=transfers))
    return it, plan


def done_at(it, number):
    """When executor `number` is done with everything that it has now."""
    row = executor_row(it, number)
    return float(row.done) + SERVICE_S * int(row.queued)


def completed(it):
    return [int(executor_row(it, number).completed) for number in range(3)]


def test_all_do_what_they_have_and_go_on_when_the_slowest_was_done_and_the_substreams_have_moved():
    it, plan = moving((Transfer((0,), 0, 1),))
    ends_s = [done_at(it, number) for number in range(3)]
    assert max(ends_s) - min(ends_s) > SERVICE_S
    expected = [int(executor_row(it, n).completed + executor_row(it, n).queued) + 1 for n in range(3)]
    it.apply(plan)
    it.cluster.advance(max(ends_s) + 1e-6)
    assert completed(it) == expected
    it.cluster.advance(max(ends_s) + MOVE_S - 1e-6)
    assert completed(it) == expected
    assert it.observe().substreams[0].executor is None
    it.cluster.advance(max(ends_s) + MOVE_S + 1e-6)
    assert it.observe().substreams[0].executor == 1
    assert it.cluster.switching_events == 1
    assert it.cluster.switching_s == pytest.approx(max(ends_s) + MOVE_S - START_S)
    assert it.cluster.switching_executor_s == pytest.approx(3 * it.cluster.switching_s)
    assert drained(it, 30.0)
    assert it.cluster.state.world[0].disorder == it.cluster.state.world[0].overlap == 0


def test_moves_of_one_plan_share_one_barrier():
    it, plan = moving((Transfer((0,), 0, 1), Transfer((4, 5), 2, 0)))
    last_s = max(done_at(it, number) for number in range(3))
    it.apply(plan)
    it.cluster.advance(last_s + MOVE_S + 1e-6)
    assert [substream.executor for substream in it.observe().substreams] == [1, 0, 1, 1, 0, 0]
    assert it.cluster.switching_events == 1
    assert drained(it, 30.0)
    assert it.cluster.state.world[0].disorder == 0


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_barrier_does_not_wait_for_an_executor_that_fails_and_nothing_is_lost(failing):
    """The source, the target or a third one fails while they come to the barrier, for longer than the move takes."""
    failures = (Failure(at=START_S + 0.05, operator="op", executor=failing, down="6s"),)
    it, plan = moving((Transfer((0,), 0, 1),), failures=failures)
    last_s = max(done_at(it, number) for number in range(3) if number != failing)
    it.apply(plan)
    it.cluster.advance(last_s + MOVE_S + 1e-6)
    assert it.observe().substreams[0].executor == 1
    assert it.cluster.switching_s == pytest.approx(last_s + MOVE_S - START_S)
    assert drained(it, 40.0)
    world = it.cluster.state.world[0]
    assert world.disorder == world.overlap == world.lost == 0
    assert world.entered == world.left > 60


def test_two_drain_and_pause_while_the_others_go_on():
    it, plan = moving((Transfer((0,), 0, 1),), pause="drain")
    ends_s = [done_at(it, number) for number in range(2)]
    it.apply(plan)
    it.cluster.advance(max(ends_s) + 1e-6)
    before = completed(it)
    it.cluster.advance(max(ends_s) + MOVE_S - 1e-6)
    after = completed(it)
    assert after[:2] == before[:2]
    assert after[2] > before[2]
    it.cluster.advance(max(ends_s) + MOVE_S + 1e-6)
    assert it.observe().substreams[0].executor == 1
    assert it.cluster.switching_executor_s == pytest.approx(2 * it.cluster.switching_s)
    assert drained(it, 30.0)
    assert it.cluster.state.world[0].disorder == it.cluster.state.world[0].overlap == 0


def test_a_move_of_an_executor_that_drains_waits_in_line():
    it, plan = moving((Transfer((0,), 0, 1), Transfer((4, 5), 2, 0)), pause="drain")
    it.apply(plan)
    first_s = max(done_at(it, number) for number in range(2)) + MOVE_S
    it.cluster.advance(first_s + 1e-6)
    assert [substream.executor for substream in it.observe().substreams][:1] == [1]
    assert it.cluster.switching_events == 1
    it.cluster.advance(first_s + 20.0)
    assert [substream.executor for substream in it.observe().substreams] == [1, 0, 1, 1, 0, 0]
    assert it.cluster.switching_events == 2
    assert drained(it, 40.0)
    assert it.cluster.state.world[0].disorder == it.cluster.state.world[0].overlap == 0


def test_an_idle_operator_moves_at_once():
    it = plant(keyed(2), fixed(0.001, executors=2), rate=0.0, cluster=ClusterModel(move_delay=1, pause="barrier"))
    it.cluster.advance(1.0)
    it.cluster.moves.move("op", [0], it.cluster.registry.members["op", 1])
    it.cluster.advance(2.0)
    assert [substream.executor for substream in it.observe().substreams] == [1, 1]

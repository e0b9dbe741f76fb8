"""What is learned of an operator's cost, and when: an executor that is new makes finished work no evidence."""

import msgspec
import numpy as np
import pytest

from rheostat.policies.rheostat.operator_cost import OperatorCost, largest_of
from rheostat.snapshot import Batch, BatchUnderWay, ExecutorPhase, ExecutorState, OperatorState, SubstreamState


def executors(number):
    return tuple(ExecutorState("any", each, ExecutorPhase.ACTIVE) for each in range(number))


def state(turns, records, work_s, under_way=None):
    """After so many batches with as many records, and as much work each."""
    batch = Batch(turns, 2.0 * turns, 0.5 * turns, 8 * turns)
    return OperatorState("any", completed=turns * records, busy_s=turns * work_s, batch=batch, under_way=under_way)


@pytest.fixture
def warm():
    """A record costs 10 ms, and one executor serves."""
    cost = OperatorCost()
    for turn in range(10):
        cost.update(2.0 * turn, state(turn, 200, 2.0), executors(1), 1)
    assert cost.service_s == pytest.approx(0.01)
    return cost


def test_what_a_new_executor_has_begun_says_nothing_of_the_cost_when_it_has_finished(warm):
    for time_s, turns in ((20.0, 10), (22.0, 11), (24.0, 12)):
        dear = state(10, 200, 2.0)
        dear = OperatorState(
            "any", completed=2000 + 200 * (turns - 9), busy_s=20.0 + 9.0 * (turns - 9), batch=dear.batch
        )
        warm.update(time_s, dear, executors(2), 2)
    assert warm.service_s == pytest.approx(0.01)


def test_work_that_starts_of_other_pools_slowed_down_says_nothing_of_the_cost(warm):
    """On two cores a record that cost 10 ms cost 45 ms while another pool's executors started."""
    batch_s = warm.batch_cost_s(1)
    dear = BatchUnderWay(elapsed_s=6.0, tasks=8, finished=4, running=2, worked_s=10.0, rows=200)
    for turn in (10, 11, 12):
        batch = Batch(turn, 2.0 * turn, 0.5 * turn + 3.0 * (turn - 9), 8 * turn)
        slow = OperatorState("any", completed=200 * turn, busy_s=18.0 + 9.0 * (turn - 9), batch=batch, under_way=dear)
        warm.update(2.0 * turn, slow, executors(1), 1, is_disturbed=True)
    assert (warm.service_s, warm.batch_cost_s(1)) == pytest.approx((0.01, batch_s))
    for turn in (13, 14):
        batch = Batch(turn, 2.0 * turn, 0.5 * turn + 9.0, 8 * turn)
        slow = OperatorState("any", completed=200 * turn, busy_s=45.0 + 9.0 * (turn - 12), batch=batch)
        warm.update(2.0 * turn, slow, executors(1), 1)
    assert warm.service_s == pytest.approx(0.045, rel=0.1), "what is begun and finished afterwards counts"


def test_a_jump_in_the_batch_under_way_is_believed_though_an_executor_is_new(warm):
    under_way = BatchUnderWay(elapsed_s=3.0, tasks=8, finished=4, running=2, worked_s=10.0, rows=200)
    warm.update(20.0, state(10, 200, 2.0, under_way), executors(2), 2)
    assert warm.service_s == pytest.approx(10.0 * 8 / 5 / 200)
    warm.update(22.0, state(11, 200, 2.0), executors(2), 2)
    assert warm.service_s == pytest.approx(0.08), "the batch that had it was not learned from"


def test_substreams_count_where_they_are_served_and_not_where_the_plan_has_them():
    """While 12 executors start, all substreams are still on the two that serve, and one of these has three quarters."""
    served = [SubstreamState("any", index, index // 9, arrived=0) for index in range(12)]
    cost, planned = OperatorCost(), tuple(range(12))
    for turn in range(6):
        substreams = [msgspec.structs.replace(each, arrived=10 * turn) for each in served]
        cost.update(2.0 * turn, state(turn, 120, 1.2), executors(2), 2, owners=planned, substreams=substreams)
    assert cost.stretch(2, as_it_is=True) == pytest.approx(1.5)
    assert cost.left_s(120, 0.0) == pytest.approx(0.9)
    moving = [msgspec.structs.replace(each, executor=None, arrived=60) for each in served]
    cost.update(12.0, state(6, 120, 1.2), executors(2), 2, owners=planned, substreams=moving)
    assert cost.stretch(2, as_it_is=True) == pytest.approx(1.0), "as if they were spread evenly"


def test_a_batch_that_loads_state_which_was_moved_shows_no_jump():
    cost = OperatorCost()
    for turn in range(10):
        cost.update(2.0 * turn, state(turn, 200, 2.0), executors(2), 2, owners=(0, 1))
    dear = BatchUnderWay(elapsed_s=6.0, tasks=2, finished=0, running=2, worked_s=10.0, rows=200)
    cost.update(20.0, state(9, 200, 2.0, dear), executors(2), 2, owners=(0, 0))
    assert cost.service_s == pytest.approx(0.01)
    cost.update(22.0, state(10, 200, 2.0, dear), executors(2), 2, owners=(0, 0))
    assert cost.service_s == pytest.approx(0.05), "the next one does"


def test_a_jump_is_seen_in_the_turn_in_which_the_batch_before_was_learned(warm):
    under_way = BatchUnderWay(elapsed_s=1.5, tasks=8, finished=5, running=1, worked_s=5.5, rows=200)
    warm.update(20.0, state(10, 200, 2.0, under_way), executors(1), 1)
    assert warm.service_s == pytest.approx(0.04)
    warm.update(22.0, state(11, 200, 2.0), executors(1), 1)
    assert warm.service_s == pytest.approx(0.01, rel=0.01), "what finished cost no more than before"


def test_work_that_is_not_known_for_a_while_is_not_all_charged_to_what_follows(warm):
    warm.update(20.0, state(10, 200, 2.0), executors(2), 2)
    unknown = OperatorState("any", completed=2200, batch=Batch(11, 22.0, 5.5, 88))
    warm.update(22.0, unknown, executors(1), 1)
    warm.update(24.0, state(12, 200, 2.0), executors(1), 1)
    warm.update(26.0, state(13, 200, 2.0), executors(1), 1)
    assert warm.service_s == pytest.approx(0.01)


@pytest.mark.parametrize(("waiting", "is_limited"), [(100, False), (900, True)])
def test_batches_of_equal_rows_are_limited_only_if_they_leave_some_behind(warm, waiting, is_limited):
    """A source that hands over lumps makes equal batches too. 300 arrive while the batch under way runs."""
    under_way = BatchUnderWay(elapsed_s=3.0, tasks=8, finished=0, running=2, worked_s=1.0, rows=200)
    before = state(10, 200, 2.0, under_way)
    queued = OperatorState(
        "any",
        completed=before.completed,
        busy_s=20.0,
        queued=200 + 300 + waiting,
        batch=before.batch,
        under_way=under_way,
    )
    warm.update(20.0, queued, executors(1), 1, rate=100.0)
    assert warm.is_limited is is_limited


def test_between_two_batches_nothing_says_that_they_are_limited(warm):
    queued = OperatorState("any", completed=2000, busy_s=20.0, queued=900, batch=Batch(10, 20.0, 5.0, 80))
    warm.update(20.0, queued, executors(1), 1, rate=100.0)
    assert not warm.is_limited


def test_by_chance_a_mean_latency_varies_as_much_as_in_many_simulated_batches():
    """One executor at a utilisation of 0.8: each batch has what arrived during the one before."""
    cost, rate, service_s, fixed_s, window_s = OperatorCost(), 8.0, 0.1, 0.5, 30.0
    for turn in range(20):
        batch = Batch(turn, 2.0 * turn, fixed_s * turn, turn)
        each = OperatorState("any", completed=16 * turn, busy_s=1.6 * turn, batch=batch)
        cost.update(2.0 * turn, each, executors(1), 1)
    rng, times_s, latencies_s, last_s, now_s = np.random.default_rng(1), [], [], 0.0, 1.0
    while now_s < 40_000:
        records = rng.poisson(rate * (now_s - last_s))
        batch_s = fixed_s + rng.exponential(service_s, records).sum()
        times_s.append(now_s + batch_s)
        latencies_s.append((now_s - last_s) / 2 + batch_s)
        last_s, now_s = now_s, now_s + batch_s
    latencies_s = np.array(latencies_s)
    means_s = [
        latencies_s[np.searchsorted(times_s, end_s - window_s) : np.searchsorted(times_s, end_s)].mean()
        for end_s in np.arange(1000.0, 40_000.0, 50.0)
    ]
    assert cost.chance_s(rate, 1, window_s) == pytest.approx(np.std(means_s), rel=0.35)


@pytest.mark.parametrize(
    ("size", "mean"), [(1, 0.0), (2, 1 / np.sqrt(np.pi)), (3, 1.5 / np.sqrt(np.pi)), (10, 1.53875), (1000, 3.24144)]
)
def test_the_largest_of_normal_variables_is_as_in_published_tables(size, mean):
    """Harter (1961) for 10 and more."""
    assert largest_of(size) == pytest.approx(mean, abs=2e-3)


@pytest.mark.parametrize("scv", [1.0, 3.0])
def test_what_two_executors_show_of_the_slowest_task_holds_for_eight(scv):
    """Batches of 800 records on two executors are learned from; on eight they last as long as in a simulation."""
    rng, spread = np.random.default_rng(7), np.sqrt(np.log1p(scv))

    def slowest_and_all_s(size, batches):
        times_s = 0.01 * rng.lognormal(-(spread**2) / 2, spread, (batches, size, 800 // size)).sum(axis=2)
        return times_s.max(axis=1), times_s.sum()

    cost, busy_s, took_s = OperatorCost(), 0.0, 0.0
    for turn in range(400):
        batch = Batch(turn, took_s, 0.5 * turn, 2 * turn)
        done = OperatorState("any", completed=800 * turn, busy_s=busy_s, batch=batch)
        cost.update(2.0 * turn, done, executors(2), 2)
        slowest_s, all_s = slowest_and_all_s(2, 1)
        busy_s, took_s = busy_s + float(all_s), took_s + 0.5 + float(slowest_s[0])
    simulated_s = 0.5 + slowest_and_all_s(8, 20_000)[0].mean()
    predicted_s = float(cost.batch_with_s(np.array(800.0), np.array(8.0), 8))
    assert predicted_s == pytest.approx(simulated_s, rel=0.03)


def straggling_s(cost, *, tasks=8, finished=7, running=1, elapsed_s=10.0):
    batch = BatchUnderWay(elapsed_s, tasks, finished, running, worked_s=2.0, rows=200)
    return cost.straggling_s(state(10, 200, 2.0, batch))


def test_a_batch_straggles_when_it_waits_for_few_of_its_tasks_much_longer_than_it_should_take(warm):
    """It should take 2.5 s."""
    assert straggling_s(warm) == pytest.approx(7.5)
    assert straggling_s(warm, finished=6, running=2) == pytest.approx(7.5)
    assert straggling_s(warm, finished=5, running=3) == 0.0, "as many may be as long as each other"
    assert straggling_s(warm, finished=6) == 0.0, "one still waits"
    assert straggling_s(warm, elapsed_s=4.9) == 0.0


def test_the_first_task_of_a_new_executor_is_no_straggler(warm):
    warm.update(20.0, state(10, 200, 2.0), executors(2), 2)
    assert straggling_s(warm) == 0.0


def test_tasks_that_starts_of_other_pools_slow_down_are_no_stragglers(warm):
    warm.update(20.0, state(10, 200, 2.0), executors(1), 1, is_disturbed=True)
    assert straggling_s(warm) == 0.0


@pytest.mark.parametrize(("planned", "cost_s"), [(8, 0.5), (2, 0.75)])
def test_batches_with_more_tasks_for_executors_that_start_do_not_count_in_what_batches_cost(planned, cost_s):
    cost, fixed_s, tasks = OperatorCost(), 0.0, 0
    for turn in range(21):
        is_spread = turn > 10
        fixed_s, tasks = fixed_s + (1.0 if is_spread else 0.5), tasks + (8 if is_spread else 2)
        batch = Batch(turn, fixed_s + turn, fixed_s, tasks)
        state = OperatorState("any", completed=100 * turn, busy_s=2.0 * turn, batch=batch)
        cost.update(2.0 * turn, state, (), 2, planned=planned if is_spread else 2)
    assert cost.batch_cost_s(2) == pytest.approx(cost_s)

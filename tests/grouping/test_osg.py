"""OSG's tasks and schedulers: their states as in figure 7, synchronisation, several schedulers, a changed degree."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import ConfigError
from rheostat.grouping import CostSketch, Hashes, OsgTask, Scheduler, sketch_hashes
from rheostat.grouping.osg.messages import SyncReply, SyncRequest
from rheostat.grouping.osg.scheduler import SchedulerState
from rheostat.grouping.osg.task import TaskState, relative_change

APART = Hashes((1,), (0,), 16)
"""Values below 16 have a cell each."""


def sketch(**seconds):
    """A sketch that has seen value n take `vn` seconds."""
    made = CostSketch(APART)
    for name, time in seconds.items():
        made.learn(np.array([int(name[1:])]), time)
    return made


# --- the task ---------------------------------------------------------------------------------------------------


def test_a_task_looks_every_n_records_and_sends_when_two_looks_agree():
    task = OsgTask(APART, 0.0, 2, 0.05)
    assert task.completed(np.array([1]), 1.0) == []
    assert task.state is TaskState.START
    assert task.completed(np.array([1]), 1.0) == []
    assert task.state is TaskState.STABILIZING
    [sent] = task.completed(np.array([1, 1]), 1.0)
    assert task.state is TaskState.START
    assert sent.counts.total == 4
    assert sent.seconds(np.array([1])) == [1.0]


def test_a_task_goes_on_stabilizing_while_costs_change():
    task = OsgTask(APART, 0.0, 2, 0.05)
    task.completed(np.array([1, 1]), 1.0)
    assert task.completed(np.array([1, 1]), 2.0) == []
    assert task.state is TaskState.STABILIZING
    assert len(task.completed(np.array([1] * 4), 1.5)) == 1


def test_a_change_of_just_the_tolerance_is_stable():
    """Equation 14 has ≤: the mean goes from 1 to 1.25, a quarter of the snapshot."""
    task = OsgTask(APART, 0.0, 2, 0.25)
    assert len(task.completed(np.array([1] * 4), [1.0, 1.0, 1.5, 1.5])) == 1


def test_unless_told_a_task_looks_every_second_and_takes_5_percent_for_stable():
    records = np.ones(1000, dtype=np.int64)
    stable, unstable = OsgTask(APART), OsgTask(APART)
    for task in (stable, unstable):
        task.completed(records, 1.0, now_s=0.99)
        assert task.state is TaskState.START
        task.completed(records[:1], 1.0, now_s=1.0)
        assert task.state is TaskState.STABILIZING
    assert stable.completed(records, 1.09, now_s=1.99) == []
    assert len(stable.completed(records[:1], 1.09, now_s=2.0)) == 1
    assert unstable.completed(records, 1.102, now_s=1.99) == []
    assert unstable.completed(records[:1], 1.102, now_s=2.0) == []


def test_a_look_waits_for_32_records_where_fewer_come_in_its_time():
    task = OsgTask(APART)
    task.completed(np.ones(31, dtype=np.int64), 1.0, now_s=10.0)
    assert task.state is TaskState.START
    task.completed(np.ones(1, dtype=np.int64), 1.0, now_s=10.0)
    assert task.state is TaskState.STABILIZING


def learned(tolerance=0.05):
    """A task that has sent that value 1 takes a second and value 2 three, and looks after 20 more records."""
    task = OsgTask(APART, 0.0, 20, tolerance)
    [sent] = task.completed(np.array([1, 2] * 20), [1.0, 3.0] * 20)
    assert sent.seconds(np.array([1, 2])).tolist() == [1.0, 3.0]
    return task


def test_a_task_at_half_its_speed_sends_all_costs_anew_with_its_next_look():
    """Also the cost of a value that it has not seen since."""
    [sent] = learned().completed(np.ones(20, dtype=np.int64), 2.0)
    assert sent.seconds(np.array([1, 2])).tolist() == [2.0, 6.0]


def test_after_another_speed_a_task_learns_anew():
    task = learned()
    task.completed(np.ones(20, dtype=np.int64), 2.0)
    assert task.state is TaskState.START
    [sent] = task.completed(np.array([1, 2] * 20), [2.0, 6.25] * 20)
    assert sent.seconds(np.array([1, 2])).tolist() == [2.0, 6.25]


def test_chance_is_no_other_speed():
    """10 % longer in the sum, but single records vary as much: less than three standard errors."""
    task = learned()
    assert task.completed(np.ones(20, dtype=np.int64), [0.5, 1.7] * 10) == []


def test_a_speed_within_the_tolerance_is_the_same():
    assert learned(tolerance=0.25).completed(np.ones(20, dtype=np.int64), 1.25) == []
    assert len(learned(tolerance=0.25).completed(np.ones(20, dtype=np.int64), 1.26)) == 1


def test_after_sending_a_task_starts_with_empty_sketches():
    task = OsgTask(APART, 0.0, 2)
    task.completed(np.array([1] * 4), 1.0)
    [second] = task.completed(np.array([2] * 4), 3.0)
    assert second.counts.total == 4
    assert second.seconds(np.array([2])) == [3.0]


def test_many_records_at_once_are_as_one_after_the_other():
    rng = np.random.default_rng(4)
    values, times = rng.integers(0, 16, 500), rng.random(500)
    one, many = OsgTask(APART, 0.0, 16, 0.2), OsgTask(APART, 0.0, 16, 0.2)
    sent = [each for i in range(500) for each in one.completed(values[i : i + 1], times[i : i + 1])]
    at_once = many.completed(values[:333], times[:333]) + many.completed(values[333:], times[333:])
    assert len(sent) == len(at_once) > 0
    for left, right in zip(sent, at_once, strict=True):
        assert left.times_s.cells == pytest.approx(right.times_s.cells)
    assert many.cumulated_s[0] == pytest.approx(one.cumulated_s[0]) == pytest.approx(times.sum())


def test_the_change_is_relative_to_the_snapshot_and_leaves_uncounted_cells_out():
    before, after = np.array([[1.0, np.nan, 3.0]]), np.array([[1.5, 9.0, 3.5]])
    assert relative_change(before, after) == pytest.approx(1.0 / 4.0)
    assert relative_change(np.zeros((1, 2)), np.zeros((1, 2))) == 0.0
    assert relative_change(np.zeros((1, 2)), np.ones((1, 2))) == 1.0


def test_a_task_replies_with_what_the_scheduler_did_not_know():
    task = OsgTask(APART)
    task.completed(np.array([1, 2]), [1.0, 2.5])
    assert task.reply(SyncRequest(0, 1, 7, 3.0)) == SyncReply(1, 7, 0.5)
    assert task.reply(SyncRequest(4, 1, 7, 3.0)) == SyncReply(1, 7, -3.0), "scheduler 4 has sent it nothing"


@pytest.mark.parametrize(
    ("window_s", "least", "tolerance", "named"),
    [(-1, 1, 0.1, "window -1"), (1, 0, 0.1, "least 0"), (1, 1, -1, "tolerance -1")],
)
def test_a_task_refuses_parameters_that_mean_nothing(window_s, least, tolerance, named):
    with pytest.raises(ConfigError, match=named):
        OsgTask(APART, window_s, least, tolerance)


# --- the scheduler ----------------------------------------------------------------------------------------------


def told(executors=2):
    """A scheduler that knows all costs: value n takes n seconds."""
    scheduler = Scheduler(executors)
    for task in range(executors):
        scheduler.receive_sketch(task, sketch(v1=1.0, v2=2.0, v3=3.0, v6=6.0))
    return scheduler


def running(executors=2):
    scheduler = told(executors)
    scheduler.assign(np.ones(executors, dtype=np.int64))
    for _, task, epoch, _ in scheduler.take_requests():
        scheduler.receive_reply(SyncReply(task, epoch, 0.0))
    return scheduler


def test_round_robin_until_every_task_has_sent_its_sketches():
    scheduler = Scheduler(3)
    scheduler.receive_sketch(0, sketch(v1=1.0))
    scheduler.receive_sketch(0, sketch(v1=1.0))
    scheduler.receive_sketch(2, sketch(v1=1.0))
    assert scheduler.state is SchedulerState.ROUND_ROBIN
    assert [scheduler.choose(1) for _ in range(4)] == [0, 1, 2, 0]
    scheduler.receive_sketch(1, sketch(v1=1.0))
    assert scheduler.state is SchedulerState.SEND_ALL


def test_send_all_asks_each_task_once_with_the_load_it_is_thought_to_have():
    scheduler = told(2)
    assert scheduler.choose(3) == 0
    assert scheduler.take_requests() == [SyncRequest(0, 0, scheduler.epoch, 3.0)]
    assert scheduler.state is SchedulerState.SEND_ALL
    assert scheduler.choose(1) == 1
    assert scheduler.take_requests() == [SyncRequest(0, 1, scheduler.epoch, 1.0)]
    assert scheduler.state is SchedulerState.WAIT_ALL
    assert scheduler.choose(1) == 1, "while it waits it schedules as in RUN"


def test_replies_correct_the_loads_once_all_have_come():
    scheduler = told(2)
    scheduler.assign(np.array([1, 1]))
    first, second = scheduler.take_requests()
    scheduler.receive_reply(SyncReply(0, first.epoch, 5.0))
    assert scheduler.loads_s.tolist() == [1.0, 1.0]
    scheduler.receive_reply(SyncReply(1, second.epoch, -0.5))
    assert scheduler.state is SchedulerState.RUN
    assert scheduler.loads_s.tolist() == [6.0, 0.5]
    assert scheduler.assign(np.array([6, 1])).tolist() == [1, 0]


def test_what_was_scheduled_while_waiting_is_kept_when_loads_are_corrected():
    scheduler = told(2)
    scheduler.assign(np.array([1, 1]))
    requests = scheduler.take_requests()
    assert scheduler.choose(3) == 0
    for request in requests:
        scheduler.receive_reply(SyncReply(request.task, request.epoch, 1.0))
    assert scheduler.loads_s.tolist() == [5.0, 2.0]


def test_new_sketches_start_another_epoch_and_older_replies_are_dropped():
    scheduler = told(2)
    scheduler.assign(np.array([1, 1]))
    old = scheduler.take_requests()
    scheduler.receive_sketch(1, sketch(v1=4.0))
    assert scheduler.state is SchedulerState.SEND_ALL
    for request in old:
        scheduler.receive_reply(SyncReply(request.task, request.epoch, 100.0))
    assert scheduler.loads_s.tolist() == [1.0, 1.0]
    scheduler.assign(np.array([1, 1]))
    assert [request.estimate_s for request in scheduler.take_requests()] == [2.0, 5.0]
    for request in old:
        scheduler.receive_reply(SyncReply(request.task, request.epoch, 100.0))
    assert scheduler.state is SchedulerState.WAIT_ALL
    assert scheduler.loads_s.tolist() == [2.0, 5.0]


def test_each_record_goes_to_the_least_loaded_by_the_estimate_of_that_task():
    scheduler = running(2)
    assert scheduler.assign(np.array([6, 1, 1, 2, 1])).tolist() == [0, 1, 1, 1, 1]
    assert scheduler.loads_s.tolist() == [7.0, 6.0]


@settings(deadline=None)
@given(st.integers(1, 4), st.lists(st.integers(1, 8), min_size=0, max_size=12), st.integers(0, 2**32))
def test_assigning_many_is_choosing_one_by_one(executors, sizes, seed):
    rng = np.random.default_rng(seed)
    hashes = sketch_hashes(0.2, 0.2, rng)
    one, many = Scheduler(executors), Scheduler(executors)
    for size in sizes:
        values = rng.integers(0, 50, size)
        assert many.assign(values).tolist() == [one.choose(int(value)) for value in values]
        requests = many.take_requests()
        assert requests == one.take_requests()
        learned = CostSketch(hashes)
        learned.learn(values, rng.random(size))
        task = int(rng.integers(executors))
        for scheduler in (one, many):
            for request in requests:
                scheduler.receive_reply(SyncReply(request.task, request.epoch, 0.25))
            scheduler.receive_sketch(task, learned)


# --- together ---------------------------------------------------------------------------------------------------


def run(schedulers, tasks, values, times):
    """Records come to the schedulers in turn and are processed at once; what is sent arrives at once."""
    given_s = np.zeros(len(tasks))
    for position, (value, time) in enumerate(zip(values, times, strict=True)):
        scheduler = schedulers[position % len(schedulers)]
        task = scheduler.choose(int(value))
        given_s[task] += time
        sketches = tasks[task].completed(np.array([value]), time, scheduler.number)
        for request in scheduler.take_requests():
            scheduler.receive_reply(tasks[task].reply(request))
        for each in schedulers:
            for sent in sketches:
                each.receive_sketch(task, sent)
    return given_s


@pytest.mark.parametrize("count", [1, 3])
def test_one_or_several_schedulers_keep_the_tasks_as_even_as_single_records_allow(count):
    rng = np.random.default_rng(5)
    cost = np.array([1.0, 2.0, 4.0, 40.0])
    values = rng.choice(4, size=6000, p=[0.5, 0.3, 0.15, 0.05])
    tasks = [OsgTask(APART, 0.0, 64) for _ in range(4)]
    schedulers = [Scheduler(4, number) for number in range(count)]
    given_s = run(schedulers, tasks, values, cost[values])
    assert all(each.state is SchedulerState.RUN for each in schedulers)
    in_turn_s = np.bincount(np.arange(6000) % 4, cost[values])
    assert np.ptp(given_s) <= 40.0 * count
    assert np.ptp(given_s) < np.ptp(in_turn_s)


def test_synchronisation_makes_up_for_what_round_robin_left_uneven():
    """OsgTask 1 is ten times as slow; after the sketches and replies both have worked for as long."""
    tasks = [OsgTask(APART, 0.0, 32), OsgTask(APART, 0.0, 32)]
    scheduler = Scheduler(2)
    given_s = np.zeros(2)
    for _ in range(4000):
        task = scheduler.choose(1)
        time = (1.0, 10.0)[task]
        given_s[task] += time
        for sent in tasks[task].completed(np.array([1]), time):
            scheduler.receive_sketch(task, sent)
        for request in scheduler.take_requests():
            scheduler.receive_reply(tasks[task].reply(request))
    assert abs(given_s[0] - given_s[1]) <= 10.0


def test_a_scheduler_goes_to_another_process_as_it_is():
    """On Spark each upstream task schedules its own rows, with what the driver knows."""
    scheduler = running(3)
    copy = pickle.loads(pickle.dumps(scheduler))
    values = np.array([6, 1, 2, 3, 1, 1, 6])
    assert copy.assign(values).tolist() == scheduler.assign(values).tolist()

"""Micro-batches: a batch of n records takes c + n·s/k, so that batches settle at D = c/(1 − ρ)."""

import itertools

import pytest
from plants import executor_row, exponential, fixed, keyed, one_operator, plant, realise, row

from rheostat.load import Step
from rheostat.plan import Plan, PoolPlan
from rheostat.sim.model import Batches, ClusterModel, NodeModel, OperatorModel, Service
from rheostat.spark.streams.batch_limit import BatchLimit
from rheostat.spark.streams.stream import Arrival
from rheostat.topology import Operator, Source, Topology


def settled(it, until_s=400.0, warm_s=100.0):
    """Mean duration of a batch and mean latency of a record once the start is forgotten."""
    it.cluster.advance(warm_s)
    it.observe()
    before = it.cluster.state.operators[0].copy()
    it.cluster.advance(until_s)
    now = it.cluster.state.operators[0]
    batches, records = now.batch_count - before.batch_count, now.completed - before.completed
    return (
        (now.batch_duration_s - before.batch_duration_s) / batches,
        (now.latency_sum - before.latency_sum) / records,
    )


@pytest.mark.parametrize("load", [0.0005, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("executors", [1, 4])
def test_a_batch_lasts_its_fixed_cost_over_what_is_left_of_the_capacity(executors, load):
    fixed_s, per_task_s, rate = 0.3, 0.02, 2000.0
    cost_s = fixed_s + per_task_s * executors
    batches = Batches(fixed=fixed_s, per_task=per_task_s)
    model = fixed(load * executors / rate, executors=executors, queues="batches", batches=batches)
    it = plant(one_operator(), model, rate=rate)
    duration_s, latency_s = settled(it)
    assert duration_s == pytest.approx(cost_s / (1 - load), rel=0.03)
    assert latency_s == pytest.approx(1.5 * duration_s, rel=0.03)


def test_a_keyed_operator_has_a_task_for_each_substream():
    batches = Batches(fixed=0.1, per_task=0.01)
    it = plant(keyed(20), fixed(2e-4, executors=2, queues="batches", batches=batches), rate=2000.0)
    duration_s, _ = settled(it)
    assert duration_s == pytest.approx(0.3 / (1 - 0.2), rel=0.05)
    assert row(it).batch_task_count == 20 * (row(it).batch_count + (row(it).batch_rows > 0))


def test_the_number_of_tasks_can_be_given():
    batches = Batches(fixed=0, per_task=0.01, tasks=50)
    it = plant(one_operator(), fixed(1e-6, executors=2, queues="batches", batches=batches), rate=1000.0)
    assert settled(it)[0] == pytest.approx(0.5, rel=0.01)


def test_the_slowest_share_of_a_skewed_batch_decides():
    """Of four executors one has all the load: D = c/(1 − ρ) with its ρ, not with the mean."""
    batches = Batches(fixed=0.4, per_task=0)
    it = plant(keyed(4), fixed(5e-4, executors=4, queues="batches", batches=batches), rate=1000.0, weights=[1, 0, 0, 0])
    assert settled(it)[0] == pytest.approx(0.4 / (1 - 0.5), rel=0.03)


def test_a_trigger_longer_than_the_batch_sets_the_pace():
    """With a trigger of T a record waits T/2 for the next batch of T's records."""
    batches = Batches(fixed=0.2, per_task=0, trigger="2s")
    it = plant(one_operator(), fixed(2e-4, queues="batches", batches=batches), rate=1000.0)
    duration_s, latency_s = settled(it)
    assert duration_s == pytest.approx(0.2 + 2 * 0.2, rel=0.02)
    assert latency_s == pytest.approx(1.0 + duration_s, rel=0.02)


def test_a_limit_bounds_the_records_of_a_batch():
    batches = Batches(fixed=0.2, per_task=0, limit=100)
    it = plant(one_operator(), fixed(1e-3, queues="batches", batches=batches), rate=1000.0)
    duration_s, _ = settled(it)
    assert duration_s == pytest.approx(0.2 + 0.1)
    assert row(it).arrived - row(it).completed > 200_000


def batch_sizes(it, until_s):
    """Rows and duration of each batch, as they end."""
    found, rows, count, spent_s = [], 0, 0, 0.0
    while it.cluster.now_s < until_s:
        it.cluster.advance(it.cluster.now_s + 0.05)
        now = row(it)
        if now.batch_count > count:
            found.append((rows, float(now.batch_duration_s) - spent_s))
            count, spent_s = int(now.batch_count), float(now.batch_duration_s)
        rows = int(now.batch_rows)
    return found


STARTS = ClusterModel(start="100ms")

SURGE = Step([(0, 20.0), (10, 4000.0), (20, 20.0)])


def test_a_backlog_is_worked_off_in_batches_of_the_size_that_spark_allows():
    batches = Batches(fixed=1, per_task=0)
    it = plant(one_operator(), fixed(5e-3, queues="batches", batches=batches), rate=SURGE, scv=0)
    at_the_limit = 0
    for (rows, duration_s), (following, _) in itertools.pairwise(batch_sizes(it, 400.0)):
        rule = BatchLimit()
        rule.batch_started(rows, 0.0)
        rule.batch_ended(duration_s)
        limit = len(rule.admitted([Arrival(0, 0.0, 1, 1, None)] * 100_000))
        assert following <= limit
        at_the_limit += following == limit
    assert at_the_limit >= 3
    assert row(it).arrived - row(it).completed < 100


def test_no_limit_takes_the_whole_backlog_at_once():
    batches = Batches(fixed=1, per_task=0, limit="none")
    it = plant(one_operator(), fixed(5e-3, queues="batches", batches=batches), rate=SURGE, scv=0)
    assert max(duration_s for _, duration_s in batch_sizes(it, 400.0)) > 100


def test_an_overloaded_operator_falls_behind_at_the_rate_of_the_excess():
    batches = Batches(fixed=0.1, per_task=0)
    it = plant(one_operator(), fixed(2e-3, queues="batches", batches=batches), rate=1000.0)
    it.cluster.advance(100.0)
    assert row(it).completed < 50_000


def test_exponential_service_gives_the_same_mean_where_batches_are_large():
    batches = Batches(fixed=0.3, per_task=0)
    it = plant(one_operator(), exponential(5e-4, queues="batches", batches=batches), rate=1000.0)
    duration_s, latency_s = settled(it)
    assert duration_s == pytest.approx(0.6, rel=0.04)
    assert latency_s == pytest.approx(0.9, rel=0.05)


def test_an_operator_without_records_makes_no_batches():
    batches = OperatorModel(service=Service(mean=0.001), queues="batches")
    it = plant(one_operator(), {"op": batches}, rate=0.0)
    it.cluster.advance(100.0)
    assert row(it).batch_count == 0
    assert it.observe().operators["op"].batch.count == 0


def test_operators_that_share_executors_do_one_share_after_the_other():
    """Two batches that ask for the same executor at the same moment: one waits for the other's work."""
    topology = Topology("two", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="in")])
    batches = Batches(fixed=1, per_task=0, trigger="10s")
    model = fixed(1e-3, queues="batches", batches=batches)
    shared = Plan(0, {"both": PoolPlan.of(1)}, {"a": "both", "b": "both"})
    it = plant(topology, model, rate=100.0, plan=shared)
    it.cluster.advance(1000.0)
    durations = [row(it, name).batch_duration_s / row(it, name).batch_count for name in "ab"]
    assert durations == pytest.approx([2.0, 3.0], rel=0.05)


def slow_executor(batches, executors=4, speed=0.1, **more):
    """Mean duration of batches with 8 executor-seconds of work every 10 s, when one executor is slow."""
    it = plant(
        one_operator(),
        fixed(0.1, executors=executors, queues="batches", batches=batches, **more),
        rate=8.0,
        scv=0,
        resolution_s=1.0,
    )
    executor_row(it, 1).speed = speed
    it.cluster.advance(1000.0)
    return float(row(it).batch_duration_s / row(it).batch_count), it


def test_with_a_task_for_each_executor_the_slowest_of_them_decides():
    duration_s, it = slow_executor(Batches(fixed=0, per_task=0, trigger="10s"), speed=0.5)
    assert duration_s == pytest.approx(2 / 0.5, rel=0.02)
    assert executor_row(it, 1).completed == pytest.approx(row(it).completed / 4, rel=0.01)


def test_free_executors_take_the_tasks_that_a_slow_one_does_not_get_to():
    duration_s, it = slow_executor(Batches(fixed=0, per_task=0, trigger="10s", tasks=40))
    assert duration_s < 8 / 3.1 + 8 / 40 / 0.1, "the slow one delays the batch by one task at most"
    assert executor_row(it, 1).completed < row(it).completed / 10


def test_load_aware_grouping_deals_three_tasks_for_each_executor():
    batches = Batches(fixed=0, per_task=0, trigger="10s")
    duration_s, it = slow_executor(batches, speed=1 / 3, grouping="load-aware")
    assert row(it).batch_task_count == 12 * row(it).batch_count
    assert duration_s == pytest.approx(8 / 12 * 4, rel=0.05)
    assert executor_row(it, 1).completed == pytest.approx(row(it).completed / 12, rel=0.1)


@pytest.mark.parametrize(
    ("comes_s", "ends_s", "by_the_new_one"),
    [(-0.2, 1.0, 48), (0.7, 1.48, 24), (1.1, 1.6, 25), (1.5, 1.96, 0)],
    ids=["before the first task", "two tasks wait", "one task waits", "none waits"],
)
def test_an_executor_that_comes_during_a_batch_takes_tasks_that_wait(comes_s, ends_s, by_the_new_one):
    """Of 98 rows in four tasks, of 24, 25, 24 and 25, which one executor would do in 1.96 s."""
    tasks_begin_s = 1 / 99.5 + 11
    batches = Batches(fixed=1, per_task=0, trigger="10s", limit="none", tasks=4)
    load = Step([(0, 99.5), (1, 0.0)])
    it = plant(one_operator(), fixed(0.02, queues="batches", batches=batches), rate=load, scv=0, cluster=STARTS)
    it.cluster.advance(tasks_begin_s - 1 + 1e-6)
    before_s = float(row(it).batch_duration_s)
    it.cluster.advance(tasks_begin_s + comes_s - 0.1)
    it.apply(Plan.initial(it.topology, 2))
    it.cluster.advance(tasks_begin_s + comes_s + 0.01)
    assert len(it.cluster.registry.serving("op")) == 2
    it.cluster.advance(20.0)
    assert float(row(it).batch_duration_s) - before_s == pytest.approx(1 + ends_s)
    assert row(it).completed == 99
    assert executor_row(it, 1).completed == by_the_new_one
    assert sum(executor_row(it, number).busy_s for number in (0, 1)) == pytest.approx(99 * 0.02)


@pytest.mark.parametrize(
    ("planned", "tasks"),
    [(2, 2), (3, 4), (4, 4), (5, 6), (9, 10)],
    ids=["as many", "half more", "twice", "more", "many"],
)
def test_a_batch_has_tasks_for_executors_that_start(planned, tasks):
    model = fixed(0.02, executors=2, queues="batches", batches=Batches(fixed=0, per_task=0, trigger="10s"))
    it = plant(one_operator(), model, rate=50.0, scv=0, cluster=ClusterModel(start="100s"))
    it.apply(Plan.initial(it.topology, planned))
    it.cluster.advance(25.0)
    assert it.observe().operators["op"].under_way.tasks == tasks


def test_a_batch_has_no_tasks_for_executors_that_there_is_no_room_for():
    model = fixed(0.02, executors=2, queues="batches", batches=Batches(fixed=0, per_task=0, trigger="10s"))
    it = plant(one_operator(), model, rate=50.0, scv=0, cluster=ClusterModel(nodes=[NodeModel(name="only", slots=2)]))
    it.apply(Plan.initial(it.topology, 9))
    it.cluster.advance(25.0)
    assert it.observe().operators["op"].under_way.tasks == 2


def test_executors_that_come_take_the_tasks_that_a_batch_has_for_them():
    """500 rows are 10 s of work, in five tasks; four others come after 3 s, when three tasks wait."""
    batches = Batches(fixed=0, per_task=0, trigger="20s", limit="none")
    model = fixed(0.02, queues="batches", batches=batches)
    it = plant(one_operator(), model, rate=25.0, scv=0, cluster=ClusterModel(start="5s"), resolution_s=1.0)
    it.cluster.advance(18.04)
    it.apply(Plan.initial(it.topology, 5))
    it.cluster.advance(20.05)
    before_s = float(row(it).batch_duration_s)
    it.cluster.advance(39.0)
    assert len(it.cluster.registry.serving("op")) == 5
    assert float(row(it).batch_duration_s) - before_s == pytest.approx(3.0 + 2.0, abs=0.2)


def test_the_substreams_of_an_executor_that_comes_during_a_batch_follow_in_the_next_one():
    batches = Batches(fixed=0, per_task=0, trigger="10s")
    it = plant(keyed(2), fixed(0.1, queues="batches", batches=batches), rate=8.0, cluster=STARTS)
    it.cluster.advance(11.0)
    under_way = int(row(it).batch_rows)
    assert under_way > 20
    realise(it, Plan.initial(it.topology, 2))
    assert row(it).batch_rows == under_way
    assert executor_row(it, 1).arrived == 0
    it.cluster.advance(22.0)
    assert executor_row(it, 1).arrived > 20


def test_a_free_executor_takes_the_task_of_one_that_another_operator_keeps_busy():
    topology = Topology(
        "two", [Source("in"), Operator("a", inputs="in", key="k", substreams=2), Operator("b", inputs="in")]
    )
    models = {
        "a": fixed(0.08, queues="batches", batches=Batches(fixed=0, per_task=0, trigger="16s")),
        "b": fixed(0.01, queues="batches", batches=Batches(fixed=0, per_task=0, trigger="3s")),
    }
    shared = Plan(0, {"both": PoolPlan.of(2)}, {"a": "both", "b": "both"}, {"a": (0, 0)})
    it = plant(topology, models, rate=10.0, scv=0, plan=shared, weights=[1, 1], resolution_s=1.0)
    it.cluster.advance(1000.0)
    assert row(it, "b").batch_duration_s / row(it, "b").batch_count < 2 * 0.15 + 0.01


def test_the_task_of_a_substream_waits_for_its_executor_however_slow():
    batches = Batches(fixed=0, per_task=0, trigger="10s")
    it = plant(keyed(8), fixed(0.1, executors=4, queues="batches", batches=batches), rate=8.0, scv=0, resolution_s=1.0)
    executor_row(it, 1).speed = 0.5
    it.cluster.advance(1000.0)
    assert executor_row(it, 1).completed == pytest.approx(row(it).completed / 4, rel=0.1)


def test_the_cost_of_a_batch_varies_around_its_mean():
    """With hardly any work a batch is its cost. Records wait in long batches more often than in short ones."""
    batches = Batches(fixed=0.5, per_task=0, scv=0.5)
    it = plant(one_operator(), fixed(1e-6, queues="batches", batches=batches), rate=200.0)
    duration_s, latency_s = settled(it, until_s=4000.0)
    assert duration_s == pytest.approx(0.5, rel=0.03)
    assert latency_s == pytest.approx(0.5 * (0.5 * 1.5 + 1.0), rel=0.06)
